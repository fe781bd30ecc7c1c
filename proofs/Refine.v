(* Digits drawn only where they are needed have the law of digits drawn for all beforehand.

   A procedure asks for one more digit of a candidate, whose it is following from the digits before,
   and answers or gives up.  What it answers, if each answer is right for the digits that were read
   and all that may follow, has the law of the answers to digits drawn for everybody, but for what
   was given up. *)
From mathcomp Require Import all_ssreflect all_algebra.
Import Order.TTheory GRing.Theory Num.Theory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.

Section Refine.
Variables (n N : nat) (A : eqType).

Inductive tree := Leaf of option A | Ask of 'I_n & (bool -> tree).

(* All digits, N of each candidate; how many have been read of each. *)
Definition digits := {ffun 'I_n * 'I_N -> bool}.
Implicit Types (w v : digits) (c : 'I_n -> nat) (t : tree).
Definition after c i : 'I_n -> nat := fun k => c k + (k == i).

Fixpoint run t c w : option A :=
  match t with
  | Leaf a => a
  | Ask i k => if insub (c i) is Some j then run (k (w (i, j))) (after c i) w else None
  end.

(* No candidate is asked for more than N digits. *)
Fixpoint fits t c : bool :=
  match t with
  | Leaf _ => true
  | Ask i k => [&& c i < N, fits (k false) (after c i) & fits (k true) (after c i)]
  end.

Lemma run_later t c w v : (forall i (j : 'I_N), c i <= j -> w (i, j) = v (i, j)) ->
  run t c w = run t c v.
Proof.
elim: t c => //= i k IH c e; case: insubP => // j _ ej; rewrite e ?ej //.
by apply: IH => a b le; apply: e; apply: leq_trans le; apply: leq_addr.
Qed.

Definition flip w x : digits := [ffun y => if y == x then ~~ w y else w y].

Lemma flipK x : involutive (flip^~ x).
Proof. by move=> w; apply/ffunP => y; rewrite !ffunE; case: eqP => //; rewrite negbK. Qed.

Section Law.
Local Open Scope ring_scope.
Variable R : numFieldType.
Implicit Type P : pred A.

Definition answered P (r : option A) : bool := if r is Some a then P a else false.

(* Digits are fair coins, drawn when asked for. *)
Fixpoint law P t : R :=
  match t with
  | Leaf a => (answered P a)%:R
  | Ask _ k => (law P (k false) + law P (k true)) / 2%:R
  end.

Lemma half (x : 'I_n * 'I_N) (b : bool) (g : digits -> R) : (forall w, g (flip w x) = g w) ->
  \sum_(w : digits | w x == b) g w = (\sum_w g w) / 2%:R.
Proof.
move=> same; have e : \sum_(w : digits | w x == b) g w = \sum_(w : digits | w x == ~~ b) g w.
  rewrite (reindex_inj (inv_inj (flipK x))) /=; apply: eq_big => [w|w _]; last exact: same.
  by rewrite ffunE eqxx; case: (w x); case: b.
rewrite [in RHS](bigID (fun w : digits => w x == b)) /=.
rewrite [X in (_ + X) / _](eq_bigl (fun w : digits => w x == ~~ b)).
  by rewrite -e -mulr2n -mulr_natr mulfK // pnatr_eq0.
by move=> w; case: (w x); case: (b).
Qed.

Lemma law_count P t c : fits t c ->
  \sum_(w : digits) (answered P (run t c w))%:R = law P t * #|{: digits}|%:R.
Proof.
elim: t c => [a|i k IH] c /=; first by move=> _; rewrite sumr_const mulr_natr.
case/and3P=> ci f0 f1; have j_ : c i = Ordinal ci by [].
have e w : run (Ask i k) c w = run (k (w (i, Ordinal ci))) (after c i) w.
  by rewrite /= insubT.
have apart (b : bool) : \sum_(w : digits | w (i, Ordinal ci) == b)
    (answered P (run (Ask i k) c w))%:R = law P (k b) * #|{: digits}|%:R / 2%:R :> R.
  rewrite (eq_bigr (fun w => (answered P (run (k b) (after c i) w))%:R)); last first.
    by move=> w /eqP <-; rewrite e.
  rewrite half ?IH //; first by case: b.
  move=> w; congr (answered P _)%:R; apply: run_later => a l le; rewrite ffunE.
  by case: eqP => // -[ai lj]; move: le; rewrite ai lj /after eqxx addn1 ltnn.
rewrite (bigID (fun w : digits => w (i, Ordinal ci) == false)) /= apart.
rewrite [X in _ + X](eq_bigl (fun w : digits => w (i, Ordinal ci) == true)) ?apart; last first.
  by move=> w; case: (w _).
by rewrite !mulrDl mulrAC [in X in _ + X]mulrAC.
Qed.

(* Drawing on demand or all at once is the same. *)
Theorem lazy_law P t : fits t (fun _ => 0%N) ->
  law P t = #|[set w | answered P (run t (fun _ => 0%N) w)]|%:R / #|{: digits}|%:R.
Proof.
move=> f; have e := law_count P f; rewrite -natr_sum in e.
have <- : (\sum_(w : digits) answered P (run t (fun _ => 0%N) w))%N =
    #|[set w | answered P (run t (fun _ => 0%N) w)]|.
  by rewrite -sum1_card [RHS]big_mkcond; apply: eq_bigr => w _; rewrite inE; case: (answered _ _).
by rewrite e mulfK // pnatr_eq0 -lt0n; apply/card_gt0P; exists [ffun _ => false].
Qed.

(* Answers that are right whatever follows have the right law, up to what is given up. *)
Theorem refined_law P t (f : digits -> A) : fits t (fun _ => 0%N) ->
  (forall w a, run t (fun _ => 0%N) w = Some a -> f w = a) ->
  let exact := #|[set w | P (f w)]|%:R / #|{: digits}|%:R in
  law P t <= exact <= law P t + (1 - law predT t).
Proof.
move=> ft right /=; rewrite !(lazy_law _ ft); set r := run t _.
have pos : 0 < #|{: digits}|%:R :> R.
  by rewrite ltr0n; apply/card_gt0P; exists [ffun _ => false].
set U := #|[set w | answered predT (r w)]|; set D := #|{: digits}| in pos *.
have -> : 1 - U%:R / D%:R = (D%:R - U%:R) / D%:R :> R.
  by rewrite mulrBl mulfV ?(gt_eqF pos).
rewrite -mulrDl !ler_pmul2r ?invr_gt0 //; apply/andP; split; first rewrite ler_nat.
  apply: subset_leq_card; apply/subsetP => w; rewrite !inE.
  by case e: (r w) => [a|] //= Pa; rewrite (right w a e).
have : (#|[set w | P (f w)]| <= #|[set w | answered P (r w)]| + #|~: [set w | answered predT (r w)]|)%N.
  apply: leq_trans (leq_card_setU _ _); apply: subset_leq_card; apply/subsetP => w.
  by rewrite !inE; case e: (r w) => [a|] //=; rewrite (right w a e) orbF.
rewrite -(ler_nat R) natrD => le.
have -> : D%:R = U%:R + #|~: [set w | answered predT (r w)]|%:R :> R by rewrite -natrD cardsC.
by rewrite [X in _ + (X - _)]addrC addrK.
Qed.
End Law.
End Refine.

Print Assumptions lazy_law.
Print Assumptions refined_law.
