(* Permute-and-flip is geometric noise with uniformly random ties.

   The loop (McKenna and Sheldon 2020): go through the candidates in a uniformly random order,
   accept candidate i with probability p i = rho^(m - q i), m the largest score; the first
   accepted wins (`pf`).  The other law: independent geometric noise of decay rho for each
   candidate, the largest noisy score wins, ties are broken by a uniformly random ranking
   (`geo`, truncated to noisy scores of at most T).  `pf_is_geometric`: for every t
   geo (m + t) <= pf <= geo (m + t) + rho^(t + 1).  With the theorem of Ranking.v that makes
   the loop private (`pf_private`). *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra.
Require Import Ranking.
Import Order.TTheory GRing.Theory Num.Theory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

(* The mean of a polynomial over [0, 1], by its primitive. *)
Section Mean.
Variable R : numFieldType.
Implicit Types p q : {poly R}.

Definition prim p : {poly R} := \poly_(i < (size p).+1) (if i is j.+1 then p`_j / i%:R else 0).

Lemma coef_prim p i : (prim p)`_i = if i is j.+1 then p`_j / i%:R else 0.
Proof.
rewrite coef_poly; case: i => [|i] /=; first by [].
by rewrite ltnS; case: ltnP => // h; rewrite nth_default ?mul0r.
Qed.

Lemma deriv_prim p : (prim p)^`() = p.
Proof.
apply/polyP => i; rewrite coef_deriv coef_prim -mulr_natr mulfVK //.
by rewrite pnatr_eq0.
Qed.

Lemma prim_deriv p : prim p^`() = p - (p`_0)%:P.
Proof.
apply/polyP => -[|i]; rewrite coef_prim coefB coefC /= ?subrr //.
by rewrite coef_deriv -mulr_natr mulfK ?subr0 // pnatr_eq0.
Qed.

Lemma prim0 p : (prim p).[0] = 0.
Proof. by rewrite horner_coef0 coef_prim. Qed.

Definition mean p : R := (prim p).[1].

Lemma prim_is_linear : linear prim.
Proof.
move=> a p q; apply/polyP => -[|i]; rewrite !(coefD, coefZ, coef_prim) ?mulr0 ?addr0 //.
by rewrite mulrDl mulrA.
Qed.
Canonical prim_linear := Linear prim_is_linear.

Lemma mean_is_scalar : scalar mean.
Proof. by move=> a p q; rewrite /mean linearP hornerD hornerZ. Qed.
Canonical mean_linear := Linear mean_is_scalar.

Lemma mean_deriv p : mean p^`() = p.[1] - p.[0].
Proof. by rewrite /mean prim_deriv hornerD hornerN hornerC horner_coef0. Qed.

Lemma meanXn k : mean 'X^k = k.+1%:R^-1.
Proof.
have e : ((k.+1%:R^-1 : R) *: 'X^k.+1)^`() = 'X^k.
  rewrite derivZ derivXn /= -scaler_nat scalerA mulVf ?scale1r // pnatr_eq0 //.
rewrite -e mean_deriv !hornerZ !hornerXn expr1n expr0n /= mulr0 subr0 mulr1 //.
Qed.

(* Substitution: the primitive from y to x, as a mean over [0, 1]. *)
Lemma prim_between p x y : (prim p).[x] - (prim p).[y] =
  (x - y) * mean (p \Po ((x - y) *: (1 - 'X) + y%:P)).
Proof.
set l := (x - y) *: (1 - 'X) + y%:P.
have d : l^`() = (y - x)%:P.
  rewrite /l derivD derivZ derivB derivC derivX derivC addr0 sub0r scalerN -scaleNr opprB.
  by rewrite -alg_polyC.
have := mean_deriv (prim p \Po l); rewrite deriv_comp deriv_prim d mulrC mul_polyC linearZ /=.
have l1 : l.[1] = y by rewrite /l !hornerE subrr mulr0 add0r.
have l0 : l.[0] = x by rewrite /l !hornerE subr0 mulr1 subrK.
rewrite !horner_comp l1 l0 => e; rewrite -[LHS]opprB -e -(opprB x y) mulNr opprK //.
Qed.
End Mean.

Section MeanOrder.
Variable R : numFieldType.
Implicit Type p : {poly R}.
Definition nonneg p := forall i, 0 <= p`_i.

Lemma mean_ge0 p : nonneg p -> 0 <= mean p.
Proof.
move=> h; rewrite /mean horner_coef; apply: sumr_ge0 => i _; rewrite expr1n mulr1 coef_prim.
by case: (val i) => // j; rewrite divr_ge0 ?ler0n.
Qed.

Lemma mean_le p : nonneg p -> mean p <= p.[1].
Proof.
move=> h; rewrite /mean (@horner_coef_wide _ (size p).+1); last exact: size_poly.
rewrite big_ord_recl coef_prim mul0r add0r horner_coef; apply: ler_sum => i _.
rewrite expr1n mulr1 coef_prim expr1n mulr1 ler_pdivr_mulr ?ltr0n //.
by rewrite ler_pemulr // (ler_nat _ 1).
Qed.

Lemma nonneg_prod (I : finType) (P : pred I) (a b : I -> R) :
  (forall i, P i -> 0 <= a i) -> (forall i, P i -> 0 <= b i) ->
  nonneg (\prod_(i | P i) ((a i)%:P + b i *: 'X)).
Proof.
move=> a0 b0; apply: (big_ind nonneg) => [i|p q hp hq i|j Pj i].
- by rewrite coef1 ler0n.
- by rewrite coefM; apply: sumr_ge0 => k _; rewrite mulr_ge0.
- rewrite coefD coefC coefZ coefX addr_ge0 ?mulr_ge0 ?ler0n ?a0 ?b0 //.
  by case: ifP; rewrite ?a0.
Qed.
End MeanOrder.

(* Of the elements of a set each is equally often the last in a random order. *)
Lemma sum_bool (T : finType) (P : pred T) : (\sum_(x : T) P x = #|P|)%N.
Proof. by rewrite -sum1_card [RHS]big_mkcond; apply: eq_bigr => x _; rewrite unfold_in; case: (P x). Qed.

Lemma prod_expand (R : comRingType) (T : finType) (u : T -> R) :
  \prod_i (1 + u i) = \sum_(A : {set T}) \prod_(i in A) u i.
Proof.
transitivity (\prod_(i : T) \sum_(c : bool) (if c then u i else 1)).
  by apply: eq_bigr => i _; rewrite big_bool addrC.
rewrite bigA_distr_bigA /=.
rewrite (reindex_onto (fun A : {set T} => [ffun i => i \in A]) (fun f => [set i | f i])) /=.
  apply: eq_big => [A|A _]; first by apply/eqP/setP => i; rewrite inE ffunE.
  by rewrite [RHS]big_mkcond; apply: eq_bigr => i _; rewrite ffunE.
by move=> f _; apply/ffunP => i; rewrite ffunE inE.
Qed.

Section Orders.
Variable n : nat.
Implicit Types (s : 'S_n) (A : {set 'I_n}).

Definition last_of A r : {set 'S_n} := [set s : 'S_n | [forall j in A, (j != r) ==> (s j < s r)%N]].

Lemma card_last_swap A r r' : r \in A -> r' \in A -> (#|last_of A r| <= #|last_of A r'|)%N.
Proof.
move=> rA r'A; rewrite -(card_imset _ (mulgI (tperm r r'))); apply: subset_leq_card.
apply/subsetP => _ /imsetP[s + ->]; rewrite !inE => /forall_inP h.
apply/forall_inP => j jA; apply/implyP => ne; rewrite !permM tpermR.
have tA : tperm r r' j \in A by case: tpermP => // ->.
apply: (implyP (h _ tA)); apply: contraNneq ne => e.
by rewrite -[j](tpermK r r') e tpermL.
Qed.

Lemma card_last A r : r \in A -> (#|last_of A r| * #|A|)%N = n`!.
Proof.
move=> rA; rewrite -card_Sn -[RHS]sum1_card.
have each (s : 'S_n) : exists2 x, x \in A & s \in last_of A x.
  case: (@arg_maxnP _ r (mem A) (fun x => s x) rA) => x xA h; exists x => //.
  rewrite inE; apply/forall_inP => j jA; apply/implyP => ne.
  have le : (s j <= s x)%N by apply: h.
  rewrite ltn_neqAle le andbT.
  by apply: contraNneq ne => /val_inj/perm_inj ->.
have once (s : 'S_n) x y : x \in A -> y \in A -> s \in last_of A x -> s \in last_of A y -> x = y.
  move=> xA yA; rewrite !inE => /forall_inP hx /forall_inP hy; apply/eqP/negPn/negP => ne.
  have := implyP (hx y yA); rewrite eq_sym => /(_ ne) a; have := implyP (hy x xA) ne.
  by rewrite ltnNge ltnW.
pose f (s : 'S_n) := odflt r [pick x in A | s \in last_of A x].
have fE s x : x \in A -> (s \in last_of A x) = (f s == x).
  move=> xA; rewrite /f; case: pickP => [y /andP[yA sy]|no] /=.
    by apply/idP/eqP => [sx|<-//]; apply: once sy sx.
  by case: (each s) => y yA sy; have := no y; rewrite yA sy.
rewrite (partition_big f (mem A)) /=; last first.
  by move=> s _; rewrite /f; case: pickP => [y /andP[]|].
transitivity (\sum_(x in A) #|last_of A x|)%N; last first.
  by apply: eq_bigr => x xA; rewrite -sum1_card; apply: eq_bigl => s; rewrite fE.
rewrite mulnC -sum_nat_const; apply: eq_bigr => x xA.
by apply/eqP; rewrite eqn_leq !card_last_swap.
Qed.
End Orders.

Section PF.
Variables (R : realFieldType) (rho : R) (n : nat).
Hypotheses (rho_gt0 : 0 < rho) (rho_lt1 : rho < 1).
Variables (q : scores n) (m : nat).
Hypothesis q_le : forall i, (q i <= m)%N.
Hypothesis q_top : exists i, q i = m.

Definition p i : R := rho ^+ (m - q i).

Lemma p_ge0 i : 0 <= p i. Proof. by rewrite exprn_ge0 ?ltW. Qed.
Lemma p_le1 i : p i <= 1. Proof. by rewrite exprn_ile1 ?ltW. Qed.

(* The loop: i is accepted, and none of those before it. *)
Definition pf (r : 'I_n) : R :=
  (n`!)%:R^-1 * \sum_(s : 'S_n) (p r * \prod_(j | (s j < s r)%N) (1 - p j)).

(* The other law: the average over all tie rankings. *)
Definition geo T (r : 'I_n) : R :=
  (n`!)%:R^-1 * \sum_(s : 'S_n) law rho q (fun i => s i) T T [:: r].

Lemma fact_neq0 : (n`!)%:R != 0 :> R.
Proof. by rewrite pnatr_eq0 -lt0n fact_gt0. Qed.

Lemma chance_last (A : {set 'I_n}) r : r \in A ->
  (n`!)%:R^-1 * (\sum_(s : 'S_n) (s \in last_of A r)%:R) = #|A|%:R^-1 :> R.
Proof.
move=> rA; rewrite -natr_sum sum_bool -(card_last rA) natrM invfM mulrAC mulVf ?mul1r //.
have /eqP := card_last rA; rewrite pnatr_eq0; apply: contraTneq => ->.
by rewrite mul0n eq_sym -lt0n fact_gt0.
Qed.

(* The loop's law as a mean over [0, 1] (McKenna and Sheldon). *)
Definition F r : {poly R} := \prod_(j | j != r) (1 - p j *: 'X).

Lemma pf_mean r : pf r = p r * mean (F r).
Proof.
rewrite /pf -mulr_sumr mulrCA; congr (_ * _).
have one (s : 'S_n) : \prod_(j | (s j < s r)%N) (1 - p j) =
    \sum_(A : {set 'I_n}) (if r \in A then 0 else (s \in last_of (r |: A) r)%:R) *
      \prod_(i in A) (- p i).
  rewrite big_mkcond /=.
  transitivity (\prod_j (1 + (if (s j < s r)%N then - p j else 0))).
    by apply: eq_bigr => j _; case: ifP; rewrite ?addr0.
  rewrite prod_expand; apply: eq_bigr => A _.
  have [rA|rA] := ifPn (r \in A); first by rewrite mul0r (bigD1 r rA) /= ltnn mul0r.
  have [sl|sl] := boolP (s \in _).
    rewrite mul1r; apply: eq_bigr => j jA.
    move: sl; rewrite inE => /forall_inP/(_ j); rewrite !inE jA orbT => /(_ isT).
    by case: (j =P r) => [e|_ /= ->] //; rewrite -e jA in rA.
  rewrite mul0r; move: sl; rewrite inE => /forall_inPn[j]; rewrite !inE negb_imply => jA.
  case/andP=> jr /negbTE js; have jA' : j \in A by move: jA; rewrite (negbTE jr).
  by rewrite (bigD1 j jA') /= js mul0r.
under eq_bigr do rewrite one.
rewrite exchange_big mulr_sumr.
transitivity (mean (\prod_j (1 + (if j != r then - p j *: 'X else 0)))); last first.
  by rewrite /F [in RHS]big_mkcond; congr mean; apply: eq_bigr => j _; case: ifP;
     rewrite ?addr0 ?scaleNr.
rewrite prod_expand linear_sum; apply: eq_bigr => A _ /=; rewrite -mulr_suml mulrA.
have [rA|rA] := boolP (r \in A).
  by rewrite big1 // mulr0 mul0r (bigD1 r rA) /= eqxx mul0r linear0.
rewrite chance_last ?setU11 // cardsU1 rA.
transitivity (mean ((\prod_(i in A) (- p i)) *: 'X^(#|A|))).
  by rewrite linearZ /= meanXn mulrC.
congr mean; rewrite -prodr_const -scaler_prod; apply: eq_bigr => j jA.
by case: eqP => // e; rewrite -e jA in rA.
Qed.

(* Given the noise, the winner is a random one of those with the largest noisy score. *)
Definition tied M (g : noise n M) r : {set 'I_n} := [set j | noisy q g j == noisy q g r].
Definition largest M (g : noise n M) r : bool := [forall j, noisy q g j <= noisy q g r]%N.

Lemma heads1 M (g : noise n M) (s : 'S_n) r :
  heads (fun i => s i) (noisy q g) [:: r] = largest g r && (s \in last_of (tied g r) r).
Proof.
rewrite /heads /=; apply/forallP/andP => [h|[/forallP le]].
  have a j : j != r -> ahead (fun i => s i) (noisy q g) r j.
    by move=> jr; have /forallP/(_ j) := h r; rewrite !inE eqxx jr.
  split.
    apply/forallP => j; have [->//|/a] := eqVneq j r.
    by rewrite /ahead => /orP[/ltnW//|/andP[/eqP->]].
  rewrite inE; apply/forall_inP => j; rewrite inE => /eqP e; apply/implyP => /a.
  by rewrite /ahead e ltnn eqxx.
rewrite inE => /forall_inP h i; apply/forallP => j; rewrite !inE.
apply/implyP => /eqP ->; apply/implyP => jr.
rewrite /ahead; have := le j; rewrite leq_eqVlt => /orP[e|->//].
by rewrite e (implyP (h j _) jr) ?orbT // inE.
Qed.

Lemma geo_sum T r : geo T r =
  \sum_(g : noise n T | within q T g && largest g r) weight rho g * #|tied g r|%:R^-1.
Proof.
rewrite /geo /law; under eq_bigr do rewrite big_mkcondr /=.
rewrite exchange_big mulr_sumr [RHS]big_mkcondr /=; apply: eq_bigr => g _.
case: ifP => lg; last by rewrite big1 ?mulr0 // => s _; rewrite heads1 lg.
have rr : r \in tied g r by rewrite inE.
rewrite -(chance_last rr) mulrCA; congr (_ * _); rewrite mulr_sumr.
by apply: eq_bigr => s _; rewrite heads1 lg /=; case: ifP; rewrite ?mulr1 ?mulr0.
Qed.

(* Noise of one candidate that takes it to a level l at most, marked by X if to l exactly. *)
Definition upto l j : {poly R} :=
  if (q j <= l)%N then (1 - rho ^+ (l - q j))%:P + ((1 - rho) * rho ^+ (l - q j)) *: 'X else 0.
Definition at_level l j : {poly R} :=
  if (q j <= l)%N then ((1 - rho) * rho ^+ (l - q j))%:P else 0.

Lemma upto_sum l j T : (l <= T)%N ->
  \sum_(x : 'I_T.+1 | (q j + x <= l)%N) ((1 - rho) * rho ^+ x) *: 'X^((q j + x)%N == l) = upto l j.
Proof.
move=> lT; rewrite /upto; case: leqP => [ql|lq]; last first.
  by rewrite big_pred0 // => x; apply/negbTE; rewrite -ltnNge (leq_trans lq) // leq_addr.
have dT : (l - q j < T.+1)%N by rewrite ltnS (leq_trans (leq_subr _ _)).
rewrite (bigD1 (Ordinal dT)) /= ?subnKC // eqxx expr1 addrC; congr (_ + _).
transitivity ((\sum_(x < l - q j) (1 - rho) * rho ^+ x)%:P : {poly R}); last first.
  by rewrite geometric_sum.
have ne (x : 'I_T.+1) : (x == Ordinal dT) = ((q j + x)%N == l).
  by rewrite -val_eqE /= -(eqn_add2l (q j)) subnKC.
rewrite rmorph_sum /= (big_ord_widen T.+1 (fun x : nat => ((1 - rho) * rho ^+ x)%:P)) 1?ltnW //.
apply: eq_big => [x|x /andP[_]]; first by rewrite ne ltn_subRL ltn_neqAle andbC.
by rewrite ne => /negbTE ->; rewrite expr0 -alg_polyC.
Qed.

Lemma at_level_sum l j T : (l <= T)%N ->
  \sum_(x : 'I_T.+1 | (q j + x)%N == l) ((1 - rho) * rho ^+ x)%:P = at_level l j.
Proof.
move=> lT; rewrite /at_level; case: leqP => [ql|lq]; last first.
  by rewrite big_pred0 // => x; apply/negbTE; rewrite neq_ltn (leq_trans lq) ?orbT // leq_addr.
have dT : (l - q j < T.+1)%N by rewrite ltnS (leq_trans (leq_subr _ _)).
rewrite (big_pred1 (Ordinal dT)) // => x.
by rewrite /= -val_eqE /= -[RHS](eqn_add2l (q j)) subnKC.
Qed.

Lemma geo_levels T r :
  geo T r = \sum_(l < T.+1) mean (at_level l r * \prod_(j | j != r) upto l j).
Proof.
rewrite geo_sum.
have wr (g : noise n T) : within q T g && largest g r -> (noisy q g r < T.+1)%N.
  by case/andP=> /forallP/(_ r).
rewrite (partition_big (fun g : noise n T => inord (noisy q g r) : 'I_T.+1) xpredT) //=.
apply: eq_bigr => l _.
pose Q j (x : 'I_T.+1) := if j == r then (q j + x)%N == l else (q j + x <= l)%N.
pose G j (x : 'I_T.+1) : {poly R} :=
  if j == r then ((1 - rho) * rho ^+ x)%:P
  else ((1 - rho) * rho ^+ x) *: 'X^((q j + x)%N == l).
have lT : (l <= T)%N by rewrite -ltnS.
transitivity (mean (\prod_j \sum_(x | Q j x) G j x)); last first.
  congr mean; rewrite (bigD1 r) //=; congr (_ * _).
    by rewrite -(at_level_sum r lT); apply: eq_big => x; rewrite /Q /G eqxx.
  by apply: eq_bigr => j /negbTE jr; rewrite -(upto_sum j lT); apply: eq_big => x;
     rewrite /Q /G jr.
rewrite bigA_distr_big_dep linear_sum; apply: eq_big => [g|g /andP[/andP[w lg] /eqP e]] /=.
  apply/andP/familyP => [[/andP[w lg] /eqP e] j|h].
    have {}e : noisy q g r = l by rewrite -e inordK // wr // w lg.
    rewrite -topredE /= /Q; case: (j =P r) => [->|_]; first by rewrite -/(noisy q g r) e.
    by rewrite -e; apply: (forallP lg).
  have er : noisy q g r = l.
    by have := h r; rewrite -topredE /= /Q eqxx => /eqP.
  have le j : (noisy q g j <= l)%N.
    by have := h j; rewrite -topredE /= /Q; case: (j =P r) => [->|//]; rewrite -er.
  split; last by rewrite er; apply/eqP/val_inj; rewrite /= inordK // ltnS.
  apply/andP; split; apply/forallP => j; last by rewrite er.
  exact: leq_trans (le j) lT.
have {}e : noisy q g r = l by rewrite -e inordK // wr // w lg.
pose N := (\sum_(j | j != r) (noisy q g j == l))%N.
have -> : #|tied g r| = N.+1.
  rewrite (cardD1 r) inE eqxx add1n; congr _.+1; rewrite /N -sum1_card [RHS]big_mkcond /=.
  rewrite [LHS]big_mkcond /=; apply: eq_bigr => j _; rewrite !inE e.
  by case: (j == r) => //=; case: (_ == _).
have -> : \prod_j G j (g j) = weight rho g *: 'X^N.
  rewrite /weight /N -prodrXr [X in _ *: X]big_mkcond /= -scaler_prod; apply: eq_bigr => j _.
  by rewrite /G; case: (j == r) => //=; rewrite -alg_polyC.
by rewrite linearZ /= meanXn.
Qed.

(* The primitive of F, at the powers of rho: what one level of noise adds. *)
Definition rest r (x : R) : R := p r * (prim (F r)).[x].

Lemma line_comp r x y : F r \Po ((x - y) *: (1 - 'X) + y%:P) =
  \prod_(j | j != r) ((1 - x * p j)%:P + ((x - y) * p j) *: 'X).
Proof.
rewrite /F rmorph_prod /=; apply: eq_bigr => j _.
rewrite rmorphB rmorph1 /= comp_polyZ comp_polyX; apply/polyP => i.
rewrite !(coefB, coefD, coefZ, coefC, coefX, coef1).
case: i => [|[|i]] /=; rewrite ?(subr0, mulr0, addr0, sub0r, mulr1, add0r, oppr0) //.
  by rewrite subrK mulrC.
by rewrite mulrN1 mulrN opprK mulrC.
Qed.

Lemma level_mean r t :
  mean (at_level (m + t) r * \prod_(j | j != r) upto (m + t) j) =
  rest r (rho ^+ t) - rest r (rho ^+ t.+1).
Proof.
rewrite /at_level (leq_trans (q_le r) (leq_addr _ _)).
have pw j : rho ^+ (m + t - q j) = rho ^+ t * p j.
  by rewrite -exprD -addnBAC // addnC.
rewrite -mulrBr prim_between line_comp mulrA pw.
set c := (1 - rho) * (rho ^+ t * p r); set z := p r * (rho ^+ t - rho ^+ t.+1).
have dE : rho ^+ t - rho ^+ t.+1 = (1 - rho) * rho ^+ t by rewrite exprS mulrBl mul1r.
have <- : c = z by rewrite /c /z dE mulrA mulrC.
rewrite mul_polyC linearZ /=; congr (_ * mean _); apply: eq_bigr => j _.
rewrite /upto (leq_trans (q_le j) (leq_addr _ _)) pw; congr (_ + _ *: _).
by rewrite dE mulrA.
Qed.

(* Exactly: what the truncated law lacks is what lies above its levels. *)
Theorem geo_exact r t : geo (m + t) r = pf r - rest r (rho ^+ t.+1).
Proof.
rewrite geo_levels -addnS big_split_ord /= big1 ?add0r => [|l _]; last first.
  case: q_top => i qi; have li : (l < q i)%N by rewrite qi.
  case: (eqVneq i r) => [e|ir]; first by rewrite /at_level -e leqNgt li mul0r linear0.
  by rewrite (bigD1 i) //= /upto leqNgt li mul0r mulr0 linear0.
under eq_bigr do rewrite level_mean.
rewrite pf_mean -/(rest r 1).
elim: t => [|t IH]; first by rewrite big_ord_recl big_ord0 addr0 expr0.
by rewrite big_ord_recr IH /= addrA subrK.
Qed.

Lemma rest_bounds r x : 0 <= x <= 1 -> 0 <= rest r x <= x.
Proof.
case/andP=> x0 x1; rewrite /rest -[(prim _).[x]]subr0 -[X in _ - X](prim0 (F r)) prim_between.
rewrite line_comp subr0.
have h : nonneg (\prod_(j | j != r) ((1 - x * p j)%:P + (x * p j) *: 'X)).
  apply: nonneg_prod => j _; last by rewrite mulr_ge0 ?p_ge0.
  by rewrite subr_ge0 mulr_ile1 ?p_ge0 ?p_le1.
rewrite mulrCA; apply/andP; split; first by rewrite !mulr_ge0 ?p_ge0 ?mean_ge0.
rewrite ler_pimulr // mulr_ile1 ?p_ge0 ?p_le1 ?mean_ge0 //.
apply: le_trans (mean_le h) _; rewrite horner_prod.
by rewrite big1 // => j _; rewrite !hornerE subrK.
Qed.

(* The two laws are the same. *)
Theorem pf_is_geometric r t :
  geo (m + t) r <= pf r <= geo (m + t) r + rho ^+ t.+1.
Proof.
have /(rest_bounds r)/andP[a b] : 0 <= rho ^+ t.+1 <= 1.
  by rewrite exprn_ge0 ?exprn_ile1 ?ltW.
by rewrite geo_exact ler_subl_addr ler_addl a -addrA ler_addl addrC subr_ge0.
Qed.
End PF.

(* A bound for every truncation is a bound for the law: rho^t is as small as need be. *)
Lemma power_small (R : archiFieldType) (rho e : R) : 0 < rho < 1 -> 0 < e ->
  exists t, rho ^+ t.+1 < e.
Proof.
case/andP=> r0 r1 e0; pose h := rho^-1 - 1.
have h0 : 0 < h by rewrite subr_gt0 invf_gt1.
have bern t : 1 + t%:R * h <= rho^-1 ^+ t.
  elim: t => [|t IH]; first by rewrite mul0r addr0 expr0.
  rewrite exprS; apply: (@le_trans _ _ (rho^-1 * (1 + t%:R * h))); last first.
    by rewrite ler_pmul2l ?invr_gt0.
  have -> : rho^-1 = 1 + h by rewrite /h addrC subrK.
  rewrite mulrDl mul1r mulrDr mulr1 -addrA ler_add2l -addn1 natrD mulrDl mul1r ler_add2l.
  by rewrite ler_addl !mulr_ge0 ?ler0n ?ltW.
have [t ht] : exists t, e^-1 < t%:R * h.
  exists (Num.bound (e^-1 / h)); rewrite -ltr_pdivr_mulr //.
  by rewrite archi_boundP // divr_ge0 ?invr_ge0 ?ltW.
exists t; rewrite -[_ < e]ltf_pinv ?posrE ?exprn_gt0 // -exprVn.
apply: lt_le_trans ht _; apply: le_trans (bern t.+1) => //.
by rewrite -addn1 natrD mulrDl mul1r addrCA ler_addl addr_ge0 ?ltW // ltr01.
Qed.

Section Privacy.
Variables (R : archiFieldType) (rho : R) (n : nat).
Hypotheses (rho_gt0 : 0 < rho) (rho_lt1 : rho < 1).
Variables (q q' : scores n) (m m' c d K : nat).
Hypotheses (q_le : forall i, (q i <= m)%N) (q_top : exists i, q i = m).
Hypotheses (q'_le : forall i, (q' i <= m')%N) (q'_top : exists i, q' i = m').
(* All changes lie in an interval d - c .. d - c + K, wherever it lies. *)
Hypothesis close : forall i, (q i + d <= q' i + c <= q i + d + K)%N.

Theorem pf_private r : pf rho q' m' r <= rho^-1 ^+ K * pf rho q m r.
Proof.
rewrite leNgt; apply/negP; rewrite -subr_gt0 => /power_small.
case/(_ rho); first by rewrite rho_gt0.
move=> t; apply/negP; rewrite -leNgt ler_subl_addr addrC.
case/andP: (pf_is_geometric rho_gt0 rho_lt1 q'_le q'_top r t) => _ le; apply: le_trans le _.
rewrite ler_add2r.
have m'm : (m <= m' + c)%N.
  case: q_top => i <-; case/andP: (close i) => h _.
  by rewrite (leq_trans (leq_addr d _)) // (leq_trans h) // leq_add2r.
have TE : (m' + t + c = m + (m' + c - m + t))%N by rewrite addnA subnKC // addnAC.
case/andP: (pf_is_geometric rho_gt0 rho_lt1 q_le q_top r (m' + c - m + t)).
rewrite -TE => le' _.
apply: (@le_trans _ _ (rho^-1 ^+ K * geo rho q (m' + t + c) r)); last first.
  by rewrite ler_pmul2l ?exprn_gt0 ?invr_gt0.
rewrite /geo mulrCA ler_pmul2l ?invr_gt0 ?ltr0n ?fact_gt0 // mulr_sumr.
apply: ler_sum => s _; rewrite -(law_translate rho q' (fun i => s i) (m' + t) (m' + t) [:: r] c).
apply: le_trans (law_box rho_gt0 rho_lt1 _ _ _ _ (leqnn _)) _.
have := private_at rho_gt0 rho_lt1 (fun i => s i) close (o := [:: r]) isT (leqnn (m' + t + c)).
rewrite /= mul1n => h; apply: le_trans h _; rewrite ler_pmul2l ?exprn_gt0 ?invr_gt0 //.
apply: le_trans (law_mono rho_gt0 rho_lt1 _ _ _ _ (leq_addr d _)) _.
by rewrite law_translate.
Qed.
End Privacy.

Print Assumptions pf_is_geometric.
Print Assumptions geo_exact.
Print Assumptions pf_private.
