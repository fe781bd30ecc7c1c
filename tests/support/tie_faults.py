"""Faults that the ties to the proofs must notice alone, with no other test: `make faults`.

A fault is planted in a copy of the package, and `tests/proofs` runs there, up to the first failure.
"""

from __future__ import annotations

from mutants import Break

_FILES = (  # the quick ones first
    *("many", "calibrate", "released", "reading", "bounds", "decide", "combine", "session"),
    *("keep", "kernels", "ledger", "budget", "luce", "float_kernel"),
)
TIES = (*(f"tests/proofs/test_{name}.py" for name in _FILES), "-m", "not nightly")
"""What runs: programs, tables and intervals; neither pages nor proofs are looked at."""

_CHANGES: dict[str, tuple[str, str, str]] = {
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
    "contenders: of equal keys one is missed": (
        "engine/arrays.py:top_places",
        "np.less_equal(slots",
        "np.less(slots",
    ),
    "contenders: scores far ahead wrap": (
        "engine/contenders.py:distances",
        "self.least, self.most, out",
        "self.least, None, out",
    ),
    "tails: they keep their first keys": (
        "engine/contenders.py:_by_keys",
        "    np.multiply(values, no_tails, out=values)\n",
        "",
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
    "tails: further digits of the slot alone": (
        "engine/draws.py:known",
        "np.multiply(is_tail, np.int64(_TAIL_EXTRA))",
        "np.multiply(is_tail, np.int64(0))",
    ),
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
    "gaps: the rest below the lattice is forgotten": (
        "spec/rankings.py:combine_exponential",
        " - (noise.ranks[upper] < noise.ranks[lower])",
        "",
    ),
    "sessions: a tie is below": ("mechanisms/sessions.py:compare", "high < least", "high <= least"),
    "calibration: wide noise is not wide": (
        "mechanisms/table.py:calibrate",
        "(wide * range_in_steps)",
        "range_in_steps",
    ),
    "noise: V = 0 has a bound": ("engine/laws.py:_upper_end", "return UNBOUNDED", "return 0"),
    "noise: logarithms near 0 are not close": ("engine/laws.py:_gumbel_quick", ", close=True", ""),
    "contenders: beyond the fine table there is a bound": (
        "engine/contenders.py:_by_noise",
        "[rest >= limit]",
        "[False]",
    ),
    "tails: no room, and no bound": (
        "engine/draws.py:draw_words",
        "        beyond += found[room.size :].tolist()\n",
        "",
    ),
    "rankings: the upper end of a weight for its lower": (
        "engine/rankings.py:certified_order",
        "lows[i] += logs[i][0]",
        "lows[i] += logs[i][1]",
    ),
    "rankings: fresh digits at each refinement": (
        "engine/rankings.py:refine",
        "(v << 64 | bits.take(64), size + 64)",
        "(bits.take(size + 64), size + 64)",
    ),
    "gaps: as many as candidates": ("engine/rankings.py:noisy_top_k", "k + gaps)", "k)"),
    "gaps: their unit is that of scores": (
        "mechanisms/select.py:rank",
        "step / self.asked.reading.step",
        "step",
    ),
    "sessions: an answer pays for a rise alone": (
        "mechanisms/sessions.py:read_terms",
        "NoiseRate(cost / spread)",
        "NoiseRate(cost / rise)",
    ),
    "calibration: half of k": (
        "mechanisms/table.py:calibrate",
        "wide = k if",
        "wide = (k + 1) // 2 if",
    ),
}

TIE_FAULTS = {name: Break(*change) for name, change in _CHANGES.items()}

PREMISES = {
    "scores/reading.py: read": ('rational(grid, "grid")', 'rational(grid, "grid", signed=True)'),
    "scores/reading.py: nearest": ("+ p * below) //", "+ p * below - 1) //"),
    "scores/numbers.py: write_steps": ("pick = min if minimize else max", "pick = max"),
    "scores/reading.py: range_in_steps": ("monotonic=self.monotonic", "monotonic=True"),
    "accounting/cost.py: read_epsilon": ('"epsilon")', '"epsilon", signed=True)'),
    "mechanisms/table.py: calibrate": ("wide = k if", "wide = (k + 1) // 2 if"),
    "exact/interval.py: __post_init__": ("high < MIN_RATE or low > MAX_RATE", "low > MAX_RATE"),
    "engine/rankings.py: _check": ("1 <= need <= n", "need <= n"),
    "mechanisms/select.py: read_gap_grid": ('"gap_grid")', '"gap_grid") / 2'),
    "spec/rankings.py: draw_exponential": ("permutation(bits, count)", "range(count)"),
    "engine/rankings.py: combine": ("scores, known, ceiling", "scores, known[::-1], ceiling"),
    "mechanisms/sessions.py: read_terms": ("cost / spread", "cost / rise"),
    "scores/reading.py: moves": ("back if monotonic else most", "0 * most"),
    "mechanisms/sessions.py: cut": ("self.middle - _REACH", "self.middle"),
    "mechanisms/sessions.py: compare": ("high < least", "high <= least"),
}
"""A fault in the code of each premise of docs/proofs.md: the test beside it must notice."""
