(* Permute-and-flip never has a larger expected shortfall than the exponential mechanism at the same
   rate (McKenna and Sheldon): the better a candidate, the larger the ratio of its two chances. *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra.
Require Import Ranking PermuteAndFlip.
Import Order.TTheory GRing.Theory Num.Theory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

Section Derivative.
Variables (R : comRingType) (I : finType) (f : I -> {poly R}).

Lemma deriv_prod_seq (l : seq I) : uniq l ->
  (\prod_(i <- l) f i)^`() = \sum_(i <- l) (f i)^`() * \prod_(j <- l | j != i) f j.
Proof.
elim: l => [|a l IH] /=; first by rewrite !big_nil -[1]polyC1 derivC.
case/andP=> al ul; rewrite big_cons derivM IH // big_cons big_cons eqxx /=; congr (_ * _ + _).
  by rewrite big_seq_cond [RHS]big_seq_cond; apply: eq_bigl => j;
     case: (boolP (j \in l)) => //= jl; apply/esym; apply: contraNneq al => <-.
rewrite mulr_sumr big_seq [RHS]big_seq; apply: eq_bigr => i il.
rewrite mulrCA big_cons (_ : a != i) //; last by apply: contraNneq al => ->.
Qed.

Lemma deriv_prod : (\prod_i f i)^`() = \sum_i (f i)^`() * \prod_(j | j != i) f j.
Proof. by rewrite -[index_enum I]enumT deriv_prod_seq ?enum_uniq. Qed.
End Derivative.

Section MeanX.
Variable R : numFieldType.
Implicit Type p : {poly R}.

Lemma mean_flip p : mean p = mean (p \Po (1 - 'X)).
Proof.
have := prim_between p 1 0; rewrite prim0 !subr0 mul1r scale1r addr0 => <- //.
Qed.

Lemma mean_mulX p : nonneg p -> mean ('X * p) <= mean p.
Proof.
move=> h; have e : p = \sum_(i < size p) p`_i *: 'X^i by rewrite -poly_def coefK.
rewrite [in X in X <= _]e [in X in _ <= X]e mulr_sumr !linear_sum; apply: ler_sum => i _.
rewrite -scalerAr -exprS !linearZ /= !meanXn ler_wpmul2l ?h //.
by rewrite lef_pinv ?posrE ?ltr0n // ler_nat.
Qed.
End MeanX.

Section Shortfall.
Variables (R : realFieldType) (rho : R) (n : nat).
Hypotheses (rho_gt0 : 0 < rho) (rho_lt1 : rho < 1).
Variables (q : scores n) (m : nat).
Hypotheses (q_le : forall i, (q i <= m)%N) (q_top : exists i, q i = m).
Implicit Types i j r : 'I_n.

Let p := p rho q m.
Let F := F rho q m.
Let pf := pf rho q m.

(* The exponential mechanism, in terms of shortfalls. *)
Definition em r : R := p r / \sum_j p j.
(* The expected shortfall of a law, in steps. *)
Definition shortfall (law : 'I_n -> R) : R := \sum_r law r * (m - q r)%:R.

Let p_gt0 r : 0 < p r. Proof. by rewrite exprn_gt0. Qed.

Lemma total_gt0 : 0 < \sum_j p j.
Proof.
case: q_top => i _; rewrite (bigD1 i) //= ltr_paddr ?p_gt0 //.
by apply: sumr_ge0 => j _; rewrite ltW ?p_gt0.
Qed.

Lemma em_sum : \sum_r em r = 1.
Proof. by rewrite -mulr_suml mulfV // gt_eqF ?total_gt0. Qed.

Theorem pf_sum : \sum_r pf r = 1.
Proof.
pose f j : {poly R} := 1 - p j *: 'X.
have d j : (f j)^`() = - (p j)%:P by rewrite derivB derivZ derivX -[1]polyC1 derivC sub0r alg_polyC.
have := mean_deriv (\prod_j f j); rewrite deriv_prod linear_sum /=.
have -> : (\prod_j f j).[0] = 1.
  by rewrite horner_prod big1 // => j _; rewrite !hornerE ?mulr0 ?subr0.
have -> : (\prod_j f j).[1] = 0.
  case: q_top => i e; rewrite horner_prod (bigD1 i) //= !hornerE.
  by rewrite /p /PermuteAndFlip.p e subnn expr0 ?mulr1 subrr mul0r.
rewrite sub0r => e; apply: oppr_inj; rewrite -e -sumrN; apply: eq_bigr => r _.
by rewrite d mulNr linearN mul_polyC linearZ /= /pf pf_mean.
Qed.

(* The better one has the larger mean, *)
Lemma mean_mono r s : (q s <= q r)%N -> mean (F s) <= mean (F r).
Proof.
move=> le; have [->//|rs] := eqVneq r s; rewrite -subr_ge0 -linearB /=.
pose G : {poly R} := \prod_(j | (j != r) && (j != s)) (1 - p j *: 'X).
have -> : F r - F s = (p r - p s) *: ('X * G).
  rewrite /F /PermuteAndFlip.F (bigD1 s) 1?eq_sym //= [X in _ - X](bigD1 r) //=.
  rewrite [X in _ - _ * X](eq_bigl (fun j => (j != r) && (j != s))); last by move=> j; rewrite andbC.
  by rewrite -/p -/G -mulrBl opprB addrC addrA subrK -scalerBl -scalerAl.
rewrite linearZ /= mulr_ge0 //.
  by rewrite subr_ge0 ler_wiexpn2l ?ltW // leq_sub2l.
rewrite mean_flip rmorphM /= comp_polyX mulrBl mul1r linearB /= subr_ge0 mean_mulX //.
rewrite /G rmorph_prod /= (eq_bigr (fun j => (1 - p j)%:P + p j *: 'X)).
  by apply: nonneg_prod => j _; rewrite ?subr_ge0 ?p_le1 ?ltW.
move=> j _; rewrite rmorphB rmorph1 /= comp_polyZ comp_polyX scalerBr opprB addrCA addrC.
by rewrite alg_polyC polyCB polyC1.
Qed.

Let c r : R := mean (F r) * \sum_j p j.

Lemma pf_em r : pf r = em r * c r.
Proof. by rewrite /em /c mulrCA mulrC divrK ?unitfE ?gt_eqF ?total_gt0 // /pf pf_mean mulrC. Qed.

(* and so the larger share of what permute-and-flip gives beyond the exponential mechanism. *)
Theorem pf_shortfall : shortfall pf <= shortfall em.
Proof.
pose d := (\max_(r | (1 <= c r)%R) (m - q r))%N.
have e0 r : 0 <= em r by rewrite divr_ge0 ?ltW ?total_gt0.
have s0 (law : 'I_n -> R) : \sum_r law r = 1 ->
    shortfall law = \sum_r law r * ((m - q r)%:R - d%:R) + d%:R.
  move=> one; rewrite (eq_bigr _ (fun r _ => mulrBr (law r) _ _)) sumrB -mulr_suml one mul1r.
  by rewrite subrK.
rewrite (s0 _ pf_sum) (s0 _ em_sum) ler_add2r -subr_le0 -sumrB -oppr_ge0 -sumrN; apply: sumr_ge0 => r _; rewrite oppr_ge0.
rewrite -mulrBl pf_em -{2}[em r]mulr1 -mulrBr -mulrA mulr_ge0_le0 //.
have [le|lt] := lerP 1 (c r).
  apply: mulr_ge0_le0; rewrite ?subr_ge0 // subr_le0 ler_nat.
  exact: (@leq_bigmax_cond _ (fun r => 1 <= c r) (fun r => m - q r)%N).
apply: mulr_le0_ge0; first by rewrite subr_le0 ltW.
rewrite subr_ge0 ler_nat; apply/bigmax_leqP => s cs.
rewrite leq_sub2l // leqNgt; apply: contraTN (lt_le_trans lt cs) => /ltnW/mean_mono le.
by rewrite -leNgt /c ler_pmul2r ?total_gt0.
Qed.
End Shortfall.

Print Assumptions pf_sum.
Print Assumptions pf_shortfall.
