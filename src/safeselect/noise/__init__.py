"""Exact noise for arrays, on integers only.

Rankings of noisy scores: see `rank` for how, and why that is exact; `many` for batches.
Arrays of geometric and discrete Laplace numbers: see `digits`.  Noise for one number: `single`.

Loops that refine are bounded, see `samplers._rounds`: a call may raise `SourceError`, with
probability below 2**-100 on independent fair bits, and the law is exact given that it does not.
"""

from __future__ import annotations

from safeselect.noise.geometric import discrete_laplace, geometric
from safeselect.noise.many import noisy_max_rows
from safeselect.noise.ranking import Ranking
from safeselect.noise.single import noise
from safeselect.noise.top import noisy_top_k, peeled_top_k

__all__ = [
    "Ranking",
    "discrete_laplace",
    "geometric",
    "noise",
    "noisy_max_rows",
    "noisy_top_k",
    "peeled_top_k",
]
