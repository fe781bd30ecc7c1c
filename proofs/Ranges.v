(* Laws of bounded range, one after the other: the largest moment of one of them (section 3), what k of
   them peeled have together, and what that gives for events (section 9). *)
From mathcomp Require Import all_ssreflect all_algebra.
Require Import Exponential Budget.
Import Order.TTheory GRing.Theory Num.Theory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

Section Moment.
Variables (R : realFieldType) (E : R) (k : nat).
Hypotheses (E_gt1 : 1 < E) (k_gt0 : (0 < k)%N).
Let E_gt0 : 0 < E := lt_trans ltr01 E_gt1.
Let u : R := E^-1.
Let u_gt0 : 0 < u. Proof. by rewrite invr_gt0. Qed.
Let u_lt1 : u < 1. Proof. by rewrite invf_lt1. Qed.

(* The bound of the moment of order k of the ratio: M_BR(k + 1), with E = e^epsilon. *)
Let A : R := 1 - u ^+ k.+1.
Let B : R := u - u ^+ k.+1.
Definition moment_bound : R :=
  k%:R ^+ k * (1 - E^-1 ^+ k.+1) ^+ k.+1 /
  (k.+1%:R ^+ k.+1 * (E^-1 - E^-1 ^+ k.+1) ^+ k * (1 - E^-1)).

Let A_gt0 : 0 < A. Proof. by rewrite subr_gt0 exprn_ilt1 // ltW. Qed.
Let B_gt0 : 0 < B.
Proof. by rewrite subr_gt0 exprS -[X in _ < X]mulr1 ltr_pmul2l // exprn_ilt1 ?ltW // -lt0n. Qed.
Let gap_gt0 : 0 < 1 - u. Proof. by rewrite subr_gt0. Qed.

Lemma moment_bound_ge0 : 0 <= moment_bound.
Proof.
by rewrite divr_ge0 // ?mulr_ge0 ?exprn_ge0 ?ler0n // ltW.
Qed.

(* Powers lie below their chords. *)
Lemma chord (a c x : R) n : 0 <= a -> a <= x -> x <= c ->
  x ^+ n * (c - a) <= c ^+ n * (x - a) + a ^+ n * (c - x).
Proof.
move=> a0 ax xc; elim: n => [|n IH]; first by rewrite !mul1r [X in _ <= X]addrC addrA subrK.
have x0 := le_trans a0 ax.
rewrite exprS -mulrA; apply: le_trans (ler_wpmul2l x0 IH) _; rewrite -subr_ge0.
suff -> : c ^+ n.+1 * (x - a) + a ^+ n.+1 * (c - x) -
    x * (c ^+ n * (x - a) + a ^+ n * (c - x)) = (c ^+ n - a ^+ n) * ((x - a) * (c - x)).
  rewrite mulr_ge0 ?mulr_ge0 ?subr_ge0 //; apply: ler_expn2r; rewrite ?nnegrE //.
    exact: le_trans xc.
  exact: le_trans ax xc.
rewrite mulrDr opprD addrACA !exprS -!mulrA -!mulrBl [RHS]mulrBl -[a - x]opprB mulNr.
by rewrite [(c - x) * _]mulrCA [(x - a) * _]mulrCA [(c - x) * (x - a)]mulrC.
Qed.

Lemma spread (q Z W x a c : R) :
  q * (Z * (x - a) + W * (c - x)) = Z * (q * x - a * q) + W * (c * q - q * x).
Proof. by rewrite mulrDr ![q * (_ * _)]mulrCA !mulrBr [q * a]mulrC [q * c]mulrC. Qed.

Lemma collect (y v Y : R) : y * ((1 - v) * Y - (u - v) * (y * Y)) =
  y * Y * (1 - y * u) + y * Y * v * (y - 1).
Proof.
rewrite mulrBr mulrCA [y * (_ * (y * Y))]mulrA -mulrBl -[y * Y * v * _]mulrA -mulrDr [RHS]mulrC.
congr (_ * _); rewrite !mulrBr mulr1 opprB !addrA [v * y]mulrC.
by rewrite [RHS]((@GRing.add R).[ACl 1*4*3*2]).
Qed.

Variables (I : finType) (S : {set I}) (P Q : I -> R) (i0 : I).
Hypotheses (i0S : i0 \in S) (P_gt0 : forall i, 0 < P i) (Q_gt0 : forall i, 0 < Q i).
Hypotheses (P_sum : \sum_(i in S) P i = 1) (Q_sum : \sum_(i in S) Q i = 1).
Hypothesis range : forall i j, i \in S -> j \in S -> P i * Q j <= E * (Q i * P j).

