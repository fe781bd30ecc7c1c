(* From a total epsilon to the rates of the noise, as programs on whole numbers.

   A positive rational is a pair (numerator, denominator).  `one_shot` is for the k best in each of
   some rows, noise drawn once and k times as wide, or k draws; `sparse_vector` splits its total
   between the noise of the threshold and that of its k answers.  A rate is -ln rho for a grid step.
   The theorems: a rate, times how far the noise must reach on the worst path, is the total, and not
   more.  How far that is, Ranking.v, Luce.v and SparseVector.v say; `reach` writes it out. *)
From Coq Require Import ZArith Lia.
From mathcomp Require Import all_ssreflect all_algebra.
Require Import Decide Reading SparseVector.
Import Order.TTheory GRing.Theory Num.Theory.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.

(* ------------------------------------------------------------------ the programs *)
Definition ratio : Set := (Z * Z)%type.

Definition draws (wide : bool) (rows k : Z) : Z := if wide then rows else Z.mul rows k.

(* What each draw costs, of a total. *)
Definition each (total : ratio) (count : Z) : ratio := (total.1, Z.mul total.2 count).

(* How many ranges the scores may move on the worst path of one draw. *)
Definition moves_of (wide : bool) (k : Z) : Z := if wide then k else Z.one.

(* A rate at which moves that add up to `reach` cost so much. *)
Definition rate (cost reach : ratio) : ratio := (Z.mul cost.1 reach.2, Z.mul cost.2 reach.1).

Definition one_shot (wide : bool) (rows k : Z) (total range : ratio) : Z * ratio * ratio :=
  let count := draws wide rows k in
  let one := each total count in
  (count, one, rate one (Z.mul (moves_of wide k) range.1, range.2)).

(* How far a value may move in steps: one way, and the other; see Reading.v. *)
Definition rise (h e d : Z) : Z := up h (Z.add d (Z.mul 2 e)).
Definition fall (monotonic : bool) (h e d : Z) : Z :=
  if monotonic then up h (Z.mul 2 e) else rise h e d.
Definition spread (monotonic : bool) (h e d : Z) : Z := Z.add (rise h e d) (fall monotonic h e d).

(* The threshold's rate, what an answer costs, and the rate of an answer's noise. *)
Definition sparse_vector (monotonic : bool) (k : Z) (total share : ratio) (h e d : Z) :
    ratio * ratio * ratio :=
  let start := (Z.mul total.1 share.1, Z.mul total.2 share.2) in
  let answers := (Z.mul total.1 (Z.sub share.2 share.1), Z.mul total.2 share.2) in
  let one := each answers k in
  (rate start (rise h e d, Z.one), one, rate one (spread monotonic h e d, Z.one)).

(* ------------------------------------------------------------------ what they keep *)
Section Spent.
Local Open Scope ring_scope.
Variable R : realFieldType.
Definition val (p : ratio) : R := num R p.1 / num R p.2.

Lemma num_neq0 z : Z.lt 0 z -> num R z != 0.
Proof.
move=> h; have s : Z.le 1 z by lia.
by have := num_le R s; rewrite [num R 1]/= => a; rewrite gt_eqF // (lt_le_trans ltr01 a).
Qed.

Lemma each_adds_up total count : Z.lt 0 count -> num R count * val (each total count) = val total.
Proof.
move=> c0; rewrite /val /= num_mul invfM mulrA [num R count * _]mulrC mulrA.
by rewrite -[X in X / _]mulrA [num R count * _]mulrC mulrA mulfK ?num_neq0.
Qed.

Lemma rate_reaches cost reach : Z.lt 0 reach.1 -> Z.lt 0 reach.2 ->
  val (rate cost reach) * val reach = val cost.
Proof.
move=> a0 b0; rewrite /val /= !num_mul mulf_div.
have a := num_neq0 a0; have b := num_neq0 b0.
rewrite [X in X / _](_ : _ = num R cost.1 * (num R reach.1 * num R reach.2)); last first.
  by rewrite -mulrA [num R reach.2 * _]mulrC.
