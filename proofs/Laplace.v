(* Laplace domination (Lemma L0).  Let a law move along a line so that from one of m equal parts to the
   next the chance of an event, and that of its complement, change by a factor of r at most, with
   r^m = E, whatever m is.  Then the chances p and q of the event at both ends are no better told
   apart than those of Laplace noise at a distance of ln E.

   With F the distribution function of Laplace noise, that is q <= F (F^-1 p + ln E):
   q <= E p below one half, 1 - p <= E (1 - q) above, and across it 4 p (1 - q) >= 1 / E, because
   F^-1 p = ln (2 p) and F^-1 q = -ln (2 (1 - q)) there. *)
From mathcomp Require Import all_ssreflect all_algebra.
Import Order.TTheory GRing.Theory Num.Theory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

Section Laplace.
Variable R : archiFieldType.
Implicit Types (p q r x E h : R) (b : nat -> R).

Definition dominated E p q : Prop :=
  [/\ q <= E * p, 1 - p <= E * (1 - q) & p <= 2^-1 -> 2^-1 <= q -> 1 <= 4 * E * p * (1 - q)].

Definition moves r p q : Prop := q <= r * p /\ 1 - p <= r * (1 - q).

(* The chances at the ends of m parts. *)
Definition along r b m : Prop := forall i, (i < m)%N -> moves r (b i) (b i.+1).

Lemma along_up r b m i : 0 <= r -> along r b m -> (i <= m)%N -> b i <= r ^+ i * b 0%N.
Proof.
move=> r0 al; elim: i => [|i IH] im; first by rewrite mul1r.
have [up _] := al _ im; apply: le_trans up _.
by rewrite exprS -mulrA ler_wpmul2l // IH // ltnW.
Qed.

Lemma along_down r b m i : 0 <= r -> along r b m -> (i <= m)%N ->
  1 - b (m - i)%N <= r ^+ i * (1 - b m).
Proof.
move=> r0 al; elim: i => [|i IH] im; first by rewrite subn0 mul1r.
have lt : (m - i.+1 < m)%N by rewrite ltn_subrL (leq_trans _ im).
have [_ down] := al _ lt; apply: le_trans down _; rewrite -subSn // subSS.
by rewrite exprS -mulrA ler_wpmul2l // IH // ltnW.
Qed.

Lemma bernoulli x m : 0 <= x -> 1 + m%:R * x <= (1 + x) ^+ m.
Proof.
move=> x0; elim: m => [|m IH]; first by rewrite mul0r addr0 expr0.
have y0 : 0 <= 1 + x by rewrite addr_ge0 ?ler01.
rewrite exprS; apply: le_trans (ler_wpmul2l y0 IH).
rewrite mulrDl mul1r mulrDr mulr1 -addn1 natrD mulrDl mul1r -!addrA !ler_add2l ler_addl.
by rewrite !mulr_ge0 ?ler0n.
Qed.

Lemma half_half : 2^-1 + 2^-1 = 1 :> R.
Proof. by rewrite -mulr2n -mulr_natl mulfV // pnatr_eq0. Qed.

Theorem laplace_domination E p q : 0 <= p -> q <= 1 ->
  (forall m, (0 < m)%N -> exists r b, [/\ 1 <= r, r ^+ m = E, b 0%N = p, b m = q & along r b m]) ->
  dominated E p q.
