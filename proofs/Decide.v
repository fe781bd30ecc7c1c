(* Certificates: what is answered from enclosures holds for every number within them.

   `decide` is the program of the array engine's ranking: of each candidate an enclosure
   low <= Y <= high in whole units is known, of all others together a ceiling.  It answers with the
   k first and the floors of their gaps, or not at all.  `compare` is the program of the sparse vector
   sessions.  The theorems hold in every ordered field, the real numbers included. *)
From Coq Require Import ZArith Lia.
From mathcomp Require Import all_ssreflect all_algebra.
Import Order.TTheory GRing.Theory Num.Theory.
Delimit Scope Z_scope with ZZ. (* mathcomp has taken %Z *)
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.

(* ------------------------------------------------------------------ the programs *)
Fixpoint place (a : seq Z) (i : nat) : Z :=
  match a, i with x :: _, 0 => x | _ :: a', i'.+1 => place a' i' | [::], _ => Z0 end.

(* The first n places by descending high end, of equal ones the first first. *)
Fixpoint insert (highs : seq Z) (i : nat) (o : seq nat) : seq nat :=
  if o is j :: o' then
    if Z.leb (place highs j) (place highs i) then i :: o else j :: insert highs i o'
  else [:: i].
Definition by_highs (n : nat) (highs : seq Z) : seq nat := foldr (insert highs) [::] (iota 0 n).

Definition at_least (behind : option Z) (x : Z) : bool :=
  if behind is Some b then Z.leb b x else true.
Definition raised (behind : option Z) (x : Z) : option Z :=
  Some (if behind is Some b then Z.max b x else x).
Fixpoint settled (lows highs : seq Z) (behind : option Z) (o : seq nat) : bool * option Z :=
  if o is i :: o' then
    let (fine, b) := settled lows highs behind o' in
    (at_least b (place lows i) && fine, raised b (place highs i))
  else (true, behind).

