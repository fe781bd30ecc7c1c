(* Report-noisy-max and one-shot top-k with geometric noise on a lattice of integers.

   Candidate i has the integer score q i and gets independent noise g i with
   P(g i = x) = (1 - rho) rho^x, x = 0, 1, 2, ...; candidates are ranked by q i + g i, equal
   ones by any ranking s that does not depend on the scores.  The outcome is the list o of the
   k first.  Noise has no upper end, so laws are given by their truncations: `law q s M T o` is
   the probability that the ranking begins with o and no noisy score exceeds T; it does not
   depend on M >= T, and what is left out is 1 - prod_i (1 - rho^(T + 1 - q i)) (`within_mass`). *)
From mathcomp Require Import all_ssreflect all_algebra.
Import Order.TTheory GRing.Theory Num.Theory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

(* What maps injectively into a larger event, and to larger masses, has a smaller sum. *)
Lemma sum_le_inj (R : numDomainType) (A B : finType) (f : A -> B) (P : pred A) (Q : pred B)
    (u : A -> R) (v : B -> R) :
  {in P &, injective f} -> (forall a, P a -> Q (f a)) -> (forall a, P a -> u a <= v (f a)) ->
  (forall b, 0 <= v b) -> \sum_(a | P a) u a <= \sum_(b | Q b) v b.
Proof.
move=> f_inj PQ uv v_ge0; apply: (@le_trans _ _ (\sum_(a | P a) v (f a))); first exact: ler_sum.
have -> : \sum_(a | P a) v (f a) = \sum_(b in f @: [set a | P a]) v b.
  rewrite big_imset /=; last by move=> a b; rewrite !inE; apply: f_inj.
  by apply: eq_bigl => a; rewrite inE.
