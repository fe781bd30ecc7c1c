(* The exponential mechanism with a public base measure b, and k of them peeled.

   Candidate i is chosen among those of a set A with probability proportional to b i * w^(q i);
   w > 1 is e^(rate of a grid step), or any rational in base 2.  The likelihood ratio of two
   neighbours varies by a factor of at most w^K over the outcomes where all changes of scores lie in
   an interval of length K: epsilon-bounded range with e^epsilon = w^K, hence pure DP. *)
From mathcomp Require Import all_ssreflect all_algebra.
Import Order.TTheory GRing.Theory Num.Theory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

Section Exponential.
Variables (R : realFieldType) (w : R) (I : finType) (b : I -> R).
Hypotheses (w_gt1 : 1 < w) (b_gt0 : forall i, 0 < b i).
Implicit Types (q : I -> nat) (A : {set I}) (o : seq I).

Let w_gt0 : 0 < w := lt_trans ltr01 w_gt1.

Definition mass q i : R := b i * w ^+ q i.
Definition total q A : R := \sum_(j in A) mass q j.
Definition em q A i : R := mass q i / total q A.

Lemma mass_gt0 q i : 0 < mass q i.
Proof. by rewrite mulr_gt0 ?exprn_gt0. Qed.

Lemma total_gt0 q A i : i \in A -> 0 < total q A.
Proof.
move=> iA; rewrite /total (bigD1 i iA) /= ltr_spaddl ?mass_gt0 //.
by apply: sumr_ge0 => j _; rewrite ltW ?mass_gt0.
Qed.

Lemma em_ge0 q A i : 0 <= em q A i.
Proof.
by rewrite divr_ge0 ?sumr_ge0 // => [|j _]; rewrite ltW ?mass_gt0.
Qed.

Theorem em_sum q A i : i \in A -> \sum_(j in A) em q A j = 1.
Proof. by move=> iA; rewrite /em -mulr_suml mulfV // gt_eqF // (total_gt0 q iA). Qed.

(* Only differences count. *)
Theorem em_translate q A i c : em (fun j => q j + c)%N A i = em q A i.
Proof.
have e j : mass (fun i => q i + c)%N j = mass q j * w ^+ c by rewrite /mass exprD mulrA.
rewrite /em /total (eq_bigr _ (fun j _ => e j)) -mulr_suml e invfM.
by rewrite mulrACA mulfV ?mulr1 // gt_eqF ?exprn_gt0.
Qed.

Section Neighbours.
Variables (q q' : I -> nat) (c d K : nat).
(* All changes lie in an interval d - c .. d - c + K, wherever it lies. *)
Hypothesis close : forall i, (q i + d <= q' i + c <= q i + d + K)%N.

Let lift i := (q' i + c)%N.
Let base i := (q i + d)%N.

Lemma mass_up i : mass base i <= mass lift i.
Proof. by rewrite ler_pmul2l // ler_eexpn2l //; case/andP: (close i). Qed.

Lemma mass_down i : mass lift i <= w ^+ K * mass base i.
Proof.
by rewrite mulrCA -exprD ler_pmul2l // ler_eexpn2l // addnC; case/andP: (close i).
Qed.

(* (P'(i) / P(i)) / (P'(j) / P(j)) <= w^K for all outcomes i, j *)
Theorem bounded_range A i j : i \in A -> j \in A ->
  em q' A i * em q A j <= w ^+ K * (em q A i * em q' A j).
Proof.
move=> iA jA; rewrite -!(em_translate q' A _ c) -!(em_translate q A _ d) -/lift -/base /em.
have t0 := total_gt0 base iA; have t1 := total_gt0 lift iA.
have e x y u v : x / u * (y / v) = x * y / (u * v) :> R by rewrite invfM mulrACA.
rewrite !e [total base A * _]mulrC [X in _ <= X]mulrA ler_pmul2r ?invr_gt0 ?mulr_gt0 //.
rewrite [X in _ <= X]mulrA.
by apply: ler_pmul; rewrite ?mass_up ?mass_down // ltW ?mass_gt0.
Qed.

Theorem em_private A i : i \in A -> em q' A i <= w ^+ K * em q A i.
Proof.
move=> iA; have : \sum_(j in A) em q' A i * em q A j <=
    \sum_(j in A) w ^+ K * (em q A i * em q' A j).
  by apply: ler_sum => j jA; apply: bounded_range.
by rewrite -!mulr_sumr !(em_sum _ iA) !mulr1.
Qed.

(* k draws, each among those that remain: the ordered list o. *)
Fixpoint peeled (f : I -> nat) A o : R :=
  if o is i :: rest then em f A i * peeled f (A :\ i) rest else 1.

Theorem peeled_private A o : uniq o -> {subset o <= A} ->
  peeled q' A o <= w ^+ (size o * K) * peeled q A o.
Proof.
elim: o A => [|i o IH] A /=; first by rewrite mul0n expr0 mulr1.
case/andP=> io uo sub; have iA : i \in A by apply: sub; rewrite inE eqxx.
have sub' : {subset o <= A :\ i}.
  by move=> j jo; rewrite !inE sub ?inE ?jo ?orbT // andbT; apply: contraNneq io => <-.
have ge0 (f : I -> nat) B l : 0 <= peeled f B l.
  by elim: l B => [|j l h] B /=; [exact: ler01 | rewrite mulr_ge0 ?em_ge0 ?h].
by rewrite mulSn exprD mulrACA; apply: ler_pmul; rewrite ?em_ge0 ?em_private ?IH.
Qed.
End Neighbours.

(* Peeling in the form of Plackett and Luce: the list's mass over what remained each time. *)
Theorem peeled_plackett_luce q A o : uniq o -> {subset o <= A} ->
  peeled q A o =
  \prod_(l < size o) (mass q (tnth (in_tuple o) l) / total q (A :\: [set j in take l o])).
Proof.
elim: o A => [|i o IH] A /=; first by rewrite big_ord0.
case/andP=> io uo sub; rewrite big_ord_recl /= IH //; last first.
  by move=> j jo; rewrite !inE sub ?inE ?jo ?orbT // andbT; apply: contraNneq io => <-.
congr (_ * _).
  rewrite (tnth_nth i) /=; congr (_ / total _ _).
  by apply/setP => j; rewrite !inE.
apply: eq_bigr => l _; rewrite !(tnth_nth i) /=; congr (_ / total _ _).
by apply/setP => j; rewrite !inE negb_or andbA [_ && (j != i)]andbC.
Qed.
End Exponential.

Print Assumptions bounded_range.
Print Assumptions em_private.
Print Assumptions peeled_private.
Print Assumptions peeled_plackett_luce.
