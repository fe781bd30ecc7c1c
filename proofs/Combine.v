(* The combining step for geometric noise with tie ranks, as a program: `combine`.

   It is extracted (Extraction.v) and compared with the shipped tiers.  Here: it computes the
   outcome that the law of Ranking.v speaks of, and that outcome and the floors of its gaps are those
   of real noise g + U for every U in [0, 1) that the ranks are the ranks of. *)
From mathcomp Require Import all_ssreflect all_algebra.
Require Import Ranking.
Import Order.TTheory GRing.Theory Num.Theory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.

(* y: noisy scores, s: ranks, by place.  The places, best first. *)
Definition before (y s : seq nat) (i j : nat) : bool :=
  (nth 0 y j < nth 0 y i) || ((nth 0 y j == nth 0 y i) && (nth 0 s j <= nth 0 s i)).
Definition order (y s : seq nat) : seq nat := sort (before y s) (iota 0 (size y)).

(* From the better to the worse of two neighbours: one less where the part below the lattice of the
   better one is the smaller. *)
Definition gap (y s : seq nat) (i j : nat) : nat :=
  nth 0 y i - nth 0 y j - (nth 0 s i < nth 0 s j).
Fixpoint gaps_of (y s o : seq nat) : seq nat :=
  if o is i :: ((j :: _) as o') then gap y s i j :: gaps_of y s o' else [::].

(* The k first, and the k floors of gaps in units of `unit` steps. *)
Definition combine (y s : seq nat) (k unit : nat) : seq nat * seq nat :=
  let o := order y s in (take k o, [seq x %/ unit | x <- gaps_of y s (take k.+1 o)]).

Section Model.
Variable n : nat.
Implicit Types (y s : 'I_n -> nat) (o : seq 'I_n).

Definition column y : seq nat := [seq y i | i <- enum 'I_n].

Lemma nth_column y (i : 'I_n) : nth 0 (column y) i = y i.
Proof. by rewrite (nth_map i) ?size_enum_ord // nth_ord_enum. Qed.

Definition le_rank y s (i j : 'I_n) : bool := (y j < y i) || ((y j == y i) && (s j <= s i)).
Definition ranked y s : seq 'I_n := sort (le_rank y s) (enum 'I_n).

Lemma order_ranked y s : order (column y) (column s) = [seq val i | i <- ranked y s].
Proof.
rewrite /order size_map size_enum_ord -val_enum_ord /ranked; apply/esym/map_sort.
by move=> i j; rewrite /before /le_rank !nth_column.
Qed.

Section Injective.
Variables (y s : 'I_n -> nat).
Hypothesis s_inj : injective s.

Lemma le_rank_total : total (le_rank y s).
Proof. by move=> i j; rewrite /le_rank; case: ltngtP => //= _; apply: leq_total. Qed.

Lemma le_rank_trans : transitive (le_rank y s).
Proof.
rewrite /le_rank => j i k; case/orP=> [a|/andP[/eqP a b]]; case/orP=> [c|/andP[/eqP c d]].
- by rewrite (ltn_trans c a).
- by rewrite c a.
- by rewrite -a c.
- by rewrite c a eqxx (leq_trans d b) orbT.
Qed.

Lemma le_rank_anti : antisymmetric (le_rank y s).
Proof.
move=> i j; rewrite /le_rank; case: ltngtP => //= _ /andP[a b].
by apply/s_inj/eqP; rewrite eqn_leq a b.
Qed.

Lemma aheadE i j : ahead s y i j = le_rank y s i j && (i != j).
Proof.
rewrite /ahead /le_rank; case: (ltngtP (y j) (y i)) => //= [a|e].
  by rewrite (_ : i != j) //; apply: contraTneq a => ->; rewrite ltnn.
rewrite ltn_neqAle andbC; congr (_ && _); congr (~~ _).
by rewrite eq_sym; apply/eqP/eqP => [/s_inj|->].
Qed.

Lemma ranked_uniq : uniq (ranked y s).
Proof. by rewrite sort_uniq enum_uniq. Qed.

Lemma ranked_pairwise : pairwise (ahead s y) (ranked y s).
Proof.
have := sort_sorted le_rank_total (enum 'I_n).
rewrite (sorted_pairwise le_rank_trans) -/(ranked y s) => h.
have e : ahead s y =2 [rel i j | le_rank y s i j && [rel i j | i != j] i j].
  by move=> i j; rewrite /= aheadE.
apply: (etrans (eq_pairwise e (ranked y s))); apply: (etrans (pairwise_relI _ _ _)).
by rewrite h -uniq_pairwise ranked_uniq.
Qed.

Theorem take_heads k : heads s y (take k (ranked y s)).
Proof.
have := ranked_pairwise; rewrite -{1}(cat_take_drop k (ranked y s)) pairwise_cat.
case/and3P=> /allrelP cross pw _; rewrite /heads pw /=; apply/forallP => i; apply/forallP => j.
apply/implyP => io; apply/implyP => jo; apply: cross => //.
have : j \in ranked y s by rewrite mem_sort mem_enum.
by rewrite -{1}(cat_take_drop k (ranked y s)) mem_cat (negbTE jo).
Qed.

(* The head of the ranking is what the program returns, and nothing else is. *)
Theorem heads_unique o : uniq o -> heads s y o = (o == take (size o) (ranked y s)).
Proof.
move=> uo; apply/idP/eqP => [/andP[pw /forallP out]|->]; last exact: take_heads.
pose rest := [seq i <- ranked y s | i \notin o].
suff e : ranked y s = o ++ rest by rewrite e take_size_cat.
apply: (sorted_eq le_rank_trans le_rank_anti).
- exact: sort_sorted le_rank_total _.
- rewrite (sorted_pairwise le_rank_trans) pairwise_cat; apply/and3P; split.
  + apply/allrelP => i j io; rewrite mem_filter => /andP[jo _].
    by have /forallP/(_ j) := out i; rewrite io jo aheadE => /andP[].
  + by apply: sub_pairwise pw => i j; rewrite /= aheadE => /andP[].
  + rewrite -(sorted_pairwise le_rank_trans) sorted_filter //; first exact: le_rank_trans.
    exact: sort_sorted le_rank_total _.
- apply: uniq_perm; first exact: ranked_uniq.
    rewrite cat_uniq uo filter_uniq ?ranked_uniq //= andbT -all_predC; apply/allP => i.
    by rewrite mem_filter => /andP[].
  move=> i; rewrite mem_cat mem_filter mem_sort mem_enum andbT.
  by case: (i \in o).
Qed.

Theorem combine_heads k unit o : uniq o -> size o = k ->
  ((combine (column y) (column s) k unit).1 == [seq val i | i <- o]) = heads s y o.
Proof.
move=> uo <-; rewrite /= order_ranked -map_take (inj_eq (inj_map val_inj)).
by rewrite heads_unique // eq_sym.
Qed.

(* Every completion: real noise whose parts below the lattice are ranked by s. *)
Section Completion.
Local Open Scope ring_scope.
Variables (R : realDomainType) (U : 'I_n -> R).
Hypothesis U_range : forall i, 0 <= U i < 1.
Hypothesis U_ranked : forall i j, (s i < s j)%N = (U i < U j).
Let Y i : R := (y i)%:R + U i.

Theorem ahead_completion i j : ahead s y i j = (Y j < Y i).
Proof.
have far a b : (y a < y b)%N -> Y a < Y b.
  move=> lt; have /andP[_ a1] := U_range a; have /andP[b0 _] := U_range b.
  apply: (@lt_le_trans _ _ ((y a).+1%:R)); first by rewrite /Y -addn1 natrD ltr_add2l.
  by rewrite /Y -[X in X <= _]addr0 ler_add // ler_nat.
rewrite /ahead; case: (ltngtP (y j) (y i)) => /= [lt|lt|e].
- by rewrite far.
- by apply/esym/negbTE; rewrite -leNgt ltW // far.
- by rewrite U_ranked /Y e ltr_add2l.
Qed.

Theorem gap_completion i j : ahead s y i j ->
  (gap (column y) (column s) i j)%:R <= Y i - Y j < (gap (column y) (column s) i j).+1%:R.
Proof.
rewrite /gap !nth_column /ahead => h.
have /andP[i0 i1] := U_range i; have /andP[j0 j1] := U_range j.
have le : (y j <= y i)%N by case/orP: h => [/ltnW|/andP[/eqP ->]].
have -> : Y i - Y j = (y i - y j)%:R + (U i - U j).
  by rewrite /Y natrB // opprD addrACA.
have [c|c] := boolP (s i < s j)%N.
  have lt : (0 < y i - y j)%N.
    by rewrite subn_gt0; case/orP: h => // /andP[_ c']; rewrite ltnNge ltnW in c.
  rewrite U_ranked in c; rewrite subn1 prednK //; apply/andP; split; last first.
    by rewrite gtr_addl subr_lt0.
  rewrite -{2}(prednK lt) -addn1 natrD -addrA ler_addl addrCA.
  by rewrite addr_ge0 // subr_ge0 ltW.
rewrite U_ranked -leNgt in c; rewrite subn0 ler_addl subr_ge0 c /= -addn1 natrD ltr_add2l.
by rewrite ltr_subl_addr (lt_le_trans i1) // ler_addl.
Qed.

(* Floors in units of several steps are floors of floors. *)
Theorem gap_unit_completion unit i j : (0 < unit)%N -> ahead s y i j ->
  (gap (column y) (column s) i j %/ unit * unit)%:R <= Y i - Y j
    < ((gap (column y) (column s) i j %/ unit).+1 * unit)%:R.
Proof.
move=> u0 /gap_completion/andP[lo hi]; apply/andP; split.
  by apply: le_trans lo; rewrite ler_nat leq_trunc_div.
by apply: lt_le_trans hi _; rewrite ler_nat ltn_ceil.
Qed.
End Completion.
End Injective.
End Model.

(* The law of Ranking.v is the law of what the program returns. *)
Theorem law_combine (R : realFieldType) (rho : R) n (q : scores n) (s : 'I_n -> nat) M T
    (o : seq 'I_n) unit : injective s -> uniq o ->
  law rho q s M T o =
  (\sum_(g : noise n M | within q T g &&
     ((combine (column (noisy q g)) (column s) (size o) unit).1 == [seq val i | i <- o]))
     weight rho g)%R.
Proof.
by move=> s_inj uo; apply: eq_bigl => g; rewrite (combine_heads _ s_inj unit uo).
Qed.

Print Assumptions combine_heads.
Print Assumptions ahead_completion.
Print Assumptions gap_unit_completion.
Print Assumptions law_combine.
