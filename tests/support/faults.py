"""Faults that survived tests elsewhere, each of which known answers or laws must notice alone.

They follow the patterns in which faults hide: marginals that are right and joint laws that are not;
a fast path that nobody looked at; sizes that are never reached; one path that forgets a rule.
What breaks a claim, and the evidence that must notice, stands in `breaks`.
"""

from __future__ import annotations

from pathlib import Path

from mutants import Break, copy, python

_CHANGES = {
    "two rows of a batch share their words": [
        (
            "engine/rows.py:noisy_max_rows",
            "count), bits)",
            "count), bits)\n        words[:, 1:2] = words[:, :1]",
        )
    ],
    "every second row has the words of the one before": [
        (
            "engine/rows.py:noisy_max_rows",
            "count), bits)",
            "count), bits)\n        words[:, 1::2] = words[:, : 2 * (count // 2) : 2]",
        )
    ],
    "every block of rows has the words of the first": [
        (
            "engine/rows.py:noisy_max_rows",
            "count), bits)",
            "count), bits)\n"
            "        words = first[:, :count].copy() if start else words\n"
            "        first = words",
        )
    ],
    "the last of few candidates has the first one's digits": [
        (
            "engine/draws.py:draw",
            "return Draws(draw_slots(available, plan.slot_bits, bits)",
            "slots = draw_slots(available, plan.slot_bits, bits)\n"
            "        slots[-1] = slots[0] ^ 1\n"
            "        return Draws(slots",
        )
    ],
    "two branches of a session share their noise with the next query": [
        (
            "mechanisms/sessions.py:_answer",
            "[self._draw(branch.noise_rate, bits) for branch in terms.branches]",
            "_KEPT.setdefault(\n"
            "            id(self), [self._draw(branch.noise_rate, bits) for branch in terms.branches]\n"
            "        )",
        ),
        ("mechanisms/sessions.py", "_REACH = 2", "_KEPT: dict = {}\n_REACH = 2"),
    ],
    "the threshold of a session is drawn anew for each query": [
        (
            "mechanisms/sessions.py:_compare",
            ".denominator",
            ".denominator\n"
            "        threshold = threshold and self._draw(self._terms.noise_rate, bits)",
        )
    ],
    "two counts of a list share their noise": [
        (
            "mechanisms/unknown.py:_above_bottom",
            ").tolist()",
            ").tolist()\n    noise[1:2] = noise[:1]",
        )
    ],
    "rounds of peeling share their noise": [
        (
            "engine/rankings.py:peeled_top_k",
            "indices[0])",
            "indices[0])\n"
            "        if len(winners) == 1:\n"
            "            return noisy_top_k(noise, scores_on_grid, k, noise_rate, bits)",
        )
    ],
    "the end of a large request is left as it was": [
        ("randomness/bits.py:_fill", ", len(view", ", max(1, len(view) - request")
    ],
    "noise repeats after a chunk": [
        (
            "engine/geometric.py:geometric",
            "table, bits)\n            ",
            "table, bits)\n"
            "            part[1:] = result[: part.size - 1] if start else part[1:]\n"
            "            ",
        )
    ],
    "a last block of one row is skipped": [
        (
            "engine/rows.py:noisy_max_rows",
            "count), bits)",
            "count), bits)\n        if count == 1 < rows:\n            continue",
        )
    ],
    "candidates beyond two to the eighteenth have the last word": [
        ("engine/draws.py:draw_words", "uint16)[:n]", "uint16)[:n]\n    words[1 << 18 :] = 40000")
    ],
    "the coarse decision of a batch is never refined": [
        ("engine/rows.py:combine_rows", "    block.refine(least, more, winners)\n", ""),
        ("engine/rows.py:combine_rows", "np.min(margins) < clear", "False"),
    ],
    "ties of a batch go to the first": [("engine/rows.py:combine_rows", ") < clear", ") < 0")],
    "the second round of peeling sees the first one's words": [
        (
            "engine/draws.py:draw_noise",
            "random_lanes(n + count * slot_bits // 64, bits",
            "_LANES.setdefault(n, random_lanes(n + count * slot_bits // 64, bits)).copy(",
        ),
        ("engine/draws.py", "_TAIL_EXTRA = 64\n", "_TAIL_EXTRA = 64\n_LANES: dict = {}\n"),
    ],
    "thousands of candidates: the noise of half the rate": [
        (
            "engine/draws.py:draw",
            "return draw_noise(n, plan.law, bits, plan.fine_contenders, plan.slot_bits - 64)",
            "drawn = draw_noise(n, plan.law, bits, plan.fine_contenders, plan.slot_bits - 64)\n"
            "        np.left_shift(drawn.words, np.uint64(1), out=drawn.words)\n"
            "        return drawn",
        )
    ],
    "ties by the index": [
        (
            "mechanisms/select.py:rank",
            "return found",
            "return Ranking(tuple(sorted(found.indices)), found.gaps)",
        )
    ],
    "factor 2 dropped": [("scores/reading.py:moves", " if monotonic else most", "")],
    "batches: the rate of one row": [
        ("mechanisms/table.py:calibrate", "draws = rows * ", "draws = ")
    ],
    "wide noise is not wide": [
        ("mechanisms/table.py:calibrate", "(wide * range_in_steps)", "range_in_steps")
    ],
    "delta is spent twice": [("mechanisms/unknown.py:plan_list", " - part or None", "")],
    "the bottom of Laplace lists is one too low": [
        ("mechanisms/unknown.py:plan_counts", "offset = 1 + ", "offset = ")
    ],
    "the bottom of lists is for one item": [
        (
            "mechanisms/unknown.py:offset",
            "k_bar if self.contributions is None else min(k_bar, self.contributions)",
            "1",
        )
    ],
    "a session's answers above are not counted": [
        (
            "mechanisms/sessions.py:_above",
            "_finish(_EXHAUSTED",
            "_below = self._answer_below(self._terms.epsilon",
        )
    ],
    "values of a session that move both ways have the noise of one way": [
        ("mechanisms/sessions.py:read_terms", "cost / spread", "cost / rise")
    ],
    "lists are charged per query what they return": [
        ("mechanisms/unknown.py:query", "min(len(found) + 1, k", "len(found")
    ],
    "a batch states what one row costs": [
        (
            "mechanisms/table.py:calibrate",
            "cost.guarantee(law.promise, each, draws",
            "law.promise(each",
        )
    ],
    "a record names another mechanism": [
        (
            "ledger/scope.py:begin",
            "charge, observed(bits.source)",
            "replace(charge, mechanism=charge.mechanism.replace('exponential', 'laplace')), "
            "observed(bits.source)",
        )
    ],
    "sessions are not refused where neighbours replace": [
        (
            "mechanisms/sessions.py:__init__",
            "ledger, monotonic=monotonic",
            "ledger, monotonic=False",
        )
    ],
    "lists are not refused where neighbours replace": [
        ("mechanisms/unknown.py:unknown_domain_top_k", "monotonic=True", "monotonic=False")
    ],
    "a session is shared across a fork": [
        ("mechanisms/sessions.py:_one", "generation() != self._born", "False"),
        ("randomness/bits.py:_check_usable", "generation() != self._process", "False"),
    ],
    "lists are spent in a child": [
        (
            "mechanisms/unknown.py:query",
            "with self._one()",
            "self._born = generation()\n        with self._one()",
        )
    ],
    "the charge comes after the release": [
        (
            "release/call.py:__enter__",
            "                self._pending = self.scope.begin(self.charge, self.bits)\n",
            "",
        ),
        (
            "release/call.py:commit",
            "        paid = self",
            "        if self.scope is not None:\n"
            "            self._pending = self.scope.begin(self.charge, self.bits)\n"
            "        paid = self",
        ),
    ],
    "a session charges after its first bits": [
        (
            "mechanisms/sessions.py:_open",
            "call.opened():\n            drawn = draw(call.bits)",
            "Bits(source) as bits:\n            drawn = draw(bits)\n        with call.opened():",
        )
    ],
    "a session is charged half": [
        (
            "mechanisms/sessions.py:__init__",
            " terms.guarantee",
            " type(terms.guarantee)(terms.epsilon / 2)",
        )
    ],
    "foreign sources pass as they are": [
        (
            "randomness/foreign.py:with_system_bytes",
            'system = Guard(system_bytes, vouched=True, worth="yes")\n'
            "    return mixed(device, system, health=False)",
            "return device",
        )
    ],
    "a class is known by its name": [
        (
            "randomness/guard.py:is_own",
            "_OWN.get(id(type(value))) is type(value)",
            "type(value).__name__ in {kind.__name__ for kind in _OWN.values()}",
        )
    ],
    "sources for tests are taken in production": [
        ("randomness/source.py:resolve", 'worth == "yes"', 'worth in ("yes", "no")'),
        ("testing/sources.py:refuse_in_production", "require_production()", "False"),
    ],
    "gaps are those of one noise less": [
        ("engine/rankings.py:certified_order", "fast * unit) ", "fast * unit) + 1 "),
        ("engine/rankings.py:certified_order", "slow * unit) ", "slow * unit) + 1 "),
    ],
    "weights decide who is compared and not who wins": [
        ("engine/draws.py:logs", "for log in found]", "for log in found[:1] * len(found)]")
    ],
    "weights are not in the bounds that choose who is compared": [
        ("engine/draws.py:_write_logs", "out += words", "out.fill(0)")
    ],
    "a candidate has one copy whatever its weight": [
        (
            "mechanisms/weights.py:used_by",
            "repeat(np.arange(len(self.cells)), np.array(self.cells, int)",
            "flatnonzero(np.array(self.cells, bool)",
        )
    ],
    "quantiles have the noise of half their range": [
        ("mechanisms/quantiles.py:_range", "2 * t if replaced else 2 *", "t if replaced else")
    ],
    "ties count from below alone": [
        ("mechanisms/quantiles.py:_distance", 'self.ties == "below"', "True")
    ],
    "a quantile deep in a run counts as one at its end": [
        ("mechanisms/quantiles.py:_distance", "return max(", "return max(0, ")
    ],
    "what lies above a cut is counted on both sides": [
        ("mechanisms/quantiles.py:split", ", end=point", "")
    ],
    "the number of runs has a longer tail": [("mechanisms/runs.py:ratio", ") / (k + 1)", ") / k")],
    "the best of runs costs one run less": [
        ("accounting/repetition.py:pure", "PureDP((2", "PureDP((1")
    ],
    "a poisson number of runs costs one run": [
        ("accounting/repetition.py:pure", " + self.shift", "")
    ],
    "where no run passes the best one is released": [
        ("mechanisms/runs.py:_runs", " or enough is not None", "")
    ],
    "monotonic ignored": [("scores/reading.py:moves", "back if monotonic else ", "")],
    "sensitivity ignored": [
        ("scores/reading.py:range_in_steps", "(self.sensitivity", "(Fraction(1)")
    ],
    "rate upside down": [
        (
            "mechanisms/table.py:calibrate",
            "each / (wide * range_in_steps)",
            "(wide * range_in_steps) / each",
        )
    ],
    "threshold for unknown candidates off by one": [
        ("mechanisms/unknown.py:gumbel_offset", "denominator)", "denominator) - 1")
    ],
    "at most for below: rejection": [("samplers.py:uniform_attempt", "if value <", "if value <=")],
    "at most for below: coin": [("samplers.py:bernoulli", "denominator) <", "denominator) <=")],
    "word bounds off by one": [
        (
            "engine/tables.py:bound_table",
            "noise += ERROR",
            "noise[:-1] = noise[1:]\n    noise += ERROR",
        )
    ],
    "tail thresholds off by one": [
        (
            "engine/tables.py:bound_table",
            "arange(len(ends), -1, -1, dtype=np.uint64)",
            "maximum(np.arange(len(ends), -1, -1), 1).astype(np.uint64) - 1",
        )
    ],
    "no refinement": [("engine/rankings.py:certified_order", "if False in", "if not")],
    "refinement biased": [
        (
            "engine/rankings.py:refine",
            "if result is not None:\n            return result",
            "return result or Ranking(tuple(candidates[: plan.k]))",
        )
    ],
    "largest over the wrong axis": [
        ("engine/rows.py:combine_rows", "scores, axis=0", "scores, axis=1, keepdims=True")
    ],
    "distances cut at 8 nats": [
        ("engine/rows.py:combine_rows", "fixed_rate.reach", "fixed_rate.reach // 8")
    ],
    "noise outside the table is clear": [
        (
            "engine/rows.py:_best_and_margin",
            "    np.multiply(margins, np.less(best, UNKNOWN >> 1), out=margins)\n",
            "",
        )
    ],
    "an error with the wrong sign": [("engine/rows.py:_winner", "rest + ERROR", "rest - ERROR")],
    "early exit": [
        (
            "engine/arrays.py:mth_largest",
            "reached)) >= m]",
            "reached)) >= m]\n"
            "        if int(np.count_nonzero(reached)) == m:\n"
            "            return level",
        )
    ],
    "stale buffer": [
        ("randomness/bits.py:_fill", "len(view)", "len(view) if self._consumed == 0 else 0")
    ],
    "a threshold one lower": [("mechanisms/keys.py:draw_thresholds", "np.int64)", "np.int64) - 1")],
    "growth of a table rounded up": [
        ("mechanisms/keys.py:_growth", "scaled(bits)[0", "scaled(bits)[1")
    ],
    "no slack for the roundings of a count": [
        ("mechanisms/keys.py:keep_table", "rows * (above + 2)", "0")
    ],
    "mu squared left out": [("mechanisms/measure.py:of", "size / guarantee.mu_squared", "size")],
}
"""By what is wrong: place, text and other text of each change."""

