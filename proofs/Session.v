(* The program of a sparse vector session with geometric noise, and its law.

   `session k t l` answers the values and noises l one by one, t being the threshold with its noise:
   the gap where value and noise reach t, else "below"; the k-th answer above is the last one.
   SparseVector.v proves how private answers are that have the chances of `verdict_law`. *)
From mathcomp Require Import all_ssreflect all_algebra.
Require Import SparseVector.
Import Order.TTheory GRing.Theory Num.Theory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.

Definition verdict (t q y : nat) : option nat :=
  if (t <= q + y)%N then Some (q + y - t)%N else None.

Fixpoint session (k t : nat) (l : seq (nat * nat)) : seq (option nat) :=
  if l is (q, y) :: l' then
    if k is k'.+1 then
      if verdict t q y is Some d then Some d :: session k' t l' else None :: session k t l'
    else [::]
  else [::].

Definition above (o : seq (option nat)) : nat := count isSome o.

(* Each value gets the verdict of its own noise, and nothing else. *)
Theorem session_verdicts k t l :
  session k t l = take (size (session k t l)) [seq verdict t e.1 e.2 | e <- l].
Proof.
elim: l k => [|[q y] l IH] [|k] //=.
by case e: (verdict t q y) => [d|] /=; rewrite -IH.
Qed.

Theorem session_above k t l : (above (session k t l) <= k)%N.
Proof.
elim: l k => [|[q y] l IH] [|k] //=.
by case: (verdict t q y) => [d|] /=; rewrite /above /= ?add1n ?add0n ?ltnS; apply: IH.
Qed.

(* It ends early only with the k-th answer above. *)
Theorem session_ends k t l : (size (session k t l) < size l)%N -> above (session k t l) = k.
Proof.
elim: l k => [|[q y] l IH] [|k] //=.
case: (verdict t q y) => [d|] /=; rewrite ltnS /above /= => h.
  by rewrite add1n; congr _.+1; apply: IH.
by rewrite add0n; apply: IH.
Qed.

Lemma verdict_some t q y d : (verdict t q y == Some d) = (q + y == t + d)%N.
Proof.
rewrite /verdict; case: leqP => h.
  by rewrite (inj_eq Some_inj) -(eqn_add2r t) subnK // [(d + t)%N]addnC.
by apply/esym/negbTE; rewrite neq_ltn (leq_trans h (leq_addr _ _)).
Qed.

Lemma verdict_none t q y : (verdict t q y == None) = (y < t - q)%N.
Proof. by rewrite /verdict ltn_subRL; case: leqP. Qed.

Local Open Scope ring_scope.

Section Law.
Variables (R : realFieldType) (rho : R) (T : nat).

Lemma geometric_sum n : \sum_(y < n) (1 - rho) * rho ^+ y = 1 - rho ^+ n.
Proof.
elim: n => [|n IH]; first by rewrite big_ord0 expr0 subrr.
by rewrite big_ord_recr /= IH mulrBl mul1r addrA subrK exprS.
Qed.

(* With geometric noise a verdict has the chances of SparseVector.v. *)
Theorem verdict_law N x q a :
  (if a is Some d then T + x + d - q < N else T + x - q <= N)%N ->
  \sum_(y < N) (1 - rho) * rho ^+ y * (verdict (T + x) q y == a)%:R = answer rho T x q a.
Proof.
case: a => [d|] /= le.
  under eq_bigr do rewrite verdict_some.
  case: leqP => h; last first.
    rewrite big1 // => y _; rewrite (_ : (q + y == _)%N = false) ?mulr0 //.
    by apply/negbTE; rewrite neq_ltn (leq_trans h (leq_addr _ _)) orbT.
  rewrite (bigD1 (Ordinal le)) //= subnKC // eqxx mulr1 big1 ?addr0 // => y ne.
  rewrite (_ : (q + y == _)%N = false) ?mulr0 //; apply: contraNF ne => /eqP e.
  by apply/eqP/val_inj; rewrite /= -e addKn.
under eq_bigr do rewrite verdict_none.
rewrite -(subnKC le) big_split_ord /= [X in _ + X]big1 ?addr0 => [|y _]; last first.
  by rewrite ltnNge leq_addr mulr0.
by rewrite -geometric_sum; apply: eq_bigr => y _; rewrite ltn_ord mulr1.
Qed.
End Law.

Print Assumptions session_verdicts.
Print Assumptions session_above.
Print Assumptions session_ends.
Print Assumptions verdict_law.
