(* The law of k exponential mechanisms, one after the other, as a program: whole numbers, for a
   rational factor w per step (base 2 and its kin).  `luce` is extracted, and compared with the laws of
   the shipped tiers. *)
From mathcomp Require Import all_ssreflect all_algebra.
Require Import Exponential.
Import Order.TTheory GRing.Theory Num.Theory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.

(* Scores q by place, who remains, and the list o of those chosen: numerator and denominator. *)
Fixpoint luce (w : nat) (q rest o : seq nat) : nat * nat :=
  if o is i :: o' then
    let (above, below) := luce w q (rem i rest) o' in
    (w ^ nth 0 q i * above, sumn [seq w ^ nth 0 q j | j <- rest] * below)
  else (1, 1).

Section Law.
Variables (R : realFieldType) (w n : nat) (q : 'I_n -> nat).
Hypothesis w_gt1 : 1 < w.
Local Open Scope ring_scope.

Let column := [seq q i | i <- enum 'I_n].
Let one (i : 'I_n) : R := 1.

Lemma rem_val (i : 'I_n) l : rem (val i) [seq val j | j <- l] = [seq val j | j <- rem i l].
Proof. by elim: l => //= j l IH; rewrite val_eqE; case: ifP => //= _; rewrite IH. Qed.

Lemma nth_column (i : 'I_n) : nth 0%N column i = q i.
Proof. by rewrite (nth_map i) ?size_enum_ord // nth_ord_enum. Qed.

Lemma luce_from (rest o : seq 'I_n) : uniq rest -> uniq o -> {subset o <= rest} ->
  let (above, below) := luce w column [seq val i | i <- rest] [seq val i | i <- o] in
  peeled (w%:R : R) one q [set i in rest] o = above%:R / below%:R.
Proof.
elim: o rest => [|i o IH] rest ur /=; first by move=> _ _; rewrite divr1.
case/andP=> io uo sub; rewrite rem_val.
have sub' : {subset o <= rem i rest}.
  move=> j jo; have jr : j \in rest by apply: sub; rewrite inE jo orbT.
  by rewrite mem_rem_uniq // !inE jr andbT; apply: contraNneq io => <-.
have := IH (rem i rest) (rem_uniq i ur) uo sub'.
case: (luce _ _ _ _) => a b e; rewrite (_ : [set j in rest] :\ i = [set j in rem i rest]); last first.
  by apply/setP => j; rewrite !inE mem_rem_uniq // inE.
rewrite e nth_column /em /mass /one mul1r mulf_div !natrM natrX; congr (_ / (_ * _)).
rewrite /total -map_comp sumnE big_map natr_sum.
rewrite (eq_bigl (mem rest)) => [|j]; last by rewrite inE.
by rewrite -big_uniq //; apply: eq_bigr => j _; rewrite /mass mul1r /= nth_column natrX.
Qed.

(* What is left out of the list is not asked for: the law of the first k. *)
Theorem luce_peeled (o : seq 'I_n) : uniq o ->
  let (above, below) := luce w column (iota 0 n) [seq val i | i <- o] in
  peeled (w%:R : R) one q setT o = above%:R / below%:R.
Proof.
move=> uo; have := luce_from (enum_uniq 'I_n) uo (fun i _ => mem_enum 'I_n i).
rewrite val_enum_ord (_ : [set i in enum 'I_n] = setT) //.
by apply/setP => i; rewrite !inE mem_enum.
Qed.
End Law.

Print Assumptions luce_peeled.
