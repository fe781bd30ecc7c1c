(* How scores are read: the nearest step of a grid, halves up; and what that does to their changes
   (Theorem 6.2).  All numbers are whole multiples of a common unit, of which a step has h; true
   scores, which nobody hands over, may be any numbers of an ordered field. *)
From Coq Require Import ZArith Lia.
From mathcomp Require Import all_ssreflect all_algebra.
Require Import Ranking Decide Gaps.
Import Order.TTheory GRing.Theory Num.Theory.
Unset Strict Implicit. Unset Printing Implicit Defensive.

(* ------------------------------------------------------------------ the programs *)
Definition nearest (h x : Z) : Z := Z.div (Z.add (Z.mul 2 x) h) (Z.mul 2 h).
Definition up (h x : Z) : Z := Z.opp (Z.div (Z.opp x) h).

(* The range in steps that noise is calibrated to: of scores whose changes are at most d, one way or
   both ways, or differ by at most d, and of numbers that are off by at most e; on the grid. *)
Definition one_way (h e d : Z) : Z := Z.add (up h (Z.add d (Z.mul 2 e))) (up h (Z.mul 2 e)).
Definition both_ways (h e d : Z) : Z := Z.mul 2 (up h (Z.add d (Z.mul 2 e))).
Definition declared (h e d : Z) : Z := Z.add (up h (Z.add d (Z.mul 4 e))) 1.
Definition on_grid (h d : Z) : Z := Z.div d h.

Section Steps.
Local Open Scope Z_scope.
Variable h : Z.
Hypothesis h_gt0 : 0 < h.

Lemma up_ge x : x <= up h x * h.
Proof. rewrite /up; have := Z.mul_div_le (- x) h h_gt0; nia. Qed.

Lemma up_lt x : up h x * h < x + h.
Proof. rewrite /up; have := Z.mul_succ_div_gt (- x) h h_gt0; nia. Qed.

Lemma nearest_low x : nearest h x * (2 * h) <= 2 * x + h.
Proof. rewrite /nearest Z.mul_comm; apply: Z.mul_div_le; lia. Qed.

Lemma nearest_high x : 2 * x + h < (nearest h x + 1) * (2 * h).
Proof.
have p : 0 < 2 * h by lia.
rewrite /nearest; have := Z.mul_succ_div_gt (2 * x + h) (2 * h) p; lia.
Qed.

(* Lemma 6.1 *)
Theorem nearest_up x x' c : x' - x <= c -> nearest h x' - nearest h x <= up h c.
Proof.
move=> le; have a := nearest_low x'; have b := nearest_high x; have u := up_ge c.
suff : nearest h x' < nearest h x + up h c + 1 by lia.
nia.
Qed.

Theorem nearest_apart x x' y y' c : (x' - x) - (y' - y) <= c ->
  (nearest h x' - nearest h x) - (nearest h y' - nearest h y) <= up h c + 1.
Proof.
move=> le; have a := nearest_low x'; have b := nearest_high x; have u := up_ge c.
have a' := nearest_low y; have b' := nearest_high y'.
suff : nearest h x' - nearest h x - (nearest h y' - nearest h y) < up h c + 2 by lia.
nia.
Qed.

(* On the grid: less than half a step away there is one multiple. *)
Theorem nearest_exact m x : - h < 2 * (x - m * h) < h -> nearest h x = m.
Proof. move=> b; have a1 := nearest_low x; have a2 := nearest_high x; nia. Qed.

Theorem grid_move m m' d : m' * h - m * h <= d -> m' - m <= on_grid h d.
Proof.
rewrite /on_grid => le; have := Z.mul_succ_div_gt d h h_gt0.
suff : m' - m < d / h + 1 \/ d / h + 1 <= m' - m by case; nia.
lia.
Qed.
End Steps.

(* True scores t, and the numbers x that stand for them, off by at most e. *)
Section True.
Local Open Scope ring_scope.
Variables (R : realFieldType) (h e d : Z).
Hypothesis h_gt0 : Z.lt 0 h.
Implicit Types (t : R) (x : Z).