FAULTS = {name: [Break(*each) for each in changes] for name, changes in _CHANGES.items()}

_BOUNDS = "tests/proofs/test_bounds.py::test_no_"
_RULES = "tests/evidence/test_rules.py::"
_EVIDENCE = "tests/inside/evidence/test_batches.py::test_"
BY_TESTS = {
    "refinement biased": (
        "tests/engine/test_refine.py::test_a_long_tie_takes_as_many_rounds_as_it_needs"
    ),
    "distances cut at 8 nats": (
        f"{_EVIDENCE}the_coarse_decision_is_the_exact_one[exponential-1-1]"
    ),
    "noise outside the table is clear": (
        f"{_EVIDENCE}the_coarse_decision_is_the_exact_one[laplace-1-0]"
    ),
    "an error with the wrong sign": (
        f"{_EVIDENCE}who_is_left_out_of_the_settled_few_keeps_its_error[5-exponential]"
    ),
    "early exit": (
        "tests/engine/test_arrays.py::test_the_same_calls_for_all_values[uint64-1000-60-mth_largest]"
    ),
    "stale buffer": "tests/randomness/test_bits.py::test_known_answers",
    "a session is shared across a fork": (
        f"{_RULES}test_a_session_is_refused_after_a_fork_whatever_is_asked_of_it"
    ),
    "foreign sources pass as they are": (
        "tests/randomness/test_foreign.py::test_a_seeded_callback_that_is_mixed_has_the_right_law"
    ),
    "a class is known by its name": (
        "tests/randomness/test_foreign.py::test_the_methods_of_ours_on_an_object_of_theirs"
    ),
    "sources for tests are taken in production": (
        "tests/randomness/test_source.py::test_sources_for_tests_are_refused_when_hardened"
    ),
    "word bounds off by one": f"{_BOUNDS}bound_of_a_word_is_too_small[laplace]",
    "tail thresholds off by one": f"{_BOUNDS}threshold_of_a_tail_word_is_too_small[laplace]",
    "growth of a table rounded up": (
        "tests/observed/test_drawn_is_charged.py::test_what_is_drawn_is_what_is_charged[select_keys]"
    ),
}
"""Those that no known answer sees: of rare draws, processes, errors or real sources."""