Proof.
move=> p0 q1 line; split.
- by have [r [b [_ <- <- <- al]]] := line 1%N isT; have [up _] := al 0%N isT; rewrite expr1.
- by have [r [b [_ <- <- <- al]]] := line 1%N isT; have [_ down] := al 0%N isT; rewrite expr1.
have E1 : 1 <= E by have [r [b [r1 <- _ _ _]]] := line 1%N isT; rewrite expr1.
move=> ph qh; set x := 4 * E * p * (1 - q).
have q'0 : 0 <= 1 - q by rewrite subr_ge0.
have x0 : 0 <= x by rewrite !mulr_ge0 ?ler0n // (le_trans ler01).
(* Across one half a part more is needed, and it is as small as one likes. *)
have part m : (0 < m)%N -> m%:R <= x * (m%:R + (E - 1)).
  move=> m0; have [r [b [r1 rE b0 bm al]]] := line m m0; have r0 := le_trans ler01 r1.
  have rp : 0 < r := lt_le_trans ltr01 r1.
  have ex : exists j, (0 < j)%N && (2^-1 <= b j) by exists m; rewrite m0 bm.
  case: (ex_minnP ex) => j /andP[j0 jh] least; case: j j0 jh least => // i _ jh least.
  have im : (i < m)%N by apply: least; rewrite m0 bm.
  have ih : b i <= 2^-1.
    case: i jh least im => [|i'] jh least im; first by rewrite b0.
    by rewrite leNgt; apply/negP => /ltW lt; have := least i'.+1; rewrite lt /= ltnn => /(_ isT).
  have [up down] := al _ im.
  have half : 1 - 2^-1 = 2^-1 :> R by rewrite -[X in X - _]half_half addrK.
  have b1 : 2^-1 <= r * b i by apply: le_trans jh up.
  have b2 : 2^-1 <= r * (1 - b i.+1).
    by apply: le_trans down; rewrite -half ler_add2l ler_opp2.
  have u := along_up r0 al (ltnW im); rewrite b0 in u.
  have d : 1 - b i.+1 <= r ^+ (m - i.+1) * (1 - q).
    by have := along_down r0 al (leq_subr i.+1 m); rewrite subKn // bm.
  have b1' : 2^-1 <= r * (r ^+ i * p) by apply: le_trans b1 _; rewrite ler_pmul2l.
  have b2' : 2^-1 <= r * (r ^+ (m - i.+1) * (1 - q)) by apply: le_trans b2 _; rewrite ler_pmul2l.
  have h0 : 0 <= 2^-1 :> R by rewrite invr_ge0 ler0n.
  have := ler_pmul h0 h0 b1' b2'.
  have -> : r * (r ^+ i * p) * (r * (r ^+ (m - i.+1) * (1 - q))) = r * E * p * (1 - q).
    have em : r ^+ m = r * r ^+ i * r ^+ (m - i.+1) by rewrite -exprS -exprD subnKC.
    by rewrite -rE em !mulrA [LHS]((@GRing.mul R).[ACl 1*4*2*5*3*6]).
  have -> : 2^-1 * 2^-1 = 4^-1 :> R by rewrite -invfM -natrM.
  move=> le; have le4 : 1 <= x * r.
    move: le; rewrite -[_^-1]mul1r ler_pdivr_mulr ?ltr0n // => /le_trans; apply.
    by rewrite /x le_eqVlt; apply/orP; left; apply/eqP; rewrite [LHS]((@GRing.mul R).[ACl 5*2*3*4*1]).
  have m0' : 0 < m%:R :> R by rewrite ltr0n.
  have x1 : 0 <= r - 1 by rewrite subr_ge0.
  have := bernoulli m x1; rewrite [1 + (r - 1)]addrC subrK rE => B.
  have rm : r * m%:R <= m%:R + (E - 1).
    by rewrite -ler_subl_addl -{2}[m%:R]mul1r -mulrBl mulrC ler_subr_addl.
  by apply: le_trans (ler_wpmul2l x0 rm); rewrite mulrA -{1}[m%:R]mul1r ler_pmul2r.
rewrite leNgt; apply/negP => x1.
have y0 : 0 < 1 - x by rewrite subr_gt0.
have z0 : 0 <= x * (E - 1) / (1 - x) by rewrite divr_ge0 ?(ltW y0) // mulr_ge0 // subr_ge0.
have := archi_boundP z0; set m := Num.bound _ => lt.
have m0 : (0 < m)%N by rewrite -(ltr0n R) (le_lt_trans z0).
have := part m m0; rewrite mulrDr -ler_subl_addl -{1}[m%:R]mul1r -mulrBl.
by rewrite leNgt [(1 - x) * _]mulrC -ltr_pdivr_mulr // lt.
Qed.

(* What an event gains: with h^2 = e^s / E, the curve of Laplace noise. *)
Theorem domination_profile E h p q : 0 <= p -> 0 < E -> 0 < h -> h <= 1 -> 1 <= h * E ->
  dominated E p q -> q - h ^+ 2 * E * p <= 1 - h.
Proof.
move=> p0 E0 h0 h1 hE [up down across].
have mean (g : R) : g *+ 2 <= g ^+ 2 + 1.
  by rewrite -subr_ge0 addrAC -sqrrB1 sqr_ge0.
suff le : h <= 1 - q + h ^+ 2 * E * p.
  rewrite -subr_ge0 opprB !addrA [X in _ <= X]((@GRing.add R).[ACl 1*4*3*2]).
  by rewrite subr_ge0.
have p_E x : x <= E * p -> h ^+ 2 * x <= h ^+ 2 * E * p by rewrite -mulrA; apply/ler_wpmul2l/sqr_ge0.
have h21 : 0 <= 1 - h ^+ 2 by rewrite subr_ge0 exprn_ile1 // ltW.
case: (lerP p 2^-1) => [ph|/ltW ph]; last first.
  rewrite -(ler_pmul2r E0) mulrDl; apply: le_trans (_ : 1 - p + (h * E) ^+ 2 * p <= _); last first.
    rewrite [(1 - q) * E]mulrC; apply: ler_add => //.
    by rewrite exprMn [E ^+ 2]expr2 !mulrA [X in X <= _]((@GRing.mul R).[ACl 1*2*4*3]).
  set g := h * E in hE *; have g1 : 0 <= g ^+ 2 - 1 by rewrite subr_ge0 exprn_ege1.
  have -> : 1 - p + g ^+ 2 * p = 1 + (g ^+ 2 - 1) * p by rewrite mulrBl mul1r -addrA [- p + _]addrC.
  apply: le_trans (_ : 1 + (g ^+ 2 - 1) * 2^-1 <= _); last by rewrite ler_add2l ler_wpmul2l.
  rewrite -(@ler_pmuln2r _ 2) // mulrnDl -[X in _ <= _ + X]mulrnAr [2^-1 *+ 2]mulr2n half_half mulr1.
  by rewrite [1 *+ 2]mulr2n addrC addrA subrK; apply: mean.
case: (lerP 2^-1 q) => [qh|/ltW qh]; last first.
  apply: le_trans (_ : 1 - q * (1 - h ^+ 2) <= _); last first.
    by rewrite mulrBr mulr1 opprB addrA [1 + _ - q]addrAC ler_add2l mulrC p_E.
  apply: le_trans (_ : 1 - 2^-1 * (1 - h ^+ 2) <= _); last first.
    by rewrite ler_add2l ler_opp2 ler_wpmul2r.
  rewrite -(@ler_pmuln2r _ 2) // mulrnBl -[X in _ <= _ - X]mulrnAl [2^-1 *+ 2]mulr2n half_half mul1r opprB.
  by rewrite [1 *+ 2]mulr2n addrC addrA subrK; apply: mean.
have B := across ph qh.
have p_gt0 : 0 < p.
  rewrite lt_neqAle p0 andbT; apply: contraTneq B => <-.
  by rewrite !(mulr0, mul0r) -ltNge ltr01.
(* g = 2 E p, so that 1 <= 2 g (1 - q) *)
have g0 : 0 < E * p *+ 2 by rewrite pmulrn_lgt0 // mulr_gt0.
set g := E * p *+ 2 in g0.
have B' : 1 <= g *+ 2 * (1 - q).
  by move: B; rewrite /g -mulrnA -[_ *+ 4]mulr_natl mulrA.
have gg : 0 < g *+ 2 by rewrite pmulrn_lgt0.
rewrite -(ler_pmul2l gg) mulrDr.
apply: le_trans (_ : (g * h) ^+ 2 + 1 <= _); first by rewrite mulrnAl mean.
rewrite addrC; apply: ler_add => //; rewrite le_eqVlt; apply/orP; left; apply/eqP.
have e (y : R) : (y *+ 2 * h) ^+ 2 = y *+ 2 *+ 2 * (h ^+ 2 * y).
  rewrite exprMn [(y *+ 2) ^+ 2]expr2 [RHS]mulrnAl -mulrnAr [h ^+ 2 * y]mulrC.
  by rewrite -[(y * _) *+ 2]mulrnAl mulrA.
by rewrite /g e -[h ^+ 2 * E * p]mulrA.
Qed.
End Laplace.

Print Assumptions laplace_domination.
Print Assumptions domination_profile.
