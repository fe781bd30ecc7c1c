"""Exact rankings of noisy scores, on integers only.

See `rankings` for how, and why that is exact; `rows` for batches.

Loops that refine are bounded, see `samplers._rounds`: a call may raise `SourceError`, with
probability below 2**-100 on independent fair bits, and the law is exact given that it does not.
"""

from __future__ import annotations

from safeselect.noise.rankings import Ranking, noisy_top_k, peeled_top_k
from safeselect.noise.rows import noisy_max_rows

__all__ = ["Ranking", "noisy_max_rows", "noisy_top_k", "peeled_top_k"]
