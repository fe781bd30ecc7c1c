"""Exact rankings of noisy scores, on integers only.

`rankings` says how a ranking is found, and why it is exact; `rows` does the same for batches.

Loops that refine are bounded, see `randomness.bits.rounds`.  So a call may raise `SourceError`: on
independent fair bits with probability below 2**-100.  The law is exact given that it does not.
"""

from __future__ import annotations

from safeselect.engine.rankings import Ranking, noisy_top_k, peeled_top_k
from safeselect.engine.rows import noisy_max_rows

__all__ = ["Ranking", "noisy_max_rows", "noisy_top_k", "peeled_top_k"]
