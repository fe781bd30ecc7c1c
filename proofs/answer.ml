(* Answers cases by the extracted programs: one case a line, as numbers and words.

   combine <k> <unit> <y ...> / <s ...>                   order, then gaps
   decide <k> <over slow fast | -> <ceiling | -> <low high ...>    the same, or -
   compare <low> <high> <least> <cell>                    b, the cells, or -
   nearest <h> <x>                                        the step
   ranges <h> <e> <d>                                     both ways, one way, declared, on the grid
   luce <w> <q ...> / <o ...>                             numerator and denominator
   session <k> <t> <q y ...>                              b for below, or the gap, of each answer
   spend <cap> <prices ...>                               what is spent after each; - where refused
   budget <n> <cap: epsilon own moments ...> / <prices: epsilon impure own moments ...>
                                                          1 for granted, 0 for refused; what is spent
   one_shot <wide> <rows> <k> <epsilon> <range>           draws, the cost of each, the rate
   sparse_vector <monotonic> <k> <epsilon> <share> <h e d>    the threshold's rate, an answer's cost, its rate
   contenders <group block direct count> <first key ...> / <tail: place key ...>    places : the largest key of the rest
   ranked <k> <over slow fast | -> <group block direct count> <first key ...> / <tail ...> / <low high ...>
                                                          order, then gaps, or -
   peeled <group block direct count> <first key ...> / <tail ...> / <low high ...> ; <the next round>    the winners
   keep <one> <growth> <delta>                            the rows of a table that keeps keys
   where an epsilon, a share or a range is a numerator and a denominator *)
open Programs

let numbers = List.map int_of_string
let joined l = String.concat " " (List.map string_of_int l)
let ratios = List.concat_map (fun (above, below) -> [ above; below ])
let commas l = String.concat "," (List.map string_of_int l)

let rec split before = function
  | "/" :: after -> (List.rev before, after)
  | word :: after -> split (word :: before) after
  | [] -> failwith "no / in the case"

let rec pairs = function
  | low :: high :: rest -> let lows, highs = pairs rest in (low :: lows, high :: highs)
  | _ -> ([], [])

let couples l = let a, b = pairs l in List.combine a b

(* A round: first keys, tails, and enclosures. *)
let candidates words =
  let first, rest = split [] words in
  let tails, ends = split [] rest in
  ((numbers first, couples (numbers tails)), pairs (numbers ends))

let rec rounds_of words =
  let rec cut before = function
    | ";" :: after -> candidates (List.rev before) :: rounds_of after
    | word :: after -> cut (word :: before) after
    | [] -> [ candidates (List.rev before) ] in
  cut [] words

let unit_and_rest = function
  | "-" :: rest -> (None, rest)
  | a :: b :: c :: rest ->
    (Some { over = int_of_string a; slow = int_of_string b; fast = int_of_string c }, rest)
  | _ -> failwith "no unit in the case"

let outcome (order, gaps) = joined order ^ (if gaps = [] then "" else " : " ^ joined gaps)
let ceiling_and_rest = function
  | "-" :: rest -> (None, rest)
  | c :: rest -> (Some (int_of_string c), rest)
  | [] -> failwith "no ceiling in the case"

