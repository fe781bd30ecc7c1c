"""Faults that survived tests elsewhere, each of which known answers or laws must notice alone.

They follow the patterns of section 1 of the plan for evidence: marginals that are right and joint
laws that are not; a fast path that nobody looked at; sizes that are never reached; one path that
forgets a rule.  Each is a change of the text of the shipped source: (file, text, other text).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from mutants import LAWS, copy

Changes = tuple[tuple[str, str, str], ...]

_DRAWN = "        words = random_lanes((n, count), bits)\n"
_REQUEST = "for start in range(0, len(view), request):"
_FIRST = "        if False:\n"
_SETTLED = """\
        elif record["kind"] == "aborted" and record["reason"] == "input":
"""
_RISE = "        level ^= (none, step)[int(np.count_nonzero(reached)) >= m]\n"
_EARLY = """\
        if int(np.count_nonzero(reached)) == m:
            return level
"""

FAULTS: dict[str, Changes] = {
    # ------------------------------------------------------------------ joint laws
    "two rows of a batch share their words": (
        ("engine/rows.py", _DRAWN, _DRAWN + "        words[:, 1:2] = words[:, :1]\n"),
    ),
    "every second row has the words of the one before": (
        (
            "engine/rows.py",
            _DRAWN,
            _DRAWN + "        words[:, 1::2] = words[:, : 2 * (count // 2) : 2]\n",
        ),
    ),
    "every block of rows has the words of the first": (
        (
            "engine/rows.py",
            _DRAWN,
            _DRAWN
            + "        words = first[:, :count].copy() if start else words\n        first = words\n",
        ),
    ),
    "the last of few candidates has the first one's digits": (
        (
            "engine/draws.py",
            "        return Draws(draw_slots(available, plan.slot_bits, bits), plan.slot_bits)\n",
            "        slots = draw_slots(available, plan.slot_bits, bits)\n"
            "        slots[-1] = slots[0] ^ 1\n"
            "        return Draws(slots, plan.slot_bits)\n",
        ),
    ),
    "two branches of a session share their noise with the next query": (
        (
            "mechanisms/sessions.py",
            "        noises = [self._draw(branch.noise_rate, bits) for branch in terms.branches]\n",
            "        noises = _KEPT.setdefault(\n"
            "            id(self), [self._draw(branch.noise_rate, bits) for branch in terms.branches]\n"
            "        )\n",
        ),
        ("mechanisms/sessions.py", "_REACH = 2**64 ", "_KEPT: dict = {}\n_REACH = 2**64 "),
    ),
    "the threshold of a session is drawn anew for each query": (
        (
            "mechanisms/sessions.py",
            "        threshold, denominator = self._noise, self.terms.denominator\n",
            "        threshold, denominator = self._noise, self.terms.denominator\n"
            "        threshold = threshold and self._draw(self.terms.noise_rate, bits)\n",
        ),
    ),
    "two counts of a list share their noise": (
        (
            "mechanisms/unknown.py",
            "call.bits).tolist()\n",
            "call.bits).tolist()\n    noise[1:2] = noise[:1]\n",
        ),
    ),
    "rounds of peeling share their noise": (
        (
            "engine/rankings.py",
            "        winners.append(_ranked(scores_on_grid, public, bits, winners).indices[0])\n"
            "    return Ranking(tuple(winners), None)\n",
            "        winners.append(_ranked(scores_on_grid, public, bits, winners).indices[0])\n"
            "        if len(winners) == 1:\n"
            "            return noisy_top_k(noise, scores_on_grid, k, noise_rate, bits)\n"
            "    return Ranking(tuple(winners), None)\n",
        ),
    ),
    # ------------------------------------------------------------------ sizes
    "the end of a large request is left as it was": (
        (
            "randomness/bits.py",
            _REQUEST,
            "for start in range(0, max(1, len(view) - request), request):",
        ),
    ),
    "noise repeats after a chunk": (
        (
            "engine/geometric.py",
            "            draw_digits(digits, table, bits)\n            np.left",
            "            draw_digits(digits, table, bits)\n"
            "            part[1:] = result[: part.size - 1] if start else part[1:]\n"
            "            np.left",
        ),
    ),
    "a last block of one row is skipped": (
        (
            "engine/rows.py",
            _DRAWN,
            _DRAWN + "        if count == 1 < rows:\n            continue\n",
        ),
    ),
    "candidates beyond two to the eighteenth have the last word": (
        (
            "engine/draws.py",
            "    words = numbers[lanes + capacity :].view(np.uint16)[:n]\n",
            "    words = numbers[lanes + capacity :].view(np.uint16)[:n]\n"
            "    words[1 << 18 :] = 40000\n",
        ),
    ),
    # ------------------------------------------------------------------ the slow path for the fast
    "the coarse decision of a batch is never refined": (
        ("engine/rows.py", "    block.refine(least, more, winners)\n", ""),
        ("engine/rows.py", "    if np.min(margins) < clear:", "    if False:"),
    ),
    "ties of a batch go to the first": (
        ("engine/rows.py", "    if np.min(margins) < clear:", "    if np.min(margins) < 0:"),
    ),
    "the second round of peeling sees the first one's words": (
        (
            "engine/draws.py",
            "    lanes = random_lanes(n + count * slot_bits // 64, bits)\n",
            "    lanes = _LANES.setdefault(n, random_lanes(n + count * slot_bits // 64, bits)).copy()\n",
        ),
        ("engine/draws.py", "_TAIL_EXTRA = 64\n", "_TAIL_EXTRA = 64\n_LANES: dict = {}\n"),
    ),
    "thousands of candidates: the noise of half the rate": (
        (
            "engine/draws.py",
            "        return draw_noise(n, plan.law, bits, plan.fine_contenders, plan.slot_bits - 64)\n",
            "        drawn = draw_noise(n, plan.law, bits, plan.fine_contenders, plan.slot_bits - 64)\n"
            "        np.left_shift(drawn.words, np.uint64(1), out=drawn.words)\n"
            "        return drawn\n",
        ),
    ),
    "ties by the index": (
        (
            "mechanisms/select.py",
            "        if places is None:\n            return found\n",
            "        if places is None:\n            return Ranking(tuple(sorted(found.indices)), found.gaps)\n",
        ),
    ),
    # ------------------------------------------------------------------ calibration
    "factor 2 dropped": (
        ("scores/reading.py", "return most, back if monotonic else most", "return most, back"),
    ),
    "batches: the rate of one row": (
        ("mechanisms/table.py", "    draws = rows * k // wide\n", "    draws = k // wide\n"),
    ),
    "wide noise is not wide": (
        (
            "mechanisms/table.py",
            "rate = each / (wide * range_in_steps)",
            "rate = each / range_in_steps",
        ),
    ),
    "delta is spent twice": (
        (
            "mechanisms/unknown.py",
            "        rest = total.delta - part or None\n",
            "        rest = total.delta\n",
        ),
    ),
    "the bottom of Laplace lists is one too low": (
        (
            "mechanisms/unknown.py",
            "    offset = 1 + laplace_offset(each, total.delta, min(k_bar, contributions))\n",
            "    offset = laplace_offset(each, total.delta, min(k_bar, contributions))\n",
        ),
    ),
    "the bottom of lists is for one item": (
        (
            "mechanisms/unknown.py",
            "        m = k_bar if self.contributions is None else min(k_bar, self.contributions)\n"
            "        grid",
            "        m = 1\n        grid",
        ),
    ),
    "a session's answers above are not counted": (
        (
            "mechanisms/sessions.py",
            "        if self._below.remaining == 0:\n            self.turns.finish(_EXHAUSTED)\n",
            "        if self._below.remaining == 0:\n"
            "            self._below = self._answer_below(self.terms.epsilon)\n",
        ),
    ),
    "values of a session that move both ways have the noise of one way": (
        (
            "mechanisms/sessions.py",
            "    decays = [NoiseRate(cost / spread) for _, _, cost in ways]\n",
            "    decays = [NoiseRate(cost / rise) for _, _, cost in ways]\n",
        ),
    ),
    "lists are charged per query what they return": (
        (
            "mechanisms/unknown.py",
            "            self._spend(min(len(found) + 1, k) - k, 0)\n",
            "            self._spend(len(found) - k, 0)\n",
        ),
    ),
    "a batch states what one row costs": (
        (
            "mechanisms/table.py",
            "    guarantee = cost.guarantee(law.promise, each, draws)\n",
            "    guarantee = law.promise(each)\n",
        ),
    ),
    # ------------------------------------------------------------------ one path forgets
    "a record names another mechanism": (
        (
            "ledger/scope.py",
            "        asked = charge.mechanism, charge.guarantee, charge.parts, charge.parameters\n",
            "        name = charge.mechanism.replace('exponential', 'laplace')\n"
            "        asked = name, charge.guarantee, charge.parts, charge.parameters\n",
        ),
    ),
    "a release that failed is refunded": (
        (
            "ledger/replay.py",
            _SETTLED,
            """\
        if record["kind"] == "aborted":
            for name in charge.scopes:
                was = self.scopes[name]
                nothing = {each: 0 * amount for each, amount in was.spent.items()}
                scopes[name] = Balance(was.budget, nothing)
