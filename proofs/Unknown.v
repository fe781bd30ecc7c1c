(* Unknown domain: which items a user can move in or out of the candidates (Lemma 6).

   Items are ordered by (count descending, a fixed order); D h are the first k.  The neighbour has
   one user less: h' i is h i or h i - 1.  Whoever leaves D has a count that moved, whoever enters
   has one that did not, and a leaver's count is that of an enterer or one more. *)
From mathcomp Require Import all_ssreflect.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.

Section Unknown.
Variables (n k : nat).
Implicit Types (h : 'I_n -> nat) (i j : 'I_n).

Definition ahead h i j : bool := (h j < h i) || ((h j == h i) && (i < j)).
Definition place h i : nat := #|[set j | ahead h j i]|.
Definition candidates h : {set 'I_n} := [set i | place h i < k].

Lemma ahead_trans h : transitive (ahead h).
Proof.
rewrite /ahead => j i l; case/orP=> [a|/andP[/eqP a b]]; case/orP=> [c|/andP[/eqP c d]].
- by rewrite (ltn_trans c a).
- by rewrite c a.
- by rewrite -a c.
- by rewrite c a eqxx (ltn_trans b d) orbT.
Qed.

(* Who is among the candidates is not behind anybody who is not. *)
Lemma candidate_first h i j : i \in candidates h -> j \notin candidates h -> h j <= h i.
Proof.
rewrite !inE -leqNgt => pi pj; rewrite leqNgt; apply/negP => lt.
have : place h j <= place h i.
  apply: subset_leq_card; apply/subsetP => l; rewrite !inE => lj.
  by apply: ahead_trans lj _; rewrite /ahead lt.
by rewrite leqNgt (leq_trans pi pj).
Qed.

Section Neighbours.
Variables h h' : 'I_n -> nat.
Hypothesis less : forall i, (h' i <= h i <= (h' i).+1).

(* (a) A leaver's count moved: the user has it. *)
Theorem leaver_moved i : i \in candidates h -> i \notin candidates h' -> h i = (h' i).+1.
Proof.
move=> iD iD'; case/andP: (less i) => a b; apply/eqP; rewrite eqn_leq b ltn_neqAle a andbT /=.
apply: contraNneq iD' => e; rewrite inE; apply: leq_ltn_trans (_ : place h i < k); last first.
  by rewrite inE in iD.
apply: subset_leq_card; apply/subsetP => j; rewrite !inE /ahead e.
case/andP: (less j) => c _; case/orP=> [lt|/andP[/eqP ei ji]]; first by rewrite (leq_trans lt c).
by move: c; rewrite -ei leq_eqVlt => /orP[->|->]; rewrite ?ji ?orbT.
Qed.

(* (a) An enterer's count did not. *)
Theorem enterer_still j : j \in candidates h' -> j \notin candidates h -> h' j = h j.
Proof.
move=> jD' jD; case/andP: (less j) => a b; apply/eqP; rewrite eqn_leq a leqNgt /=.
apply: contraNN jD => lt; have {a b lt} e : h j = (h' j).+1 by apply/eqP; rewrite eqn_leq b.
rewrite inE; apply: leq_ltn_trans (_ : place h' j < k); last by rewrite inE in jD'.
apply: subset_leq_card; apply/subsetP => i; rewrite !inE /ahead e.
case/andP: (less i) => _ c; case/orP=> [lt|/andP[/eqP ei ij]].
  by rewrite -ltnS (leq_trans lt c).
by move: c; rewrite -ei ltnS leq_eqVlt => /orP[->|->]; rewrite ?ij ?orbT.
Qed.

(* (c) The first count that is left out moves by 0 or 1, like a count. *)
Lemma more_ahead f g z y : place f z = k -> place g y = k ->
  (forall i, f z <= f i -> g y < g i) -> False.
Proof.
move=> zk yk up; have : #|z |: [set j | ahead f j z]| <= place g y.
  apply: subset_leq_card; apply/subsetP => l; rewrite !inE => h1; rewrite /ahead up //.
  by case/orP: h1 => [/eqP ->//|/orP[/ltnW|/andP[/eqP ->]]].
rewrite cardsU1 inE /ahead ltnn eqxx ltnn /= yk -[X in _ <= X]zk add1n.
by rewrite ltnn.
Qed.

Theorem left_out_moves z y : place h z = k -> place h' y = k -> h' y <= h z <= (h' y).+1.
Proof.
move=> zk yk; apply/andP; split; rewrite leqNgt; apply/negP => lt.
  apply: (more_ahead yk zk) => i le; case/andP: (less i) => a _.
  by apply: leq_trans lt (leq_trans le a).
apply: (more_ahead zk yk) => i le; case/andP: (less i) => _ b.
by rewrite -ltnS (leq_trans lt) // (leq_trans le b).
Qed.

Variables i j : 'I_n.
Hypotheses (i_leaves : (i \in candidates h) && (i \notin candidates h')).
Hypotheses (j_enters : (j \in candidates h') && (j \notin candidates h)).

(* (b) So a pair of them, given one name, has a count that moves by 0 or 1 like all others. *)
Theorem pair_difference : h' j <= h i <= (h' j).+1.
Proof.
case/andP: i_leaves => iD iD'; case/andP: j_enters => jD' jD.
rewrite (enterer_still jD' jD) candidate_first //= -(enterer_still jD' jD) (leaver_moved iD iD').
by rewrite ltnS candidate_first.
Qed.

(* (d) And a leaver has at most one more than the first count that is left out. *)
Theorem leaver_count z : place h z = k -> h i <= (h z).+1.
Proof.
move=> zk; case/andP: pair_difference => _ le; apply: leq_trans le _; rewrite ltnS.
case/andP: j_enters => jD' jD; rewrite (enterer_still jD' jD) leqNgt; apply/negP => lt.
move: jD; rewrite inE -leqNgt -zk; apply/negP; rewrite -ltnNge.
apply: proper_card; apply/properP; split.
  by apply/subsetP => l; rewrite !inE => lj; apply: ahead_trans lj _; rewrite /ahead lt.
by exists j; rewrite inE /ahead ?lt // ltnn eqxx ltnn.
Qed.
End Neighbours.
End Unknown.

Print Assumptions leaver_moved.
Print Assumptions enterer_still.
Print Assumptions left_out_moves.
Print Assumptions pair_difference.
Print Assumptions leaver_count.