(* A bounded range has no larger moment. *)
Theorem range_moment : \sum_(i in S) P i * (P i / Q i) ^+ k <= moment_bound.
Proof.
pose ratio i := P i / Q i.
case: (@arg_maxP _ _ _ i0 (mem S) ratio i0S) => top topS most.
set y := ratio top; have y0 : 0 < y by rewrite divr_gt0.
have least i : i \in S -> y * u <= ratio i.
  move=> iS; rewrite /y /ratio ler_pdivl_mulr // mulrAC ler_pdivr_mulr // mulrAC ler_pdivr_mulr //.
  by rewrite [X in _ <= X]((@GRing.mul R).[ACl 2*3*1]) -mulrA; apply: range.
set M := \sum_(i in S) _; have sums : M * (y * (1 - u)) <=
    y ^+ k.+1 * (1 - y * u) + (y * u) ^+ k.+1 * (y - 1).
  rewrite /M mulr_suml; apply: le_trans (_ : \sum_(i in S) (y ^+ k.+1 * (P i - y * u * Q i) +
      (y * u) ^+ k.+1 * (y * Q i - P i)) <= _).
    apply: ler_sum => i iS; have yu0 : 0 <= y * u by rewrite mulr_ge0 // ltW.
    have c := chord k.+1 yu0 (least i iS) (most i iS).
    have e : P i = Q i * ratio i by rewrite /ratio mulrC divfK // gt_eqF.
    have -> : P i * (P i / Q i) ^+ k = Q i * ratio i ^+ k.+1.
      by rewrite exprS mulrA -e.
    have -> : y * (1 - u) = y - y * u by rewrite mulrBr mulr1.
    by rewrite -mulrA {1 2}e -spread; apply: (ler_wpmul2l (ltW (Q_gt0 i)) c).
  rewrite big_split /= -!mulr_sumr !sumrB -!mulr_sumr P_sum Q_sum !mulr1.
  by [].
have M_le : M * (1 - u) <= A * y ^+ k - B * y ^+ k.+1.
  rewrite -(ler_pmul2l y0) mulrCA; apply: le_trans sums _.
  by rewrite [(y * u) ^+ _]exprMn [y ^+ k.+1]exprS -collect.
set s := B * y; have s0 : 0 < s by rewrite mulr_gt0.
have t0 : 0 <= A / s by rewrite ltW // divr_gt0.
have := conversion (Amounts 0 0 [::] 0) (lexx (1 : R)) k t0.
rewrite /= !expr1n !mul1r /moment_bound -/u -/A -/B.
set K := k.+1%:R ^+ k.+1; set L := k%:R ^+ k => conv.
have K0 : 0 < K by rewrite exprn_gt0 // ltr0n.
rewrite ler_pdivl_mulr ?mulr_gt0 ?exprn_gt0 ?ltr0n //.
rewrite [K * B ^+ k * _]mulrC mulrA; apply: le_trans (_ : (A - s) * s ^+ k * K <= _).
  have -> : (A - s) * s ^+ k * K = (A * y ^+ k - B * y ^+ k.+1) * (K * B ^+ k).
    rewrite /s exprMn [y ^+ k.+1]exprS !mulrA -mulrBl.
    by rewrite [LHS]((@GRing.mul R).[ACl 1*3*4*2]).
  by rewrite ler_pmul2r // mulr_gt0 // exprn_gt0.
have -> : (A - s) * s ^+ k * K = (A / s - 1) * K * s ^+ k.+1.
  rewrite [s ^+ k.+1]exprS [RHS]mulrA [RHS]((@GRing.mul R).[ACl 1*3*4*2]) mulrBl.
  by rewrite divfK ?gt_eqF // mul1r.
apply: le_trans (ler_wpmul2r (exprn_ge0 k.+1 (ltW s0)) conv) _.
by rewrite -mulrA -exprMn divfK // gt_eqF.
Qed.
End Moment.

