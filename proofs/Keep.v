(* Partition selection for one key: the rule that keeps a key of n users with the chance p n, and the
   largest p that is (epsilon, delta)-DP (Desfontaines, Voss and Gipson 2022, Theorem 1).

   `keep_rows` is the program that makes the table: integers in units of 1 / one, rounded down.  E
   is growth / one. *)
From Coq Require Import ZArith Lia.
From mathcomp Require Import all_ssreflect all_algebra.
Import Order.TTheory GRing.Theory Num.Theory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.

(* ------------------------------------------------------------------ the program *)
Section Table.
Local Open Scope Z_scope.
Variables one growth delta : Z.

(* E p + D, and 1 - (1 - p - D) / E. *)
Definition risen (row : Z) : Z := growth * row / one + delta.
Definition fallen (row : Z) : Z :=
  if one - row - delta <=? 0 then one else one + - (one - row - delta) * one / growth.
Definition next_row (row : Z) : Z := Z.min (Z.min (risen row) (fallen row)) one.

Fixpoint rows_from (fuel : nat) (row : Z) : seq Z :=
  row :: if fuel is fuel'.+1 then
           if row <? one then rows_from fuel' (next_row row) else [::]
         else [::].
Definition keep_rows (fuel : nat) : seq Z := rows_from fuel 0.

Hypotheses (one_gt0 : 0 < one) (growth_ge : one <= growth) (delta_ge0 : 0 <= delta).

(* What makes the decision private, between rows. *)
Definition follows (row after : Z) : Prop :=
  after * one <= growth * row + delta * one /\
  (one - row) * one <= growth * (one - after) + delta * one.

Lemma fallen_le row x : x <= fallen row -> x <= one ->
  (one - row) * one <= growth * (one - x) + delta * one.
Proof.
rewrite /fallen; case: (Z.leb_spec (one - row - delta) 0) => l le lt; first by nia.
have := Z.mul_div_le (- (one - row - delta) * one) growth; nia.
Qed.

Theorem row_follows row : 0 <= row <= one -> follows row (next_row row).
Proof.
move=> r; split.
  have := Z.mul_div_le (growth * row) one; rewrite /next_row /risen; nia.
by apply: fallen_le; rewrite /next_row; lia.
Qed.

Theorem row_rises row : 0 <= row <= one ->
  row <= next_row row <= one /\ Z.min (row + delta) one <= next_row row.
Proof.
move=> r; suff : Z.min (row + delta) one <= next_row row by rewrite /next_row; lia.
have up : row <= growth * row / one by apply: Z.div_le_lower_bound; nia.
rewrite /next_row /risen /fallen; case: (Z.leb_spec (one - row - delta) 0) => l; first by lia.
have : - (one - row - delta) <= - (one - row - delta) * one / growth.
  by apply: Z.div_le_lower_bound; nia.
lia.
Qed.

(* So no table of integers that is private keeps a key more often, for any number of users. *)
Theorem rows_largest (p : nat -> Z) : p 0%nat = 0 -> (forall n, 0 <= p n <= one) ->
  (forall n, follows (p n) (p n.+1)) -> forall n, p n <= iter n next_row 0.
Proof.
move=> p0 p1 f; have range n : 0 <= iter n next_row 0 <= one.
  by elim: n => [|n IH] /=; [lia | have := row_rises IH; lia].
elim=> [|n IH] /=; first by rewrite p0; lia.
have [a b] := f n; have pn := p1 n; have pn' := p1 n.+1; set row := iter n next_row 0 in IH *.
have u : p n.+1 - delta <= growth * row / one by apply: Z.div_le_lower_bound; nia.
rewrite /next_row /risen /fallen; case: (Z.leb_spec (one - row - delta) 0) => l; first by lia.
have : p n.+1 - one <= - (one - row - delta) * one / growth.
  by apply: Z.div_le_lower_bound; nia.
lia.
Qed.

(* The table is those rows, as far as the first of them that is certain. *)
Theorem rows_are fuel i : (i < size (keep_rows fuel))%nat ->
  nth 0 (keep_rows fuel) i = iter i next_row 0.
