(* The proved programs as OCaml, for the comparison with the shipped code. *)
From Coq Require Import ExtrOcamlBasic ExtrOcamlNatInt ExtrOcamlZInt.
From mathcomp Require Import all_ssreflect.
Require Import Combine Decide Reading Luce Ledger Budget Session Calibrate Ceiling Keep.
Set Warnings "-extraction-opaque-accessed".
(* Numbers are machine integers, as those libraries have it; so is their equality. *)
Extract Constant eqn => "fun (a : int) (b : int) -> a = b".
Extraction "programs.ml" combine decide compare
  nearest both_ways one_way declared on_grid luce spend budget session one_shot sparse_vector
  contenders ranked peeled keep_rows.
