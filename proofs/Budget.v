(* One budget: amounts add up, and a release is granted if own deltas are within their cap and one
   way is: pure epsilons, or one of several moments.  Who asks chooses each release, what it costs,
   and whether to stop, after seeing all answers before, hidden ones and refusals included; whatever
   he does, all of it together is (epsilon, delta)-DP. *)
From mathcomp Require Import all_ssreflect all_algebra.
Import Order.TTheory GRing.Theory Num.Theory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.

(* Whole units: pure epsilon, how many had none, moments, own deltas. *)
Record amounts := Amounts { eps : nat; impure : nat; moms : seq nat; own : nat }.

Definition plus (s p : amounts) : amounts :=
  Amounts (eps s + eps p) (impure s + impure p)
    [seq (x.1 + x.2)%N | x <- zip (moms s) (moms p)] (own s + own p).

(* The caps are amounts, too; that of what is not pure is 0. *)
Definition allowed (caps s : amounts) : bool :=
  (own s <= own caps) &&
  ((impure s == 0) && (eps s <= eps caps) || has (fun x => x.1 <= x.2) (zip (moms s) (moms caps))).

(* What is spent after each of a list of requests, and whether it was granted. *)
Fixpoint budget (caps s : amounts) (prices : seq amounts) : seq (amounts * bool) :=
  if prices is p :: rest then
    if allowed caps (plus s p) then (plus s p, true) :: budget caps (plus s p) rest
    else (s, false) :: budget caps s rest
  else [::].

Theorem spent_within caps s prices : allowed caps s ->
  all (fun e => allowed caps e.1) (budget caps s prices).
Proof.
elim: prices s => //= p l IH s ok; case e: (allowed _ _) => /=; first by rewrite e IH.
by rewrite ok IH.
Qed.

