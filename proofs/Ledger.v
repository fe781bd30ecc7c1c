(* Adding up, under a cap that was fixed when the ledger was opened: `grant` is what a ledger asks
   before each release.  Who asks chooses each mechanism, and what it may cost, after seeing all
   answers before, refusals included; whatever he does, the whole of it stays within the cap. *)
From mathcomp Require Import all_ssreflect all_algebra.
Import Order.TTheory GRing.Theory Num.Theory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.

(* Whole units of a budget: what is spent, what the next release costs. *)
Definition grant (cap spent price : nat) : option nat :=
  if spent + price <= cap then Some (spent + price) else None.

(* What is spent after each of a list of requests, and whether it was granted. *)
Fixpoint spend (cap spent : nat) (prices : seq nat) : seq (nat * bool) :=
  if prices is p :: rest then
    if grant cap spent p is Some s then (s, true) :: spend cap s rest
    else (spent, false) :: spend cap spent rest
  else [::].

Lemma grant_cap cap spent p s : grant cap spent p = Some s -> s <= cap /\ s = spent + p.
Proof. by rewrite /grant; case: ifP => // le [<-]. Qed.

Lemma grant_left cap spent p s : grant cap spent p = Some s ->
  cap - spent = p + (cap - s).
Proof.
case/grant_cap=> le es; rewrite es in le *.
by rewrite subnDA subnKC // -(leq_add2l spent) subnKC // (leq_trans (leq_addr _ _) le).
Qed.

Theorem spend_cap cap spent prices : spent <= cap ->
  all (fun e => e.1 <= cap) (spend cap spent prices).
Proof.
elim: prices spent => //= p l IH spent le; case e: (grant _ _ _) => [s|] /=.
  by have [sc _] := grant_cap e; rewrite sc IH.
by rewrite le IH.
Qed.

(* What was granted adds up to what is spent. *)
Theorem spend_total cap spent prices :
  last spent [seq e.1 | e <- spend cap spent prices] =
  spent + sumn [seq e.1 | e <- zip prices (spend cap spent prices) & e.2.2].
Proof.
elim: prices spent => //= [|p l IH] spent; first by rewrite addn0.
case e: (grant _ _ _) => [s|] /=; last exact: IH.
by have [_ ->] := grant_cap e; rewrite IH /= addnA.
Qed.

Section Filter.
Local Open Scope ring_scope.
Variables (R : realFieldType) (answer : finType) (request : Type).
Variables (law law' : request -> answer -> R) (price : request -> nat) (cap : nat).
Hypotheses (law_ge0 : forall r a, 0 <= law r a) (law'_ge0 : forall r a, 0 <= law' r a).
(* What has been told so far, the last first; None is a refusal.  Then comes the next request. *)
Variable ask : seq (option answer) -> request.

(* The chance that what is told from here on is t. *)
Fixpoint chance (P : request -> answer -> R) (spent : nat) (told t : seq (option answer)) : R :=
  if t is x :: rest then
    match grant cap spent (price (ask told)), x with
    | Some s, Some a => P (ask told) a * chance P s (x :: told) rest
    | None, None => chance P spent (x :: told) rest
    | _, _ => 0
    end
  else 1.

Lemma chance_ge0 P spent told t : (forall r a, 0 <= P r a) -> 0 <= chance P spent told t.
Proof.
move=> P0; elim: t spent told => [|x t IH] spent told /=; first exact: ler01.
by case: (grant _ _ _) => [s|]; case: x => [a|] //; rewrite ?mulr_ge0.
Qed.

(* Pure DP: a price p bounds the ratio of the two laws by w^p. *)
Section Pure.
Variable w : R.
Hypothesis w_ge1 : 1 <= w.
Hypothesis pure : forall r a, law r a <= w ^+ price r * law' r a.

Let w_ge0 : 0 <= w := le_trans ler01 w_ge1.

Theorem pure_filter spent told t : (spent <= cap)%N ->
  chance law spent told t <= w ^+ (cap - spent) * chance law' spent told t.
Proof.
elim: t spent told => [|x t IH] spent told le /=; first by rewrite mulr1 exprn_ege1.
case e: (grant _ _ _) => [s|]; case: x => [a|]; rewrite ?mulr0 //; last exact: IH.
have [sc es] := grant_cap e.
have -> : (cap - spent = price (ask told) + (cap - s))%N.
  exact: grant_left e.
rewrite exprD mulrACA; apply: ler_pmul => //; last exact: IH.
exact: chance_ge0.
Qed.
End Pure.

(* Moments: a price p bounds the moment of order k of the ratio by m^p; so does the sum the whole. *)
Section Moments.
Variables (m : R) (k : nat).
Hypothesis m_ge1 : 1 <= m.
Hypothesis law'_gt0 : forall r a, 0 < law' r a.
Hypothesis moment : forall r, \sum_a law' r a * (law r a / law' r a) ^+ k <= m ^+ price r.

Let m_ge0 : 0 <= m := le_trans ler01 m_ge1.

(* All that can be told in N requests. *)
Fixpoint tales (N : nat) : seq (seq (option answer)) :=
  if N is N'.+1 then [seq x :: t | x <- enum [finType of option answer], t <- tales N']
  else [:: [::]].

Definition moment_of N spent told : R :=
  \sum_(t <- tales N) chance law' spent told t * (chance law spent told t / chance law' spent told t) ^+ k.

Hypothesis k_gt0 : (0 < k)%N.

Theorem moment_filter N spent told : (spent <= cap)%N ->
  moment_of N spent told <= m ^+ (cap - spent).
Proof.
elim: N spent told => [|N IH] spent told le.
  by rewrite /moment_of big_seq1 /= divr1 expr1n mulr1 exprn_ege1.
rewrite /moment_of /= big_allpairs_dep /= big_enum /=.
case e: (grant _ _ _) => [s|].
  have [sc es] := grant_cap e; rewrite (bigD1 None) //= big1 ?add0r; last first.
    by move=> t _; rewrite mul0r.
  have -> : (cap - spent = price (ask told) + (cap - s))%N.
    exact: grant_left e.
  rewrite exprD; apply: le_trans (_ : \sum_a law' (ask told) a *
    (law (ask told) a / law' (ask told) a) ^+ k * m ^+ (cap - s) <= _); last first.
    by rewrite -mulr_suml ler_wpmul2r ?exprn_ge0.
  rewrite (reindex_omap Some id) /=; last by case.
  rewrite (eq_bigl xpredT) => [|a]; last by rewrite eqxx.
  apply: ler_sum => a _; apply: le_trans (_ : _ * moment_of N s (Some a :: told) <= _).
    rewrite /moment_of mulr_sumr; apply: ler_sum => t _.
    by rewrite invfM mulrACA exprMn [X in X <= _]mulrACA.
  by rewrite ler_wpmul2l ?IH // mulr_ge0 ?exprn_ge0 ?divr_ge0 // ltW.
rewrite (bigD1 None) //= [X in _ + X]big1 ?addr0; first exact: IH.
by case=> // a _; rewrite big1 // => t _; rewrite mul0r.
Qed.
End Moments.
End Filter.

Print Assumptions spend_cap.
Print Assumptions spend_total.
Print Assumptions pure_filter.
Print Assumptions moment_filter.