(* k draws of the exponential mechanism, each among those that remain. *)
Section Peel.
Variables (R : realFieldType) (w : R) (I : finType) (b : I -> R).
Hypotheses (w_gt1 : 1 < w) (b_gt0 : forall i, 0 < b i).
Variables (q q' : I -> nat) (c d K : nat).
Hypothesis close : forall i, (q i + d <= q' i + c <= q i + d + K)%N.
Hypothesis K_gt0 : (0 < K)%N.
Implicit Types (A : {set I}) (o : seq I).

Notation draw := (em w b).
Notation draws := (peeled w b).

Let w_gt0 : 0 < w := lt_trans ltr01 w_gt1.

Lemma draw_gt0 f A i0 i : i0 \in A -> 0 < draw f A i.
Proof. by move=> iA; rewrite divr_gt0 ?mass_gt0 // (total_gt0 w_gt1 b_gt0 f iA). Qed.

(* All ordered lists of n of A. *)
Fixpoint orders A n : seq (seq I) :=
  if n is n'.+1 then [seq i :: o | i <- enum A, o <- orders (A :\ i) n'] else [:: [::]].

Lemma orders_gt0 f n A o : o \in orders A n -> 0 < draws f A o.
Proof.
elim: n A o => [|n IH] A o /=; first by rewrite inE => /eqP ->; exact: ltr01.
case/allpairsPdep => i [o' [iA oo ->]] /=; rewrite mem_enum in iA.
by rewrite mulr_gt0 ?(draw_gt0 f i iA) ?(IH _ _ oo).
Qed.

Definition moment k n A : R :=
  \sum_(o <- orders A n) draws q' A o * (draws q' A o / draws q A o) ^+ k.

Variable k : nat.
Hypothesis k_gt0 : (0 < k)%N.
Let E := w ^+ K.
Let E_gt1 : 1 < E. Proof. by rewrite exprn_egt1 // -lt0n. Qed.

Theorem peeled_moment n A : moment k n A <= moment_bound E k ^+ n.
Proof.
have M0 := moment_bound_ge0 E_gt1 k_gt0.
elim: n A => [|n IH] A; first by rewrite /moment /= big_seq1 /= divr1 expr1n mulr1.
rewrite /moment /= big_allpairs_dep /= big_enum /=.
case: (set_0Vmem A) => [->|[i0 i0A]]; first by rewrite big_set0 exprn_ge0.
apply: le_trans (_ : \sum_(i in A) draw q' A i * (draw q' A i / draw q A i) ^+ k *
    moment_bound E k ^+ n <= _).
  apply: ler_sum => i iA; have p0 := draw_gt0 q i iA; have p'0 := draw_gt0 q' i iA.
  apply: le_trans (_ : draw q' A i * (draw q' A i / draw q A i) ^+ k * moment k n (A :\ i) <= _).
    rewrite /moment mulr_sumr; apply: ler_sum => o _.
    by rewrite invfM mulrACA exprMn [X in X <= _]mulrACA.
  apply: ler_wpmul2l; last exact: IH.
  exact: mulr_ge0 (ltW p'0) (exprn_ge0 _ (divr_ge0 (ltW p'0) (ltW p0))).
rewrite -mulr_suml exprS ler_wpmul2r ?exprn_ge0 //.
apply: (@range_moment R E k E_gt1 k_gt0 I A (draw q' A) (draw q A) i0 i0A).
- by move=> i; apply: draw_gt0 i0A.
- by move=> i; apply: draw_gt0 i0A.
- exact: (em_sum w_gt1 b_gt0 q' i0A).
- exact: (em_sum w_gt1 b_gt0 q i0A).
- by move=> i j iA jA; apply: (bounded_range w_gt1 b_gt0 close iA jA).
Qed.

(* So k draws keep e^epsilon = W with a delta that the moments bound: every event of ordered lists. *)
Theorem peeled_approximate n A W (S : pred (seq I)) : 1 <= W ->
  \sum_(o <- orders A n | S o) draws q' A o <= W * (\sum_(o <- orders A n | S o) draws q A o) +
    moment_bound E k ^+ n * k%:R ^+ k / (W ^+ k * k.+1%:R ^+ k.+1).
Proof.
move=> W1; have W0 : 0 < W := lt_le_trans ltr01 W1.
pose den := W ^+ k * k.+1%:R ^+ k.+1; have den0 : 0 < den by rewrite mulr_gt0 ?exprn_gt0 ?ltr0n.
rewrite -ler_subl_addl mulr_sumr -sumrB ler_pdivl_mulr // mulr_suml.
have ge0 (f : I -> nat) o : 0 <= draws f A o.
  by elim: o A => [|i o IH] A' /=; [exact: ler01 | rewrite mulr_ge0 ?em_ge0 ?IH].
have term o : 0 <= draws q' A o * (draws q' A o / draws q A o) ^+ k.
  by rewrite mulr_ge0 ?exprn_ge0 ?divr_ge0 ?ge0.
apply: le_trans (_ : \sum_(o <- orders A n | S o)
    draws q' A o * (draws q' A o / draws q A o) ^+ k * k%:R ^+ k <= _); last first.
  rewrite -mulr_suml ler_wpmul2r ?exprn_ge0 ?ler0n //; apply: le_trans (peeled_moment n A).
  by rewrite /moment [X in _ <= X](bigID S) /= ler_addl sumr_ge0.
rewrite big_seq_cond [X in _ <= X]big_seq_cond; apply: ler_sum => o /andP[oA _].
have Q0 := orders_gt0 q oA; set P := draws q' A o; set Q := draws q A o in Q0 *.
have t0 : 0 <= P / Q by rewrite divr_ge0 ?ge0 // ltW.
have := conversion (Amounts 1 0 [::] 0) W1 k t0; rewrite /= expr1 -/den => C.
have -> : (P - W * Q) * den = Q * ((P / Q - W) * den).
  by rewrite mulrA mulrBr [Q * (P / Q)]mulrC divfK ?gt_eqF // [Q * W]mulrC.
apply: le_trans (ler_wpmul2l (ltW Q0) C) _.
rewrite exprS mulrCA [Q * _]mulrA [Q * (P / Q)]mulrC divfK ?gt_eqF // mulrC.
exact: lexx.
Qed.
End Peel.

Print Assumptions range_moment.
Print Assumptions peeled_moment.
Print Assumptions peeled_approximate.
