(* The laws of the scalar samplers (Canonne, Kamath and Steinke 2020), as laws of their loops.

   A loop is given with fuel f: what it returns within f rounds.  No limit is taken: each theorem
   says exactly what f rounds give, and what they lack is a power that vanishes.  That the partial
   sums of `coin_exp` tend to exp(-x) is the definition of exp. *)
From mathcomp Require Import all_ssreflect all_algebra.
Import Order.TTheory GRing.Theory Num.Theory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

(* ------------------------------------------------------------ coins of chance exp(-x) *)
Section Exp.
Variables (R : realFieldType) (x : R).

(* k = 1; while a coin of chance x / k shows heads, k rises by one; the answer is whether k is odd. *)
Fixpoint odd_stop (k f : nat) : R :=
  if f is f'.+1 then x / k%:R * odd_stop k.+1 f' + (1 - x / k%:R) * (odd k)%:R else 0.
(* What is still going on after f rounds. *)
Fixpoint going (k f : nat) : R := if f is f'.+1 then x / k%:R * going k.+1 f' else 1.

Definition term i : R := x ^+ i / (i`!)%:R.

Lemma termS i : term i.+1 = term i * (x / i.+1%:R).
Proof.
by rewrite /term exprSr factS natrM invfM [_^-1 * _]mulrC mulrACA.
Qed.

(* Two rounds at a time from an odd k. *)
Lemma odd_stop2 k f : term k.*2 * odd_stop k.*2.+1 f.*2 =
  \sum_(i < f) (term (k + i).*2 - term (k + i).*2.+1).
Proof.
elim: f k => [|f IH] k; first by rewrite big_ord0 mulr0.
rewrite doubleS big_ord_recl addn0 /= odd_double /= mulr1 mulr0 addr0 mulrDr addrC; congr (_ + _).
  by rewrite mulrBr mulr1 -termS.
rewrite mulrA -termS mulrA -termS -doubleS IH.
by apply: eq_bigr => i _; rewrite addSnnS.
Qed.

(* After 2 f rounds the answer has been "odd" with the probability of a partial sum of exp(-x). *)
Theorem coin_exp f : odd_stop 1 f.*2 = \sum_(i < f.*2) (- x) ^+ i / (i`!)%:R.
Proof.
have := odd_stop2 0 f; rewrite /term expr0 fact0 divr1 mul1r => ->.
elim: f => [|f IH]; first by rewrite !big_ord0.
rewrite doubleS !big_ord_recr /= IH -addrA; congr (_ + _).
have e : (- x) ^+ f.*2 = x ^+ f.*2 by rewrite exprNn -signr_odd odd_double mul1r.
by rewrite add0n /term [(- x) ^+ _.+1]exprS e !mulNr -exprS.
Qed.

Theorem coin_going f : going 1 f = term f.
Proof.
have h k : term k * going k.+1 f = term (k + f).
  elim: f k => [|f IH] k /=; first by rewrite mulr1 addn0.
  by rewrite mulrA -termS IH addSnnS.
by have := h 0%N; rewrite {1}/term expr0 fact0 divr1 mul1r.
Qed.
End Exp.

(* ------------------------------------------------------------------------- rejection *)
Section Rejection.
Variables (R : realFieldType) (I : finType) (p : I -> R).
(* An attempt gives i with probability p i and else nothing; f attempts at most. *)
Fixpoint attempts (f : nat) (i : I) : R :=
  if f is f'.+1 then p i + (1 - \sum_j p j) * attempts f' i else 0.

Theorem attempts_law f i : \sum_j p j != 0 ->
  attempts f i = (1 - (1 - \sum_j p j) ^+ f) * (p i / \sum_j p j).
Proof.
set P := \sum_j p j => P0; elim: f => [|f IH] /=; first by rewrite expr0 subrr mul0r.
rewrite IH exprS; set z := 1 - P; have e : p i = (1 - z) * (p i / P).
  by rewrite /z opprB addrCA subrr addr0 mulrCA mulfV ?mulr1.
rewrite {1}e; set w := p i / P; rewrite [z * (_ * w)]mulrA -mulrDl; congr (_ * w).
by rewrite mulrBr mulr1 addrA subrK.
Qed.
End Rejection.