Proof.
have shift j : forall fuel i, (i < size (rows_from fuel (iter j next_row Z0)))%nat ->
    nth 0 (rows_from fuel (iter j next_row 0)) i = iter (i + j)%nat next_row 0.
  move=> fuel'; elim: fuel' j => [|f IH] j [|i'] //=.
  by case: ifP => // _; rewrite -iterS => lt; rewrite IH // addnS.
by move=> lt; have := shift 0%nat fuel i lt; rewrite addn0.
Qed.

Theorem rows_end fuel : 0 < delta -> one <= Z.of_nat fuel * delta ->
  last 0 (keep_rows fuel) = one.
Proof.
move=> d0; rewrite /keep_rows.
have : forall row, 0 <= row <= one -> one <= row + Z.of_nat fuel * delta ->
    last 0 (rows_from fuel row) = one.
  elim: fuel => [|f IH] row r le; first by rewrite /=; lia.
  rewrite /=; case: (Z.ltb_spec row one) => lt; last by rewrite /=; lia.
  have := row_rises r; set after := next_row row => -[a b].
  have -> : last row (rows_from f after) = last 0 (rows_from f after) by case: (f).
  have [full|some] : after = one \/ after >= row + delta by lia.
    rewrite full; case: (f) => [|f'] //=; case: (Z.ltb_spec one one) => //; lia.
  by apply: IH; nia.
by move=> h le; apply: h; lia.
Qed.
End Table.

(* ------------------------------------------------------------------ the decision about one key *)
Section Decision.
Local Open Scope ring_scope.
Variables (R : realFieldType) (E D : R).
Hypotheses (E_ge1 : 1 <= E) (D_ge0 : 0 <= D).
Let E_gt0 : 0 < E := lt_le_trans ltr01 E_ge1.

(* A key that is kept with chance p, or not: the chance of each event. *)
Definition chance (p : R) (A : pred bool) : R := (A true)%:R * p + (A false)%:R * (1 - p).
Definition close (p p' : R) : Prop :=
  forall A, chance p' A <= E * chance p A + D /\ chance p A <= E * chance p' A + D.

(* One more user makes a key no less likely to be kept: two inequalities are all that is needed. *)
Theorem decision_private p p' : 0 <= p -> p <= p' -> p' <= 1 ->
  close p p' <-> p' <= E * p + D /\ 1 - p <= E * (1 - p') + D.
Proof.
move=> p0 le p1; split=> [c|[up down] A].
  have [a _] := c id; have [_ b] := c negb.
  by move: a b; rewrite /chance /= !mul1r !mul0r !addr0 !add0r.
have grow x y : 0 <= y -> x <= y -> x <= E * y + D.
  move=> y0 xy; apply: le_trans xy _; apply: le_trans (ler_pemull y0 E_ge1) _.
  by rewrite ler_addl.
have p'0 := le_trans p0 le; have q0 : 0 <= 1 - p by rewrite subr_ge0 (le_trans le).
have q'0 : 0 <= 1 - p' by rewrite subr_ge0.
rewrite /chance; case: (A true); case: (A false); rewrite ?mul1r ?mul0r ?addr0 ?add0r.
- have whole x : x + (1 - x) = 1 :> R by rewrite addrCA subrr addr0.
  by rewrite !whole; split; apply: grow; rewrite ?ler01.
- by split=> //; apply: grow.
- by split=> //; apply: grow => //; rewrite ler_add2l ler_opp2.
- by rewrite mulr0 add0r.
Qed.

(* The largest law. *)
Definition grown (p : R) : R := Num.min (Num.min (E * p + D) (1 - (1 - p - D) / E)) 1.
Definition largest n : R := iter n grown 0.

Lemma grown_mono p q : p <= q -> grown p <= grown q.
Proof.
move=> pq; rewrite /grown !le_minr !le_minl lexx orbT andbT.
rewrite ler_add2r ler_pmul2l // pq /= ler_add2l ler_opp2 ler_pmul2r ?invr_gt0 //.
by rewrite ler_add2r ler_add2l ler_opp2 pq /= !orbT.
Qed.

Theorem law_largest (p : nat -> R) : p 0%N = 0 -> (forall n, p n <= 1) ->
  (forall n, p n.+1 <= E * p n + D /\ 1 - p n <= E * (1 - p n.+1) + D) ->
  forall n, p n <= largest n.
Proof.
move=> p0 p1 f; elim=> [|n IH]; first by rewrite p0 lexx.
apply: le_trans (grown_mono IH); have [up down] := f n.
rewrite /grown !le_minr up p1 andbT /= ler_subr_addr -ler_subr_addl.
by rewrite ler_pdivr_mulr // mulrC ler_subl_addr.
Qed.

Theorem law_follows n : 0 <= largest n <= 1 ->
  largest n.+1 <= E * largest n + D /\ 1 - largest n <= E * (1 - largest n.+1) + D.
Proof.
move=> _; rewrite /largest iterS; set p := iter n grown 0; split.
  by rewrite /grown !le_minl lexx.
rewrite -ler_subl_addr mulrC -ler_pdivr_mulr // ler_subr_addr -ler_subr_addl.
by rewrite /grown !le_minl lexx /= orbT.
Qed.
End Decision.

Print Assumptions row_follows.
Print Assumptions row_rises.
Print Assumptions rows_largest.
Print Assumptions rows_are.
Print Assumptions rows_end.
Print Assumptions decision_private.
Print Assumptions law_largest.
Print Assumptions law_follows.
