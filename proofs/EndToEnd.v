(* From the numbers that are handed over to what is released, with one premise on epsilon.

   Two neighbours hand over numbers x and x'; true scores t and t', which nobody sees, have the
   declared sensitivity or range.  Numbers are read to the nearest step of a grid, shortfalls are cut
   at a public C, noise is drawn, and labels and floors of gaps are released.  The noise rate is the
   one that the program `one_shot` (or `sparse_vector`) of Calibrate.v works out from epsilon.  Then
   the chances of every event differ by the factor e^epsilon at most.

   e is any number x of at least 1: `power x p y` says y = x^p, for a positive rational p. *)
From Coq Require Import ZArith Lia.
From mathcomp Require Import all_ssreflect all_fingroup all_algebra.
Require Import Ranking PermuteAndFlip Combine Gaps Decide Grid Reading SparseVector Session Calibrate.
Import Order.TTheory GRing.Theory Num.Theory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.

Local Arguments Z.mul : simpl never.
Local Arguments combine : simpl never.
Local Arguments verdict : simpl never.
Ltac whole := repeat apply: Z.mul_nonneg_nonneg; lia.

(* ------------------------------------------------------------------ the rates of the noise *)
Section Rates.
Local Open Scope ring_scope.
Variable R : realFieldType.
Implicit Types (x y : R) (p : ratio).

Definition power x p y : Prop := 0 < y /\ y ^+ Z.to_nat p.2 = x ^+ Z.to_nat p.1.

Lemma ge1_of_power x p y : 1 <= x -> Z.lt 0 p.2 -> power x p y -> 1 <= y.
Proof.
move=> x1 p0 [y0 e]; have n0 : (0 < Z.to_nat p.2)%N by apply/ssrnat.ltP; lia.
by rewrite -(expr_ge1 n0 (ltW y0)) e exprn_ege1.
Qed.

Variables (x E rho : R) (total : ratio).
Hypotheses (x_ge1 : 1 <= x) (E_is : power x total E).
Hypotheses (total1 : Z.lt 0 total.1) (total2 : Z.lt 0 total.2).

(* The k best, noise drawn once and k times as wide: k ranges of whole K steps cost epsilon at most,
   where noise is calibrated to K or more. *)
Lemma one_shot_power (k K : nat) (range : ratio) : (0 < k)%N ->
  Z.lt 0 range.2 -> Z.lt 0 range.1 -> Z.le (Z.mul (Z.of_nat K) range.2) range.1 ->
  power x (one_shot true 1 (Z.of_nat k) total range).2 rho^-1 ->
  rho^-1 ^+ (k * K) <= E.
Proof.
move=> k0 b0 a0 le; rewrite /one_shot /= /rate /each /= => r_is.
have kz : Z.lt 0 (Z.of_nat k) by move/ssrnat.ltP: k0; lia.
have r1 : 1 <= rho^-1.
  by apply: ge1_of_power r_is => //=; rewrite Z.mul_1_r; nia.
case: r_is => _ e; case: E_is => E0 eE.
pose N := (Z.to_nat total.2 * Z.to_nat range.2)%N.
have N0 : (0 < N)%N by rewrite muln_gt0; apply/andP; split; apply/ssrnat.ltP; lia.
have eN : E ^+ N = x ^+ Z.to_nat (Z.mul total.1 range.2).
  by rewrite /N exprM eE -exprM Z2Nat.inj_mul //; lia.
have r0 := le_trans ler01 r1; have Ege := ltW E0.
rewrite -(ler_pexpn2r N0) ?nnegrE ?exprn_ge0 // eN -e -exprM /=.
rewrite ler_weexpn2l // /N; apply/ssrnat.leP; rewrite -!multE; apply: (proj2 (Nat2Z.inj_le _ _)).
by rewrite !Nat2Z.inj_mul !Z2Nat.id; nia.
Qed.

