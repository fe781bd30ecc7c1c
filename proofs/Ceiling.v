(* The ceiling: which few of many candidates are looked at closely, and why nobody else can be first.

   Each candidate has a key, a whole number that its Y does not exceed (in units that `U` reads), and
   0 stands for none.  `largest` finds the places of the m largest of n keys by the maxima of groups.
   A tail word's first key is too small; `contenders` adds those keys afterwards.  It returns the
   places of the contenders, and the largest key of all that were not chosen.  That bounds everybody
   who was left out; so what `decide` of Decide.v answers for the contenders holds among all. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect all_algebra.
Require Import Decide.
Import Order.TTheory GRing.Theory Num.Theory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.

(* ------------------------------------------------------------------ the programs *)
Definition descending (v : seq nat) : seq nat :=
  sort (fun i j => nth 0 v j <= nth 0 v i) (iota 0 (size v)).

(* m places of the largest values, of equal ones the first: the largest first where there are few of
   them and `quick`, else as they stand. *)
Definition top (quick : bool) (v : seq nat) (m : nat) : seq nat :=
  let chosen := take m (descending v) in
  if quick && (m <= 32) then chosen else [seq i <- iota 0 (size v) | i \in chosen].

(* Group g is a column of a block of `group` rows. *)
Definition column_of (group width block g : nat) : seq nat :=
  [seq g %/ width * block + (g %% width + r * width) | r <- iota 0 group].
Definition most (v places : seq nat) : nat := foldr maxn 0 [seq nth 0 v i | i <- places].
Definition maxima (group width block count : nat) (v : seq nat) : seq nat :=
  [seq most v (column_of group width block g) | g <- iota 0 count].
Definition members (group width block : nat) (groups : seq nat) : seq nat :=
  flatten [seq column_of group width block g | g <- groups].

(* m of the best groups; where they are many, by their groups. *)
Fixpoint best (fuel group direct : nat) (quick : bool) (v : seq nat) (m : nat) : seq nat :=
  let columns := size v %/ group in
  let few := (size v <= direct) || (columns * group != size v) || (columns < 4 * m) in
  if fuel is fuel'.+1 then
    if few then top quick v m
    else
      let groups :=
        best fuel' group direct quick (maxima group columns (size v) columns v) m in
      let places := members group columns (size v) groups in
      [seq nth 0 places i | i <- top quick [seq nth 0 v i | i <- places] m]
  else top quick v m.

Definition largest (group block direct : nat) (v : seq nat) (m : nat) : seq (nat * nat) :=
  let n := size v in
  if (n <= direct) || (n < 4 * group * m) then zip (iota 0 n) v
  else
    let width := block %/ group in
    let count := (n + block).-1 %/ block * width in
    let groups := best count group direct true (maxima group width block count v) m in
    [seq (minn i n.-1, nth 0 v i) | i <- members group width block groups].

(* The contenders, and the largest key of the rest; tails are places with keys of their own. *)
Definition contenders (group block direct : nat) (first : seq nat) (tails : seq (nat * nat))
    (count : nat) : seq nat * nat :=
  let own := [seq e.1 | e <- tails & 0 < e.2] in
  let listed := [seq (e.1, if e.1 \in own then 0 else e.2)
                | e <- largest group block direct first count.+1] ++ tails in
  let keys := [seq e.2 | e <- listed] in
  let chosen := top true keys count in
  ([seq (nth (0, 0) listed p).1 | p <- chosen],
   foldr maxn 0 [seq nth 0 keys p | p <- iota 0 (size keys) & p \notin chosen]).

(* The ranking: what is decided for the contenders, all in units of a key. *)
Definition ranked (u : option unit_of_gaps) (k group block direct : nat) (first : seq nat)
    (tails : seq (nat * nat)) (count : nat) (lows highs : seq Z) : option (seq nat * seq Z) :=
  let (cs, rest) := contenders group block direct first tails count in
  let of_ ends := [seq place ends i | i <- cs] in
  if decide u k (of_ lows) (of_ highs) (Some (Z.of_nat rest)) is Some (o, gs)
  then Some ([seq nth 0 cs i | i <- o], gs) else None.

(* Peeling: in each round the best of those who remain; who is gone has the key 0. *)
Fixpoint peeled (group block direct count : nat) (gone : seq nat)
    (rounds : seq (seq nat * seq (nat * nat) * (seq Z * seq Z))) : seq nat :=
  if rounds is (first, tails, (lows, highs)) :: rounds' then
    let kept := [seq if i \in gone then 0 else nth 0 first i | i <- iota 0 (size first)] in
    let kept_tails := [seq (e.1, if e.1 \in gone then 0 else e.2) | e <- tails] in
    if ranked None 1 group block direct kept kept_tails count lows highs is Some (i :: _, _)
    then i :: peeled group block direct count (i :: gone) rounds' else [::]
  else [::].

(* ------------------------------------------------------------------ what they find *)
(* Whoever has a value and is left out is no better than m others that are not. *)
Definition covers (v : seq nat) (m : nat) (S : seq nat) : Prop :=
  forall j, j < size v -> 0 < nth 0 v j -> j \notin S ->
  exists s, [/\ uniq s, size s = m, {subset s <= S} & forall i, i \in s -> nth 0 v j <= nth 0 v i].

Section Top.
Variables (quick : bool) (v : seq nat) (m : nat).

Lemma perm_descending : perm_eq (descending v) (iota 0 (size v)).
Proof. by rewrite perm_sort. Qed.

Lemma mem_top i : (i \in top quick v m) = (i \in take m (descending v)).
Proof.
rewrite /top; case: ifP => // _; rewrite mem_filter; case h: (i \in take _ _) => //=.
by rewrite -(perm_mem perm_descending) (mem_take h).
Qed.

Lemma top_uniq : uniq (top quick v m).
Proof.
rewrite /top; case: ifP => _; last by rewrite filter_uniq // iota_uniq.
by rewrite take_uniq // (perm_uniq perm_descending) iota_uniq.
Qed.

Lemma size_descending : size (descending v) = size v.
Proof. by rewrite size_sort size_iota. Qed.

Lemma top_range i : i \in top quick v m -> i < size v.
Proof.
by rewrite mem_top => /mem_take; rewrite (perm_mem perm_descending) mem_iota.
Qed.

Lemma size_top : m <= size v -> size (top quick v m) = m.
Proof.
move=> le; have e : size (take m (descending v)) = m.
  by rewrite size_take_min size_descending (minn_idPl le).
rewrite -[RHS]e; apply/perm_size/uniq_perm; [exact: top_uniq | | exact: mem_top].
by rewrite take_uniq // (perm_uniq perm_descending) iota_uniq.
Qed.

Lemma size_top_le : size (top quick v m) <= m.
Proof.
have -> : size (top quick v m) = size (take m (descending v)).
  apply/perm_size/uniq_perm; [exact: top_uniq | | exact: mem_top].
  by rewrite take_uniq // (perm_uniq perm_descending) iota_uniq.
by rewrite size_take_min geq_minl.
Qed.

Let after : transitive (fun i j => nth 0 v j <= nth 0 v i).
Proof. by move=> b a c ab bc; apply: leq_trans bc ab. Qed.

Lemma top_best i j : i \in top quick v m -> j \notin top quick v m -> j < size v ->
  nth 0 v j <= nth 0 v i.
Proof.
rewrite !mem_top => it jt js.
have jd : j \in descending v by rewrite (perm_mem perm_descending) mem_iota.
have : sorted (fun i j => nth 0 v j <= nth 0 v i) (descending v).
  by apply: sort_sorted => a b; apply: leq_total.
rewrite (sorted_pairwise after) -{1}(cat_take_drop m (descending v)) pairwise_cat.
case/and3P => /allrelP cross _ _; apply: cross => //.
by move: jd; rewrite -{1}(cat_take_drop m (descending v)) mem_cat (negbTE jt).
Qed.

(* If m values reach x, so do the m best. *)
Lemma top_reach x s : uniq s -> size s = m -> (forall i, i \in s -> i < size v /\ x <= nth 0 v i) ->
  forall i, i \in top quick v m -> x <= nth 0 v i.
Proof.
move=> us ss all_s i it; rewrite leqNgt; apply/negP => lt.
have sub : {subset s <= rem i (top quick v m)}.
  move=> a as_; have [al ax] := all_s a as_; rewrite (rem_filter _ top_uniq) mem_filter /=.
  have ai : a != i by apply: contraTneq ax => ->; rewrite -ltnNge.
  rewrite ai /=; apply: contraT => nt.
  by have := leq_ltn_trans (leq_trans ax (top_best it nt al)) lt; rewrite ltnn.
have := uniq_leq_size us sub; rewrite ss (size_rem it).
have ms : m <= size v.
  rewrite -ss -(size_iota 0 (size v)); apply: uniq_leq_size us _ => a /all_s[al _].
  by rewrite mem_iota.
have t0 : 0 < size (top quick v m) by case: (top _ _ _) it.
by move: t0; rewrite (size_top ms); case: (m) => // k _; rewrite ltnn.
Qed.

(* What covers the groups, and their best members, cover all. *)
Lemma top_covers : covers v m (top quick v m) \/ size v < m.
Proof.
case: (leqP m (size v)) => ms; [left | by right]; move=> j js _ jt.
exists (top quick v m); split=> //; [exact: top_uniq | exact: size_top | ].
by move=> i it; apply: top_best.
Qed.
End Top.

Section Groups.
Variables (group width block : nat).
Hypotheses (group_gt0 : 0 < group) (width_gt0 : 0 < width) (blockE : block = group * width).

Definition group_of (i : nat) : nat := i %/ block * width + i %% block %% width.

Let block_gt0 : 0 < block. Proof. by rewrite blockE muln_gt0 group_gt0. Qed.

Lemma in_block g r : r < group -> g %% width + r * width < block.
Proof.
move=> rg; apply: (@leq_trans (width + r * width)); first by rewrite ltn_add2r ltn_mod.
by rewrite -mulSn blockE leq_mul2r rg orbT.
Qed.

Lemma group_of_member g i : i \in column_of group width block g -> group_of i = g.
Proof.
case/mapP=> r; rewrite mem_iota /= add0n => rg ->; have b := in_block g rg.
rewrite /group_of divnMDl // modnMDl (divn_small b) addn0 (modn_small b).
by rewrite [g %% width + _]addnC modnMDl modn_mod -divn_eq.
Qed.

Lemma member_of_group i : i \in column_of group width block (group_of i).
Proof.
have w : i %% block %% width < width by rewrite ltn_mod.
apply/mapP; exists (i %% block %/ width).
  by rewrite mem_iota /= add0n ltn_divLR // -blockE ltn_mod.
rewrite /group_of divnMDl // modnMDl (divn_small w) addn0 modn_mod.
by rewrite [_ %% width + _]addnC -divn_eq -divn_eq.
Qed.

Lemma column_uniq g : uniq (column_of group width block g).
Proof.
rewrite map_inj_uniq ?iota_uniq // => a b /eqP; rewrite !eqn_add2l eqn_mul2r.
by rewrite gtn_eqF //= => /eqP.
Qed.

Lemma mem_members groups i : (i \in members group width block groups) = (group_of i \in groups).
Proof.
apply/flatten_mapP/idP => [[g gG /group_of_member ->] //|h].
by exists (group_of i) => //; apply: member_of_group.
Qed.

Lemma members_uniq groups : uniq groups -> uniq (members group width block groups).
Proof.
elim: groups => //= g G IH /andP[gG /IH u]; rewrite /members /= cat_uniq column_uniq u andbT.
apply/hasPn => i; rewrite -[flatten _]/(members group width block G) mem_members => h.
by apply: contraNN gG => /group_of_member <-.
Qed.

Lemma most_ge (v : seq nat) places i : i \in places -> nth 0 v i <= most v places.
Proof.
rewrite /most; elim: places => //= a l IH; rewrite inE leq_max => /orP[/eqP->|/IH ->].
  by rewrite leqnn.
by rewrite orbT.
Qed.

Lemma most_at (v : seq nat) places : 0 < most v places ->
  exists2 i, i \in places & nth 0 v i = most v places.
Proof.
rewrite /most; elim: places => //= a l IH; case: (leqP (nth 0 v a) (foldr _ _ _)) => [le|lt].
  by move=> /IH[i il e]; exists i; rewrite // inE il orbT.
by exists a; rewrite // inE eqxx.
Qed.

(* The members of groups that cover the maxima cover all. *)
Lemma members_cover (v : seq nat) count m G :
  (forall i, i < size v -> group_of i < count) ->
  covers (maxima group width block count v) m G ->
  covers v m (members group width block G).
Proof.
move=> range cov j js jv; rewrite mem_members => jG.
have at_ g : g < count -> nth 0 (maxima group width block count v) g =
    most v (column_of group width block g).
  by move=> gc; rewrite (nth_map 0) ?size_iota // nth_iota.
have c := range j js.
have le : nth 0 v j <= most v (column_of group width block (group_of j)).
  by apply: most_ge; apply: member_of_group.
have [||s [us ss sG ge]] := cov (group_of j) _ _ jG.
- by rewrite size_map size_iota.
- by rewrite at_ // (leq_trans jv).
pose f g := let l := column_of group width block g in
  nth 0 l (find (fun i => nth 0 v i == most v l) l).
have fP g : g \in s -> f g \in column_of group width block g /\ nth 0 v j <= nth 0 v (f g).
  move=> gs; have gc : g < count.
    rewrite ltnNge; apply/negP => le'; have := ge g gs; rewrite at_ // [X in _ <= X]nth_default.
      by rewrite leqn0 => /eqP z; move: (leq_trans jv le); rewrite z ltnn.
    by rewrite size_map size_iota.
  have := ge g gs; rewrite !at_ // => ge'; have big := leq_trans le ge'.
  have [i il e] := most_at (leq_trans jv big).
  have h : has (fun i => nth 0 v i == most v (column_of group width block g))
      (column_of group width block g) by apply/hasP; exists i; rewrite // e.
  by split; [rewrite mem_nth // -has_find | rewrite (eqP (nth_find 0 h))].
exists [seq f g | g <- s]; split.
- rewrite map_inj_in_uniq // => a b as_ bs e; have [/group_of_member ea _] := fP a as_.
  by have [/group_of_member eb _] := fP b bs; rewrite -ea e eb.
- by rewrite size_map.
- move=> _ /mapP[g gs ->]; rewrite mem_members.
  by have [/group_of_member -> _] := fP g gs; apply: sG.
- by move=> _ /mapP[g gs ->]; case: (fP g gs).
Qed.
End Groups.

Lemma size_members group width block G : size (members group width block G) = size G * group.
Proof.
by elim: G => //= g G IH; rewrite /members /= size_cat size_map size_iota -[flatten _]/(members _ _ _ G) IH.
Qed.

Lemma best_covers fuel group direct quick v m : 0 < group -> m <= size v ->
  let G := best fuel group direct quick v m in
  [/\ uniq G, size G = m, forall g, g \in G -> g < size v & covers v m G].
Proof.
move=> g0; have plain (w : seq nat) : m <= size w -> let G := top quick w m in
    [/\ uniq G, size G = m, forall g, g \in G -> g < size w & covers w m G].
  move=> mw; split; [exact: top_uniq | exact: size_top | exact: top_range | ].
  by case: (top_covers quick w m) => //; rewrite ltnNge mw.
elim: fuel v => [|fuel IH] v mv; first exact: plain.
rewrite /=; set columns := size v %/ group; case: ifP => [_|few]; first exact: plain.
move: few => /norP[/norP[big /negPn/eqP whole] many]; rewrite -ltnNge in big; rewrite -leqNgt in many.
have c0 : 0 < columns.
  by rewrite lt0n; apply: contraTneq big => z; rewrite -whole z mul0n ltn0.
have blockE : size v = group * columns by rewrite mulnC.
set M := maxima _ _ _ _ v; have sM : size M = columns by rewrite size_map size_iota.
have mM : m <= size M by rewrite sM (leq_trans _ many) // leq_pmull.
have [uG sG rG cG] := IH M mM; set G := best _ _ _ _ M m in uG sG rG cG *.
set places := members _ _ _ G; set vals := [seq nth 0 v i | i <- places].
have up : uniq places := members_uniq g0 c0 blockE uG.
have svals : size vals = size places by rewrite size_map.
have sp : m <= size places by rewrite size_members sG leq_pmulr.
have range i : i < size v -> group_of columns (size v) i < columns.
  by move=> lt; rewrite /group_of divn_small // mul0n add0n ltn_mod.
have cov := members_cover g0 c0 blockE range cG; rewrite -/places in cov.
have tr i : i \in top quick vals m -> i < size places by move/top_range; rewrite svals.
have inside i : i \in places -> i < size v.
  rewrite mem_members // => /rG; rewrite sM /group_of => lt; rewrite ltnNge; apply/negP => le.
  have q0 : 0 < i %/ size v by rewrite divn_gt0 // (leq_ltn_trans _ big).
  by have := leq_ltn_trans (leq_addr _ _) lt; rewrite -{2}[columns]mul1n ltn_mul2r c0 ltnNge q0.
split.
- rewrite map_inj_in_uniq ?top_uniq // => a b /tr at_ /tr bt /eqP; rewrite nth_uniq //.
  by move/eqP.
- by rewrite size_map size_top // svals.
- by move=> g /mapP[i /tr it ->]; apply: inside; rewrite mem_nth.
move=> j js jv jr; set S := [seq nth 0 places i | i <- _] in jr *; exists S; split=> //.
- rewrite map_inj_in_uniq ?top_uniq // => a b /tr at_ /tr bt /eqP; rewrite nth_uniq //.
  by move/eqP.
- by rewrite size_map size_top // svals.
have val_ i : i < size places -> nth 0 vals i = nth 0 v (nth 0 places i).
  by move=> lt; rewrite (nth_map 0).
move=> _ /mapP[i it ->]; rewrite -val_ ?tr //.
case jp: (j \in places).
  have ji : index j places < size places by rewrite index_mem.
  have e : nth 0 v j = nth 0 vals (index j places) by rewrite val_ // nth_index.
  rewrite e; apply: top_best it _ _; last by rewrite svals.
  by apply: contra jr => h; apply/mapP; exists (index j places); rewrite // nth_index.
have [s [us ss sP ge]] := cov j js jv (negbT jp).
apply: (@top_reach quick vals m _ [seq index a places | a <- s]) it.
- by rewrite map_inj_in_uniq // => a b /sP ap /sP bp e; rewrite -(nth_index 0 ap) e nth_index.
- by rewrite size_map.
move=> _ /mapP[a as_ ->]; have ap := sP a as_; rewrite svals index_mem; split=> //.
by rewrite val_ ?index_mem // nth_index // ge.
Qed.

(* Of every candidate that `largest` leaves out m others are as good. *)
Theorem largest_covers group block direct v m : 0 < group -> 0 < block ->
  group * (block %/ group) = block -> m <= size v ->
  forall j, j < size v -> 0 < nth 0 v j -> (j, nth 0 v j) \notin largest group block direct v m ->
  exists s, [/\ uniq s, size s = m & forall i, i \in s ->
    [/\ i < size v, (i, nth 0 v i) \in largest group block direct v m & nth 0 v j <= nth 0 v i]].
Proof.
move=> g0 b0 blockE mv j js jv; rewrite /largest; case: ifP => [_|/norP[_ many]].
  have p : nth (0, 0) (zip (iota 0 (size v)) v) j = (j, nth 0 v j).
    by rewrite nth_zip ?size_iota // nth_iota.
  by rewrite -p mem_nth // size_zip size_iota minnn.
rewrite -leqNgt in many; set n := size v in many mv js *; set width := block %/ group in blockE *.
have w0 : 0 < width by rewrite lt0n; apply: contraTneq b0 => z; rewrite -blockE z muln0.
set count := _ * width; set M := maxima _ _ _ _ v; set G := best _ _ _ _ M m.
have range i : i < n -> group_of width block i < count.
  move=> lt; apply: (@leq_trans ((i %/ block).+1 * width)).
    by rewrite mulSn addnC ltn_add2l ltn_mod.
  have -> : (i %/ block).+1 = (i + block) %/ block by rewrite divnDr ?dvdnn // divnn b0 addn1.
  rewrite leq_mul2r; apply/orP; right.
  by rewrite leq_div2r // -ltnS prednK ?addn_gt0 ?b0 ?orbT // ltn_add2r.
have nc : n <= count * group.
  have n1 : n.-1 < n by rewrite prednK // (leq_ltn_trans _ js).
  have := range _ n1; rewrite /group_of => h.
  have : n.-1 %/ block < (n + block).-1 %/ block.
    by rewrite ltnNge; apply/negP => le; move: h; rewrite ltnNge (leq_trans _ (leq_addr _ _)) // leq_mul2r le orbT.
  move=> lt; rewrite /count -mulnA [width * group]mulnC blockE.
  apply: (@leq_trans ((n.-1 %/ block).+1 * block)); last by rewrite leq_mul2r lt orbT.
  by have := ltn_ceil n.-1 b0; rewrite prednK // (leq_ltn_trans _ js).
have mM : m <= size M.
  rewrite size_map size_iota; have := leq_trans many nc; rewrite mulnAC leq_mul2r.
  by rewrite eqn0Ngt g0 /=; apply: leq_trans; rewrite leq_pmull.
have [uG sG rG cG] := best_covers count direct true g0 mM; rewrite -/G in uG sG rG cG.
have cov := members_cover g0 w0 (esym blockE) range cG.
move=> out; have inside i : i \in members group width block G -> i < n ->
    (i, nth 0 v i) \in [seq (minn i n.-1, nth 0 v i) | i <- members group width block G].
  move=> im lt; apply/mapP; exists i => //; rewrite (minn_idPl _) // -ltnS prednK //.
  exact: leq_ltn_trans lt.
have jm : j \notin members group width block G by apply: contra out => jm; apply: inside.
have [s [us ss sS ge]] := cov j js jv jm; exists s; split=> // i is_.
have lt : i < n.
  rewrite ltnNge; apply/negP => le; have := ge i is_; rewrite [X in _ <= X]nth_default //.
  by rewrite leqNgt jv.
by split=> //; [apply: inside => //; apply: sS | apply: ge].
Qed.

(* ------------------------------------------------------------------ the contenders and the rest *)
Lemma most_of (l : seq nat) x : x \in l -> x <= foldr maxn 0 l.
Proof.
elim: l => //= a l IH; rewrite inE leq_max => /orP[/eqP->|/IH ->]; first by rewrite leqnn.
by rewrite orbT.
Qed.

Section Contenders.
Variables (group block direct : nat) (first : seq nat) (tails : seq (nat * nat)) (count : nat).
Hypotheses (group_gt0 : 0 < group) (block_gt0 : 0 < block).
Hypotheses (blockE : group * (block %/ group) = block) (enough : count < size first).

(* Who has a key of his own, and the key of each. *)
Definition has_own (j : nat) : bool := j \in [seq e.1 | e <- tails & 0 < e.2].
Definition own_key (j : nat) : nat :=
  (nth (0, 0) tails (find (fun e => (e.1 == j) && (0 < e.2)) tails)).2.
Definition key (j : nat) : nat := if has_own j then own_key j else nth 0 first j.
Hypothesis first_is_less : forall j, has_own j -> nth 0 first j <= own_key j.

Let found := largest group block direct first count.+1.
Let listed := [seq (e.1, if has_own e.1 then 0 else e.2) | e <- found] ++ tails.
Let keys := [seq e.2 | e <- listed].
Let chosen := top true keys count.
Let cs := (contenders group block direct first tails count).1.
Let rest := (contenders group block direct first tails count).2.

Lemma own_in j : has_own j -> (j, own_key j) \in listed.
Proof.
case/mapP=> e; rewrite mem_filter => /andP[e0 et] ej; rewrite mem_cat orbC.
have h : has (fun e => (e.1 == j) && (0 < e.2)) tails.
  by apply/hasP; exists e; rewrite // ej eqxx e0.
have := nth_find (0, 0) h; rewrite /own_key => /andP[/eqP e1 _].
by rewrite -{1}e1 -surjective_pairing mem_nth // -has_find.
Qed.

Lemma found_in j : ~~ has_own j -> (j, nth 0 first j) \in found -> (j, nth 0 first j) \in listed.
Proof.
move=> no jf; rewrite mem_cat; apply/orP; left; apply/mapP.
by exists (j, nth 0 first j); rewrite //= (negbTE no).
Qed.

Lemma listed_rest p : p < size listed -> p \notin chosen -> nth 0 keys p <= rest.
Proof.
move=> lt no; apply: most_of; apply/mapP; exists p => //.
by rewrite mem_filter no mem_iota /= add0n size_map.
Qed.

Lemma listed_bound j x : (j, x) \in listed -> j \notin cs -> x <= rest.
Proof.
move=> jl jc; have lt : index (j, x) listed < size listed by rewrite index_mem.
have e := nth_index (0, 0) jl.
have <- : nth 0 keys (index (j, x) listed) = x by rewrite (nth_map (0, 0)) // e.
apply: listed_rest => //; apply: contra jc => h.
by apply/mapP; exists (index (j, x) listed); rewrite // e.
Qed.

(* The largest key of the rest is that of all who were left out, or more. *)
Theorem rest_bounds j : j < size first -> 0 < key j -> j \notin cs -> key j <= rest.
Proof.
rewrite /key => js; case: ifP => [own|/negbT no] k0 jc; first exact: listed_bound (own_in own) jc.
case jf: ((j, nth 0 first j) \in found); first exact: listed_bound (found_in no jf) jc.
have [s [us ss all_s]] :=
  largest_covers group_gt0 block_gt0 blockE enough js k0 (negbT jf).
pose pair i := (i, key i).
have pl i : i \in s -> pair i \in listed.
  move=> /all_s[_ fi _]; rewrite /pair /key; case: ifP => [/own_in //|/negbT ni].
  exact: found_in.
have up : uniq [seq index (pair i) listed | i <- s].
  rewrite map_inj_in_uniq // => a b /pl al /pl bl e.
  by have := nth_index (0, 0) al; rewrite e nth_index // => -[].
have [p /mapP[i is_ ->] pc] : exists2 p, p \in [seq index (pair i) listed | i <- s] & p \notin chosen.
  apply/hasP/negPn/negP => /hasPn none.
  have sub : {subset [seq index (pair i) listed | i <- s] <= chosen}.
    by move=> p /none /negPn.
  have := leq_trans (uniq_leq_size up sub) (size_top_le true keys count).
  by rewrite size_map ss ltnn.
have [il _ ge] := all_s i is_.
have lt : index (pair i) listed < size listed by rewrite index_mem pl.
have := listed_rest lt pc; rewrite (nth_map (0, 0)) // nth_index ?pl //=; apply: leq_trans.
by apply: leq_trans ge _; rewrite /key; case: ifP => // /first_is_less.
Qed.
End Contenders.

(* ------------------------------------------------------------------ so what is decided holds *)
Section Decided.
Local Open Scope ring_scope.
Variables (R : realFieldType) (group block direct : nat) (first : seq nat).
Variables (tails : seq (nat * nat)) (count : nat).
Hypotheses (group_gt0 : (0 < group)%N) (block_gt0 : (0 < block)%N).
Hypotheses (blockE : (group * (block %/ group) = block)%N) (enough : (count < size first)%N).
Hypothesis first_is_less : forall j, has_own tails j -> (nth 0 first j <= own_key tails j)%N.

Let cs := (contenders group block direct first tails count).1.
Let rest := (contenders group block direct first tails count).2.
Let place_of i := nth 0%N cs i.

(* No Y exceeds what its key stands for; those without a key take no part. *)
Variables (Y : nat -> R) (U : nat -> R).
Hypothesis U_mono : forall a b, (a <= b)%N -> U a <= U b.
Hypothesis keyed : forall j, (j < size first)%N -> (0 < key first tails j)%N ->
  Y j <= U (key first tails j).
Variable ceiling : Z.
Hypothesis above_rest : U rest <= num R ceiling.

Lemma left_out j : (j < size first)%N -> (0 < key first tails j)%N -> j \notin cs ->
  Y j <= num R ceiling.
Proof.
move=> js k0 jc; apply: le_trans (keyed js k0) _; apply: le_trans above_rest.
exact/U_mono/rest_bounds.
Qed.

Variables (lows highs : seq Z) (u : option unit_of_gaps) (k : nat) (o : seq nat) (gs : seq Z).
Hypothesis sizes : size lows = size cs.
Hypothesis enclosed : forall i, (i < size lows)%N ->
  num R (place lows i) <= Y (place_of i) <= num R (place highs i).
Hypothesis answered : decide u k lows highs (Some ceiling) = Some (o, gs).

(* Whoever is chosen among the contenders is so among all. *)
Theorem decided_for_all i j : i \in o -> (j < size first)%N -> (0 < key first tails j)%N ->
  j \notin [seq place_of a | a <- o] -> Y j <= Y (place_of i).
Proof.
move=> io js k0 jo; case jc: (j \in cs); last first.
  apply: (decide_ceiling (Y := fun a => Y (place_of a)) enclosed answered (erefl _) _ io).
  by apply: left_out; rewrite ?jc.
have lt : (index j cs < size lows)%N by rewrite sizes index_mem.
have e : place_of (index j cs) = j by rewrite /place_of nth_index.
rewrite -{1}e; apply: (decide_best (Y := fun a => Y (place_of a)) enclosed answered) => //.
by apply: contra jo => h; apply/mapP; exists (index j cs).
Qed.

Theorem decided_in_order : pairwise (fun i j => Y (place_of j) <= Y (place_of i)) o.
Proof. exact: (decide_ordered (Y := fun a => Y (place_of a)) enclosed answered). Qed.
End Decided.

(* The program answers what was decided so. *)
Section Ranked.
Local Open Scope ring_scope.
Variables (R : realFieldType) (group block direct : nat) (first : seq nat).
Variables (tails : seq (nat * nat)) (count : nat).
Hypotheses (group_gt0 : (0 < group)%N) (block_gt0 : (0 < block)%N).
Hypotheses (blockE : (group * (block %/ group) = block)%N) (enough : (count < size first)%N).
Hypothesis first_is_less : forall j, has_own tails j -> (nth 0 first j <= own_key tails j)%N.
Variable Y : nat -> R.
Hypothesis keyed : forall j, (j < size first)%N -> (0 < key first tails j)%N ->
  Y j <= (key first tails j)%:R.
Variables (lows highs : seq Z) (u : option unit_of_gaps) (k : nat) (o : seq nat) (gs : seq Z).
Hypothesis enclosed : forall j, num R (place lows j) <= Y j <= num R (place highs j).
Hypothesis answered : ranked u k group block direct first tails count lows highs = Some (o, gs).

Theorem ranked_best i j : i \in o -> (j < size first)%N -> (0 < key first tails j)%N ->
  j \notin o -> Y j <= Y i.
Proof.
move: answered; rewrite /ranked.
case e: (contenders _ _ _ _ _ _) => [cs rest].
case d: (decide _ _ _ _ _) => [[o' gs']|] // [<- _] /mapP[a ao ->] js k0 jo.
pose of_ ends := [seq place ends i | i <- cs].
have at_ ends b : (b < size cs)%N -> place (of_ ends) b = place ends (nth 0%N cs b).
  by rewrite /of_; elim: (cs) b => // c l IH [|b] //= /IH.
have [r1 r2] : (contenders group block direct first tails count).1 = cs /\
    (contenders group block direct first tails count).2 = rest by rewrite e.
have U_mono (x y : nat) : (x <= y)%N -> x%:R <= y%:R :> R by rewrite ler_nat.
have top_ : (contenders group block direct first tails count).2%:R <= num R (Z.of_nat rest).
  by rewrite r2 num_nat.
have sz : size (of_ lows) = size (contenders group block direct first tails count).1.
  by rewrite r1 size_map.
have enc b : (b < size (of_ lows))%N -> num R (place (of_ lows) b) <=
    Y (nth 0%N (contenders group block direct first tails count).1 b) <=
    num R (place (of_ highs) b).
  by rewrite r1 size_map => lt; rewrite !at_.
have := decided_for_all group_gt0 block_gt0 blockE enough first_is_less U_mono keyed top_ sz enc d
  ao js k0.
by rewrite r1; apply.
Qed.
End Ranked.

Print Assumptions largest_covers.
Print Assumptions rest_bounds.
Print Assumptions decided_for_all.
Print Assumptions decided_in_order.
Print Assumptions ranked_best.