"""
            + _SETTLED.replace("elif", "if"),
        ),
    ),
    "sessions are not refused where neighbours replace": (
        (
            "mechanisms/sessions.py",
            "read_ledger(ledger, monotonic=monotonic))\n",
            "read_ledger(ledger, monotonic=False))\n",
        ),
    ),
    "lists are not refused where neighbours replace": (
        (
            "mechanisms/unknown.py",
            "(max_contributions)\n    scope = read_ledger(ledger, monotonic=True)\n",
            "(max_contributions)\n    scope = read_ledger(ledger, monotonic=False)\n",
        ),
    ),
    "bits are shared across a fork": (
        ("randomness/bits.py", "        if generation() != self._process:\n", _FIRST),
    ),
    "a session is shared across a fork": (
        (
            "mechanisms/sessions.py",
            "        if generation() != self._born:\n            # Before",
            "        if False:\n            # Before",
        ),
        ("randomness/bits.py", "        if generation() != self._process:\n", _FIRST),
    ),
    "lists are spent in a child": (
        (
            "mechanisms/unknown.py",
            "        with self._turns.one(), self._turns.begin():\n",
            "        self._turns._born = generation()\n"
            "        with self._turns.one(), self._turns.begin():\n",
        ),
    ),
    "the charge comes after the release": (
        (
            "release/call.py",
            "                self._pending = self.scope.begin(self.charge, self.bits)\n",
            "",
        ),
        (
            "release/call.py",
            "        paid = self.charge.mechanism, self.charge.guarantee\n",
            "        if self.scope is not None:\n"
            "            self._pending = self.scope.begin(self.charge, self.bits)\n"
            "        paid = self.charge.mechanism, self.charge.guarantee\n",
        ),
    ),
    "a session charges after its first bits": (
        (
            "mechanisms/sessions.py",
            "        with call.opened():\n            drawn = draw(call.bits)\n",
            "        with Bits(source) as bits:\n            drawn = draw(bits)\n        with call.opened():\n",
        ),
    ),
    "a session is charged half": (
        (
            "mechanisms/sessions.py",
            "Charge(terms.mechanism, terms.guarantee, ",
            "Charge(terms.mechanism, type(terms.guarantee)(terms.epsilon / 2), ",
        ),
    ),
    "foreign sources pass as they are": (
        (
            "randomness/foreign.py",
            '    system = Guard(system_bytes, vouched=True, worth="yes")\n'
            "    return mixed(device, system, health=False)\n",
            "    return device\n",
        ),
    ),
    "a class is known by its name": (
        (
            "randomness/guard.py",
            "    return _OWN.get(id(type(value))) is type(value)\n",
            "    return type(value).__name__ in {kind.__name__ for kind in _OWN.values()}\n",
        ),
    ),
    "a source that sticks is not noticed": (
        (
            "randomness/guard.py",
            "            problem = self._failed_test(taken, canary) if count and self.health else None\n",
            "            problem = None\n",
        ),
    ),
    "sources for tests are taken in production": (
        (
            "randomness/source.py",
            '    if guard.worth == "yes" or not require_production():\n',
            '    if guard.worth in ("yes", "no") or not require_production():\n',
        ),
        ("testing/sources.py", "    if require_production():\n", "    if False:\n"),
    ),
    "gaps are those of one noise less": (
        (
            "engine/rankings.py",
            "        least = [(lows[i] - highs[j]) * below // (fast * unit) for i, j in pairs]\n",
            "        least = [(lows[i] - highs[j]) * below // (fast * unit) + 1 for i, j in pairs]\n",
        ),
        (
            "engine/rankings.py",
            "        most = [(highs[i] - lows[j]) * below // (slow * unit) for i, j in pairs]\n",
            "        most = [(highs[i] - lows[j]) * below // (slow * unit) + 1 for i, j in pairs]\n",
        ),
    ),
    "the coin of discrete Laplace noise keeps minus zero": (
        ("spec/samplers.py", "    if negative and value == 0:\n", "    if False:\n"),
    ),
    # ------------------------------------------------------------------ weights, quantiles, runs
    "weights decide who is compared and not who wins": (
        (
            "engine/draws.py",
            "        return [logs[place] for place in picked(self.which, candidates)]\n",
            "        return [logs[0] for _ in candidates]\n",
        ),
    ),
    "weights are not in the bounds that choose who is compared": (
        (
            "engine/draws.py",
            "        return np.take(np.array(logs, dtype), self.which)\n",
            "        return np.take(np.zeros(len(logs), dtype), self.which)\n",
        ),
    ),
    "a candidate has one copy whatever its weight": (
        (
            "mechanisms/weights.py",
            "np.repeat(np.arange(len(self.values)), np.array(self.values, int)), None",
            "np.flatnonzero([value > 0 for value in self.values]), None",
        ),
    ),
    "quantiles have the noise of half their range": (
        (
            "mechanisms/quantiles.py",
            "    return 2 * t if replaced else 2 * max(s, t - s)\n",
            "    return t if replaced else max(s, t - s)\n",
        ),
    ),
    "ties count from below alone": (
        ("mechanisms/quantiles.py", '        if self.ties == "below":\n', "        if True:\n"),
    ),
    "a quantile deep in a run counts as one at its end": (
        ("mechanisms/quantiles.py", "        return max(above, ", "        return max(0, above, "),
    ),
    "what lies above a cut is counted on both sides": (
        (
            "mechanisms/quantiles.py",
            "Part(self.cells, self.fine, self.first, point, point)",
            "Part(self.cells, self.fine, self.first, point, self.end)",
        ),
    ),
    "the number of runs has a longer tail": (
        (
            "mechanisms/runs.py",
            "        return (1 - self.gamma) * (k + self.eta) / (k + 1)\n",
            "        return (1 - self.gamma) * (k + self.eta) / k\n",
        ),
    ),
    "the best of runs costs one run less": (
        (
            "accounting/repetition.py",
            "PureDP((2 + self.eta) * own.epsilon)",
            "PureDP((1 + self.eta) * own.epsilon)",
        ),
    ),
    "a poisson number of runs costs one run": (
        ("accounting/repetition.py", "PureDP(own.epsilon + self.shift)", "PureDP(own.epsilon)"),
    ),
    "where no run passes the best one is released": (
        (
            "mechanisms/runs.py",
            "        if best is None or enough is not None:\n",
            "        if best is None:\n",
        ),
    ),
    # ------------------------------------------------------------------ off by one, upside down
    "monotonic ignored": (
        ("scores/reading.py", "return most, back if monotonic else most", "return most, most"),
    ),
    "sensitivity ignored": (
        (
            "scores/reading.py",
            "reading.moves(self.sensitivity, monotonic=self.monotonic), Fraction(0)",
            "reading.moves(Fraction(1), monotonic=self.monotonic), Fraction(0)",
        ),
    ),
    "rate upside down": (
        (
            "mechanisms/table.py",
            "    rate = each / (wide * range_in_steps)\n",
            "    rate = (wide * range_in_steps) / each\n",
        ),
    ),
    "threshold for unknown candidates off by one": (
        (
            "mechanisms/unknown.py",
            "return max(0, -(-whole.numerator // whole.denominator))",
            "return max(0, -(-whole.numerator // whole.denominator) - 1)",
        ),
    ),
    "at most for below: rejection": (
        ("spec/samplers.py", "value if value < n else None", "value if value <= n else None"),
    ),
    "at most for below: coin": (
        (
            "spec/samplers.py",
            "uniform_below(bits, denominator) < numerator",
            "uniform_below(bits, denominator) <= numerator",
        ),
    ),
    "uniform by remainder": (("spec/samplers.py", "value if value < n else None", "value % n"),),
    "word bounds off by one": (
        (
            "engine/tables.py",
            "noise += ERROR - (law.lowest << _STEP_BITS)",
            "noise[:-1] = noise[1:]\n    noise += ERROR - (law.lowest << _STEP_BITS)",
        ),
    ),
    "tail thresholds off by one": (
        (
            "engine/tables.py",
            "steps = np.arange(len(ends), -1, -1, dtype=np.uint64)",
            "steps = np.maximum(np.arange(len(ends), -1, -1), 1).astype(np.uint64) - 1",
        ),
    ),
    "no refinement": (("engine/rankings.py", "if False in decided:", "if not decided:"),),
    "refinement biased": (
        (
            "engine/rankings.py",
            "        if result is not None:\n            return result\n",
            "        return result or Ranking(tuple(candidates[: plan.k]))\n",
        ),
    ),
    "largest over the wrong axis": (
        (
            "engine/rows.py",
            "np.subtract(np.max(scores, axis=0), scores)",
            "np.subtract(np.max(scores, axis=1, keepdims=True), scores)",
        ),
    ),
    "distances cut at 8 nats": (
        ("engine/rows.py", "public.fixed_rate.reach)", "public.fixed_rate.reach // 8)"),
    ),
    "noise outside the table is clear": (
        (
            "engine/rows.py",
            "    np.multiply(margins, np.less(best, UNKNOWN >> 1), out=margins)\n",
            "",
        ),
    ),
    "an error with the wrong sign": (("engine/rows.py", "rest + ERROR", "rest - ERROR"),),
    "early exit": (("engine/arrays.py", _RISE, _RISE + _EARLY),),
    "stale buffer": (
        (
            "randomness/bits.py",
            _REQUEST,
            "for start in range(0, len(view) if self._consumed == 0 else 0, request):",
        ),
    ),
    "bits shared with a child that was forked inside a request": (
        ("randomness/bits.py", "if generation() != self._process:", "if False:"),
    ),
    "a threshold one lower": (
        (
            "mechanisms/keys.py",
            "return found.astype(np.int64)",
            "return found.astype(np.int64) - 1",
        ),
    ),
    "growth of a table rounded up": (
        ("mechanisms/keys.py", ".exp().scaled(bits)[0]", ".exp().scaled(bits)[1]"),
    ),
    "no slack for the roundings of a count": (
        ("mechanisms/keys.py", "lowered = rows * (above + 2)", "lowered = 0"),
    ),
    "mu for mu squared": (
        (
            "mechanisms/measure.py",
            "covered[1] / gaussian.mu_squared",
            'covered[1] / rational(mu, "mu")',
        ),
    ),
}
"""By what is wrong."""

_RULES = "tests/evidence/test_rules.py::"
_EVIDENCE = "tests/inside/evidence/test_batches.py::test_"
BY_TESTS = {
    "refinement biased": (
        "tests/engine/test_refine.py::test_a_long_tie_takes_as_many_rounds_as_it_needs"
    ),
    "distances cut at 8 nats": (
        f"{_EVIDENCE}whoever_is_behind_wins_as_often_as_noise_says[gumbel]"
    ),
    "noise outside the table is clear": (
        f"{_EVIDENCE}noise_outside_the_table_is_never_clear[exponential]"
    ),
    "an error with the wrong sign": (
        f"{_EVIDENCE}who_is_left_out_of_the_settled_few_keeps_its_error[5-exponential]"
    ),
    "early exit": (
        "tests/engine/test_arrays.py::test_the_same_calls_for_all_values[uint64-1000-60-mth_largest]"
    ),
    "stale buffer": "tests/randomness/test_bits.py::test_known_answers",
    "bits shared with a child that was forked inside a request": (
        "tests/randomness/test_bits.py::test_a_child_forked_inside_a_request_gets_no_bits"
    ),
    "a release that failed is refunded": f"{_RULES}test_a_failure_keeps_the_charge",
    "bits are shared across a fork": (
        "tests/randomness/test_bits.py::test_a_forked_child_cannot_use_its_parents_bits"
    ),
    "a session is shared across a fork": (
        f"{_RULES}test_a_session_is_refused_after_a_fork_whatever_is_asked_of_it"
    ),
    "foreign sources pass as they are": (
        "tests/randomness/test_foreign.py::test_a_seeded_callback_that_is_mixed_has_the_right_law"
    ),
    "a class is known by its name": (
        "tests/randomness/test_foreign.py::test_the_methods_of_ours_on_an_object_of_theirs"
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
from checks.every import FULL, QUICK, checks
for effort in (QUICK, FULL) if "law" in sys.argv else ():
    for check in checks():
        if effort == FULL or not check.slow:
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
    path = os.pathsep.join((str(package), str(LAWS)))
    run = subprocess.run(
        [sys.executable, "-c", _FIRST, *more],
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode not in (10, 11):
        raise RuntimeError(run.stderr[-1000:])
    return run.stdout.strip() if run.returncode == 11 else None


def all_at_once(place: Path) -> tuple[Path, int]:
    """A copy with every fault whose text is there when its turn comes, and how many those are."""
    copy(place)
    planted = 0
    for changes in FAULTS.values():
        sources = {file: (place / "safeselect" / file).read_text() for file, _, _ in changes}
        if all(sources[file].count(text) == 1 for file, text, _ in changes):
            for file, text, other in changes:
                path = place / "safeselect" / file
                path.write_text(path.read_text().replace(text, other))
            planted += 1
    return place, planted