(* A session: the threshold's noise moves by a rise, that of k answers by the spread. *)
Lemma sparse_vector_power (rho1 : R) (monotonic : bool) (k : nat) share h e d :
  Z.lt 0 share.1 -> Z.lt share.1 share.2 -> (0 < k)%N ->
  Z.lt 0 (rise h e d) -> Z.lt 0 (spread monotonic h e d) ->
  power x (sparse_vector monotonic (Z.of_nat k) total share h e d).1.1 rho^-1 ->
  power x (sparse_vector monotonic (Z.of_nat k) total share h e d).2 rho1^-1 ->
  rho^-1 ^+ Z.to_nat (rise h e d) * rho1^-1 ^+ (k * Z.to_nat (spread monotonic h e d)) = E.
Proof.
move=> s0 s1 k0; set a := rise _ _ _; set c := spread _ _ _ _ => a0 c0.
rewrite /sparse_vector /= /rate /each /= -/a -/c => -[r0 e0] [r1 e1]; case: E_is => E0 eE.
have kz : Z.lt 0 (Z.of_nat k) by move/ssrnat.ltP: k0; lia.
pose N := (Z.to_nat total.2 * Z.to_nat share.2)%N.
have N0 : (0 < N)%N by rewrite muln_gt0; apply/andP; split; apply/ssrnat.ltP; lia.
apply/eqP; rewrite -(eqr_expn2 N0) ?mulr_ge0 ?exprn_ge0 ?ltW // exprMn -!exprM.
have -> : E ^+ N = x ^+ Z.to_nat (Z.mul total.1 share.2).
  by rewrite /N exprM eE -exprM Z2Nat.inj_mul //; lia.
have -> : (Z.to_nat a * N)%N = Z.to_nat (Z.mul (Z.mul total.2 share.2) a).
  by rewrite Z2Nat.inj_mul; [rewrite Z2Nat.inj_mul; [rewrite mulnC | lia..] | whole | lia].
have -> : (k * Z.to_nat c * N)%N = Z.to_nat (Z.mul (Z.mul (Z.mul total.2 share.2) (Z.of_nat k)) c).
  rewrite Z2Nat.inj_mul; [|whole|lia]; rewrite Z2Nat.inj_mul; [|whole|lia].
  by rewrite Z2Nat.inj_mul; [|lia..]; rewrite Nat2Z.id !multE -/N mulnC mulnA.
rewrite /= in e0 e1; rewrite e0 e1 -exprD; apply/eqP; congr (_ ^+ _).
by rewrite -[Z.one]/(Zpos xH) -plusE -Z2Nat.inj_add; [congr Z.to_nat; lia | whole | whole].
Qed.
End Rates.

(* ------------------------------------------------------- from numbers to scores on the lattice *)
Section Read.
Local Open Scope ring_scope.
Variables (R : realFieldType) (I : Type) (h : Z).
Hypothesis h_gt0 : Z.lt 0 h.
Implicit Types (x r : I -> Z) (t : I -> R) (e : option Z).

(* What is declared: each true score moves by d at most, either way; all of them the same way; or
   any two move apart by d at most. *)
Inductive change : Set := Either | OneWay | Apart.
Definition neighbours (c : change) (d : Z) t t' : Prop :=
  match c with
  | Either => forall i, `|t' i - t i| <= num R d
  | OneWay => (forall i, 0 <= t' i - t i <= num R d) \/ (forall i, 0 <= t i - t' i <= num R d)
  | Apart => forall i j, (t' i - t i) - (t' j - t j) <= num R d
  end.

(* What is handed over: a number within an error e of the true score; or, without one, less than half
   a step from it, the true score being a multiple of the step. *)
Definition stands_for e (t : R) (x : Z) : Prop :=
  if e is Some e then near R e t x
  else exists m, t = num R (Z.mul m h) /\
    Z.lt (Z.opp h) (Z.mul 2 (Z.sub x (Z.mul m h))) /\ Z.lt (Z.mul 2 (Z.sub x (Z.mul m h))) h.

(* The range in steps: `Sensitivity.range_in_steps`. *)
Definition range (c : change) e (d : Z) : Z :=
  match e, c with
  | Some e, Either => both_ways h e d
  | Some e, OneWay => one_way h e d
  | Some e, Apart => declared h e d
  | None, Either => Z.mul 2 (on_grid h d)
  | None, _ => on_grid h d
  end.

Definition steps x i : Z := nearest h (x i).

Lemma num_le_inv a b : num R a <= num R b -> Z.le a b. Proof. exact: num_inv. Qed.

Theorem steps_apart c e d x x' t t' : neighbours c d t t' ->
  (forall i, stands_for e (t i) (x i)) -> (forall i, stands_for e (t' i) (x' i)) ->
  forall i j, Z.le (Z.sub (Z.sub (steps x' i) (steps x i)) (Z.sub (steps x' j) (steps x j)))
    (range c e d).
Proof.
move=> nb s s' i j; case: e s s' => [e|] s s' /=.
  have n1 := s i; have n2 := s' i; have n3 := s j; have n4 := s' j.
  case: c nb => [nb|[nb|nb]|nb].
  - exact: (both_apart _ _ _ _ h_gt0 _ _ _ _ _ _ _ _ n1 n2 n3 n4 (nb i) (nb j)).
  - have := one_apart _ _ _ _ h_gt0 _ _ _ _ _ _ _ _ n1 n2 n3 n4 (nb i) (nb j).
    by rewrite /steps; lia.
  - have := one_apart _ _ _ _ h_gt0 _ _ _ _ _ _ _ _ n2 n1 n4 n3 (nb i) (nb j).
    by rewrite /steps; lia.
  - exact: (reading_declared _ _ _ _ h_gt0 _ _ _ _ _ _ _ _ n1 n2 n3 n4 (nb i j)).
have [m [em bm]] := s i; have [m' [em' bm']] := s' i.
have [l [el bl]] := s j; have [l' [el' bl']] := s' j.
rewrite /steps (nearest_exact h h_gt0 m _ bm) (nearest_exact h h_gt0 m' _ bm').
rewrite (nearest_exact h h_gt0 l _ bl) (nearest_exact h h_gt0 l' _ bl').
have up a a' : num R (Z.mul a' h) - num R (Z.mul a h) <= num R d ->
    Z.le (Z.sub a' a) (on_grid h d).
  by rewrite -num_sub => /num_le_inv; apply: grid_move.
have stay a a' : 0 <= num R (Z.mul a' h) - num R (Z.mul a h) -> Z.le a a'.
  rewrite -num_sub -[0]/(num R Z0) => /num_le_inv le.
  by apply: (Z.mul_le_mono_pos_r _ _ h h_gt0).2; lia.
case: c nb => [nb|[nb|nb]|nb].
- have := nb i; have := nb j; rewrite em em' el el' !ler_norml.
  case/andP=> a b /andP[a' b']; have u1 := up _ _ b'.
  by have u2 : Z.le (Z.sub l l') (on_grid h d); [apply: up; rewrite -opprB ler_oppl | lia].
- have := nb i; have := nb j; rewrite em em' el el' => /andP[a b] /andP[a' b'].
  by have u1 := up _ _ b'; have u2 := stay _ _ a; lia.
- have := nb i; have := nb j; rewrite em em' el el' => /andP[a b] /andP[a' b'].
  by have u1 := up _ _ b; have u2 := stay _ _ a'; lia.
have := nb i j; rewrite em em' el el' -!num_sub => /num_le_inv le.
by apply: (grid_move h h_gt0); lia.
Qed.

End Read.

Section Lift.
Local Open Scope ring_scope.
Variable n : nat.
Implicit Types (r : 'I_n -> Z).

(* Shortfalls from the best, cut at C: the words of 64 binary digits that engines rank, C = 2^64 - 1.
   Where no score lies farther behind, nothing is cut. *)
Definition best (l : seq Z) : Z := foldr Z.max (head Z0 l) l.
Definition all_of r : seq Z := [seq r i | i <- enum 'I_n].
Definition lifted (C : Z) r : scores n :=
  fun i => Z.to_nat (Z.sub C (Z.min (Z.sub (best (all_of r)) (r i)) C)).

Lemma best_in z l : List.In (best (z :: l)) (z :: l) /\
  forall a, List.In a (z :: l) -> Z.le a (best (z :: l)).
Proof.
rewrite /best; set b := head _ _.
have ge l' a : List.In a l' -> Z.le a (foldr Z.max b l').
  by elim: l' => //= u l' IH [->|/IH]; lia.
have at_ l' : List.In (foldr Z.max b l') (b :: l').
  elim: l' => [|u l' IH] /=; first by left.
  case: (Z.max_spec u (foldr Z.max b l')) => -[_ ->]; last by right; left.
  by case: IH => [e|]; [left | right; right].
split; last exact: ge.
by case: (at_ (z :: l)) => [e|] //; left; rewrite -e.
Qed.

Lemma best_of r (i0 : 'I_n) : (exists b, best (all_of r) = r b) /\
  forall i, Z.le (r i) (best (all_of r)).
Proof.
have mem i : List.In (r i) (all_of r).
  rewrite /all_of; have : i \in enum 'I_n by rewrite mem_enum.
  by elim: (enum _) => //= j l IH; rewrite inE => /orP[/eqP->|/IH]; [left | right].
have of_ a : List.In a (all_of r) -> exists b, a = r b.
  by rewrite /all_of; elim: (enum _) => //= j l IH [<-|/IH //]; exists j.
have := mem i0; case e: (all_of r) => [//|z l] _; have [b_in b_ge] := best_in z l.
by split; [apply: of_; rewrite e | move=> i; apply: b_ge; rewrite -e].
Qed.

Lemma lifted_apart C r r' K : Z.le 0 C ->
  (forall i j, Z.le (Z.sub (Z.sub (r' i) (r i)) (Z.sub (r' j) (r j))) K) ->
  forall i j, Z.le (Z.sub (Z.sub (Z.of_nat (lifted C r' i)) (Z.of_nat (lifted C r i)))
    (Z.sub (Z.of_nat (lifted C r' j)) (Z.of_nat (lifted C r j)))) K.
Proof.
move=> C0 apart i j; have [[b eb] ge] := best_of r i; have [[b' eb'] ge'] := best_of r' i.
pose at_ (w : bool * bool) := if w.1 then (if w.2 then i else j) else (if w.2 then b else b').
pose low (f : 'I_n -> Z) := Z.min (Z.min (f i) (f j)) (Z.min (f b) (f b')).
have ch w : Z.le (low (fun a => Z.sub (r' a) (r a))) (Z.sub (r' (at_ w)) (r (at_ w))) /\
    Z.le (Z.sub (r' (at_ w)) (r (at_ w))) (Z.add (low (fun a => Z.sub (r' a) (r a))) K).
  rewrite /low; have p1 := apart i j; have p2 := apart i b; have p3 := apart i b'.
  have p4 := apart j i; have p5 := apart j b; have p6 := apart j b'.
  have p7 := apart b i; have p8 := apart b j; have p9 := apart b b'.
  have q1 := apart b' i; have q2 := apart b' j; have q3 := apart b' b; have q4 := apart i i.
  by rewrite /at_; case: w => -[] [] /=; lia.
have [lo [lo0 c]] := cut_range (bool * bool) (fun w => r (at_ w)) (fun w => r' (at_ w))
  _ _ C (best (all_of r)) (best (all_of r')) (false, true) (false, false) ch
  (fun w => ge (at_ w)) (esym eb) (fun w => ge' (at_ w)) (esym eb').
have ci := c (true, true); have cj := c (true, false); move: ci cj; rewrite /at_ /= /lifted.
by rewrite !Z2Nat.id; lia.
Qed.

(* Steps in which more is better: with `least` the smallest number is the best. *)
Definition scored (least : bool) h (x : 'I_n -> Z) i : Z := if least then Z.opp (steps h x i) else steps h x i.

Corollary read_apart (R : realFieldType) least h c e d C (x x' : 'I_n -> Z) (t t' : 'I_n -> R) :
  Z.lt 0 h -> Z.le 0 C -> neighbours c d t t' ->
  (forall i, stands_for h e (t i) (x i)) -> (forall i, stands_for h e (t' i) (x' i)) ->
  forall i j, Z.le (Z.sub
    (Z.sub (Z.of_nat (lifted C (scored least h x') i)) (Z.of_nat (lifted C (scored least h x) i)))
    (Z.sub (Z.of_nat (lifted C (scored least h x') j)) (Z.of_nat (lifted C (scored least h x) j))))
    (Z.of_nat (Z.to_nat (range h c e d))).
Proof.
move=> h0 C0 nb s s' i j; have ap := steps_apart h0 nb s s'.
have r0 : Z.le 0 (range h c e d) by have := ap i i; lia.
rewrite Z2Nat.id //; apply: lifted_apart C0 _ i j => a b.
by have := ap a b; have := ap b a; rewrite /scored; case: (least); lia.
Qed.
End Lift.

(* ------------------------------------------------------------------ events of what is released *)
Section Events.
Local Open Scope ring_scope.
Variables (R : realFieldType) (rho : R) (n : nat).
Hypotheses (rho_gt0 : 0 < rho) (rho_lt1 : rho < 1).
Implicit Types (p q : scores n) (y : 'I_n -> nat) (s : 'S_n).

(* A property of noisy scores that depends on their differences only. *)
Section Mass.
Variable F : ('I_n -> nat) -> bool.
Hypothesis F_ext : forall y y', y =1 y' -> F y = F y'.
Hypothesis F_translate : forall y c, F (fun i => y i + c)%N = F y.

Definition mass p M T : R := \sum_(g : noise n M | within p T g && F (noisy p g)) weight rho g.

Lemma mass_translate p M T c : mass (fun i => p i + c)%N M (T + c) = mass p M T.
Proof.
apply: eq_bigl => g.
have N i : noisy (fun i => p i + c)%N g i = (noisy p g i + c)%N by rewrite /noisy addnAC.
rewrite (F_ext N) F_translate; congr (_ && _).
by apply: eq_forallb => i; rewrite N leq_add2r.
Qed.

Lemma mass_box p M M' T : (T <= M)%N -> mass p M' T <= mass p M T.
Proof.
move=> TM; have W (g : noise n M') : within p T g -> forall i, widen M g i = g i :> nat.
  move=> /forallP w i; rewrite ffunE inordK // ltnS (leq_trans _ TM) // (leq_trans _ (w i)) //.
  exact: leq_addl.
apply: (@sum_le_inj _ _ _ (@widen n M' M)) => [g h /andP[wg _] /andP[wh _] e|g /andP[w h]|g /andP[w _]|].
- by apply/ffunP => i; apply: val_inj; rewrite /= -(W g) // -(W h) // e.
- have N i : noisy p (widen M g) i = noisy p g i by rewrite /noisy W.
  by rewrite (F_ext N) h andbT; apply/forallP => i; rewrite N; apply: (forallP w).
- by rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: eq_bigr => i _; rewrite W.
- by move=> h; apply: weight_ge0.
Qed.

Lemma mass_mono p M T T' : (T <= T')%N -> mass p M T <= mass p M T'.
Proof.
move=> le; apply: (@sum_le_inj _ _ _ id) => // [g /andP[/forallP w ->]|g]; last exact: weight_ge0.
by rewrite andbT; apply/forallP => i; apply: leq_trans (w i) le.
Qed.

(* From changes upwards to changes in any interval. *)
Lemma mass_close w q q' c d K :
  (forall q q' T, (forall i, q i <= q' i <= q i + K)%N -> mass q' T T <= w * mass q T T) ->
  0 <= w -> (forall i, (q i + d <= q' i + c <= q i + d + K)%N) ->
  forall T, mass q' T T <= w * mass q (T + c) (T + c).
Proof.
move=> up w0 close T; rewrite -(mass_translate q' T T c).
apply: le_trans (mass_box _ _ (leqnn _)) _.
apply: le_trans (up _ _ _ close) _; rewrite ler_wpmul2l //.
by apply: le_trans (mass_mono _ _ (leq_addr d _)) _; rewrite mass_translate.
Qed.
End Mass.

Variables (L : eqType) (label : nat -> L) (k unit : nat).

(* Labels of the k first, and floors of k gaps. *)
Definition released (s : 'I_n -> nat) y : seq L * seq nat :=
  let: (o, gs) := combine (column y) (column s) k unit in ([seq label i | i <- o], gs).

Local Arguments released : simpl never.

(* The chance of an event, ties being ranked at random; truncated to noisy scores of at most T. *)
Definition event (A : pred (seq L * seq nat)) p T : R :=
  (n`!)%:R^-1 * \sum_(s : 'S_n) mass (fun y => A (released (fun i => s i) y)) p T T.
Definition event_of_places (A : pred (seq L)) p T : R := event (fun r => A r.1) p T.

Section Ranking.
Variable s : 'S_n.
Let f (i : 'I_n) : nat := s i.

Lemma f_inj : injective f. Proof. by move=> i j /val_inj/perm_inj. Qed.

Lemma ranked_translate y c : ranked (fun i => y i + c)%N f = ranked y f.
Proof.
apply: (sorted_eq (@le_rank_trans n y f) (le_rank_anti f_inj)).
- rewrite -(@eq_sorted _ (le_rank (fun i => y i + c)%N f)) ?sort_sorted //.
    exact: le_rank_total.
  by move=> i j; rewrite /le_rank ltn_add2r eqn_add2r.
- by apply: sort_sorted; apply: le_rank_total.
- by rewrite perm_sort perm_sym perm_sort.
Qed.

Lemma released_translate y c : released f (fun i => y i + c)%N = released f y.
Proof.
rewrite /released /combine !order_ranked ranked_translate; congr (_, _).
congr map; rewrite -map_take; elim: (take _ _) => // i [|j l] IH //.
have two g : gaps_of (column g) (column f) [seq eqtype.val a | a <- [:: i, j & l]] =
  gap (column g) (column f) i j :: gaps_of (column g) (column f) [seq eqtype.val a | a <- j :: l] by [].
by rewrite !two IH /gap !nth_column subnDr.
Qed.

Lemma eq_released y y' : y =1 y' -> released f y = released f y'.
Proof. by move=> e; rewrite /released (_ : column y = column y') //; apply: eq_map. Qed.

(* The k first, as a tuple; None if there are fewer. *)
Definition places y : option (k.-tuple 'I_n) := insub (take k (ranked y f)).

Lemma places_heads y (o : k.-tuple 'I_n) : (places y == Some o) = uniq o && heads f y o.
Proof.
apply/eqP/andP => [|[uo ho]].
  rewrite /places; case: insubP => // t _ e [<-]; rewrite e.
  by split; [rewrite take_uniq ?ranked_uniq // | apply: take_heads f_inj _].
move: ho; rewrite (heads_unique _ f_inj uo) size_tuple => /eqP e.
by rewrite /places -e valK.
Qed.

Lemma places_some y : (k <= n)%N -> places y != None.
Proof.
move=> kn; rewrite /places; case: insubP => // /negP[].
by rewrite size_take_min size_ranked (minn_idPl kn).
Qed.

Lemma mass_places (F : ('I_n -> nat) -> bool) p M T : (k <= n)%N -> mass F p M T =
  \sum_(o : k.-tuple 'I_n | uniq o)
    \sum_(g : noise n M | [&& within p T g, heads f (noisy p g) o & F (noisy p g)]) weight rho g.
Proof.
move=> kn; rewrite /mass (partition_big (fun g => places (noisy p g)) xpredT) //=.
rewrite (bigD1 None) //= [X in X + _]big_pred0 ?add0r => [|g]; last first.
  by apply/negbTE; rewrite negb_and (places_some _ kn) orbT.
rewrite (reindex_omap Some id) /=; last by case.
rewrite [RHS]big_mkcond /=; apply: eq_big => [o|o _]; first by rewrite eqxx.
case: ifP => uo; last by rewrite big_pred0 // => g; rewrite places_heads uo andbF.
by apply: eq_bigl => g; rewrite places_heads uo /= -andbA; congr andb; rewrite andbC.
Qed.
End Ranking.

Section Private.
Variables (q q' : scores n) (c d K : nat).
Hypothesis close : forall i, (q i + d <= q' i + c <= q i + d + K)%N.
Hypothesis k_gt0 : (0 < k)%N.

Let w0 : 0 <= rho^-1 ^+ (k * K). Proof. by rewrite exprn_ge0 // invr_ge0 ltW. Qed.

(* Labels and floors, for k below n; every event. *)
Theorem event_private (A : pred (seq L * seq nat)) T : (k < n)%N ->
  event A q' T <= rho^-1 ^+ (k * K) * event A q (T + c).
Proof.
move=> kn; rewrite /event mulrCA ler_pmul2l ?invr_gt0 ?ltr0n ?fact_gt0 // mulr_sumr.
apply: ler_sum => s _; pose f (i : 'I_n) : nat := s i; have inj := @f_inj s.
apply: (mass_close _ _ _ w0 close) => [y y' e|y a|v v' {}T up].
- by rewrite (eq_released _ e).
- by rewrite released_translate.
rewrite !(mass_places s) ?(ltnW kn) // mulr_sumr; apply: ler_sum => -[o so] /= uo.
case: o so uo => [|z o'] so uo; first by move: k_gt0; rewrite -(eqP so).
have sk := eqP so; have rest : (size (z :: o') < n)%N by rewrite sk.
pose E (gs : seq nat) := A ([seq label i | i <- [seq eqtype.val i | i <- z :: o']],
  [seq (a %/ unit)%N | a <- gs]).
have e p M T' : \sum_(g : noise n M | [&& within p T' g, heads f (noisy p g) (z :: o')
      & A (released f (noisy p g))]) weight rho g = law_gaps rho f z o' M T' p E.
  apply: eq_bigl => g; congr (_ && _); case h: (heads _ _ _) => //=.
  have := h; rewrite -(combine_heads _ inj unit uo sk) => /eqP e1.
  by rewrite /released [combine _ _ k unit]surjective_pairing e1 combine_unit /E -[k]sk.
rewrite !e -sk; exact: (gaps_at rho_gt0 rho_lt1 inj uo rest up (leqnn T) E).
Qed.

(* Labels alone, for k up to n. *)
Theorem event_of_places_private (A : pred (seq L)) T : (k <= n)%N ->
  event_of_places A q' T <= rho^-1 ^+ (k * K) * event_of_places A q (T + c).
Proof.
move=> kn; rewrite /event_of_places /event mulrCA ler_pmul2l ?invr_gt0 ?ltr0n ?fact_gt0 // mulr_sumr.
apply: ler_sum => s _; pose f (i : 'I_n) : nat := s i; have inj := @f_inj s.
apply: (mass_close _ _ _ w0 close) => [y y' e|y a|v v' {}T up].
- by rewrite (eq_released _ e).
- by rewrite released_translate.
rewrite !(mass_places s) // mulr_sumr; apply: ler_sum => o uo; have sk := size_tuple o.
have e p M T' : \sum_(g : noise n M | [&& within p T' g, heads f (noisy p g) o
      & A (released f (noisy p g)).1]) weight rho g =
    (A [seq label i | i <- [seq eqtype.val i | i <- o]])%:R * Ranking.law rho p f M T' o.
  rewrite /Ranking.law mulr_sumr [LHS]big_mkcond [RHS]big_mkcond; apply: eq_bigr => g _.
  case: (within _ _ _); rewrite ?andFb // !andTb; case h: (heads _ _ _); rewrite ?andFb // andTb.
  have /eqP : (combine (column (noisy p g)) (column f) k unit).1 == [seq eqtype.val i | i <- o].
    by rewrite (combine_heads _ inj unit uo sk).
  rewrite /released; case: (combine _ _ _ _) => o1 gs1 /= ->.
  by case: (A _); rewrite ?mul1r ?mul0r.
rewrite !e mulrCA ler_wpmul2l ?ler0n // -{2}sk.
exact: (private_at rho_gt0 rho_lt1 f up uo (leqnn T)).
Qed.
End Private.
End Events.

(* ------------------------------------------------------------------ one-shot mechanisms, end to end *)
Section OneShot.
Local Open Scope ring_scope.
Variables (R : archiFieldType) (n : nat).
(* Two neighbours, what is declared of them, and what they hand over. *)
Variables (c : change) (least : bool) (h d C : Z) (e : option Z).
Variables (t t' : 'I_n -> R) (x x' : 'I_n -> Z).
Hypotheses (h_gt0 : Z.lt 0 h) (C_ge0 : Z.le 0 C) (nb : neighbours c d t t').
Hypotheses (is_x : forall i, stands_for h e (t i) (x i)).
Hypotheses (is_x' : forall i, stands_for h e (t' i) (x' i)).
(* Epsilon, and the rate: for a range of as many steps as `range`, or more.  Noise lies on a lattice
   of `fine` parts of a step, on which steps lie, too. *)
Variables (k fine : nat) (total rng : ratio) (eul E rho : R).
Hypotheses (k_gt0 : (0 < k)%N) (fine_gt0 : (0 < fine)%N) (rho_gt0 : 0 < rho) (rho_lt1 : rho < 1).
Hypotheses (eul_ge1 : 1 <= eul) (E_is : power eul total E).
Hypotheses (total1 : Z.lt 0 total.1) (total2 : Z.lt 0 total.2) (rng1 : Z.lt 0 rng.1).
Hypotheses (rng2 : Z.lt 0 rng.2) (covers : Z.le (Z.mul (range h c e d) rng.2) rng.1).
Hypothesis rho_is : power eul (one_shot true 1 (Z.of_nat k) total rng).2 (rho ^+ fine)^-1.

Let r := lifted C (scored least h x).
Let r' := lifted C (scored least h x').
Let q i := (fine * r i)%N.
Let q' i := (fine * r' i)%N.
Let K := Z.to_nat (range h c e d).

Lemma within_epsilon : rho^-1 ^+ (k * (fine * K)) <= E.
Proof.
rewrite mulnCA exprM exprVn; apply: (one_shot_power eul_ge1 E_is total1 total2 k_gt0 rng2 rng1 _ rho_is).
rewrite /K; case: (Z_lt_le_dec (range h c e d) 0) => [neg|pos]; last by rewrite Z2Nat.id.
by have -> : Z.of_nat (Z.to_nat (range h c e d)) = Z0; lia.
Qed.

Lemma closeness : exists a b, forall i, (r i + b <= r' i + a <= r i + b + K)%N.
Proof.
apply: (@interval n r r' (fun i => Z.of_nat (r i)) (fun i => Z.of_nat (r' i)) Z0 Z0) => [i|i|i j].
- by rewrite Z.add_0_r.
- by rewrite Z.add_0_r.
- exact: (read_apart h_gt0 C_ge0 nb is_x is_x').
Qed.

Lemma fine_closeness : exists a b, forall i, (q i + b <= q' i + a <= q i + b + fine * K)%N.
Proof.
have [a [b close]] := closeness; exists (fine * a)%N, (fine * b)%N => i.
by have /andP[u v] := close i; rewrite /q /q' -!mulnDr !leq_mul2l u v !orbT.
Qed.

Lemma bounded (f f' : nat -> R) w a B : 0 <= w -> w <= E ->
  (forall T, f' T <= w * f (T + a)%N) -> (forall T, 0 <= f T) ->
  (forall T, f T <= B) -> forall T, f' T <= E * B.
Proof.
move=> w0 wE le f0 fB T; apply: le_trans (le T) _.
apply: (@le_trans _ _ (E * f (T + a)%N)); first exact: ler_wpmul2r.
by rewrite ler_wpmul2l // (le_trans w0).
Qed.

Let w0 : 0 <= rho^-1 ^+ (k * (fine * K)). Proof. by rewrite exprn_ge0 // invr_ge0 ltW. Qed.

Variables (L : eqType) (label : nat -> L).

Lemma event_ge0 unit (A : pred (seq L * seq nat)) (p : scores n) T : 0 <= event rho label k unit A p T.
Proof.
rewrite /event mulr_ge0 ?invr_ge0 ?ler0n // sumr_ge0 // => s _.
by apply: sumr_ge0 => g _; apply: weight_ge0.
Qed.

(* Labels of the k best and the floors of their gaps, in any number of parts of a step as a unit:
   one-shot top-k with gaps, and for k = 1 report-noisy-max with gap.  What bounds the chance of an event bounds e^epsilon times less
   that of the neighbour. *)
Theorem one_shot_with_gaps unit (A : pred (seq L * seq nat)) B : (k < n)%N ->
  (forall T, event rho label k unit A q T <= B) ->
  forall T, event rho label k unit A q' T <= E * B.
Proof.
move=> kn; have [a [b close]] := fine_closeness.
apply: (@bounded _ _ (rho^-1 ^+ (k * (fine * K))) a B w0 within_epsilon) => T; last exact: event_ge0.
exact: (event_private rho_gt0 rho_lt1 label unit close k_gt0 A T kn).
Qed.

(* Labels alone, up to all n: report-noisy-max with exponential noise, and one-shot top-k. *)
Theorem one_shot_labels unit (A : pred (seq L)) B : (k <= n)%N ->
  (forall T, event_of_places rho label k unit A q T <= B) ->
  forall T, event_of_places rho label k unit A q' T <= E * B.
Proof.
move=> kn; have [a [b close]] := fine_closeness.
apply: (@bounded _ _ (rho^-1 ^+ (k * (fine * K))) a B w0 within_epsilon) => T; last exact: event_ge0.
exact: (event_of_places_private rho_gt0 rho_lt1 label unit close A T kn).
Qed.
End OneShot.

Section Loop.
Local Open Scope ring_scope.
Variables (R : archiFieldType) (n : nat).
Variables (c : change) (least : bool) (h d C : Z) (e : option Z).
Variables (t t' : 'I_n -> R) (x x' : 'I_n -> Z).
Hypotheses (h_gt0 : Z.lt 0 h) (C_ge0 : Z.le 0 C) (nb : neighbours c d t t').
Hypotheses (is_x : forall i, stands_for h e (t i) (x i)).
Hypotheses (is_x' : forall i, stands_for h e (t' i) (x' i)).
Variables (total rng : ratio) (eul E rho : R).
Hypotheses (rho_gt0 : 0 < rho) (rho_lt1 : rho < 1).
Hypotheses (eul_ge1 : 1 <= eul) (E_is : power eul total E).
Hypotheses (total1 : Z.lt 0 total.1) (total2 : Z.lt 0 total.2) (rng1 : Z.lt 0 rng.1).
Hypotheses (rng2 : Z.lt 0 rng.2) (covers : Z.le (Z.mul (range h c e d) rng.2) rng.1).
Hypothesis rho_is : power eul (one_shot true 1 1 total rng).2 rho^-1.
Variables (L : eqType) (label : 'I_n -> L).

Definition top (p : scores n) : nat := \max_i p i.

(* The loop of permute-and-flip on the numbers as they are read: the chance of a set of labels.  This
   law is no truncation. *)
Definition flipped (A : pred L) (x : 'I_n -> Z) : R :=
  let p := lifted C (scored least h x) in \sum_(i | A (label i)) pf rho p (top p) i.

Theorem permute_and_flip_labels (A : pred L) : flipped A x' <= E * flipped A x.
Proof.
have Kle : rho^-1 ^+ (1 * (1 * Z.to_nat (range h c e d))) <= E.
  by apply: within_epsilon eul_ge1 E_is total1 total2 rng1 rng2 covers _; rewrite ?expr1.
have [a [b close]] := closeness least h_gt0 C_ge0 nb is_x is_x'.
have le (p : scores n) i : (p i <= top p)%N by apply: leq_bigmax.
have at_ (p : scores n) : 'I_n -> exists i, p i = top p.
  move=> i; have n0 : (0 < #|'I_n|)%N by rewrite card_ord; apply: leq_ltn_trans (ltn_ord i).
  by have [j ej] := eq_bigmax p n0; exists j; rewrite /top ej.
rewrite /flipped mulr_sumr; apply: ler_sum => i _.
apply: le_trans (pf_private rho_gt0 rho_lt1 (le _) (at_ _ i) (le _) (at_ _ i) close i) _.
rewrite !mul1n in Kle; rewrite ler_wpmul2r // mulr_ge0 ?invr_ge0 ?ler0n // sumr_ge0 // => s _.
rewrite mulr_ge0 ?p_ge0 // prodr_ge0 // => j _.
by rewrite subr_ge0 p_le1.
Qed.
End Loop.

Print Assumptions steps_apart.
Print Assumptions one_shot_with_gaps.
Print Assumptions one_shot_labels.
Print Assumptions permute_and_flip_labels.

(* ------------------------------------------------------------------ sparse vector sessions *)
(* Who asks chooses each value after seeing all answers before, the last first, as in Ledger.v. *)
Section Ask.
Variables (request : Type) (ask : seq (option nat) -> request).
Implicit Types (told o : seq (option nat)).

Fixpoint asked told o : seq (request * option nat) :=
  if o is a :: o' then (ask told, a) :: asked (a :: told) o' else [::].

(* What is told before the k-th answer above, and that one. *)
Fixpoint possible (k : nat) o : bool :=
  if o is a :: o' then (0 < k)%N && possible (if a is Some _ then k.-1 else k) o' else true.

Lemma possible_above k o : possible k o -> (Session.above o <= k)%N.
Proof.
elim: o k => //= a o IH k /andP[k0 /IH]; rewrite /Session.above /=.
by case: a => [d|] /= le; rewrite ?add0n // add1n; case: k k0 le.
Qed.

(* The session as it is asked: values from `value`, noises ys, one for each. *)
Fixpoint replies (value : request -> nat) (k t : nat) told (ys : seq nat) : seq (option nat) :=
  if ys is y :: ys' then
    if k is k'.+1 then
      let a := verdict t (value (ask told)) y in
      a :: replies value (if a is Some _ then k' else k) t (a :: told) ys'
    else [::]
  else [::].

(* It is the program `session` on the values that were asked. *)
Theorem replies_session value k t told ys : let o := replies value k t told ys in
  session k t (zip [seq value e.1 | e <- asked told o] ys) = o /\ possible k o.
Proof.
elim: ys k told => [|y ys IH] [|k] told //=.
case: (verdict _ _ _) => [a|] /=.
  by have [-> ->] := IH k (Some a :: told).
by have [-> ->] := IH k.+1 (None :: told).
Qed.
End Ask.

Section Sessions.
Local Open Scope ring_scope.
Variables (R : realFieldType) (request : Type) (ask : seq (option nat) -> request).
Variables (monotonic : bool) (h d : Z) (e : option Z) (t t' : request -> R) (x x' : request -> Z).
Hypotheses (h_gt0 : Z.lt 0 h).
Hypothesis nb : neighbours (if monotonic then OneWay else Either) d t t'.
Hypotheses (is_x : forall r, stands_for h e (t r) (x r)).
Hypotheses (is_x' : forall r, stands_for h e (t' r) (x' r)).

(* On the grid the move is counted in steps. *)
Let read : Z * Z * Z := if e is Some e then (h, e, d) else (1%ZZ, Z0, on_grid h d).
Let a := rise read.1.1 read.1.2 read.2.
Let b := fall monotonic read.1.1 read.1.2 read.2.

Lemma up1 z : up 1 z = z. Proof. by rewrite /up Z.div_1_r; lia. Qed.

(* One way, all of them, by a rise, and the other way by a fall. *)
Lemma values_move :
  (forall r, Z.le (Z.opp b) (Z.sub (steps h x' r) (steps h x r)) /\
     Z.le (Z.sub (steps h x' r) (steps h x r)) a) \/
  (forall r, Z.le (Z.opp a) (Z.sub (steps h x' r) (steps h x r)) /\
     Z.le (Z.sub (steps h x' r) (steps h x r)) b).
Proof.
rewrite /a /b /fall /rise /read; case: e is_x is_x' => [e'|] s s' /=; last first.
  have move_ r m m' : t r = num R (Z.mul m h) -> t' r = num R (Z.mul m' h) ->
      forall s z, num R (Z.mul s h) - num R (Z.mul z h) <= num R d -> Z.le (Z.sub s z) (on_grid h d).
    by move=> _ _ u z; rewrite -num_sub => /(@num_inv R _ _); apply: grid_move.
  have at_ r : exists m m', [/\ t r = num R (Z.mul m h), t' r = num R (Z.mul m' h),
      steps h x r = m & steps h x' r = m'].
    have [m [em bm]] := s r; have [m' [em' bm']] := s' r; exists m, m'; split=> //.
      exact: nearest_exact. exact: nearest_exact.
  have stay u u' : 0 <= num R (Z.mul u' h) - num R (Z.mul u h) -> Z.le u u'.
    rewrite -num_sub -[0]/(num R Z0) => /(@num_inv R _ _) le.
    by apply: (Z.mul_le_mono_pos_r _ _ h h_gt0).2; lia.
  rewrite !up1 Z.add_0_r; case: monotonic nb => /= [[up_|down]|both].
  - left=> r; have [m [m' [e1 e2 -> ->]]] := at_ r; have := up_ r; rewrite e1 e2 => /andP[lo hi].
    by have := move_ _ _ _ e1 e2 _ _ hi; have := stay _ _ lo; lia.
  - right=> r; have [m [m' [e1 e2 -> ->]]] := at_ r; have := down r; rewrite e1 e2 => /andP[lo hi].
    by have := move_ _ _ _ e1 e2 _ _ hi; have := stay _ _ lo; lia.
  - left=> r; have [m [m' [e1 e2 -> ->]]] := at_ r; have := both r; rewrite e1 e2 ler_norml.
    case/andP=> lo hi; have := move_ _ _ _ e1 e2 _ _ hi.
    by have := move_ _ _ _ e1 e2 m m' _; rewrite -opprB ler_oppl lo => /(_ isT); lia.
case: monotonic nb => /= [[up_|down]|both].
- by left=> r; apply: (reading_one _ _ _ _ h_gt0 _ _ _ _ (s r) (s' r) (up_ r)).
- right=> r; have := reading_one _ _ _ _ h_gt0 _ _ _ _ (s' r) (s r) (down r).
  by rewrite /steps; lia.
- left=> r; have := reading_both _ _ _ _ h_gt0 _ _ _ _ (s r) (s' r) (both r).
  by rewrite /steps; lia.
Qed.

(* Values are cut to within C of a public place, and counted from its lower end. *)
Variables (middle C : Z) (thr : nat).
Hypothesis C_ge0 : Z.le 0 C.
Definition placed (v : Z) : nat :=
  Z.to_nat (Z.sub (Z.min (Z.max v (Z.sub middle C)) (Z.add middle C)) (Z.sub middle C)).
Definition value (y : request -> Z) r : nat := placed (steps h y r).

(* The rates that the program `sparse_vector` gives. *)
Variables (k : nat) (total share : ratio) (eul E rho0 rho1 : R).
Hypotheses (k_gt0 : (0 < k)%N) (eul_ge1 : 1 <= eul) (E_is : power eul total E).
Hypotheses (total1 : Z.lt 0 total.1) (total2 : Z.lt 0 total.2).
Hypotheses (share1 : Z.lt 0 share.1) (share2 : Z.lt share.1 share.2).
Hypotheses (rho0_gt0 : 0 < rho0) (rho0_lt1 : rho0 < 1) (rho1_gt0 : 0 < rho1) (rho1_lt1 : rho1 < 1).
Hypotheses (moves : Z.lt 0 a) (falls : Z.le 0 b) (less : Z.le b a).
Let rates := sparse_vector monotonic (Z.of_nat k) total share read.1.1 read.1.2 read.2.
Hypotheses (rho0_is : power eul rates.1.1 rho0^-1) (rho1_is : power eul rates.2 rho1^-1).

(* The chance that all is told as in o, in that order, whatever is asked. *)
Definition told_chance (y : request -> Z) (N : nat) (o : seq (option nat)) : R :=
  SparseVector.chance rho0 rho1 thr N [seq (value y q.1, q.2) | q <- asked ask [::] o].

Lemma told_private s N o : (s <= Z.to_nat a)%N -> possible k o ->
  (forall r, (value x r <= value x' r + s)%N /\
             (value x' r + s <= value x r + Z.to_nat (Z.add a b))%N) ->
  told_chance x' N o <= E * told_chance x (N + s) o.
Proof.
move=> sa po mv; rewrite /told_chance.
pose l := [seq (value x q.1, value x' q.1, q.2) | q <- asked ask [::] o].
have -> : [seq (value x' q.1, q.2) | q <- asked ask [::] o] = second_of l.
  by rewrite /second_of /l -map_comp.
have -> : [seq (value x q.1, q.2) | q <- asked ask [::] o] = first_of l.
  by rewrite /first_of /l -map_comp.
have al : (SparseVector.above l <= k)%N.
  apply: leq_trans (possible_above po); rewrite /SparseVector.above /Session.above /l.
  by elim: (o) [::] => //= v o' IH told; rewrite leq_add2l.
have h1 : all (fun v => v.1.1 <= v.1.2 + s)%N l.
  by rewrite /l; elim: (asked _ _ _) => //= q l' ->; rewrite andbT; case: (mv q.1).
have h2 : all (fun v => v.1.2 + s <= v.1.1 + Z.to_nat (Z.add a b))%N l.
  by rewrite /l; elim: (asked _ _ _) => //= q l' ->; rewrite andbT; case: (mv q.1).
apply: le_trans (chance_bound thr rho0_gt0 rho0_lt1 rho1_gt0 rho1_lt1 N al h1 h2) _.
have ch0 : 0 <= SparseVector.chance rho0 rho1 thr (N + s) (first_of l).
  by apply: sumr_ge0 => i _; rewrite !mulr_ge0 ?subr_ge0 ?exprn_ge0 ?given_ge0 ?ltW.
rewrite ler_wpmul2r // -(sparse_vector_power E_is total1 total2 share1 share2 k_gt0 moves _ rho0_is rho1_is).
  have r0 : 1 <= rho0^-1 by rewrite invf_ge1 // ltW.
  apply: ler_pmul; rewrite ?exprn_ge0 ?invr_ge0 ?(ltW rho0_gt0) ?(ltW rho1_gt0) //.
  exact: ler_weexpn2l.
by rewrite /spread -/a -/b; lia.
Qed.

(* Every event of what is told, a finite set of lists; a bound of its chance bounds e^epsilon times
   less that of the neighbour. *)
Theorem session_private (os : seq (seq (option nat))) B : all (possible k) os ->
  (forall N, \sum_(o <- os) told_chance x N o <= B) ->
  forall N, \sum_(o <- os) told_chance x' N o <= E * B.
Proof.
move=> po bound N.
have [s sa mv] : exists2 s, (s <= Z.to_nat a)%N & forall r, (value x r <= value x' r + s)%N /\
    (value x' r + s <= value x r + Z.to_nat (Z.add a b))%N.
  have place_le u v m : Z.le (Z.opp m) (Z.sub v u) -> Z.le 0 m -> (placed u <= placed v + Z.to_nat m)%N.
    by move=> le m0; apply/ssrnat.leP; rewrite -plusE /placed; lia.
  have whole_ m m' : Z.le 0 m -> Z.le 0 m' -> Z.to_nat (Z.add m m') = (Z.to_nat m + Z.to_nat m')%N.
    by move=> m0 m1; rewrite -plusE Z2Nat.inj_add.
  have a0 : Z.le 0 a by lia.
  case: values_move => mv; [exists (Z.to_nat b) | exists (Z.to_nat a)] => //.
  - by apply/ssrnat.leP; lia.
  - move=> r; have [lo hi] := mv r; split; first exact: place_le.
    by rewrite whole_ // addnA leq_add2r; apply: place_le => //; lia.
  - move=> r; have [lo hi] := mv r; split; first exact: place_le.
    by rewrite Z.add_comm whole_ // addnA leq_add2r; apply: place_le => //; lia.
have E0 : 0 <= E by case: E_is => /ltW.
apply: (@le_trans _ _ (E * \sum_(o <- os) told_chance x (N + s) o)); last by rewrite ler_wpmul2l.
rewrite mulr_sumr !big_seq; apply: ler_sum => o /(allP po) pos; exact: told_private.
Qed.
End Sessions.

Print Assumptions replies_session.
Print Assumptions session_private.