rewrite [X in _ <= X](bigID (mem (f @: [set a | P a]))) /=.
apply: ler_paddr; first by apply: sumr_ge0.
rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: eq_bigl => b.
apply/idP/andP => [bP|[]//]; split=> //.
by case/imsetP: bP => a; rewrite inE => /PQ Qa ->.
Qed.

Section Order.
Variable n : nat.
Implicit Types (s y : 'I_n -> nat) (o : seq 'I_n).

(* i is ahead of j: a larger noisy score, or an equal one and the larger tie rank. *)
Definition ahead s y (i j : 'I_n) : bool := (y j < y i)%N || ((y j == y i) && (s j < s i)%N).

(* o is the head of the ranking. *)
Definition heads s y o : bool :=
  pairwise (ahead s y) o && [forall i, forall j, (i \in o) ==> (j \notin o) ==> ahead s y i j].

Lemma heads_rise s y y' o :
  (forall i, i \in o -> y' i = y i) -> (forall i, i \notin o -> (y' i <= y i)%N) ->
  heads s y o -> heads s y' o.
Proof.
move=> same less /andP[pw /forallP rest]; apply/andP; split.
  apply: (@sub_in_pairwise _ (mem o) _ _ _ o _ pw); last by apply/allP.
  by move=> i j io jo; rewrite /ahead !same.
apply/forallP => i; apply/forallP => j; apply/implyP => io; apply/implyP => jo.
have /forallP/(_ j) := rest i; rewrite io jo /= /ahead (same i io).
have le_j := less j jo; case/orP => [lt|/andP[/eqP eq lt]]; apply/orP.
  by left; apply: leq_ltn_trans le_j lt.
move: le_j; rewrite leq_eqVlt => /orP[/eqP e|l]; last by left; rewrite -eq.
by right; rewrite e eq eqxx.
Qed.

Lemma heads_translate s y o c : heads s (fun i => y i + c)%N o = heads s y o.
Proof.
have e i j : ahead s (fun i => y i + c)%N i j = ahead s y i j.
  by rewrite /ahead ltn_add2r eqn_add2r.
rewrite /heads; congr (_ && _); first by apply: eq_pairwise => i j; apply: e.
by apply: eq_forallb => i; apply: eq_forallb => j; rewrite e.
Qed.

Lemma eq_heads s y y' o : y =1 y' -> heads s y o = heads s y' o.
Proof.
move=> e; have a i j : ahead s y i j = ahead s y' i j by rewrite /ahead !e.
rewrite /heads; congr (_ && _); first by apply: eq_pairwise => i j; apply: a.
by apply: eq_forallb => i; apply: eq_forallb => j; rewrite a.
Qed.
End Order.

Section Noise.
Variables (R : realFieldType) (rho : R) (n : nat).
Hypotheses (rho_gt0 : 0 < rho) (rho_lt1 : rho < 1).

Definition scores := 'I_n -> nat.
Definition noise M := {ffun 'I_n -> 'I_M.+1}.
Definition noisy (q : scores) M (g : noise M) (i : 'I_n) : nat := (q i + g i)%N.
Definition within (q : scores) M T (g : noise M) : bool := [forall i, noisy q g i <= T]%N.
Definition weight M (g : noise M) : R := \prod_j ((1 - rho) * rho ^+ g j).
Definition law (q : scores) (s : 'I_n -> nat) M T (o : seq 'I_n) : R :=
  \sum_(g : noise M | within q T g && heads s (noisy q g) o) weight g.

Lemma weight_ge0 M (g : noise M) : 0 <= weight g.
Proof. by apply: prodr_ge0 => j _; rewrite mulr_ge0 ?subr_ge0 ?exprn_ge0 ?ltW. Qed.

Lemma law_ge0 q s M T o : 0 <= law q s M T o.
Proof. by apply: sumr_ge0 => g _; apply: weight_ge0. Qed.

Lemma geometric_sum N : \sum_(x < N) (1 - rho) * rho ^+ x = 1 - rho ^+ N.
Proof. by rewrite -big_distrr /= -[LHS]opprK -mulNr opprB -subrX1 opprB. Qed.

(* How much of the noise the truncation covers: this tends to 1 as T grows. *)
Theorem within_mass q M T : (T <= M)%N ->
  \sum_(g : noise M | within q T g) weight g = \prod_i (1 - rho ^+ (T.+1 - q i)).
Proof.
move=> TM; transitivity
  (\prod_(i : 'I_n) \sum_(x : 'I_M.+1 | (q i + x <= T)%N) (1 - rho) * rho ^+ x).
  by rewrite bigA_distr_big_dep; apply: eq_bigl => g; rewrite inE.
apply: eq_bigr => i _; rewrite -geometric_sum.
have [qT|Tq] := leqP (q i) T; last first.
  rewrite (eqP (_ : T.+1 - q i == 0)%N) ?subn_eq0 // big_ord0 big_pred0 // => x.
  by apply/negbTE; rewrite -ltnNge (leq_trans Tq) // leq_addr.
rewrite (big_ord_widen M.+1 (fun x : nat => (1 - rho) * rho ^+ x)).
  by apply: eq_bigl => x; rewrite ltn_subRL ltnS.
by rewrite (leq_trans (leq_subr _ _)).
Qed.

(* The box does not matter once it is large enough. *)
Definition widen M M' (g : noise M) : noise M' := [ffun i => inord (g i)].

Lemma law_box q s M M' T o : (T <= M)%N -> law q s M' T o <= law q s M T o.
Proof.
move=> TM; have E (g : noise M') : within q T g -> forall i, widen M g i = g i :> nat.
  move=> /forallP w i; rewrite ffunE inordK // ltnS (leq_trans _ TM) // (leq_trans _ (w i)) //.
  exact: leq_addl.
apply: (@sum_le_inj _ _ _ (@widen M' M)) => [g h /andP[wg _] /andP[wh _] e|g /andP[w h]|g /andP[w _]|].
- by apply/ffunP => i; apply: val_inj; rewrite /= -(E g) // -(E h) // e.
- have N i : noisy q (widen M g) i = noisy q g i by rewrite /noisy E.
  by rewrite (eq_heads _ _ N) h andbT; apply/forallP => i; rewrite N; apply: (forallP w).
- by rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: eq_bigr => i _; rewrite E.
- by move=> h; apply: weight_ge0.
Qed.

Lemma law_box_eq q s M M' T o : (T <= M)%N -> (T <= M')%N -> law q s M T o = law q s M' T o.
Proof. by move=> h h'; apply/eqP; rewrite eq_le !law_box. Qed.

Lemma law_mono q s M T T' o : (T <= T')%N -> law q s M T o <= law q s M T' o.
Proof.
move=> le; apply: (@sum_le_inj _ _ _ id) => // [g /andP[/forallP w ->]|g]; last exact: weight_ge0.
by rewrite andbT; apply/forallP => i; apply: leq_trans (w i) le.
Qed.

(* Only differences count. *)
Theorem law_translate q s M T o c : law (fun i => q i + c)%N s M (T + c) o = law q s M T o.
Proof.
apply: eq_bigl => g.
have N i : noisy (fun i => q i + c)%N g i = (noisy q g i + c)%N by rewrite /noisy addnAC.
rewrite (eq_heads _ _ N) heads_translate; congr (_ && _).
by apply: eq_forallb => i; rewrite N leq_add2r.
Qed.

Section Neighbours.
Variables (q q' : scores) (s : 'I_n -> nat) (o : seq 'I_n) (K M T : nat).
Hypothesis close : forall i, (q i <= q' i <= q i + K)%N.
Hypothesis uniq_o : uniq o.
Hypothesis box : (T <= M)%N.

Definition shift (i : 'I_n) : nat := if i \in o then (q' i - q i)%N else 0%N.

Lemma shift_le i : (shift i <= K)%N.
Proof. by rewrite /shift; case: ifP => // _; rewrite leq_subLR; case/andP: (close i). Qed.

Lemma total_shift : (\sum_i shift i <= size o * K)%N.
Proof.
rewrite /shift -big_mkcond /= -(card_uniqP uniq_o) -sum_nat_const.
by apply: leq_sum => i io; have := shift_le i; rewrite /shift io.
Qed.

Definition move (g : noise M) : noise M := [ffun i => inord (g i + shift i)].

Lemma shifted (g : noise M) i : within q' T g -> (q i + (g i + shift i) <= q' i + g i <= T)%N.
Proof.
move=> /forallP/(_ i) ->; rewrite andbT /shift; case/andP: (close i) => le _.
by case: ifP => _; rewrite ?addn0 ?leq_add2r // addnCA subnKC // addnC.
Qed.

Lemma moveE (g : noise M) i : within q' T g -> move g i = (g i + shift i)%N :> nat.
Proof.
move=> w; rewrite ffunE inordK // ltnS (leq_trans _ box) //.
by case/andP: (shifted i w) => a /(leq_trans a); apply: leq_trans; rewrite leq_addl.
Qed.

Theorem private_at : law q' s M T o <= rho^-1 ^+ (size o * K) * law q s M T o.
Proof.
rewrite /law mulr_sumr.
apply: (sum_le_inj (f := move)) => [g h /andP[wg _] /andP[wh _] e|g /andP[w h]|g /andP[w _]|g].
- apply/ffunP => i; apply: val_inj.
  by apply/eqP; rewrite /= -(eqn_add2r (shift i)) -!moveE // e.
- apply/andP; split.
    apply/forallP => i; rewrite /noisy moveE //.
    by case/andP: (shifted i w) => a b; apply: leq_trans a b.
  apply: heads_rise h => i io; rewrite /noisy moveE // /shift.
    by rewrite io addnCA subnKC 1?addnC //; case/andP: (close i).
  by rewrite (negbTE io) addn0 leq_add2r; case/andP: (close i).
- have -> : weight (move g) = rho ^+ (\sum_i shift i) * weight g.
    rewrite /weight -prodrXr -big_split /=; apply: eq_bigr => i _.
    by rewrite moveE // exprD mulrA [RHS]mulrC.
  rewrite mulrA ler_pemull ?weight_ge0 //.
  rewrite -(subnK total_shift) exprD -mulrA -exprMn mulVf ?gt_eqF // expr1n mulr1.
  by rewrite exprn_ege1 // invf_ge1 // ltW.
- by rewrite mulr_ge0 ?weight_ge0 // exprn_ge0 // invr_ge0 ltW.
Qed.
End Neighbours.

(* P(o) is the supremum of its truncations: B bounds P(o) if and only if it bounds all of them. *)
Definition at_most q s o B := forall T, law q s T T o <= B.

Section Calibrations.
Variables (q q' : scores) (s : 'I_n -> nat) (o : seq 'I_n).
Hypothesis uniq_o : uniq o.

(* Range calibration: all changes lie in an interval d - c .. d - c + K, wherever it lies. *)
Theorem private_range c d K B : (forall i, (q i + d <= q' i + c <= q i + d + K)%N) ->
  at_most q s o B -> at_most q' s o (rho^-1 ^+ (size o * K) * B).
Proof.
move=> close B_ T; rewrite -(law_translate q' s T T o c).
apply: le_trans (law_box _ _ _ _ (leqnn _)) _.
apply: le_trans (private_at s close uniq_o (leqnn _)) _.
rewrite ler_pmul2l ?exprn_gt0 ?invr_gt0 //.
by apply: le_trans (law_mono _ _ _ _ (leq_addr d _)) _; rewrite law_translate.
Qed.

(* `Change.range_in_steps`: D for scores that all move up, or all down, by at most D ... *)
Corollary private_up D B : (forall i, (q i <= q' i <= q i + D)%N) ->
  at_most q s o B -> at_most q' s o (rho^-1 ^+ (size o * D) * B).
Proof. by move=> close; apply: (@private_range 0 0) => i; rewrite !addn0. Qed.

Corollary private_down D B : (forall i, (q' i <= q i <= q' i + D)%N) ->
  at_most q s o B -> at_most q' s o (rho^-1 ^+ (size o * D) * B).
Proof.
move=> close; apply: (@private_range D 0) => i; rewrite addn0.
by case/andP: (close i) => le ->; rewrite leq_add2r.
Qed.

(* ... and 2 D for scores that move by at most D either way. *)
Corollary private_general D B : (forall i, (q i <= q' i + D)%N && (q' i <= q i + D)%N) ->
  at_most q s o B -> at_most q' s o (rho^-1 ^+ (size o * (2 * D)) * B).
Proof.
move=> close; apply: (@private_range D 0) => i; rewrite addn0; case/andP: (close i) => -> le.
by rewrite mul2n -addnn addnA leq_add2r.
Qed.
End Calibrations.
End Noise.

Print Assumptions within_mass.
Print Assumptions private_range.
Print Assumptions private_general.