rewrite [X in _ / X](_ : _ = num R cost.2 * (num R reach.1 * num R reach.2)); last by rewrite -mulrA.
by rewrite -mulf_div divff ?mulr1 // mulf_neq0.
Qed.

(* The worst path of a one-shot call: in each draw the scores of `moves_of` places move by the range,
   and all draws together cost the total. *)
Theorem one_shot_spends wide rows k total range :
  Z.lt 0 rows -> Z.lt 0 k -> Z.lt 0 range.1 -> Z.lt 0 range.2 ->
  let: (count, one, r) := one_shot wide rows k total range in
  [/\ num R count * (val r * (num R (moves_of wide k) * val range)) = val total,
      num R count * val one = val total
    & val r * (num R rows * num R k * val range) = val total].
Proof.
move=> r0 k0 a0 b0; rewrite /one_shot.
have m0 : Z.lt 0 (moves_of wide k) by rewrite /moves_of; case: (wide).
have c0 : Z.lt 0 (draws wide rows k) by rewrite /draws; case: (wide) => //; lia.
set m := moves_of wide k in m0 *.
have ma : Z.lt 0 (Z.mul m range.1) by lia.
have e : num R m * val range = val (Z.mul m range.1, range.2) by rewrite /val /= num_mul mulrA.
have one := each_adds_up total c0.
have all : num R (draws wide rows k) *
    (val (rate (each total (draws wide rows k)) (Z.mul m range.1, range.2)) *
      (num R m * val range)) = val total.
  by rewrite e rate_reaches.
split=> //; rewrite -[RHS]all [RHS]mulrCA; congr (_ * _); rewrite [RHS]mulrA; congr (_ * _).
by rewrite /draws /m /moves_of; case: (wide); rewrite ?num_mul //= mulr1.
Qed.

(* The worst path of a session: the threshold's noise moves by a rise, and each of k answers by the
   spread. *)
Theorem sparse_vector_spends monotonic k total share h e d :
  Z.lt 0 k -> Z.lt 0 total.2 -> Z.lt 0 share.2 -> Z.lt 0 (rise h e d) ->
  Z.lt 0 (spread monotonic h e d) ->
  let: (start, one, answer) := sparse_vector monotonic k total share h e d in
  val start * num R (rise h e d) +
    num R k * (val answer * num R (spread monotonic h e d)) = val total.
Proof.
move=> k0 t0 s0 r0 p0; rewrite /sparse_vector; set from := (Z.mul total.1 share.1, _).
set rest := (Z.mul total.1 (Z.sub _ _), _).
have whole z : num R z = val (z, Z.one) by rewrite /val /= divr1.
rewrite (whole (rise h e d)) (whole (spread monotonic h e d)) !rate_reaches // each_adds_up //.
rewrite /val /= !num_mul num_sub mulrBr -mulrDl addrC subrK.
by rewrite -mulf_div divff ?mulr1 // num_neq0.
Qed.

(* The spread is how far two values move apart, in general and one way. *)
Theorem spread_is_calibrated h e d : spread false h e d = both_ways h e d /\
  spread true h e d = one_way h e d.
Proof. by rewrite /spread /fall /rise /both_ways /one_way; split; lia. Qed.
End Spent.

(* With factors x^a and x^b of a grid step, where the rates are a and b times ln x and the total is c
   times that: the factor that SparseVector.v leaves open is x^c. *)
Section Factor.
Local Open Scope ring_scope.
Variables (R : realFieldType) (x : R) (a b c k s w : nat).
Hypothesis spent : (a * s + k * (b * w) = c)%N.

Theorem sparse_vector_factor :
  ((x ^- a)^-1 ^+ s * (x ^- b)^-1 ^+ (k * w) = x ^+ c)%R.
Proof. by rewrite !invrK -!exprM -exprD mulnCA -spent. Qed.
End Factor.

Print Assumptions one_shot_spends.
Print Assumptions sparse_vector_spends.
Print Assumptions spread_is_calibrated.
Print Assumptions sparse_vector_factor.
