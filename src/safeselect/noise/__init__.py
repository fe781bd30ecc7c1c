"""Exact rankings of noisy scores, on integers only.

See `rank` for how, and why that is exact; `many` for batches.

Loops that refine are bounded, see `samplers._rounds`: a call may raise `SourceError`, with
probability below 2**-100 on independent fair bits, and the law is exact given that it does not.
"""

from __future__ import annotations

from safeselect.noise.many import noisy_max_rows
from safeselect.noise.ranking import Ranking
from safeselect.noise.top import noisy_top_k, peeled_top_k

__all__ = [
    "Ranking",
    "noisy_max_rows",
    "noisy_top_k",
    "peeled_top_k",
]
