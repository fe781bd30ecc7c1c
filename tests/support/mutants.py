"""Broken copies of the package, each with the evidence that must notice it.

A mutant is a small change of the text of the shipped source.  If the text is no longer there, or is
there twice, making the copy fails: the mutant then has to follow the code.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import safeselect

ROOT = Path(__file__).parents[2]
PACKAGE = Path(safeselect.__file__).parent

LAWS = ROOT / "tests" / "laws"

_KNOWN = """
import sys
from safeselect.known_answers import answer, read
rows = {name: row for name, row in read("small").items() if name in sys.argv[1:]}
if len(rows) != len(sys.argv) - 1:
    sys.exit("no such row")
def same(name, row):
    stated = []
    try:
        told = {kind: answer(name, row, kind, stated) for kind in row["told"]}
    except Exception:
        return False
    return (told, stated) == (row["told"], row["stated"])
sys.exit(10 + (not all(same(name, row) for name, row in rows.items())))
"""
_LAW = """
import sys
from checks.every import QUICK, checks
named = [check for check in checks() if check.name in sys.argv[1:]]
if len(named) != len(sys.argv) - 1:
    sys.exit("no such check, or two")
try:
    [check.examine(QUICK) for check in named]
except Exception:
    sys.exit(11)
sys.exit(10)
"""
_SCRIPTS = {"known ": _KNOWN, "law ": _LAW}


@dataclass(frozen=True)
class Mutant:
    """What is changed, and what must notice it.

    Args:
        changes: (file, text, other text) in `src/safeselect`.
        claim: the claim of SECURITY.md that the mutant breaks.
        killer: a row of the known answers as "known NAME", a check of `tests/laws` as "law NAME",
            or a test marked with the claim as "tests/path/test_file.py::test_name", parameters
            included.
    """

    changes: tuple[tuple[str, str, str], ...]
    claim: str
    killer: str


def copy(place: Path, mutant: Mutant | None = None) -> Path:
    """A copy of the package in `place`, broken as the mutant says.

    Raises:
        ValueError: a text to be changed is not in its file exactly once.
    """
    shutil.copytree(
        PACKAGE,
        place / "safeselect",
        ignore=shutil.ignore_patterns("__pycache__"),
        dirs_exist_ok=True,
    )
    for file, text, other in mutant.changes if mutant else ():
        path = place / "safeselect" / file
        source = path.read_text()
        if source.count(text) != 1:
            raise ValueError(f"{file} has {source.count(text)} times: {text}")
        path.write_text(source.replace(text, other))
    return place


def evidence(package: Path, *killers: str) -> bool:
    """Whether this evidence holds for a copy of the package.

    Raises:
        RuntimeError: it could not be had: the copy cannot be imported, or there is no such test.
    """
    word = next((word for word in _SCRIPTS if killers[0].startswith(word)), "")
    if word:
        command = ["-c", _SCRIPTS[word], *(killer.removeprefix(word) for killer in killers)]
        holds = {10: True, 11: False}
    else:
        holds = {0: True, 1: False}
        # Plainly: nobody reads how the broken copy differs.
        options = ("-q", "-x", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist")
        command = ["-m", "pytest", *options, *killers]
    path = os.pathsep.join((str(package), str(LAWS)))
    run = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    if run.returncode not in holds:
        raise RuntimeError(f"{killers}: {run.stdout[-500:]}{run.stderr[-500:]}")
    return holds[run.returncode]


_CALL = "release/call.py"
_ROWS = "mechanisms/table.py"
_READING = "scores/reading.py"
_BOTH_WAYS = "return most, back if monotonic else most"
_TESTS = "tests/mechanisms/"

_RISE = "        level ^= (none, step)[int(np.count_nonzero(reached)) >= m]\n"
_EARLY = """\
        if int(np.count_nonzero(reached)) == m:
            return level
"""
_CHARGED = """\
                self._pending = self.scope.begin(self.charge, self.bits)
"""
_RELEASED = "        paid = self.charge.mechanism, self.charge.guarantee\n"
_LATE = """\
        if self.scope is not None:
            self._pending = self.scope.begin(self.charge, self.bits)
"""
_EVIDENCE = "tests/inside/evidence/"
_OWN_WORDS = (
    _EVIDENCE
    + "test_batches.py::test_every_row_looks_at_its_own_words_and_at_no_others[exponential-3]"
)
_DRAWN = "        words = random_lanes((n, count), bits)\n"
_TABLE = "            draw_digits(digits, table, bits)\n"
_AGAIN = "            part[1:] = result[: part.size - 1] if start else part[1:]\n"
_REPEATED = """\
        words = first[:, :count].copy() if start else words
        first = words
