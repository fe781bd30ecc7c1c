(* The sparse vector technique with geometric noise and gaps.

   The threshold T gets noise X of decay rho0 once, every value q noise Y of its own, of decay rho1.
   The answer is the gap q + Y - (T + X) where that is at least 0, else "below".  Along one list of
   answers the values are fixed, however adaptively they were chosen, so an outcome is a list of
   (value, answer).  `chance N o` is the probability of o with X < N: it increases to that of o.
   Recentring by a public number is another T, and the k-th answer above ends the list. *)
From mathcomp Require Import all_ssreflect all_algebra.
Import Order.TTheory GRing.Theory Num.Theory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

Section SparseVector.
Variables (R : realFieldType) (rho0 rho1 : R) (T : nat).
Hypotheses (rho0_gt0 : 0 < rho0) (rho0_lt1 : rho0 < 1).
Hypotheses (rho1_gt0 : 0 < rho1) (rho1_lt1 : rho1 < 1).

(* The chance of an answer given X = x: Some d is a gap of d, None is "below". *)
Definition answer (x q : nat) (a : option nat) : R :=
  if a is Some d then
    if (q <= T + x + d)%N then (1 - rho1) * rho1 ^+ (T + x + d - q) else 0
  else 1 - rho1 ^+ (T + x - q).

Definition given (x : nat) (o : seq (nat * option nat)) : R := \prod_(e <- o) answer x e.1 e.2.
Definition chance N o : R := \sum_(x < N) (1 - rho0) * rho0 ^+ x * given x o.

Lemma answer_ge0 x q a : 0 <= answer x q a.
Proof.
case: a => [d|] /=; last by rewrite subr_ge0 exprn_ile1 ?ltW.
by case: ifP => // _; rewrite mulr_ge0 ?subr_ge0 ?exprn_ge0 ?ltW.
Qed.

Lemma given_ge0 x o : 0 <= given x o.
Proof. by apply: prodr_ge0 => e _; apply: answer_ge0. Qed.

(* An answer's chances add up to 1: "below", and the gaps up to any D but for a power of rho1. *)
Lemma answers_sum x q D : (q <= T + x)%N ->
  answer x q None + \sum_(d < D) answer x q (Some (d : nat)) = 1 - rho1 ^+ (T + x - q + D).
Proof.
move=> le; elim: D => [|D IH]; first by rewrite big_ord0 addr0 addn0.
rewrite big_ord_recr /= addrA IH (leq_trans le (leq_addr _ _)) addnS.
by rewrite addnBAC // [in RHS]exprS mulrBl mul1r addrA subrK.
Qed.

(* The noise of the threshold moves by s, that of a value above by q' + s - q, that of a value below
   not at all: it stays below. *)
Definition cost (s q q' : nat) (a : option nat) : nat := if a is Some _ then (q' + s - q)%N else 0%N.

Lemma answer_move s x q q' a : (q <= q' + s)%N ->
  answer x q' a <= rho1^-1 ^+ cost s q q' a * answer (x + s) q a.
Proof.
move=> le; case: a => [d|] /=; last first.
  rewrite mul1r ler_add2l ler_opp2 ler_wiexpn2l ?ltW //.
  by rewrite -(subnDr s) -addnA leq_sub2l.