let answer = function
  | "combine" :: k :: unit :: rest ->
    let y, s = split [] rest in
    outcome (combine (numbers y) (numbers s) (int_of_string k) (int_of_string unit))
  | "decide" :: k :: rest ->
    let u, rest = unit_and_rest rest in
    let ceiling, rest = ceiling_and_rest rest in
    let lows, highs = pairs (numbers rest) in
    (match decide u (int_of_string k) lows highs ceiling with
     | Some result -> outcome result
     | None -> "-")
  | [ "compare"; low; high; least; cell ] ->
    (match compare0 (int_of_string low) (int_of_string high) (int_of_string least)
             (int_of_string cell) with
     | None -> "-"
     | Some Below -> "b"
     | Some (Cells c) -> string_of_int c)
  | [ "nearest"; h; x ] -> string_of_int (nearest (int_of_string h) (int_of_string x))
  | [ "ranges"; h; e; d ] ->
    let h, e, d = int_of_string h, int_of_string e, int_of_string d in
    commas [ both_ways h e d; one_way h e d; declared h e d; on_grid h d ]
  | "luce" :: w :: rest ->
    let q, o = split [] rest in
    let q = numbers q in
    let above, below = luce (int_of_string w) q (List.mapi (fun i _ -> i) q) (numbers o) in
    commas [ above; below ]
  | "session" :: k :: t :: rest ->
    let values, noises = pairs (numbers rest) in
    let told = function None -> "b" | Some d -> string_of_int d in
    let asked = List.combine values noises in
    String.concat "" (List.map told (session (int_of_string k) (int_of_string t) asked))
  | "spend" :: cap :: prices ->
    let told (spent, granted) = string_of_int spent ^ if granted then "" else "-" in
    String.concat "," (List.map told (spend (int_of_string cap) 0 (numbers prices)))
  | "budget" :: n :: rest ->
    let n = int_of_string n in
    let caps, prices = split [] rest in
    let caps = match numbers caps with
      | eps :: own :: moms -> { eps; impure = 0; moms; own }
      | _ -> failwith "not the caps of a budget" in
    let rec priced = function
      | eps :: impure :: own :: rest ->
        let moms = List.filteri (fun i _ -> i < n) rest in
        { eps; impure; moms; own } :: priced (List.filteri (fun i _ -> i >= n) rest)
      | _ -> [] in
    let none = { eps = 0; impure = 0; moms = List.init n (fun _ -> 0); own = 0 } in
    let told = budget caps none (priced (numbers prices)) in
    let spent = List.fold_left (fun _ (spent, _) -> spent) none told in
    String.concat "" (List.map (fun (_, granted) -> if granted then "1" else "0") told)
    ^ ":" ^ commas (spent.eps :: spent.impure :: spent.own :: spent.moms)
  | "one_shot" :: wide :: rest ->
    (match numbers rest with
     | [ rows; k; en; ed; rn; rd ] ->
       let (count, each), rate = one_shot (wide = "1") rows k (en, ed) (rn, rd) in
       commas (count :: ratios [ each; rate ])
     | _ -> failwith "not the numbers of a one-shot call")
  | "sparse_vector" :: monotonic :: rest ->
    (match numbers rest with
     | [ k; en; ed; sn; sd; h; e; d ] ->
       let (start, each), rate = sparse_vector (monotonic = "1") k (en, ed) (sn, sd) h e d in
       commas (ratios [ start; each; rate ])
     | _ -> failwith "not the numbers of a session")
  | "contenders" :: g :: b :: d :: count :: rest ->
    let first, tails = split [] rest in
    let places, rest =
      contenders (int_of_string g) (int_of_string b) (int_of_string d) (numbers first)
        (couples (numbers tails)) (int_of_string count) in
    commas places ^ ":" ^ string_of_int rest
  | "ranked" :: k :: rest ->
    (match unit_and_rest rest with
     | u, g :: b :: d :: count :: rest ->
       let (first, tails), (lows, highs) = candidates rest in
       (match ranked u (int_of_string k) (int_of_string g) (int_of_string b) (int_of_string d)
                first tails (int_of_string count) lows highs with
        | Some (order, gaps) -> commas order ^ (if gaps = [] then "" else ":" ^ commas gaps)
        | None -> "-")
     | _ -> failwith "not the numbers of a ranking")
  | "peeled" :: g :: b :: d :: count :: rest ->
    commas (peeled (int_of_string g) (int_of_string b) (int_of_string d) (int_of_string count) []
              (rounds_of rest))
  | [ "keep"; one; growth; delta ] ->
    let one = int_of_string one in
    commas (keep_rows one (int_of_string growth) (int_of_string delta) one)
  | _ -> failwith "unknown case"

let () =
  try
    while true do
      print_endline (answer (String.split_on_char ' ' (input_line stdin)))
    done
  with End_of_file -> ()