(* A gap's floor from both ends of its enclosure: over * lo / fast and over * hi / slow. *)
Record unit_of_gaps := Unit { over : Z; slow : Z; fast : Z }.
Definition floors (u : unit_of_gaps) (lows highs : seq Z) (i j : nat) : Z * Z :=
  (Z.div (Z.mul (Z.sub (place lows i) (place highs j)) (over u)) (fast u),
   Z.div (Z.mul (Z.sub (place highs i) (place lows j)) (over u)) (slow u)).
Fixpoint pair_floors u lows highs (o : seq nat) : seq (Z * Z) :=
  if o is i :: ((j :: _) as o') then floors u lows highs i j :: pair_floors u lows highs o'
  else [::].

Definition decide (u : option unit_of_gaps) (k : nat) (lows highs : seq Z) (ceiling : option Z)
    : option (seq nat * seq Z) :=
  let o := by_highs (size lows) highs in
  let need := if u is Some _ then k.+1 else k in
  let first := take need o in
  let behind := foldr (fun i b => raised b (place highs i)) ceiling (drop need o) in
  let gaps := if u is Some v then pair_floors v lows highs first else [::] in
  if (settled lows highs behind first).1 && all (fun f => Z.eqb f.1 f.2) gaps
  then Some (take k o, [seq f.1 | f <- gaps]) else None.

(* "below", or the gap above in whole cells. *)
Inductive answer := Below | Cells of Z.
Definition compare (low high least cell : Z) : option answer :=
  if Z.ltb high least then Some Below
  else if Z.ltb low least then None
  else let c := Z.div low cell in if Z.eqb c (Z.div high cell) then Some (Cells c) else None.

(* ----------------------------------------------------- whole numbers in an ordered field *)
Section Numbers.
Local Open Scope ring_scope.
Variable R : realFieldType.

Definition num (z : Z) : R :=
  match z with Z0 => 0 | Zpos p => (Pos.to_nat p)%:R | Zneg p => - (Pos.to_nat p)%:R end.

Lemma num_nat a : num (Z.of_nat a) = a%:R.
Proof. by case: a => //= a; rewrite SuccNat2Pos.id_succ. Qed.

Lemma num_sub_nat (a b : nat) : num (Z.of_nat a - Z.of_nat b)%ZZ = a%:R - b%:R.
Proof.
have [ba|ab] := leqP b a.
  rewrite -(subnK ba) Nat2Z.inj_add natrD -num_nat addrK; congr num; lia.
rewrite -(subnK (ltnW ab)) Nat2Z.inj_add natrD opprD addrCA subrr addr0.
have -> : (Z.of_nat a - (Z.of_nat (b - a) + Z.of_nat a) = - Z.of_nat (b - a))%ZZ by lia.
by case: (b - a)%N => [|d]; rewrite ?oppr0 //= SuccNat2Pos.id_succ.
Qed.

Lemma nat_diff z : exists a b, z = (Z.of_nat a - Z.of_nat b)%ZZ.
Proof. by exists (Z.to_nat z), (Z.to_nat (- z)); lia. Qed.

Lemma num_add x y : num (x + y)%ZZ = num x + num y.
Proof.
have [a [b ->]] := nat_diff x; have [c [d ->]] := nat_diff y; rewrite !num_sub_nat.
have -> : (Z.of_nat a - Z.of_nat b + (Z.of_nat c - Z.of_nat d) =
           Z.of_nat (a + c)%coq_nat - Z.of_nat (b + d)%coq_nat)%ZZ by lia.
by rewrite num_sub_nat !plusE !natrD opprD addrACA.
Qed.

Lemma num_opp x : num (- x)%ZZ = - num x.
Proof. by case: x => //= *; rewrite ?oppr0 ?opprK. Qed.

Lemma num_sub x y : num (x - y)%ZZ = num x - num y.
Proof. by rewrite -num_opp -num_add. Qed.

Lemma num_mul x y : num (x * y)%ZZ = num x * num y.
Proof.
have [a [b ->]] := nat_diff x; have [c [d ->]] := nat_diff y; rewrite !num_sub_nat.
have -> : ((Z.of_nat a - Z.of_nat b) * (Z.of_nat c - Z.of_nat d) =
    Z.of_nat (a * c + b * d)%coq_nat - Z.of_nat (a * d + b * c)%coq_nat)%ZZ.
  by rewrite !Nat2Z.inj_add !Nat2Z.inj_mul; ring.
rewrite num_sub_nat !natrD !natrM mulrBl !mulrBr opprD opprB.
by rewrite addrACA.
Qed.

Lemma num_le x y : (x <= y)%ZZ -> num x <= num y.
Proof.
move=> le; rewrite -subr_ge0 -num_sub -[(y - x)%ZZ]Z2Nat.id; last by lia.
by rewrite num_nat ler0n.
Qed.
End Numbers.

(* ------------------------------------------------------------------- what they decide *)
Lemma at_least_raised b y x : at_least (raised b y) x = Z.leb y x && at_least b x.
Proof.
case: b => [b|] /=; last by rewrite andbT.
apply/Z.leb_spec0/andP => [h|[/Z.leb_spec0 h /Z.leb_spec0 h']]; last by lia.
by split; apply/Z.leb_spec0; lia.
Qed.

Arguments at_least : simpl never.
Arguments raised : simpl never.

Lemma at_least_behind (highs : seq Z) c r x :
  at_least (foldr (fun i b => raised b (place highs i)) c r) x =
  all (fun i => Z.leb (place highs i) x) r && at_least c x.
Proof. by elim: r => //= i r IH; rewrite at_least_raised IH andbA. Qed.

Section Settled.
Variables lows highs : seq Z.
Definition clear (i j : nat) : bool := Z.leb (place highs j) (place lows i).

Lemma settled_at_least b o x : at_least (settled lows highs b o).2 x =
  all (fun i => Z.leb (place highs i) x) o && at_least b x.
Proof.
elim: o => //= i o; case: (settled lows highs b o) => f c /= IH.
by rewrite at_least_raised IH andbA.
Qed.

Lemma settledE b o : (settled lows highs b o).1 =
  pairwise clear o && all (fun i => at_least b (place lows i)) o.
Proof.
elim: o => //= i o; have := settled_at_least b o (place lows i).
case: (settled lows highs b o) => f c /= -> ->.
by rewrite -andbA; case: (all _ o); case: (at_least b _); rewrite /= ?andbF.
Qed.

Lemma perm_insert i o : perm_eq (insert highs i o) (i :: o).
Proof.
elim: o => //= j o IH; case: ifP => // _.
rewrite (perm_trans (y := [:: j, i & o])) ?perm_cons //.
exact/permPl/(perm_catCA [:: j] [:: i] o).
Qed.

Lemma perm_by_highs n : perm_eq (by_highs n highs) (iota 0 n).
Proof.
rewrite /by_highs; elim: (iota _ _) => //= i o IH.
by apply: perm_trans (perm_insert _ _) _; rewrite perm_cons.
Qed.
End Settled.

Section Completion.
Local Open Scope ring_scope.
Variables (R : realFieldType) (lows highs : seq Z) (ceiling : option Z).
(* Any numbers within the enclosures, and any other number below the ceiling. *)
Variable Y : nat -> R.
Hypothesis enclosed : forall i, (i < size lows)%N ->
  num R (place lows i) <= Y i <= num R (place highs i).

Lemma clear_le i j : (i < size lows)%N -> (j < size lows)%N -> clear lows highs i j -> Y j <= Y i.
Proof.
move=> il jl /Z.leb_spec0/(num_le R) h; case/andP: (enclosed il) => a _.
by case/andP: (enclosed jl) => _ b; apply: le_trans b (le_trans h a).
Qed.

Variables (u : option unit_of_gaps) (k : nat) (o : seq nat) (gs : seq Z).
Hypothesis answered : decide u k lows highs ceiling = Some (o, gs).

Let ranking := by_highs (size lows) highs.
Let need := if u is Some _ then k.+1 else k.

Lemma in_range i : (i \in ranking) = (i < size lows)%N.
Proof. by rewrite (perm_mem (perm_by_highs highs _)) mem_iota. Qed.

Lemma o_take : o = take k ranking.
Proof. by move: answered; rewrite /decide; case: ifP => // _ [<- _]. Qed.

Theorem decide_places : uniq o /\ (forall i, i \in o -> (i < size lows)%N) /\
  size o = minn k (size lows).
Proof.
rewrite o_take; split; first by rewrite take_uniq // (perm_uniq (perm_by_highs _ _)) iota_uniq.
split=> [i /mem_take|]; first by rewrite in_range.
by rewrite size_take_min (perm_size (perm_by_highs _ _)) size_iota.
Qed.

Lemma settled_first : pairwise (clear lows highs) (take need ranking) /\
  (forall i, i \in take need ranking ->
     all (clear lows highs i) (drop need ranking) /\ at_least ceiling (place lows i)).
Proof.
move: answered; rewrite /decide -/need -/ranking; case: ifP => // /andP[ok _] _.
move: ok; rewrite settledE => /andP[-> /allP h]; split=> // i io.
by have := h i io; rewrite at_least_behind => /andP[a ->]; split.
Qed.

Lemma drop_le i j l : (l <= need)%N -> i \in take l ranking -> j \in drop l ranking -> Y j <= Y i.
Proof.
move=> ln io jo; have e := subnKC ln; have [pw out] := settled_first.
have il : (i < size lows)%N by rewrite -in_range (mem_take io).
have jl : (j < size lows)%N by rewrite -in_range (mem_drop jo).
apply: clear_le => //; rewrite -e takeD pairwise_cat in pw.
case/and3P: pw => /allrelP cross _ _.
move: jo; rewrite -(cat_take_drop (need - l) (drop l ranking)) mem_cat => /orP[|]; first exact: cross.
rewrite drop_drop subnK // => jn.
have it : i \in take need ranking by rewrite -e takeD mem_cat io.
by have [/allP h _] := out i it; apply: h jn.
Qed.

Lemma k_need : (k <= need)%N. Proof. by rewrite /need; case: (u). Qed.

(* Whoever is not among the k first does not exceed them ... *)
Theorem decide_best i j : i \in o -> (j < size lows)%N -> j \notin o -> Y j <= Y i.
Proof.
rewrite o_take -in_range -/ranking => io jr jo; apply: (drop_le k_need io).
by move: jr; rewrite -{1}(cat_take_drop k ranking) mem_cat (negbTE jo).
Qed.

(* ... and the k first are in order, *)
Theorem decide_ordered : pairwise (fun i j => Y j <= Y i) o.
Proof.
have [pw _] := settled_first; rewrite o_take -/ranking.
have -> : take k ranking = take k (take need ranking) by rewrite take_take ?k_need.
have {}pw : pairwise (clear lows highs) (take k (take need ranking)).
  by move: pw; rewrite -{1}(cat_take_drop k (take need ranking)) pairwise_cat => /and3P[].
have sub : {subset take k (take need ranking) <= ranking} by move=> i /mem_take/mem_take.
apply: (@sub_in_pairwise _ (mem ranking) _ _ _ _ _ pw); last by apply/allP.
by move=> i j; rewrite !in_range; apply: clear_le.
Qed.

(* and nobody below the ceiling exceeds them. *)
Theorem decide_ceiling c y i : ceiling = Some c -> y <= num R c -> i \in o -> y <= Y i.
Proof.
move=> e yc; rewrite o_take -/ranking => io; have [_ out] := settled_first.
have it : i \in take need ranking.
  by move: io; rewrite -{1}(take_take k_need) => /mem_take.
have [_] := out i it; rewrite e /= => /Z.leb_spec0/(num_le R) h.
have /enclosed/andP[a _] : (i < size lows)%N by rewrite -in_range (mem_take io).
by apply: le_trans yc (le_trans h a).
Qed.
End Completion.

(* A floor that both ends of an enclosure agree on is that of everything between. *)
Section Gap.
Local Open Scope ring_scope.
Variables (R : realFieldType) (v : unit_of_gaps) (lo hi m : Z) (D r : R).
Hypotheses (over_gt0 : (0 < over v)%ZZ) (slow_gt0 : (0 < slow v)%ZZ).
Hypothesis r_range : num R (slow v) <= r <= num R (fast v).
Hypothesis D_range : num R lo <= D <= num R hi.
Hypothesis lo_ge0 : (0 <= lo)%ZZ.
Hypothesis agree : (Z.div (Z.mul lo (over v)) (fast v) = m /\ Z.div (Z.mul hi (over v)) (slow v) = m)%ZZ.

Lemma num_gt0 z : (0 < z)%ZZ -> 0 < num R z.
Proof. by case: z => [|z|z] // _; rewrite /= ltr0n; apply/ssrnat.ltP/Pos2Nat.is_pos. Qed.

Lemma fast_gt0 : (0 < fast v)%ZZ.
Proof.
case: (Z_lt_le_dec 0 (fast v)) => // /(num_le R) /= f.
have := num_gt0 slow_gt0; case/andP: r_range => a b.
by rewrite ltNge (le_trans (le_trans a b) f).
Qed.

Theorem floor_completion : num R m <= D * num R (over v) / r < num R (m + 1)%ZZ.
Proof.
case/andP: r_range => sr rf; case/andP: D_range => lD Dh; case: agree => e1 e2.
have r0 : 0 < r by apply: lt_le_trans (num_gt0 slow_gt0) sr.
have o0 := num_gt0 over_gt0.
have m0 : (0 <= m)%ZZ by rewrite -e1; apply: Z_div_pos; have := fast_gt0; nia.
have f0 := fast_gt0.
have h1 : (m * fast v <= lo * over v)%ZZ by rewrite -e1 Z.mul_comm; apply: Z.mul_div_le.
have h2 : (hi * over v + 1 <= (m + 1) * slow v)%ZZ.
  have := Z.mul_succ_div_gt (hi * over v)%ZZ (slow v) slow_gt0; rewrite e2; nia.
apply/andP; split.
  rewrite ler_pdivl_mulr //; apply: (@le_trans _ _ (num R (m * fast v)%ZZ)).
    by rewrite num_mul ler_wpmul2l //; apply: (num_le R m0).
  by apply: le_trans (num_le R h1) _; rewrite num_mul ler_wpmul2r // ltW.
rewrite ltr_pdivr_mulr //; apply: (@le_lt_trans _ _ (num R (hi * over v)%ZZ)).
  by rewrite num_mul ler_wpmul2r // ltW.
apply: (@lt_le_trans _ _ (num R (hi * over v + 1)%ZZ)).
  by rewrite num_add ltr_addl; apply: num_gt0.
apply: le_trans (num_le R h2) _; rewrite num_mul ler_wpmul2l //.
by have : (0 <= m + 1)%ZZ by [lia]; move/(num_le R).
Qed.
End Gap.

Section Gaps.
Local Open Scope ring_scope.
Variables (R : realFieldType) (lows highs : seq Z) (ceiling : option Z) (Y : nat -> R).
Hypothesis enclosed : forall i, (i < size lows)%N ->
  num R (place lows i) <= Y i <= num R (place highs i).
Variables (v : unit_of_gaps) (k : nat) (o : seq nat) (gs : seq Z).
Hypothesis answered : decide (Some v) k lows highs ceiling = Some (o, gs).

Let first := take k.+1 (by_highs (size lows) highs).

Lemma size_pair_floors f : size (pair_floors v lows highs f) = (size f).-1.
Proof. by elim: f => // i [|j f] //= ->. Qed.

Lemma nth_pair_floors f l : (l.+1 < size f)%N ->
  nth (Z0, Z0) (pair_floors v lows highs f) l = floors v lows highs (nth 0%N f l) (nth 0%N f l.+1).
Proof. by elim: f l => // i [|j f] IH [|l] //= h; apply: IH. Qed.

(* One gap a winner: the last leads to the best of those not chosen. *)
Theorem decide_gap_count : (k < size lows)%N -> size gs = k.
Proof.
move=> kn; move: answered; rewrite /decide; case: ifP => // _ [_ <-].
rewrite size_map size_pair_floors size_take_min (perm_size (perm_by_highs _ _)) size_iota.
by rewrite (minn_idPl _).
Qed.

Theorem decide_gap l r : (0 < over v)%ZZ -> (0 < slow v)%ZZ ->
  num R (slow v) <= r <= num R (fast v) -> (l < size gs)%N ->
  num R (nth Z0 gs l) <= (Y (nth 0%N first l) - Y (nth 0%N first l.+1)) * num R (over v) / r
    < num R (nth Z0 gs l + 1)%ZZ.
Proof.
move=> o0 s0 rr; have [pw _] := settled_first answered; rewrite /= -/first in pw.
move: answered; rewrite /decide -/first; case: ifP => // /andP[_ /(all_nthP (Z0, Z0)) same] [_ <-].
rewrite size_map size_pair_floors => lf.
have l1 : (l.+1 < size first)%N by case: (size first) lf.
have l0 := ltnW l1; rewrite (nth_map (Z0, Z0)) ?size_pair_floors //.
set i := nth _ first l; set j := nth _ first l.+1.
have mem a : (a < size first)%N -> (nth 0%N first a < size lows)%N.
  by move=> /(mem_nth 0%N)/mem_take; rewrite (perm_mem (perm_by_highs highs _)) mem_iota.
have := same l; rewrite size_pair_floors nth_pair_floors // => /(_ lf)/Z.eqb_spec e.
have c : clear lows highs i j.
  by move/(pairwiseP 0%N): pw => /(_ l l.+1); rewrite !inE; apply.
case/andP: (enclosed (mem l l0)) => la lb; case/andP: (enclosed (mem l.+1 l1)) => ja jb.
apply: (@floor_completion R v (place lows i - place highs j)%ZZ (place highs i - place lows j)%ZZ) => //.
- by rewrite !num_sub; apply/andP; split; apply: ler_sub.
- by move/Z.leb_spec0: c; lia.
Qed.
End Gaps.

Section Compare.
Local Open Scope ring_scope.
Variables (R : realFieldType) (low high least cell : Z) (D : R).
Hypothesis cell_gt0 : (0 < cell)%ZZ.
Hypothesis enclosed : num R low <= D <= num R high.

Theorem compare_below : compare low high least cell = Some Below -> D < num R least.
Proof.
rewrite /compare; case: Z.ltb_spec0 => [h _|_]; last by case: ifP => // _; case: ifP.
case/andP: enclosed => _ a; apply: (le_lt_trans a).
by rewrite -subr_gt0 -num_sub; apply: num_gt0; lia.
Qed.

Theorem compare_cells c : compare low high least cell = Some (Cells c) ->
  num R least <= D /\ num R (c * cell)%ZZ <= D < num R ((c + 1) * cell)%ZZ.
Proof.
rewrite /compare; case: Z.ltb_spec0 => // _; case: Z.ltb_spec0 => // lo.
case: Z.eqb_spec => // e [ec]; case/andP: enclosed => a b.
have h1 : (c * cell <= low)%ZZ by rewrite -ec Z.mul_comm; apply: Z.mul_div_le.
have h2 : (high < (c + 1) * cell)%ZZ.
  have := Z.mul_succ_div_gt high cell cell_gt0; rewrite -e ec; nia.
split; first by apply: le_trans a; apply: num_le; lia.
apply/andP; split; first by apply: le_trans a; apply: num_le.
apply: le_lt_trans b _; by rewrite -subr_gt0 -num_sub; apply: num_gt0; lia.
Qed.
End Compare.

Print Assumptions decide_places.
Print Assumptions decide_best.
Print Assumptions decide_ordered.
Print Assumptions decide_ceiling.
Print Assumptions decide_gap.
Print Assumptions compare_below.
Print Assumptions compare_cells.
