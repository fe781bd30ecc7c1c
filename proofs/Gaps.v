(* One-shot top-k with the floors of its gaps, for geometric noise: private for every n, k, rate and
   ranking of ties, whatever the unit of the gaps (Theorem 5 on the lattice).

   Noise has no end above but one below, so moving the noise of those chosen is not enough: it may
   leave the support.  Where it would, the best of those left out is moved instead. *)
From Coq Require Import Lia.
From mathcomp Require Import all_ssreflect all_algebra.
Require Import Ranking Combine.
Import Order.TTheory GRing.Theory Num.Theory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.

Section Outcome.
Variables (n : nat) (s : 'I_n -> nat) (z : 'I_n) (o' : seq 'I_n).
Hypothesis s_inj : injective s.
(* The outcome's places; the last of them is x. *)
Let o := z :: o'.
Let x := last z o'.
Hypothesis uniq_o : uniq o.
Hypothesis rest : (size o < n)%N.
Implicit Types (y : 'I_n -> nat) (i j : 'I_n).

Definition late i j : nat := (s i < s j)%N.

Lemma aheadE y i j : i != j -> ahead s y i j = (y j + late i j <= y i)%N.
Proof.
move=> ij; have ne : s i != s j by apply: contra ij => /eqP/s_inj->.
rewrite /ahead /late; have [lt|gt|e] := ltngtP (s i) (s j); last by rewrite e eqxx in ne.
  by rewrite addn1 andbF orbF.
by rewrite addn0 andbT orbC -leq_eqVlt.
Qed.

Lemma x_in : x \in o. Proof. exact: mem_last. Qed.

(* What the worst of those chosen must reach; his gap leads to it. *)
Definition top y : nat := \max_(j | j \notin o) (y j + late x j).

Lemma top_ge y j : j \notin o -> (y j + late x j <= top y)%N.
Proof. by move=> jo; apply: (@leq_bigmax_cond _ _ (fun j => (y j + late x j)%N)). Qed.

Lemma ne_out i j : i \in o -> j \notin o -> i != j.
Proof. by move=> io; apply: contraNneq => <-. Qed.

Lemma heads_top y : heads s y o = pairwise (ahead s y) o && (top y <= y x)%N.
Proof.
rewrite /heads; have [pw|//] := boolP (pairwise _ _); rewrite /=.
apply/forallP/idP => [h|le i].
  apply/bigmax_leqP => j jo; rewrite -aheadE ?(ne_out x_in) //.
  by have /forallP/(_ j) := h x; rewrite x_in jo.
apply/forallP => j; apply/implyP => io; apply/implyP => jo.
have xj : ahead s y x j by rewrite aheadE ?(ne_out x_in) // (leq_trans (top_ge y jo)).
have [-> //|ix] := eqVneq i x.
have ax : ahead s y i x.
  move: pw io ix; rewrite /o /x lastI pairwise_rcons => /andP[/allP h _].
  by rewrite mem_rcons inE => /orP[/eqP-> /eqP//|/h].
rewrite aheadE ?(ne_out io) //; move: ax xj; rewrite !aheadE ?(ne_out x_in) //.
rewrite /late => a b; have [c|c] := ltnP (s i) (s j); last first.
  by rewrite addn0 (leq_trans _ a) // (leq_trans _ (leq_addr _ _)) // (leq_trans _ b) ?leq_addr.
rewrite addn1; have [d|d] := ltnP (s i) (s x).
  rewrite d addn1 in a; apply: leq_trans a; rewrite ltnS (leq_trans _ b) ?leq_addr //.
have e : (s x < s j)%N by rewrite (leq_ltn_trans d).
by rewrite e addn1 in b; rewrite (leq_trans b) // (leq_trans _ a) ?leq_addr.
Qed.

Lemma top_below y i : heads s y o -> i \in o -> (top y <= y i)%N.
Proof.
rewrite heads_top => /andP[pw le] io; have [->//|ix] := eqVneq i x; apply: leq_trans le _.
have : ahead s y i x.
  move: pw io ix; rewrite /o /x lastI pairwise_rcons => /andP[/allP h _].
  by rewrite mem_rcons inE => /orP[/eqP-> /eqP//|/h].
by rewrite aheadE // => /(leq_trans _); apply; rewrite leq_addr.
Qed.

Definition best y : 'I_n := nth z (ranked y s) (size o).

Lemma size_ranked y : size (ranked y s) = n.
Proof. by rewrite size_sort size_enum_ord. Qed.

Lemma heads_best y : heads s y o -> heads s y (rcons o (best y)) /\ best y \notin o.
Proof.
rewrite (heads_unique _ s_inj uniq_o) => /eqP e.
have r : rcons o (best y) = take (size o).+1 (ranked y s).
  by rewrite (take_nth z) ?size_ranked // -e.
split; first by rewrite r; apply: take_heads.
have : uniq (rcons o (best y)) by rewrite r take_uniq ?ranked_uniq.
by rewrite rcons_uniq => /andP[].
Qed.

Lemma best_unique y j : j \notin o -> heads s y (rcons o j) -> best y = j.
Proof.
move=> jo; rewrite (heads_unique _ s_inj) ?rcons_uniq ?jo // size_rcons => /eqP e.
by rewrite /best -(nth_take z (ltnSn _)) -e nth_rcons ltnn eqxx.
Qed.

Lemma best_ahead y j : heads s y o -> j \notin o -> j != best y -> ahead s y (best y) j.
Proof.
move=> h jo jb; have [/andP[_ /forallP out] _] := heads_best h.
have /forallP/(_ j) := out (best y).
by rewrite !mem_rcons !in_cons eqxx (negbTE jb) -in_cons jo.
Qed.

(* Who is ahead of all others left out is the one that the last gap leads to. *)
Lemma top_ahead y j : j \notin o ->
  (forall i, i \notin o -> i != j -> ahead s y j i) -> top y = (y j + late x j)%N.
Proof.
move=> jo h; apply/eqP; rewrite eqn_leq top_ge // andbT; apply/bigmax_leqP => i io.
have [->//|ij] := eqVneq i j; have := h i io ij; rewrite aheadE 1?eq_sym // => a.
rewrite /late; have [c|c] := ltnP (s x) (s i); last by rewrite addn0 (leq_trans _ (leq_trans a _)) ?leq_addr.
have [d|d] := ltnP (s x) (s j); last first.
  have e : (s j < s i)%N by rewrite (leq_ltn_trans d).
  by rewrite /late e in a; rewrite addn0.
by rewrite leq_add2r (leq_trans _ a) ?leq_addr.
Qed.

Lemma top_best y : heads s y o -> top y = (y (best y) + late x (best y))%N.
Proof.
by move=> h; have [_ bo] := heads_best h; apply: top_ahead => // i; apply: best_ahead.
Qed.

(* The gaps of the outcome: those between its places, and the one from the last. *)
Definition inner y : seq nat := gaps_of (column y) (column s) [seq val i | i <- o].

Lemma gaps_of_rcons (u v : seq nat) a (l : seq nat) b :
  gaps_of u v (rcons (a :: l) b) = rcons (gaps_of u v (a :: l)) (gap u v (last a l) b).
Proof. by elim: l a => [|c l IH] a //=; rewrite -IH. Qed.

Lemma combine_gaps y : heads s y o ->
  (combine (column y) (column s) (size o) 1).2 = rcons (inner y) (y x - top y).
Proof.
move=> h; have [hb bo] := heads_best h; rewrite /combine /=.
rewrite order_ranked -map_take.
have -> : take (size o).+1 (ranked y s) = rcons o (best y).
  by move: hb; rewrite (heads_unique _ s_inj) ?rcons_uniq ?bo // size_rcons => /eqP.
rewrite map_rcons /o map_cons gaps_of_rcons -map_cons -/o -/(inner y) last_map -/x.
rewrite (eq_map divn1) map_id; congr rcons.
by rewrite /gap !nth_column (top_best h) subnDA.
Qed.

(* Moving all places down by t, and what lies below them too, keeps the outcome. *)
Lemma outcome_kept y y' t : heads s y' o ->
  (forall i, i \in o -> y i + t = y' i)%N -> (top y + t = top y')%N ->
  heads s y o /\ (combine (column y) (column s) (size o) 1).2 =
                 (combine (column y') (column s) (size o) 1).2.
Proof.
move=> h e et; have h' := h.
suff hy : heads s y o.
  split=> //; rewrite !combine_gaps // -et -(e x x_in) subnDr; congr rcons.
  rewrite /inner; elim: (o) e => // i [|j l] IH e //.
  have two f : gaps_of (column f) (column s) [seq val a | a <- [:: i, j & l]] =
    gap (column f) (column s) i j :: gaps_of (column f) (column s) [seq val a | a <- j :: l] by [].
  rewrite !two -IH; last by move=> a al; apply: e; rewrite inE al orbT.
  by congr cons; rewrite /gap !nth_column -!e ?inE ?eqxx ?orbT // subnDr.
move: h'; rewrite !heads_top => /andP[pw le]; apply/andP; split; last first.
  by rewrite -(leq_add2r t) et e ?x_in.
apply: (@sub_in_pairwise _ (mem o) _ _ _ o _ pw); last by apply/allP.
by move=> i j io jo; rewrite /ahead -!e // ltn_add2r eqn_add2r.
Qed.
End Outcome.

(* Facts about whole numbers, by Coq's own procedure. *)
Ltac arith := intros;
  repeat match goal with H : is_true (leq _ _) |- _ => apply (elimT ssrnat.leP) in H end;
  match goal with |- is_true (leq _ _) => apply/ssrnat.leP | _ => exfalso end; cbv beta iota delta [addn addn_rec subn subn_rec] in *; lia.

Fact ar1 (p p' g e l a r t : nat) : p + g + e <= l -> l < a -> a + r = t -> t <= p' + g + e ->
  p <= p' -> p' - p < r -> false.
Proof. arith. Qed.

Fact ar2 (p a y t u : nat) : p <= a + (y - t) -> t <= y -> u <= t -> a <= u ->
  p + (t - u) <= y.
Proof. arith. Qed.

Fact ar3 (p a y t r : nat) : p <= a + (y - t) -> t <= y -> a + r <= t -> p + r <= y.
Proof. arith. Qed.

Fact ar4 (p p' g r : nat) : r <= p' - p -> p <= p' -> p + r <= p' + g.
Proof. arith. Qed.

Fact ar5 (p p' g e y r : nat) : p' + g + e <= y -> r <= p' - p -> p <= p' -> p + g + e + r <= y.
Proof. arith. Qed.

Fact ar6 (y e l a r b c d : nat) : y + e <= l -> l < a -> a + r <= b + c ->
  d + c <= e.+1 -> y + d + r <= b.
Proof. arith. Qed.

Fact ar8 (p p' m g a b r : nat) : p = a + b -> p' <= a + r + b -> p + m + r = p' + g -> m <= g.
Proof. arith. Qed.

Fact ar9 (p p' g k : nat) : p' <= p + k -> p' + g <= p + (g + k).
Proof. arith. Qed.

Fact ar7 (a b c : nat) : (a < b) + (c < a) <= (c < b).+1.
Proof.
by case: (ltnP a b); case: (ltnP c a) => //= ca ab; rewrite ?(ltn_trans ca ab) //; case: (_ < _).
Qed.

Section Privacy.
Variables (R : realFieldType) (rho : R) (n : nat).
Hypotheses (rho_gt0 : (0 < rho)%R) (rho_lt1 : (rho < 1)%R).
Variables (q q' : scores n) (s : 'I_n -> nat) (z : 'I_n) (o' : seq 'I_n) (K M T : nat).
Let o := z :: o'.
Let x := last z o'.
Hypotheses (s_inj : injective s) (uniq_o : uniq o) (rest : (size o < n)%N).
Hypothesis close : forall i, (q i <= q' i <= q i + K)%N.
Hypothesis box : (T <= M)%N.
Implicit Types (g h : noise n M) (y : 'I_n -> nat) (i j : 'I_n).

Let top := top s z o'.
Let best := best s z o'.
Let late := late s.

(* How far above his score, seen from `top`, the outcome y needs the noise of those chosen. *)
Definition level (p : scores n) y : nat := \max_(i | i \in o) (p i - (y i - top y)).
Definition rise y : nat := level q' y - level q y.
Definition low r y : nat := \max_(j | (j \notin o) && (q' j - q j < r)) (y j + late x j).
Definition up g : bool := low (rise (noisy q' g)) (noisy q g) < level q (noisy q' g).

Definition amount g : nat :=
  if up g then rise (noisy q' g) else top (noisy q' g) - top (noisy q g).
Definition moved g : seq 'I_n := if up g then rcons o (best (noisy q' g)) else o.
Definition move g : noise n M :=
  [ffun i => if i \in moved g then inord (q' i + g i - amount g - q i) else g i].

Lemma late_le1 i j : late i j <= 1. Proof. by rewrite /late /Gaps.late; case: (_ < _). Qed.

Lemma level_ge p y i : i \in o -> p i <= level p y + (y i - top y).
Proof.
move=> io; rewrite addnC -leq_subLR.
exact: (@leq_bigmax_cond _ (fun i => i \in o) (fun i => p i - (y i - top y)) i io).
Qed.

Lemma level_mono y : level q y <= level q' y.
Proof.
apply/bigmax_leqP => i io; rewrite leq_subLR addnC.
by apply: leq_trans (level_ge q' y io); case/andP: (close i).
Qed.

(* The level is that of somebody, if it is not 0. *)
Lemma level_of y : 0 < level q y -> exists2 i, i \in o & q i = level q y + (y i - top y).
Proof.
move=> pos; have ne : 0 < #|[pred i | i \in o]| by apply/card_gt0P; exists z; rewrite !inE eqxx.
have [i io e] := eq_bigmax_cond (fun i => q i - (y i - top y)) ne.
exists i => //; rewrite /level in pos *; rewrite e in pos *.
by rewrite subnK // ltnW // -subn_gt0.
Qed.

Section Event.
Variable g : noise n M.
Let y := noisy q g.
Let y' := noisy q' g.
Hypothesis inside : within q' T g.
Hypothesis first : heads s y' o.

Lemma level_top : level q' y' <= top y'.
Proof.
by apply/bigmax_leqP => i io; rewrite leq_subLR subnK ?(top_below s_inj first) // leq_addr.
Qed.

Lemma noisy_le i : y i <= y' i.
Proof. by rewrite leq_add2r; case/andP: (close i). Qed.

Lemma top_le : top y <= top y'.
Proof.
apply/bigmax_leqP => j jo; have := @top_ge n s z o' y' j jo; apply: leq_trans.
by rewrite leq_add2r noisy_le.
Qed.

Lemma low_ge i : i \notin o -> q' i - q i < rise y' -> y i + late x i <= low (rise y') y.
Proof.
move=> io d; apply: (@leq_bigmax_cond _
  (fun j => (j \notin o) && (q' j - q j < rise y')) (fun j => y j + late x j) i).
by rewrite io d.
Qed.

Lemma low_le r : low r y <= top y.
Proof. by apply/bigmax_leqP => j /andP[jo _]; apply: top_ge. Qed.

Lemma level_split : level q y' + rise y' = level q' y'.
Proof. by rewrite subnKC // level_mono. Qed.

Lemma level_rise : level q y' + rise y' <= top y'.
Proof. by rewrite level_split level_top. Qed.

Lemma best_moves : up g -> rise y' <= q' (best y') - q (best y').
Proof.
move=> u; rewrite leqNgt; apply/negP => d; have [_ bo] := heads_best s_inj uniq_o rest first.
have l := low_ge bo d; have e := top_best s_inj uniq_o rest first; have lt := level_rise.
have [c _] := andP (close (best y')).
by move: lt; rewrite [top y']e => lt; have := ar1 l u erefl lt c d.
Qed.

(* Nobody's noise falls below 0 ... *)
Lemma room i : i \in moved g -> q i + amount g <= y' i.
Proof.
rewrite /moved /amount -/y -/y'; case: ifP => u; last first.
  move=> io; have l := level_ge q y' io; have t := top_below s_inj first io.
  apply: (ar2 l t top_le); move: u; rewrite /up -/y -/y' => /negbT; rewrite -leqNgt => u.
  exact: leq_trans u (low_le _).
rewrite mem_rcons inE => /orP[/eqP->|io]; last first.
  exact: (ar3 (level_ge q y' io) (top_below s_inj first io) level_rise).
have [c _] := andP (close (best y')).
exact: (@ar4 _ _ (g (best y')) _ (best_moves u) c).
Qed.

(* ... nor rises beyond the box. *)
Lemma moveE i :
  noisy q (move g) i = if i \in moved g then y' i - amount g else y i.
Proof.
rewrite /noisy ffunE; case: ifP => // im; have r := room im; rewrite inordK.
  by rewrite subnKC // leq_subRL ?(leq_trans (leq_addl _ _) r) // addnC.
by rewrite ltnS (leq_trans _ box) // (leq_trans _ (forallP inside i)) // -subnDA leq_subr.
Qed.

Lemma move_moved i : i \in moved g -> noisy q (move g) i + amount g = y' i.
Proof. by move=> im; rewrite moveE im subnK // (leq_trans _ (room im)) // leq_addl. Qed.

Lemma moved_out i : i \notin o -> (i \in moved g) = up g && (i == best y').
Proof.
rewrite /moved; case: ifP => u io; last exact: negbTE.
by rewrite mem_rcons -[_ \in _ :: _]/((i == _) || (i \in o)) (negbTE io) orbF.
Qed.

Lemma moved_in i : i \in o -> i \in moved g.
Proof. by rewrite /moved; case: ifP => // _ io; rewrite mem_rcons in_cons io orbT. Qed.

Lemma best_first : up g ->
  forall i, i \notin o -> i != best y' -> ahead s (noisy q (move g)) (best y') i.
Proof.
move=> u i io ib; have [_ bo] := heads_best s_inj uniq_o rest first.
rewrite (aheadE s_inj) 1?eq_sym // -(leq_add2r (amount g)) move_moved ?moved_out ?u ?eqxx //.
rewrite moveE moved_out // (negbTE ib) andbF /amount u -/y'.
have a := best_ahead s_inj uniq_o rest first io ib.
rewrite (aheadE s_inj) 1?eq_sym // in a.
have [d|d] := leqP (rise y') (q' i - q i).
  by have [c _] := andP (close i); apply: ar5 a d c.
have l := low_ge io d; have lt := level_rise; rewrite [top y'](top_best s_inj uniq_o rest first) in lt.
by apply: (ar6 l u lt); apply: ar7.
Qed.

Lemma top_move : top (noisy q (move g)) + amount g = top y'.
Proof.
have [u|u] := boolP (up g).
  have [_ bo] := heads_best s_inj uniq_o rest first.
  rewrite [top _](top_ahead s_inj bo (best_first u)) addnAC move_moved ?moved_out ?u ?eqxx //.
  by rewrite [top y'](top_best s_inj uniq_o rest first).
have -> : top (noisy q (move g)) = top y.
  by apply: eq_bigr => j jo; rewrite moveE moved_out // (negbTE u).
by rewrite /amount (negbTE u) subnKC // top_le.
Qed.

Lemma move_outcome : heads s (noisy q (move g)) o /\
  (combine (column (noisy q (move g))) (column s) (size o) 1).2 =
  (combine (column y') (column s) (size o) 1).2.
Proof.
by apply: (outcome_kept s_inj uniq_o rest first) top_move => i /moved_in; apply: move_moved.
Qed.

(* What tells how far everything was moved can be seen afterwards. *)
Lemma level_kept p : level p (noisy q (move g)) = level p y'.
Proof.
by apply: eq_bigr => i io; rewrite -top_move -(move_moved (moved_in io)) subnDr.
Qed.

Lemma low_kept : low (rise y') (noisy q (move g)) = low (rise y') y.
Proof.
apply: eq_bigr => j /andP[jo d]; rewrite moveE moved_out //; case: ifP => // /andP[u /eqP e].
by move: d; rewrite e ltnNge best_moves.
Qed.

Lemma up_kept : up g = (low (rise (noisy q (move g))) (noisy q (move g)) <
                       level q (noisy q (move g))).
Proof. by rewrite /rise !level_kept -/(rise y') low_kept. Qed.

Lemma best_kept : up g -> best (noisy q (move g)) = best y'.
Proof.
move=> u; have [_ bo] := heads_best s_inj uniq_o rest first; have [h _] := move_outcome.
have [hb nb] := heads_best s_inj uniq_o rest h.
apply/eqP/negPn/negP => ne; have a := best_first u nb ne.
have b := best_ahead s_inj uniq_o rest h bo; rewrite eq_sym in ne; have {}b := b ne.
move: a b; rewrite !(Combine.aheadE _ s_inj) => /andP[a _] /andP[b _].
by move: ne; rewrite (le_rank_anti s_inj (introT andP (conj a b))) eqxx.
Qed.

(* The noise of one candidate at least does not rise where that of another does. *)
Lemma move_sum : \sum_i move g i <= \sum_i g i + size o * K.
Proof.
have each i : i \in moved g -> move g i + amount g <= g i + K.
  move=> im; rewrite -(leq_add2l (q i)) addnA -/(noisy q (move g) i) move_moved // /y' /noisy.
  by case/andP: (close i) => _ c; apply: ar9.
have same i : i \notin moved g -> move g i = g i by move=> im; rewrite ffunE (negbTE im).
have [l /andP[sl ul] h] : exists2 l : seq 'I_n, (size l == size o) && uniq l &
    forall i, move g i <= g i + (i \in l) * K.
  have [u|u] := boolP (up g); last first.
    exists o; first by rewrite eqxx.
    move=> i; have [io|io] := boolP (i \in o).
      by rewrite mul1n (leq_trans _ (each i (moved_in io))) ?leq_addr.
    by rewrite same ?moved_out ?(negbTE u) // leq_addr.
  have [a ao e] := level_of (leq_ltn_trans (leq0n _) u).
  exists (rcons (rem a o) (best y')).
    have [_ bo] := heads_best s_inj uniq_o rest first.
    rewrite size_rcons size_rem // -[X in X == _]/(size o) eqxx rcons_uniq rem_uniq // andbT.
    by apply: contra bo => /mem_rem.
  move=> i; rewrite mem_rcons in_cons; have [->|ib] := eqVneq i (best y').
    by rewrite mul1n (leq_trans _ (each _ _)) ?leq_addr // moved_out ?u ?eqxx //;
       have [_] := heads_best s_inj uniq_o rest first.
  have [io|io] := boolP (i \in o); last first.
    by rewrite same ?leq_addr // moved_out // (negbTE ib) andbF.
  have [ia|ia] := eqVneq i a.
    rewrite ia mem_rem_uniq // inE eqxx /= mul0n addn0.
    have m := move_moved (moved_in ao); have le := level_ge q' y' ao; rewrite -level_split in le.
    by move: m; rewrite /amount u; apply: ar8 e le.
  have -> : i \in rem a o by move: (io); rewrite mem_rem_uniq // !inE ia.
  by rewrite mul1n (leq_trans _ (each i (moved_in io))) ?leq_addr.
apply: leq_trans (leq_sum _ (fun i _ => h i)) _.
rewrite big_split leq_add2l -big_distrl leq_mul2r; apply/orP; right.
by rewrite -(eqP sl) -(card_uniqP ul) -sum1_card [X in _ <= X]big_mkcond; apply: leq_sum.
Qed.
End Event.

Lemma move_inj g h : within q' T g -> heads s (noisy q' g) o ->
  within q' T h -> heads s (noisy q' h) o -> move g = move h -> g = h.
Proof.
move=> wg hg wh hh e; have u : up g = up h by rewrite !up_kept // e.
have b : up g -> best (noisy q' g) = best (noisy q' h).
  by move=> ug; rewrite -best_kept // e best_kept // -u.
have m : moved g = moved h by rewrite /moved -u; case: ifP => // /b->.
have out i : i \notin moved g -> g i = h i.
  move=> im; have := congr1 (fun f : noise n M => f i) e; rewrite !ffunE -m (negbTE im); exact.
have a : amount g = amount h.
  have r : rise (noisy q' g) = rise (noisy q' h) by rewrite /rise -!level_kept // e.
  rewrite /amount -u; case: ifP => // ug.
  have [t t'] : top (noisy q g) = top (noisy q h) /\ top (noisy q' g) = top (noisy q' h).
    by split; apply: eq_bigr => j jo; rewrite /noisy out // moved_out // ug.
  by rewrite t t'.
apply/ffunP => i; have [im|/out//] := boolP (i \in moved g); apply: val_inj.
have := move_moved wg hg im; rewrite e a move_moved -?m //.
by move/addnI => /= ->.
Qed.

Lemma move_within g : within q' T g -> heads s (noisy q' g) o -> within q T (move g).
Proof.
move=> w hd; apply/forallP => i; rewrite moveE //; case: ifP => _.
  by rewrite (leq_trans (leq_subr _ _)) // (forallP w).
by apply: leq_trans (forallP w i); apply: noisy_le.
Qed.

Local Open Scope ring_scope.

(* The law of the outcome: the k places, in order, and gaps of which E is true. *)
Definition law_gaps (p : scores n) (E : pred (seq nat)) : R :=
  \sum_(g : noise n M | [&& within p T g, heads s (noisy p g) o
     & E (combine (column (noisy p g)) (column s) (size o) 1).2]) weight rho g.

Lemma weightE (g : noise n M) : weight rho g = (1 - rho) ^+ n * rho ^+ (\sum_i g i)%N.
Proof. by rewrite /weight big_split /= prodr_const card_ord prodrXr. Qed.

Theorem gaps_at E : law_gaps q' E <= rho^-1 ^+ (size o * K) * law_gaps q E.
Proof.
rewrite /law_gaps mulr_sumr; apply: (sum_le_inj (f := move)).
- by move=> g h /and3P[wg hg _] /and3P[wh hh _]; apply: move_inj.
- move=> g /and3P[w hd e]; have [h1 h2] := move_outcome w hd.
  by rewrite move_within // h1 h2 e.
- move=> g /and3P[w hd _]; rewrite !weightE mulrCA ler_pmul2l ?exprn_gt0 ?subr_gt0 //.
  rewrite -[X in X <= _]mul1r; have le := move_sum w hd.
  have -> : 1 = rho^-1 ^+ (size o * K) * rho ^+ (size o * K) :> R.
    by rewrite -exprMn mulVf ?gt_eqF // expr1n.
  rewrite -mulrA ler_pmul2l ?exprn_gt0 ?invr_gt0 // -exprD addnC.
  by apply: ler_wiexpn2l le; rewrite ltW.
- by move=> g; rewrite mulr_ge0 ?weight_ge0 // exprn_ge0 // invr_ge0 ltW.
Qed.
End Privacy.

(* The chance that the program says: these places, and these gaps in units of so many steps.  `law`
   of Ranking.v with gaps; truncated to noisy scores of at most T, in a box M. *)
Section Law.
Local Open Scope ring_scope.
Variables (R : realFieldType) (rho : R) (n : nat).
Hypotheses (rho_gt0 : 0 < rho) (rho_lt1 : rho < 1).
Variables (s : 'I_n -> nat) (z : 'I_n) (o' : seq 'I_n) (unit : nat) (gs : seq nat).
Let o := z :: o'.
Hypotheses (s_inj : injective s) (uniq_o : uniq o) (rest : (size o < n)%N).
Implicit Types (p q : scores n).

Definition told (y : 'I_n -> nat) : bool :=
  combine (column y) (column s) (size o) unit == ([seq val i | i <- o], gs).
Definition chance p M T : R := \sum_(g : noise n M | within p T g && told (noisy p g)) weight rho g.

Lemma combine_unit (y r : seq nat) k :
  (combine y r k unit).2 = [seq a %/ unit | a <- (combine y r k 1).2]%N.
Proof. by rewrite /combine /= -map_comp; apply: eq_map => a; rewrite /= divn1. Qed.

Let E (l : seq nat) := [seq a %/ unit | a <- l]%N == gs.

Lemma toldE y : told y = heads s y o && E (combine (column y) (column s) (size o) 1).2.
Proof.
rewrite /told [combine _ _ _ _]surjective_pairing xpair_eqE.
by rewrite (combine_heads y s_inj unit uniq_o (erefl _)) /E combine_unit.
Qed.

Lemma chanceE p M T : chance p M T = law_gaps rho s z o' M T p E.
Proof. by apply: eq_bigl => g; rewrite toldE. Qed.

Lemma eq_told y y' : y =1 y' -> told y = told y'.
Proof. by move=> e; rewrite /told (_ : column y = column y') //; apply: eq_map. Qed.

(* Only differences count. *)
Lemma told_translate y c : told (fun i => y i + c)%N = told y.
Proof.
rewrite !toldE heads_translate; congr (_ && E _); rewrite /= !order_ranked.
have -> : ranked (fun i => y i + c)%N s = ranked y s.
  apply: (sorted_eq (@le_rank_trans n y s) (le_rank_anti s_inj)).
  - rewrite -(@eq_sorted _ (le_rank (fun i => y i + c)%N s)) ?sort_sorted //.
      exact: le_rank_total.
    by move=> i j; rewrite /le_rank ltn_add2r eqn_add2r.
  - by apply: sort_sorted; apply: le_rank_total.
  - by rewrite perm_sort perm_sym perm_sort.
rewrite !(eq_map divn1) !map_id -map_take; elim: (take _ _) => // i [|j l] IH //.
have two f : gaps_of (column f) (column s) [seq val a | a <- [:: i, j & l]] =
  gap (column f) (column s) i j :: gaps_of (column f) (column s) [seq val a | a <- j :: l] by [].
by rewrite !two IH /gap !nth_column subnDr.
Qed.

Lemma chance_translate p M T c : chance (fun i => p i + c)%N M (T + c) = chance p M T.
Proof.
apply: eq_bigl => g.
have N i : noisy (fun i => p i + c)%N g i = (noisy p g i + c)%N by rewrite /noisy addnAC.
rewrite (eq_told N) told_translate; congr (_ && _).
by apply: eq_forallb => i; rewrite N leq_add2r.
Qed.

Lemma chance_box p M M' T : (T <= M)%N -> chance p M' T <= chance p M T.
Proof.
move=> TM; have W (g : noise n M') : within p T g -> forall i, widen M g i = g i :> nat.
  move=> /forallP w i; rewrite ffunE inordK // ltnS (leq_trans _ TM) // (leq_trans _ (w i)) //.
  exact: leq_addl.
apply: (@sum_le_inj _ _ _ (@widen n M' M)) => [g h /andP[wg _] /andP[wh _] e|g /andP[w h]|g /andP[w _]|].
- by apply/ffunP => i; apply: val_inj; rewrite /= -(W g) // -(W h) // e.
- have N i : noisy p (widen M g) i = noisy p g i by rewrite /noisy W.
  by rewrite (eq_told N) h andbT; apply/forallP => i; rewrite N; apply: (forallP w).
- by rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: eq_bigr => i _; rewrite W.
- by move=> h; apply: weight_ge0.
Qed.

Lemma chance_mono p M T T' : (T <= T')%N -> chance p M T <= chance p M T'.
Proof.
move=> le; apply: (@sum_le_inj _ _ _ id) => // [g /andP[/forallP w ->]|g]; last exact: weight_ge0.
by rewrite andbT; apply/forallP => i; apply: leq_trans (w i) le.
Qed.

(* Theorem 5, for the noise that ships: all changes lie in an interval d - c .. d - c + K. *)
Theorem gaps_private p p' c d K B : (forall i, (p i + d <= p' i + c <= p i + d + K)%N) ->
  (forall T, chance p T T <= B) ->
  forall T, chance p' T T <= rho^-1 ^+ (size o * K) * B.
Proof.
move=> close B_ T; rewrite -(chance_translate p' T T c).
apply: le_trans (chance_box _ _ (leqnn _)) _; rewrite chanceE.
apply: le_trans (gaps_at rho_gt0 rho_lt1 s_inj uniq_o rest close (leqnn _) E) _.
rewrite ler_pmul2l ?exprn_gt0 ?invr_gt0 // -chanceE.
by apply: le_trans (chance_mono _ _ (leq_addr d _)) _; rewrite chance_translate; apply: B_.
Qed.
End Law.

Print Assumptions gaps_private.