Section Private.
Local Open Scope ring_scope.
Variables (R : realFieldType) (answer : finType) (request : Type).
Variables (law law' : request -> answer -> R) (bad : request -> answer -> bool).
Variables (price : request -> amounts) (caps : amounts).
(* What was told so far, the last first; None is a refusal.  Then the next request, or none. *)
Variable ask : seq (option answer) -> option request.

Definition granted (s : amounts) told : option (request * amounts) :=
  if ask told is Some r then
    if allowed caps (plus s (price r)) then Some (r, plus s (price r)) else None
  else None.

(* The chance that what is told from here on is t. *)
Fixpoint chance (P : request -> answer -> R) s told (t : seq (option answer)) : R :=
  if t is x :: rest then
    match granted s told, x with
    | Some (r, s'), Some a => P r a * chance P s' (x :: told) rest
    | None, None => chance P s (x :: told) rest
    | _, _ => 0
    end
  else 1.

(* All that can be told in N requests. *)
Fixpoint tales (N : nat) : seq (seq (option answer)) :=
  if N is N'.+1 then [seq x :: t | x <- enum [finType of option answer], t <- tales N']
  else [:: [::]].

Hypotheses (law_ge0 : forall r a, 0 <= law r a) (law'_ge0 : forall r a, 0 <= law' r a).
Hypothesis law_le1 : forall r, \sum_a law r a <= 1.
Hypothesis law'_gt0 : forall r a, ~~ bad r a -> 0 < law' r a.

(* Units: w of pure epsilon, m j of the moment of order k j, u of own delta. *)
Variables (w u : R) (n : nat) (m : 'I_n -> R) (k : 'I_n -> nat).
Hypotheses (w_ge1 : 1 <= w) (u_ge0 : 0 <= u) (m_ge1 : forall j, 1 <= m j).
Hypotheses (size_price : forall r, size (moms (price r)) = n) (size_caps : size (moms caps) = n).

(* What a price promises of a release. *)
Hypothesis fails : forall r, \sum_(a | bad r a) law r a <= u *+ own (price r).
Hypothesis pure : forall r a, impure (price r) = 0%N -> ~~ bad r a ->
  law r a <= w ^+ eps (price r) * law' r a.
Hypothesis moment : forall r j,
  \sum_(a | ~~ bad r a) law r a * (law r a / law' r a) ^+ k j <= m j ^+ nth 0%N (moms (price r)) j.

(* delta = u * own caps + rest; the weights of the orders, and the caps of the moments. *)
Variables (rest : R) (weight : 'I_n -> R).
Hypotheses (rest_ge0 : 0 <= rest) (weight_ge0 : forall j, 0 <= weight j) (weights : \sum_j weight j <= 1).
Hypothesis cap : forall j, m j ^+ nth 0%N (moms caps) j * (k j)%:R ^+ k j <=
  weight j * rest * (k j).+1%:R ^+ (k j).+1 * (w ^+ eps caps) ^+ k j.

Let W := w ^+ eps caps.
Let W_gt0 : 0 < W. Proof. by rewrite exprn_gt0 // (lt_le_trans ltr01). Qed.
Let m_gt0 j : 0 < m j. Proof. exact: lt_le_trans ltr01 (m_ge1 j). Qed.

Lemma bernoulli_ge (v : R) i : 0 <= 1 + v -> 1 + v *+ i <= (1 + v) ^+ i.
Proof.
move=> v0; elim: i => [|i IH]; first by rewrite mulr0n addr0 expr0.
rewrite exprS; apply: le_trans (ler_wpmul2l v0 IH).
have -> : (1 + v) * (1 + v *+ i) = 1 + v *+ i.+1 + v * v *+ i.
  by rewrite mulrDl mul1r mulrDr mulr1 mulrnAr mulrSr !addrA.
by rewrite ler_addl mulrn_wge0 // -expr2 sqr_ge0.
Qed.

(* Canonne, Kamath and Steinke (2020): where a moment is worth most. *)
Lemma conversion (t : R) i : 0 <= t ->
  (t - W) * (W ^+ i * i.+1%:R ^+ i.+1) <= i%:R ^+ i * t ^+ i.+1.
Proof.
move=> t0; case: i => [|i].
  by rewrite !expr0 !expr1 !mul1r mulr1 ler_subl_addr ler_addl ltW.
set a : R := i.+2%:R; set b : R := i.+1%:R.
have a0 : 0 < a by rewrite ltr0n.
have b0 : 0 < b by rewrite ltr0n.
pose c := a * W; have c0 : 0 < c by rewrite mulr_gt0.
have y0 : 0 <= 1 + (b * t / c - 1).
  by rewrite addrC subrK divr_ge0 ?mulr_ge0 // ltW.
have := bernoulli_ge i.+2 y0; rewrite [in X in _ <= X]addrC subrK => B.
have e1 : 1 + (b * t / c - 1) *+ i.+2 = b * (t - W) / W.
  rewrite -mulr_natr -/a mulrBl mul1r /c invfM mulrA.
  have -> : b * t / a / W * a = b * t / W by rewrite mulrAC divfK ?gt_eqF.
  have -> : a = b + 1 by rewrite /a /b -[i.+2]addn1 natrD.
  by rewrite addrC opprD addrA subrK mulrBr mulrBl mulfK ?gt_eqF.
rewrite {}e1 expr_div_n ler_pdivl_mulr ?exprn_gt0 // in B.
rewrite -(ler_pmul2l b0); apply: le_trans (_ : (b * t) ^+ i.+2 <= _); last first.
  by rewrite exprMn exprS -!mulrA.
suff -> : b * ((t - W) * (W ^+ i.+1 * a ^+ i.+2)) = b * (t - W) / W * c ^+ i.+2 by [].
rewrite /c exprMn [W ^+ i.+2]exprS; move: (a ^+ i.+2) (W ^+ i.+1) => A V.
by rewrite -!mulrA; congr (_ * (_ * _)); rewrite [A * _]mulrCA mulKf ?gt_eqF // mulrC.
Qed.

Lemma tales_sum N (f : seq (option answer) -> R) :
  \sum_(t <- tales N.+1) f t =
  \sum_(t <- tales N) f (None :: t) + \sum_a \sum_(t <- tales N) f (Some a :: t).
Proof.
rewrite /= big_allpairs_dep /= big_enum (bigD1 None) //=; congr (_ + _).
rewrite (reindex_omap Some id) /=; last by case.
by apply: eq_bigl => a; rewrite eqxx.
Qed.

Lemma chance_ge0 P s told t : (forall r a, 0 <= P r a) -> 0 <= chance P s told t.
Proof.
move=> P0; elim: t s told => [|x t IH] s told /=; first exact: ler01.
by case: (granted _ _) => [[r s']|]; case: x => [a|] //; rewrite ?mulr_ge0.
Qed.

Lemma chance_mass N s told : \sum_(t <- tales N) chance law s told t <= 1.
Proof.
elim: N s told => [|N IH] s told; first by rewrite big_seq1.
rewrite tales_sum /=; case: (granted s told) => [[r s']|].
  rewrite big1 ?add0r //; apply: le_trans (law_le1 r).
  by apply: ler_sum => a _; rewrite -mulr_sumr ler_pimulr.
by rewrite [X in _ + X]big1 ?addr0 // => a _; rewrite big1.
Qed.

Lemma size_plus s r : size (moms s) = n -> size (moms (plus s (price r))) = n.
Proof. by move=> e; rewrite /= size_map size_zip size_price e minnn. Qed.

Lemma nth_plus s r (j : 'I_n) : size (moms s) = n ->
  nth 0%N (moms (plus s (price r))) j = (nth 0%N (moms s) j + nth 0%N (moms (price r)) j)%N.
Proof.
move=> e; rewrite /= (nth_map (0%N, 0%N)) ?size_zip ?size_price ?e ?minnn //.
by rewrite nth_zip ?size_price.
Qed.

(* What is left to fail, and the weighted moments so far: they bound all that is still to come. *)
Definition unspent (s : amounts) : R := u *+ (own caps - own s).
Definition mixed (s : amounts) (p q : R) : R :=
  \sum_j weight j * (p * (p / q) ^+ k j / m j ^+ nth 0%N (moms s) j).

Lemma mixed_ge0 s p q : 0 <= p -> 0 <= q -> 0 <= mixed s p q.
Proof.
move=> p0 q0; apply: sumr_ge0 => j _; apply: mulr_ge0 => //.
by rewrite !mulr_ge0 ?invr_ge0 ?exprn_ge0 ?divr_ge0 // ltW.
Qed.

(* Theorem 20.2, path by path: what one may gain by stopping where a way is open. *)
Lemma stopping s p q : 0 <= p -> 0 < q -> size (moms s) = n -> allowed caps s ->
  (impure s = 0%N -> p <= w ^+ eps s * q) -> p - W * q <= rest * mixed s p q.
Proof.
move=> p0 q0 ss /andP[_ /orP[/andP[/eqP np le] | some]] pq.
  apply: le_trans (_ : 0 <= _); last by rewrite mulr_ge0 // mixed_ge0 // ltW.
  rewrite subr_le0; apply: le_trans (pq np) _.
  by rewrite ler_wpmul2r ?ler_weexpn2l // ltW.
case/hasP: some => i /(nthP (0%N, 0%N)) [j0]; rewrite size_zip size_caps ss minnn => jn <-.
rewrite nth_zip ?size_caps //= => le; pose j := Ordinal jn.
rewrite -[j0]/(nat_of_ord j) in le; have q0' := ltW q0.
rewrite /mixed (bigD1 j) //= mulrDr; apply: le_trans (_ : rest * (weight j *
  (p * (p / q) ^+ k j / m j ^+ nth 0%N (moms s) j)) <= _); last first.
  rewrite ler_addl mulr_ge0 //; apply: sumr_ge0 => i' _; apply: mulr_ge0 => //.
  by rewrite !mulr_ge0 ?invr_ge0 ?exprn_ge0 ?divr_ge0 // ltW.
have t0 : 0 <= p / q by rewrite divr_ge0 // ltW.
set t := p / q in t0 *; have ep : p = t * q by rewrite /t divfK ?gt_eqF.
clearbody t.
set S := nth _ _ _ in le *.
have mS : 0 < m j ^+ S by rewrite exprn_gt0.
have D0 : 0 < W ^+ k j * (k j).+1%:R ^+ (k j).+1 by apply: mulr_gt0; apply: exprn_gt0; rewrite ?ltr0n.
rewrite !mulrA ler_pdivl_mulr // -(ler_pmul2r D0).
have K := conversion (k j) t0.
have C : m j ^+ S * (k j)%:R ^+ k j <= weight j * rest * (W ^+ k j * (k j).+1%:R ^+ (k j).+1).
  apply: le_trans (_ : m j ^+ nth 0%N (moms caps) j * (k j)%:R ^+ k j <= _).
    by rewrite ler_wpmul2r ?exprn_ge0 ?ler0n // ler_weexpn2l.
  by apply: le_trans (cap j) _; rewrite mulrAC mulrA.
move: (W ^+ k j * _) D0 K C => D D0 K C.
apply: le_trans (_ : q * m j ^+ S * ((k j)%:R ^+ k j * t ^+ (k j).+1) <= _).
  apply: le_trans (_ : q * m j ^+ S * ((t - W) * D) <= _); last first.
    by rewrite ler_wpmul2l // mulr_ge0 // ltW.
  have -> : p - W * q = (t - W) * q by rewrite mulrBl -ep.
  by rewrite mulrA [X in X <= _]((@GRing.mul R).[ACl 2*3*1*4]).
apply: le_trans (_ : q * t ^+ (k j).+1 * (weight j * rest * D) <= _).
  apply: le_trans (_ : q * t ^+ (k j).+1 * (m j ^+ S * (k j)%:R ^+ k j) <= _); last first.
    by rewrite ler_wpmul2l // mulr_ge0 ?exprn_ge0 // ltW.
  by rewrite !mulrA [X in X <= _]((@GRing.mul R).[ACl 1*4*2*3]).
have -> : rest * weight j * p * t ^+ k j * D = rest * weight j * (t * q) * t ^+ k j * D by rewrite -ep.
by rewrite exprS !mulrA [X in X <= _]((@GRing.mul R).[ACl 5*4*2*1*3*6]).
Qed.

(* The same at any place, with chances p and q of what was told so far: for every test f. *)
Theorem budget_bound N (f : seq (option answer) -> R) s told p q :
  (forall t, 0 <= f t <= 1) -> 0 <= p -> 0 < q -> size (moms s) = n -> allowed caps s ->
  (impure s = 0%N -> p <= w ^+ eps s * q) ->
  \sum_(t <- tales N) f t * (p * chance law s told t - W * (q * chance law' s told t))
    <= p * unspent s + rest * mixed s p q.
Proof.
elim: N f s told p q => [|N IH] f s told p q f01 p0 q0 ss ok pq.
  rewrite big_seq1 /= !mulr1; have /andP[f0 f1] := f01 [::].
  have B := stopping p0 q0 ss ok pq; have M := mulr_ge0 rest_ge0 (mixed_ge0 s p0 (ltW q0)).
  have L : 0 <= p * unspent s by rewrite mulr_ge0 // mulrn_wge0.
  apply: le_trans (_ : rest * mixed s p q <= _); last by rewrite ler_addr.
  apply: le_trans (ler_wpmul2l f0 B) _; rewrite -[X in _ <= X]mul1r.
  exact: ler_wpmul2r.
rewrite tales_sum /=; case e: (granted s told) => [[r s']|]; last first.
  rewrite [X in _ + X]big1 ?addr0; last by move=> a _; rewrite big1 // => t _; rewrite !mulr0 subrr mulr0.
  exact: (IH (fun t => f (None :: t))).
rewrite [X in X + _]big1 ?add0r; last by move=> t _; rewrite !mulr0 subrr mulr0.
move: e; rewrite /granted; case: (ask told) => // r0; case: ifP => // ok' [<- <-] {r s'}.
set s' := plus s (price r0) in ok' *.
have le : (own s + own (price r0) <= own caps)%N by case/andP: ok'.
have ss' : size (moms s') = n by exact: size_plus.
rewrite (bigID (bad r0)) /=.
apply: le_trans (_ : p * (u *+ own (price r0)) + (p * unspent s' + rest * mixed s p q) <= _); last first.
  rewrite addrA ler_add2r -mulrDr ler_wpmul2l // /unspent -mulrnDr ler_wpmuln2l //=.
  by rewrite subnDA subnKC // leq_subRL // (leq_trans (leq_addr _ _) le).
apply: ler_add.
  apply: le_trans (_ : \sum_(a | bad r0 a) p * law r0 a <= _); last first.
    by rewrite -mulr_sumr ler_wpmul2l.
  apply: ler_sum => a _; apply: le_trans (_ : \sum_(t <- tales N) p * law r0 a *
    chance law s' (Some a :: told) t <= _); last first.
    by rewrite -mulr_sumr ler_pimulr ?chance_mass // mulr_ge0.
  apply: ler_sum => t _; have /andP[f0 f1] := f01 (Some a :: t).
  apply: le_trans (_ : f (Some a :: t) * (p * (law r0 a * chance law s' (Some a :: told) t)) <= _).
    rewrite ler_wpmul2l // ler_subl_addr ler_addl !mulr_ge0 //; first exact: ltW.
    - exact: ltW.
    - exact: chance_ge0.
  rewrite mulrA -[X in _ <= X]mul1r -!mulrA; apply: ler_wpmul2r => //.
  by rewrite !mulr_ge0 // chance_ge0.
apply: le_trans (_ : \sum_(a | ~~ bad r0 a) (p * law r0 a * unspent s' +
  rest * mixed s' (p * law r0 a) (q * law' r0 a)) <= _).
  apply: ler_sum => a good; have g := law'_gt0 good.
  have := IH (fun t => f (Some a :: t)) s' (Some a :: told) (p * law r0 a) (q * law' r0 a)
    (fun t => f01 _) (mulr_ge0 p0 (law_ge0 _ _)) (mulr_gt0 q0 g) ss' ok'.
  move=> H; apply: le_trans (H _); last first.
    move=> /= /eqP; rewrite addn_eq0 => /andP[/eqP np /eqP npr].
    rewrite exprD mulrACA; apply: ler_pmul => //; [exact: pq | exact: pure].
  by rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: eq_bigr => t _; rewrite !mulrA.
rewrite big_split /=; apply: ler_add.
  rewrite -mulr_suml -mulr_sumr; apply: ler_wpmul2r; first exact: mulrn_wge0.
  apply: ler_pimulr => //; apply: le_trans (law_le1 r0).
  by rewrite [X in _ <= X](bigID (bad r0)) /= ler_addr sumr_ge0.
rewrite -mulr_sumr ler_wpmul2l // /mixed exchange_big /=; apply: ler_sum => j _.
rewrite -mulr_sumr ler_wpmul2l //.
rewrite (nth_plus _ _ ss) exprD.
set S := nth _ _ _; set C := nth _ _ _.
have mS : 0 < m j ^+ S by rewrite exprn_gt0.
have mC : 0 < m j ^+ C by rewrite exprn_gt0.
pose c : R := p * (p / q) ^+ k j / m j ^+ S; have c0 : 0 <= c.
  by rewrite !mulr_ge0 ?invr_ge0 ?exprn_ge0 ?divr_ge0 // ltW.
have -> : \sum_(a | ~~ bad r0 a) p * law r0 a * (p * law r0 a / (q * law' r0 a)) ^+ k j /
    (m j ^+ S * m j ^+ C) =
  c / m j ^+ C * \sum_(a | ~~ bad r0 a) law r0 a * (law r0 a / law' r0 a) ^+ k j.
  rewrite mulr_sumr; apply: eq_bigr => a _.
  have -> : p * law r0 a / (q * law' r0 a) = (p / q) * (law r0 a / law' r0 a).
    by rewrite invfM mulrACA.
  rewrite exprMn invfM /c !mulrA.
  by rewrite [LHS]((@GRing.mul R).[ACl 1*3*5*6*2*4]).
rewrite -[X in _ <= X]mulr1 -(mulVf (lt0r_neq0 mC)) mulrA.
by apply: ler_wpmul2l; [rewrite divr_ge0 // ltW | exact: moment].
Qed.

Definition nothing := Amounts 0 0 (nseq n 0%N) 0.

(* Theorem 20.2: every test f of all that is told, in N requests, however they are chosen. *)
Theorem budget_private N (f : seq (option answer) -> R) : (forall t, 0 <= f t <= 1) ->
  \sum_(t <- tales N) f t * chance law nothing [::] t <=
  w ^+ eps caps * (\sum_(t <- tales N) f t * chance law' nothing [::] t) + (u *+ own caps + rest).
Proof.
move=> f01; have ss : size (moms nothing) = n by rewrite size_nseq.
have B := @budget_bound N f nothing [::] 1 1 f01 ler01 ltr01 ss isT.
rewrite -ler_subl_addl mulr_sumr -sumrB; apply: le_trans (_ : _ <= unspent nothing + rest) _; last first.
  by rewrite /unspent subn0.
apply: le_trans (_ : unspent nothing + rest * mixed nothing 1 1 <= _); last first.
  rewrite ler_add2l; apply: ler_pimulr => //; apply: le_trans weights; apply: ler_sum => j _.
  by rewrite nth_nseq ltn_ord expr0 !divr1 expr1n !mulr1.
rewrite -[X in X + _]mul1r; apply: le_trans (B _); last by rewrite expr0 mul1r.
rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: eq_bigr => t _.
by rewrite !mul1r mulrBr mulrCA.
Qed.
End Private.

Print Assumptions spent_within.
Print Assumptions conversion.
Print Assumptions stopping.
Print Assumptions budget_private.