(* The integers below n, drawn as b bits until one is below n: 1/n each. *)
Theorem uniform_below (R : realFieldType) n b f (i : 'I_n.+1) :
  attempts (fun _ : 'I_n.+1 => (2 ^+ b)^-1 : R) f i =
  (1 - (1 - n.+1%:R / 2 ^+ b) ^+ f) / n.+1%:R.
Proof.
have n0 : n.+1%:R != 0 :> R by rewrite pnatr_eq0.
have b0 : (2 ^+ b) != 0 :> R by rewrite expf_neq0 // pnatr_eq0.
have s : \sum_(j < n.+1) (2 ^+ b)^-1 = n.+1%:R / 2 ^+ b :> R.
  by rewrite sumr_const card_ord mulr_natl.
rewrite attempts_law s ?mulf_neq0 ?invr_neq0 //; congr (_ * _).
by rewrite invfM invrK mulrCA mulVf // mulr1.
Qed.

(* ----------------------------------------------------------------- geometric numbers *)
Section Geometric.
Variables (R : realFieldType) (a : R).
Hypotheses (a_gt0 : 0 < a) (a_lt1 : a < 1).

Lemma sum_powers N : \sum_(x < N) (1 - a) * a ^+ x = 1 - a ^+ N.
Proof. by rewrite -big_distrr /= -[LHS]opprK -mulNr opprB -subrX1 opprB. Qed.

(* The accepted remainder u < t, and the quotient v, make u + t v geometric. *)
Theorem remainder_law t (u : 'I_t.+1) f :
  attempts (fun u : 'I_t.+1 => a ^+ u / t.+1%:R) f u =
  (1 - (1 - \sum_(v < t.+1) a ^+ v / t.+1%:R) ^+ f) * ((1 - a) * a ^+ u / (1 - a ^+ t.+1)).
Proof.
have t0 : t.+1%:R != 0 :> R by rewrite pnatr_eq0.
have a1 : 1 - a != 0 by rewrite subr_eq0 gt_eqF.
have s : \sum_(v < t.+1) a ^+ v / t.+1%:R = (1 - a ^+ t.+1) / (1 - a) / t.+1%:R.
  rewrite -mulr_suml -sum_powers -mulr_sumr; congr (_ / _).
  by rewrite mulrC mulKf.
have d0 : 1 - a ^+ t.+1 != 0 by rewrite subr_eq0 gt_eqF // exprn_ilt1 // ltW.
rewrite attempts_law s ?mulf_neq0 ?invr_neq0 //; congr (_ * _).
by rewrite !invfM !invrK mulrACA mulVf // mulr1 [_ * (1 - a)]mulrC mulrCA mulrA.
Qed.

Lemma sum_blocks (F : nat -> R) t W :
  \sum_(v < W) \sum_(u < t) F (v * t + u)%N = \sum_(x < W * t) F x.
Proof.
elim: W => [|W IH]; first by rewrite mul0n !big_ord0.
by rewrite big_ord_recr /= IH mulSnr big_split_ord.
Qed.

(* Divided by s, rounded down: geometric of a^s. *)
Theorem quotient_law s y N : (0 < s)%N -> (y.+1 * s <= N)%N ->
  \sum_(x < N | (x %/ s)%N == y) (1 - a) * a ^+ x = (1 - a ^+ s) * (a ^+ s) ^+ y.
Proof.
move=> s0 le; transitivity (\sum_(u < s) (1 - a) * a ^+ (y * s + u)%N); last first.
  by under eq_bigr do rewrite exprD mulrCA; rewrite -mulr_sumr sum_powers mulrC mulnC exprM.
pose F x : R := if (x %/ s)%N == y then (1 - a) * a ^+ x else 0.
have part W : (y < W)%N -> \sum_(x < W * s) F x = \sum_(u < s) (1 - a) * a ^+ (y * s + u)%N.
  move=> yW; rewrite -sum_blocks (bigD1 (Ordinal yW)) //= [X in _ + X]big1 ?addr0.
    by apply: eq_bigr => u _; rewrite /F divnMDl // divn_small // addn0 eqxx.
  move=> v /negbTE ne; rewrite big1 // => u _.
  by rewrite /F divnMDl // divn_small // addn0 -[y]/(val (Ordinal yW)) val_eqE ne.
rewrite big_mkcond -/(F _) -(part y.+1) //.
rewrite (big_ord_widen N F le) [LHS](bigID (fun x : 'I_N => (x < y.+1 * s)%N)) /=.
rewrite [X in _ + X]big1 ?addr0 // => x; rewrite -leqNgt => h.
by case: eqP => // e; move: h; rewrite -leq_divRL // e ltnn.
Qed.

(* Binary digits of a geometric number are independent coins: the digit of weight 2^j is 1 with
   probability z / (1 + z), z = a^(2^j); what is above 2^J is geometric of a^(2^J). *)
Definition digit j (b : bool) : R := (if b then a ^+ (2 ^ j) else 1) / (1 + a ^+ (2 ^ j)).

Theorem digits_law J top (b : 'I_J -> bool) :
  (1 - a ^+ (2 ^ J)) * (a ^+ (2 ^ J)) ^+ top * \prod_(j < J) digit j (b j) =
  (1 - a) * a ^+ (2 ^ J * top + \sum_(j < J) b j * 2 ^ j).
Proof.
have pos j : 1 + a ^+ (2 ^ j) != 0 by rewrite gt_eqF // addr_gt0 ?ltr01 ?exprn_gt0.
rewrite -exprM exprD [_ * a ^+ (_ * top)]mulrC -mulrA [RHS]mulrCA; congr (_ * _).
elim: J b => [|J IH] b; first by rewrite !big_ord0 expn0 expr1 expr0.
rewrite big_ord_recr /= [in RHS]big_ord_recr /= [in RHS]exprD [in RHS]mulrA.
have := IH (fun j => b (widen_ord (leqnSn J) j)) => /= <-.
rewrite /digit expnS mul2n -addnn exprD -[1]mulr1.
have -> : 1 * 1 - a ^+ (2 ^ J) * a ^+ (2 ^ J) = (1 - a ^+ (2 ^ J)) * (1 + a ^+ (2 ^ J)).
  by rewrite mulr1 mulrDr mulr1 mulrBl mul1r addrA subrK.
rewrite mulr1 -!mulrA; congr (_ * _); rewrite mulrCA; congr (_ * _).
by rewrite mulrCA mulfV // mulr1; case: (b _); rewrite ?mul1n ?mul0n ?expr0.
Qed.

(* --------------------------------------------------------------- discrete Laplace numbers *)
(* A geometric size and a fair sign, (negative, 0) rejected: an attempt is accepted with probability
   1 - (1 - a) / 2 and gives +g or -g with (1 - a) a^g / 2.  The array engine takes G with probability
   1 / (1 + a), else -1 - G: the same law, for g and for -1 - g. *)
Theorem laplace_twins g :
  (1 - a) * a ^+ g / 2%:R / (1 - (1 - a) / 2%:R) = (1 + a)^-1 * ((1 - a) * a ^+ g) /\
  (1 - a) * a ^+ g.+1 / 2%:R / (1 - (1 - a) / 2%:R) = a / (1 + a) * ((1 - a) * a ^+ g).
Proof.
have t0 : 2%:R != 0 :> R by rewrite pnatr_eq0.
have -> : 1 - (1 - a) / 2%:R = (1 + a) / 2%:R.
  apply: (mulIf t0); rewrite mulrBl !divfK // mul1r mulr2n opprB addrA [1 + 1 + a]addrAC.
  by rewrite addrK addrC.
have e y : y / 2%:R / ((1 + a) / 2%:R) = y / (1 + a).
  by rewrite invfM invrK mulrA mulrAC mulfVK // mulrAC.
rewrite !e exprS; split; first by rewrite mulrC.
by rewrite [(1 - a) * (a * _)]mulrCA mulrAC.
Qed.
End Geometric.

Print Assumptions coin_exp.
Print Assumptions coin_going.
Print Assumptions attempts_law.
Print Assumptions uniform_below.
Print Assumptions remainder_law.
Print Assumptions quotient_law.
Print Assumptions digits_law.
Print Assumptions laplace_twins.