case: (leqP q' (T + x + d)%N) => [h|_]; last first.
  by rewrite mulr_ge0 ?exprn_ge0 ?invr_ge0 ?(answer_ge0 _ _ (Some d)) // ltW.
have h' : (q <= T + (x + s) + d)%N.
  by apply: leq_trans le _; rewrite addnA -addnAC leq_add2r.
rewrite h'; have -> : (T + (x + s) + d - q = (q' + s - q) + (T + x + d - q'))%N.
  apply/eqP; rewrite -(eqn_add2r q) (subnK h') [X in _ == X]addnAC (subnK le).
  by rewrite [X in _ == X]addnAC (subnKC h) addnA addnAC.
rewrite exprD [X in _ <= X]mulrCA [rho1^-1 ^+ _ * _]mulrA -exprMn.
by rewrite mulVf ?gt_eqF // expr1n mul1r.
Qed.

Definition total_cost (s : nat) (l : seq (nat * nat * option nat)) : nat :=
  \sum_(e <- l) cost s e.1.1 e.1.2 e.2.
Definition first_of (l : seq (nat * nat * option nat)) := [seq (e.1.1, e.2) | e <- l].
Definition second_of (l : seq (nat * nat * option nat)) := [seq (e.1.2, e.2) | e <- l].

(* A list of (value, value of the neighbour, answer). *)
Lemma given_move s x l : all (fun e => e.1.1 <= e.1.2 + s)%N l ->
  given x (second_of l) <= rho1^-1 ^+ total_cost s l * given (x + s) (first_of l).
Proof.
rewrite /given /total_cost !big_map; elim: l => [|e l IH] /=.
  by rewrite !big_nil expr0 mulr1.
case/andP=> he hl; rewrite !big_cons exprD mulrACA.
by apply: ler_pmul; rewrite ?answer_ge0 ?answer_move ?IH ?prodr_ge0 // => *; apply: answer_ge0.
Qed.

Theorem session_move s N l : all (fun e => e.1.1 <= e.1.2 + s)%N l ->
  chance N (second_of l) <=
    rho0^-1 ^+ s * rho1^-1 ^+ total_cost s l * chance (N + s) (first_of l).
Proof.
move=> h; set c := rho1^-1 ^+ _.
have c0 : 0 <= c by rewrite exprn_ge0 // invr_ge0 ltW.
pose f x := (1 - rho0) * rho0 ^+ x * given x (first_of l).
have f0 x : 0 <= f x by rewrite !mulr_ge0 ?subr_ge0 ?exprn_ge0 ?given_ge0 ?ltW.
have step (x : nat) : (1 - rho0) * rho0 ^+ x * given x (second_of l) <=
    rho0^-1 ^+ s * c * f (x + s)%N.
  have -> : rho0^-1 ^+ s * c * f (x + s)%N =
      (1 - rho0) * rho0 ^+ x * (c * given (x + s) (first_of l)).
    rewrite /f exprD; set a := 1 - rho0; set g := given _ _; set u := rho0 ^+ x.
    set r := rho0^-1 ^+ s; set t := rho0 ^+ s.
    have e : r * t = 1 by rewrite -exprMn mulVf ?gt_eqF // expr1n.
    rewrite -[RHS]mul1r -e -!mulrA; congr (_ * _).
    by rewrite mulrCA [c * (u * _)]mulrCA [c * (t * _)]mulrCA [in RHS]mulrCA [t * (u * _)]mulrCA.
  by rewrite ler_wpmul2l ?given_move // mulr_ge0 ?subr_ge0 ?exprn_ge0 ?ltW.
rewrite /chance; apply: (@le_trans _ _ (\sum_(x < N) rho0^-1 ^+ s * c * f (x + s)%N)).
  by apply: ler_sum => x _; apply: step.
rewrite -mulr_sumr ler_wpmul2l //; first by rewrite mulr_ge0 ?exprn_ge0 ?invr_ge0 ?ltW.
rewrite addnC big_split_ord /= ler_paddl ?sumr_ge0 // => [x _|]; first exact: f0.
by apply: ler_sum => x _; rewrite addnC.
Qed.

(* At most k answers above; a value changes by at most D: in general move by D, and each answer above
   costs 2 D at most; where all values of the neighbour are smaller, or all larger, D. *)
Definition above (l : seq (nat * nat * option nat)) : nat := count (fun e => isSome e.2) l.

Lemma cost_le s c l :
  all (fun e => e.1.2 + s <= e.1.1 + c)%N l -> (total_cost s l <= above l * c)%N.
Proof.
rewrite /total_cost /above; elim: l => [|[[q q'] a] l IH] /=; first by rewrite big_nil.
case/andP=> h /IH hl; rewrite big_cons /= mulnDl leq_add //.
by case: a => [d|] //=; rewrite mul1n leq_subLR.
Qed.

Lemma chance_bound s c k N l : (above l <= k)%N ->
  all (fun e => e.1.1 <= e.1.2 + s)%N l -> all (fun e => e.1.2 + s <= e.1.1 + c)%N l ->
  chance N (second_of l) <= rho0^-1 ^+ s * rho1^-1 ^+ (k * c) * chance (N + s) (first_of l).
Proof.
move=> ak h1 h2; apply: le_trans (session_move N h1) _.
apply: ler_wpmul2r; first by apply: sumr_ge0 => x _; rewrite !mulr_ge0 ?subr_ge0 ?exprn_ge0 ?given_ge0 ?ltW.
apply: ler_wpmul2l; first by rewrite exprn_ge0 // invr_ge0 ltW.
apply: ler_weexpn2l; first by rewrite invf_ge1 // ltW.
by apply: leq_trans (cost_le h2) _; rewrite leq_mul2r ak orbT.
Qed.

Theorem private_general D k N l : (above l <= k)%N ->
  all (fun e => (e.1.1 <= e.1.2 + D) && (e.1.2 <= e.1.1 + D))%N l ->
  chance N (second_of l) <= rho0^-1 ^+ D * rho1^-1 ^+ (k * (2 * D)) * chance (N + D) (first_of l).
Proof.
move=> ak h; apply: chance_bound => //; apply: sub_all h => e /andP[a b] //.
by rewrite mul2n -addnn addnA leq_add2r.
Qed.

Theorem private_monotonic_up D k N l : (above l <= k)%N ->
  all (fun e => e.1.1 <= e.1.2 <= e.1.1 + D)%N l ->
  chance N (second_of l) <= rho1^-1 ^+ (k * D) * chance N (first_of l).
Proof.
move=> ak h; rewrite -{2}[N]addn0 -[rho1^-1 ^+ _]mul1r -(expr0 rho0^-1).
by apply: chance_bound => //; apply: sub_all h => e /andP[a b]; rewrite addn0.
Qed.

Theorem private_monotonic_down D k N l : (above l <= k)%N ->
  all (fun e => e.1.2 <= e.1.1 <= e.1.2 + D)%N l ->
  chance N (second_of l) <= rho0^-1 ^+ D * rho1^-1 ^+ (k * D) * chance (N + D) (first_of l).
Proof.
move=> ak h; apply: chance_bound => //; apply: sub_all h => e /andP[a b] //.
by rewrite leq_add2r.
Qed.
End SparseVector.

Print Assumptions answers_sum.
Print Assumptions private_general.
Print Assumptions private_monotonic_up.
Print Assumptions private_monotonic_down.