Definition near t x : bool := `|num R x - t| <= num R e.

Lemma num_inv x y : num R x <= num R y -> Z.le x y.
Proof.
move=> le; case: (Z_lt_le_dec y x) => // lt; move: le.
have s : Z.le (Z.add y 1) x by lia.
by have := num_le R s; rewrite num_add => a b; have := le_trans a b; rewrite ger_addl ler10.
Qed.

Lemma near_moves t t' x x' : near t x -> near t' x' ->
  num R (Z.sub x' x) <= t' - t + num R (Z.mul 2 e).
Proof.
rewrite /near !ler_norml num_sub num_mul => /andP[a _] /andP[_ b].
rewrite (_ : num R 2 = 1 + 1) // mulrDl mul1r.
have -> : num R x' - num R x = t' - t + ((num R x' - t') - (num R x - t)).
  by rewrite opprB addrACA [t' + _]addrC subrK addKr.
by rewrite ler_add2l ler_add // ler_oppl.
Qed.

Lemma near_moves_le t t' x x' c : near t x -> near t' x' -> t' - t <= num R c ->
  Z.le (Z.sub x' x) (Z.add c (Z.mul 2 e)).
Proof.
move=> n n' le; apply: num_inv; rewrite num_add.
by apply: le_trans (near_moves _ _ _ _ n n') _; rewrite ler_add2r.
Qed.

(* Theorem 6.2 (a): a true score that changes by at most d, either way. *)
Theorem reading_both t t' x x' : near t x -> near t' x' -> `|t' - t| <= num R d ->
  Z.le (Z.abs (Z.sub (nearest h x') (nearest h x))) (up h (Z.add d (Z.mul 2 e))).
Proof.
move=> n n'; rewrite ler_norml => /andP[lo hi].
have a := nearest_up h h_gt0 _ _ _ (near_moves_le _ _ _ _ _ n n' hi).
have lo' : t - t' <= num R d by rewrite -opprB ler_oppl.
by have b := nearest_up h h_gt0 _ _ _ (near_moves_le _ _ _ _ _ n' n lo'); lia.
Qed.

(* (b): one that rises by at most d, or stays. *)
Theorem reading_one t t' x x' : near t x -> near t' x' -> 0 <= t' - t <= num R d ->
  Z.le (Z.opp (up h (Z.mul 2 e))) (Z.sub (nearest h x') (nearest h x)) /\
  Z.le (Z.sub (nearest h x') (nearest h x)) (up h (Z.add d (Z.mul 2 e))).
Proof.
move=> n n' /andP[lo hi].
have a := nearest_up h h_gt0 _ _ _ (near_moves_le _ _ _ _ _ n n' hi).
have b : t - t' <= num R 0 by rewrite subr_le0 -subr_ge0.
have := nearest_up h h_gt0 _ _ _ (near_moves_le _ _ _ _ _ n' n b).
by rewrite Z.add_0_l; lia.
Qed.

(* (c): two whose changes differ by at most d. *)
Theorem reading_declared t t' x x' u u' y y' : near t x -> near t' x' -> near u y -> near u' y' ->
  (t' - t) - (u' - u) <= num R d ->
  Z.le (Z.sub (Z.sub (nearest h x') (nearest h x)) (Z.sub (nearest h y') (nearest h y)))
    (declared h e d).
Proof.
move=> n n' m m' le; apply: nearest_apart => //.
rewrite (_ : Z.sub _ _ = Z.add (Z.sub x' x) (Z.sub y y')); last by lia.
apply: num_inv; rewrite (_ : Z.mul 4 e = Z.add (Z.mul 2 e) (Z.mul 2 e)); last by lia.
rewrite num_add (num_add R d) (num_add R (Z.mul 2 e)).
apply: le_trans (ler_add (near_moves _ _ _ _ n n') (near_moves _ _ _ _ m' m)) _.
by rewrite addrACA ler_add2r -(opprB u' u).
Qed.

(* So far two scores can move apart. *)
Corollary both_apart t t' x x' u u' y y' : near t x -> near t' x' -> near u y -> near u' y' ->
  `|t' - t| <= num R d -> `|u' - u| <= num R d ->
  Z.le (Z.sub (Z.sub (nearest h x') (nearest h x)) (Z.sub (nearest h y') (nearest h y)))
    (both_ways h e d).
Proof.
move=> n n' m m' a b; have := reading_both _ _ _ _ n n' a; have := reading_both _ _ _ _ m m' b.
by rewrite /both_ways; lia.
Qed.

Corollary one_apart t t' x x' u u' y y' : near t x -> near t' x' -> near u y -> near u' y' ->
  0 <= t' - t <= num R d -> 0 <= u' - u <= num R d ->
  Z.le (Z.abs (Z.sub (Z.sub (nearest h x') (nearest h x)) (Z.sub (nearest h y') (nearest h y))))
    (one_way h e d).
Proof.
move=> n n' m m' a b; have := reading_one _ _ _ _ n n' a; have := reading_one _ _ _ _ m m' b.
by rewrite /one_way; lia.
Qed.
End True.

(* So noise calibrated to these ranges keeps the promise of Ranking.v, whose scores are the steps
   less a common offset: what counts is how far two steps move apart. *)
Section Calibrated.
Local Open Scope ring_scope.
Variables (R : realFieldType) (rho : R) (n : nat).
Hypotheses (rho_gt0 : 0 < rho) (rho_lt1 : rho < 1).
Variables (q q' : scores n) (r r' : 'I_n -> Z) (off off' : Z) (K : nat).
Hypotheses (is_q : forall i, Z.of_nat (q i) = Z.add (r i) off).
Hypotheses (is_q' : forall i, Z.of_nat (q' i) = Z.add (r' i) off').
Hypothesis apart : forall i j,
  Z.le (Z.sub (Z.sub (r' i) (r i)) (Z.sub (r' j) (r j))) (Z.of_nat K).

Lemma interval : exists c d, forall i, (q i + d <= q' i + c <= q i + d + K)%N.
Proof.
case: (posnP n) => [n0|n_gt0]; first by exists 0%N, 0%N => i; have := ltn_ord i; rewrite {2}n0.
pose i0 := Ordinal n_gt0; pose N := (\sum_i q i)%N.
have le i : (q i <= N)%N by rewrite /N (bigD1 i) //= leq_addr.
case: (@arg_minnP _ i0 xpredT (fun i => (q' i + N - q i)%N) isT) => a _ least.
exists N, (q' a + N - q a)%N => i; have m := least i isT; have la := le a; have li := le i.
have ap := apart i a; have e1 := is_q i; have e2 := is_q a; have e3 := is_q' i; have e4 := is_q' a.
clear least; move: m la li; set qi := q i in e1 *; set qa := q a in e2 *.
set qi' := q' i in e3 *; set qa' := q' a in e4 *.
move=> /ssrnat.leP m /ssrnat.leP la /ssrnat.leP li.
by apply/andP; split; apply/ssrnat.leP; move: m la li;
   cbv beta iota delta [addn addn_rec subn subn_rec]; lia.
Qed.

Theorem reading_private (s : 'I_n -> nat) (o : seq 'I_n) B : uniq o ->
  at_most rho q s o B -> at_most rho q' s o (rho^-1 ^+ (size o * K) * B).
Proof. by move=> uo; have [c [d close]] := interval; apply: (private_range rho_gt0 rho_lt1 uo close). Qed.

Theorem reading_gaps_private (s : 'I_n -> nat) (z : 'I_n) (o' : seq 'I_n) unit gs B :
  injective s -> uniq (z :: o') -> (size (z :: o') < n)%N ->
  (forall T, chance rho s z o' unit gs q T T <= B) ->
  forall T, chance rho s z o' unit gs q' T T <= rho^-1 ^+ (size (z :: o') * K) * B.
Proof.
move=> s_inj uo rest; have [c [d close]] := interval.
exact: (gaps_private rho_gt0 rho_lt1 s_inj uo rest close).
Qed.
End Calibrated.

Print Assumptions nearest_exact.
Print Assumptions grid_move.
Print Assumptions reading_both.
Print Assumptions reading_one.
Print Assumptions reading_declared.
Print Assumptions both_apart.
Print Assumptions one_apart.
Print Assumptions reading_private.
Print Assumptions reading_gaps_private.