"""
_SETTLED = """\
        elif record["kind"] == "aborted" and record["reason"] == "input":
"""
_REFUND = """\
        if record["kind"] == "aborted":
            for name in charge.scopes:
                was = self.scopes[name]
                nothing = {each: 0 * amount for each, amount in was.spent.items()}
                scopes[name] = Balance(was.budget, nothing)
"""

MUTANTS = {
    # --------------------------------------------------------------------------- calibration
    "factor 2 dropped": Mutant(
        ((_READING, _BOTH_WAYS, "return most, back"),), "C2", "known permute_and_flip, general"
    ),
    "monotonic ignored": Mutant(
        ((_READING, _BOTH_WAYS, "return most, most"),), "C1", "known permute_and_flip, 3"
    ),
    "sensitivity ignored": Mutant(
        (
            (
                _READING,
                "reading.moves(self.sensitivity, monotonic=self.monotonic), Fraction(0)",
                "reading.moves(Fraction(1), monotonic=self.monotonic), Fraction(0)",
            ),
        ),
        "C2",
        "known permute_and_flip, floats",
    ),
    "rate upside down": Mutant(
        (
            (
                _ROWS,
                "    rate = each / (wide * range_in_steps)\n",
                "    rate = (wide * range_in_steps) / each\n",
            ),
        ),
        "C1",
        "known permute_and_flip, 24",
    ),
    "threshold for unknown candidates off by one": Mutant(
        (
            (
                "mechanisms/unknown.py",
                "return max(0, -(-whole.numerator // whole.denominator))",
                "return max(0, -(-whole.numerator // whole.denominator) - 1)",
            ),
        ),
        "C2",
        _TESTS + "test_unknown_privacy.py::test_lists_keep_their_promise[5-2-2-None-3-1/1000]",
    ),
    # -------------------------------------------------------------------------------- coins
    "at most for below: rejection": Mutant(
        (("spec/samplers.py", "value if value < n else None", "value if value <= n else None"),),
        "C1",
        "known measure_discrete_gaussian, wide",
    ),
    "at most for below: coin": Mutant(
        (
            (
                "spec/samplers.py",
                "uniform_below(bits, denominator) < numerator",
                "uniform_below(bits, denominator) <= numerator",
            ),
        ),
        "C1",
        "known measure_discrete_gaussian, wide",
    ),
    "uniform by remainder": Mutant(
        (("spec/samplers.py", "value if value < n else None", "value % n"),),
        "C1",
        "known measure_discrete_gaussian, wide",
    ),
    # -------------------------------------------------------------------------- array engine
    "word bounds off by one": Mutant(
        (
            (
                "engine/tables.py",
                "noise += ERROR - (law.lowest << _STEP_BITS)",
                "noise[:-1] = noise[1:]\n    noise += ERROR - (law.lowest << _STEP_BITS)",
            ),
        ),
        "C1",
        "law exponential noise: word bounds",
    ),
    "tail thresholds off by one": Mutant(
        (
            (
                "engine/tables.py",
                "steps = np.arange(len(ends), -1, -1, dtype=np.uint64)",
                "steps = np.maximum(np.arange(len(ends), -1, -1), 1).astype(np.uint64) - 1",
            ),
        ),
        "C1",
        "law exponential noise: word bounds",
    ),
    "no refinement": Mutant(
        (("engine/rankings.py", "if False in decided:", "if not decided:"),),
        "C1",
        "known permute_and_flip, 3",
    ),
    "refinement biased": Mutant(
        (
            (
                "engine/rankings.py",
                "        if result is not None:\n            return result\n",
                "        return result or Ranking(tuple(candidates[: plan.k]))\n",
            ),
        ),
        "C1",
        "tests/engine/test_refine.py::test_a_long_tie_takes_as_many_rounds_as_it_needs",
    ),
    "largest over the wrong axis": Mutant(
        (
            (
                "engine/rows.py",
                "np.subtract(np.max(scores, axis=0), scores)",
                "np.subtract(np.max(scores, axis=1, keepdims=True), scores)",
            ),
        ),
        "C1",
        "known select_many_exponential, 3 x 5000",
    ),
    "rows share their words": Mutant(
        (("engine/rows.py", _DRAWN, _DRAWN + "        words[:, 1:2] = words[:, :1]\n"),),
        "C1",
        _OWN_WORDS,
    ),
    "every block repeats the first": Mutant(
        (("engine/rows.py", _DRAWN, _DRAWN + _REPEATED),), "C1", _OWN_WORDS
    ),
    "a last block of one row is skipped": Mutant(
        (
            (
                "engine/rows.py",
                _DRAWN,
                _DRAWN + "        if count == 1 < rows:\n            continue\n",
            ),
        ),
        "C1",
        _OWN_WORDS,
    ),
    "distances cut at 8 nats": Mutant(
        (("engine/rows.py", "public.fixed_rate.reach)", "public.fixed_rate.reach // 8)"),),
        "C1",
        _EVIDENCE + "test_batches.py::test_whoever_is_behind_wins_as_often_as_noise_says[gumbel]",
    ),
    "noise outside the table is clear": Mutant(
        (
            (
                "engine/rows.py",
                "    np.multiply(margins, np.less(best, UNKNOWN >> 1), out=margins)\n",
                "",
            ),
        ),
        "C1",
        _EVIDENCE + "test_batches.py::test_noise_outside_the_table_is_never_clear[exponential]",
    ),
    "an error with the wrong sign": Mutant(
        (("engine/rows.py", "rest + ERROR", "rest - ERROR"),),
        "C1",
        _EVIDENCE
        + "test_batches.py::test_who_is_left_out_of_the_settled_few_keeps_its_error[5-exponential]",
    ),
    "noise repeats after a chunk": Mutant(
        (
            (
                "engine/geometric.py",
                _TABLE + "            np.left",
                _TABLE + _AGAIN + "            np.left",
            ),
        ),
        "C1",
        _EVIDENCE
        + "test_noise_arrays.py::test_every_number_is_made_of_its_own_words[geometric-two digits]",
    ),
    "the end of a large request": Mutant(
        (
            (
                "randomness/bits.py",
                "for start in range(0, len(view), request):",
                "for start in range(0, max(1, len(view) - request), request):",
            ),
        ),
        "C1",
        _EVIDENCE
        + "test_requests.py::test_a_large_request_gets_the_next_bytes_of_the_source[524289]",
    ),
    "early exit": Mutant(
        (("engine/arrays.py", _RISE, _RISE + _EARLY),),
        "C4",
        "tests/engine/test_arrays.py::test_the_same_calls_for_all_values[uint64-1000-60-mth_largest]",
    ),
    # --------------------------------------------------------------------------------- bits
    "stale buffer": Mutant(
        (
            (
                "randomness/bits.py",
                "for start in range(0, len(view), request):",
                "for start in range(0, len(view) if self._consumed == 0 else 0, request):",
            ),
        ),
        "C1",
        "tests/randomness/test_bits.py::test_known_answers",
    ),
    "bits shared across a fork": Mutant(
        (("randomness/bits.py", "if generation() != self._process:", "if False:"),),
        "C6",
        "tests/randomness/test_bits.py::test_a_child_forked_inside_a_request_gets_no_bits",
    ),
    # -------------------------------------------------------------------- keys, measurements
    "a threshold one lower": Mutant(
        (
            (
                "mechanisms/keys.py",
                "return found.astype(np.int64)",
                "return found.astype(np.int64) - 1",
            ),
        ),
        "C2",
        "known Counts",
    ),
    "growth of a table rounded up": Mutant(
        (("mechanisms/keys.py", ".exp().scaled(bits)[0]", ".exp().scaled(bits)[1]"),),
        "C2",
        "law keys, (1, 1/1000000), 1 a user",
    ),
    "no slack for the roundings of a count": Mutant(
        (("mechanisms/keys.py", "lowered = rows * (above + 2)", "lowered = 0"),),
        "C2",
        "known partition_strategy, 1, 1, 1e-6, with_counts",
    ),
    "mu for mu squared": Mutant(
        (
            (
                "mechanisms/measure.py",
                "covered[1] / gaussian.mu_squared",
                'covered[1] / rational(mu, "mu")',
            ),
        ),
        "C2",
        "tests/mechanisms/test_measure.py::test_what_it_costs[mu]",
    ),
    # ------------------------------------------------------------------------------- ledger
    "charge after release": Mutant(
        ((_CALL, _CHARGED, ""), (_CALL, _RELEASED, _LATE + _RELEASED)),
        "C8",
        _TESTS + "test_ledger.py::test_the_charge_is_in_the_ledger_before_the_first_bit",
    ),
    "refund on error": Mutant(
        (("ledger/replay.py", _SETTLED, _REFUND + _SETTLED.replace("elif", "if")),),
        "C8",
        _TESTS + "test_ledger.py::test_a_later_failure_keeps_the_charge_and_is_written",
    ),
}
