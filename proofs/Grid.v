(* Rounding down to a grid, and cutting shortfalls: what they do to changes of scores.

   All numbers are whole multiples of a common unit, of which a grid step has h: so every rational
   score and grid is covered.  x / h is division rounded down. *)
From Coq Require Import ZArith Lia.
Local Open Scope Z_scope.

Section Rounding.
Variable h : Z.
Hypothesis h_gt0 : 0 < h.

Lemma shift_step x c : (x + c * h) / h = x / h + c.
Proof. apply Z.div_add; lia. Qed.

(* A change by at most c steps upwards stays one: D <= c h, so c = D / h rounded up. *)
Theorem rounded_up_to x x' c : x' <= x + c * h -> x' / h <= x / h + c.
Proof. intros le; rewrite <- shift_step; apply Z.div_le_mono; lia. Qed.

(* Monotonic changes stay monotonic. *)
Theorem rounded_monotone x x' : x <= x' -> x / h <= x' / h.
Proof. intros le; apply Z.div_le_mono; lia. Qed.

(* Changes in an interval of length r <= c h stay in one of length c + 1, the same for all. *)
Theorem rounded_range x x' l r c : r <= c * h -> l <= x' - x <= l + r ->
  l / h <= x' / h - x / h <= l / h + (c + 1).
Proof.
  intros rc [a b]; pose proof (Z.div_mod l h) as e; pose proof (Z.mod_pos_bound l h h_gt0) as m.
  split.
  - enough (x / h + l / h <= x' / h) by lia.
    rewrite <- shift_step; apply Z.div_le_mono; lia.
  - enough (x' / h <= x / h + (l / h + (c + 1))) by lia.
    rewrite <- shift_step; apply Z.div_le_mono; [lia|].
    replace ((l / h + (c + 1)) * h) with (h * (l / h) + c * h + h) by ring; lia.
Qed.

End Rounding.

(* One step more than c is needed: changes of 4 and 1 differ by one step of 3, rounded by two. *)
Example one_more_is_needed : (2 + 4) / 3 - 2 / 3 = 2 /\ (0 + 1) / 3 - 0 / 3 = 0.
Proof. split; reflexivity. Qed.

(* Cutting the shortfalls at a public c keeps every bound on the range (Theorem 4). *)
Theorem cut_range (I : Type) (q q' : I -> Z) (l r c top top' : Z) (best best' : I) :
  (forall i, l <= q' i - q i <= l + r) ->
  (forall i, q i <= top) -> q best = top -> (forall i, q' i <= top') -> q' best' = top' ->
  exists lo, lo <= 0 <= lo + r /\ forall i,
    lo <= Z.min (top' - q' i) c - Z.min (top - q i) c <= lo + r.
Proof.
  intros ch t e t' e'; exists (top' - top - l - r); split.
  - pose proof (ch best); pose proof (ch best'); pose proof (t best'); pose proof (t' best); lia.
  - intros i; pose proof (ch i); pose proof (ch best); pose proof (ch best').
    pose proof (t best'); pose proof (t' best); lia.
Qed.

(* Cutting the scores themselves does not: (10, 9) -> (15, 14) has range 0, cut at 10 range 1. *)
Example cutting_scores_is_not_safe :
  let cut x := Z.min x 10 in 15 - 10 = 14 - 9 /\ cut 15 - cut 10 <> cut 14 - cut 9.
Proof. cbv; split; [reflexivity | discriminate]. Qed.

Print Assumptions rounded_up_to.
Print Assumptions rounded_monotone.
Print Assumptions rounded_range.
Print Assumptions cut_range.
Print Assumptions cutting_scores_is_not_safe.
