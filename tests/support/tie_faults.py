"""Faults that the ties to the proofs must notice alone, with no other test: `make faults`.

A fault is planted in a copy of the package, and `tests/proofs` runs there, up to the first failure.
"""

from __future__ import annotations

from mutants import Break

__all__ = ["TIES", "TIE_FAULTS"]

_FILES = (  # the quick ones first
    *("many", "calibrate", "released", "reading", "bounds", "decide", "combine", "session"),
    *("kernels", "ledger", "budget", "luce", "float_kernel"),
)
TIES = (*(f"tests/proofs/test_{name}.py" for name in _FILES), "-m", "not nightly")
"""What runs: programs, tables and intervals; neither pages nor proofs are looked at."""

_CHANGES: dict[str, tuple[str, str, str]] = {
    "noise: an enclosure is too low": (
        "engine/laws.py:upper_ends",
        "(noise >> cut) + 2",
        "(noise >> cut) - 2",
    ),
    "noise: half the slope of a cell": (
        "engine/laws.py:lower_end",
        "(2 << precision + 64)",
        "(1 << precision + 64)",
    ),
    "noise: a term of the logarithm is lost": ("engine/laws.py:minus_logs", " + (square >> 1)", ""),
    "noise: an upper end is rounded down": (
        "engine/laws.py:_upper_end",
        "int(-((-mantissa << precision + 32) >> 32 - exponent))",
        "int((mantissa << precision + 32) >> 32 - exponent) - 1",
    ),
    "noise: a geometric number is one too large": (
        "engine/single.py:_whole",
        "return low",
        "return low + 1",
    ),
    "noise: tables without their error": (
        "engine/tables.py:bound_table",
        "noise += ERROR - (",
        "noise += -(1 << 18) - (",
    ),
    "noise: a key is not rounded up": (
        "engine/tables.py:keys",
        "np.uint64(back)), np.uint64(2))",
        "np.uint64(back)), np.uint64(0))",
    ),
    "contenders: one group too few": (
        "engine/contenders.py:largest",
        "dtype), m, bits)",
        "dtype), max(m - 1, 1), bits)",
    ),
    "contenders: a block is not cleared": (
        "engine/contenders.py:_maxima",
        "            scratch[stop - start :] = 0\n",
        "",
    ),
    "contenders: none to spare": (
        "engine/contenders.py:_by_keys",
        "count + 1, read",
        "count, read",
    ),
    "contenders: the least of the rest": (
        "engine/arrays.py:best_and_rest",
        "int(largest_of(rest))",
        "int(np.min(rest))",
    ),
    "contenders: of equal keys one is missed": (
        "engine/arrays.py:top_places",
        "np.less_equal(slots",
        "np.less(slots",
    ),
    "contenders: the level is that of the best": (
        "engine/contenders.py:contenders",
        "_level(scores_on_grid, plan.ranked)",
        "_level(scores_on_grid, 1)",
    ),
    "contenders: scores far ahead wrap": (
        "engine/contenders.py:distances",
        "np.minimum(out, self.most",
        "np.maximum(out, self.most",
    ),
    "tails: they keep their first keys": (
        "engine/contenders.py:_by_keys",
        "    np.multiply(values, no_tails, out=values)\n",
        "",
    ),
    "tails: a bound of another step": (
        "engine/contenders.py:_tail_keys",
        "np.take(public.tail_bounds, draws.tail_counts)",
        "np.take(public.tail_bounds, np.minimum(draws.tail_counts + 1, 39))",
    ),
    "tails: padding has a key": (
        "engine/contenders.py:_tail_keys",
        "np.less(draws.tails, scores_on_grid.size)",
        "np.less_equal(draws.tails, scores_on_grid.size)",
    ),
    "tails: one of them is missed": (
        "engine/draws.py:draw_words",
        "np.less(piece, np.uint16(1 << TAIL_BITS))",
        "np.less(piece, np.uint16((1 << TAIL_BITS) - 1))",
    ),
    "tails: a threshold is rounded down": (
        "engine/tables.py:_threshold",
        "-(-int(mantissa) >> -(int(exponent) + bits))",
        "(int(mantissa) >> -(int(exponent) + bits))",
    ),
    "tails: further digits of the slot alone": (
        "engine/draws.py:known",
        "np.multiply(is_tail, np.int64(_TAIL_EXTRA))",
        "np.multiply(is_tail, np.int64(0))",
    ),
    "rankings: the worst first": ("engine/rankings.py:certified_order", ", reverse=True", ""),
    "rankings: decided a unit too early": (
        "engine/rankings.py:certified_order",
        "lows[i] >= behind",
        "lows[i] >= behind - 1",
    ),
    "rankings: the ceiling does not count": (
        "engine/rankings.py:certified_order",
        "behind = max(behind, (ceiling[1]",
        "behind = min(behind, (ceiling[1]",
    ),
    "rankings: a winner may win again": (
        "engine/rankings.py:peeled_top_k",
        "public, bits, winners)",
        "public, bits, winners[:-1])",
    ),
    "gaps: a floor that is not decided": (
        "engine/rankings.py:certified_order",
        "decided.append(least == most)",
        "decided.append(True)",
    ),
    "gaps: the rest below the lattice is forgotten": (
        "spec/rankings.py:combine_exponential",
        " - (noise.ranks[upper] < noise.ranks[lower])",
        "",
    ),
    "sessions: a tie is below": ("mechanisms/sessions.py:compare", "high < least", "high <= least"),
    "sessions: the threshold pays nothing": (
        "mechanisms/sessions.py:read_terms",
        "dear = total * (1 - share) / count",
        "dear = total / count",
    ),
    "calibration: wide noise is not wide": (
        "mechanisms/table.py:calibrate",
        "(wide * range_in_steps)",
        "range_in_steps",
    ),
    "calibration: errors count once": (
        "scores/reading.py:moves",
        "sensitivity, 2 * self.error",
        "sensitivity, self.error",
    ),
}

TIE_FAULTS = {name: Break(*change) for name, change in _CHANGES.items()}