_FIRST = """
import sys
from safeselect.known_answers import SETS, differences
for which in SETS:
    for name, same in differences(which):
        if not same:
            print(f"known answers: {which}: {name}")
            sys.exit(11)
from checks.every import checks
from checks.finding import FULL, QUICK
for effort in (QUICK, FULL) if "law" in sys.argv else ():
    for check in checks():
        try:
            check.examine(effort)
        except Exception as error:
            print(f"law: {check.name}: {error}")
            sys.exit(11)
sys.exit(10)
"""


def first_failure(package: Path, *more: str) -> str | None:
    """The first known answer that a copy does not give, or law that it breaks; None if there is none.

    Args:
        more: "law" to look at laws too, where all answers are the known ones.

    Raises:
        RuntimeError: the copy cannot be imported.
    """
    run = python(package, "-c", _FIRST, *more)
    if run.returncode not in (10, 11):
        raise RuntimeError(run.stderr[-1000:])
    return run.stdout.strip() if run.returncode == 11 else None


def all_at_once(place: Path) -> tuple[Path, int]:
    """A copy with every fault whose text is there when its turn comes, and how many those are."""
    copy(place)
    planted = 0
    for changes in FAULTS.values():
        paths = {each: place / "safeselect" / each.file for each in changes}
        if all(len(each.starts(path.read_text())) == 1 for each, path in paths.items()):
            for each, path in paths.items():
                path.write_text(each.made(path.read_text()))
            planted += 1
    return place, planted
