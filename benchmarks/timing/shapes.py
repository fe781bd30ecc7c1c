"""Calls and scores that the timing scripts compare: one public shape, contents that differ."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from fractions import Fraction
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
from numpy.typing import NDArray

import safeselect
from safeselect.cli import main
from safeselect.exact.interval import NoiseRate
from safeselect.samplers import Bits
from safeselect.sources import Source
from safeselect.spec.rankings import noisy_top_k

__all__ = ["ALL", "CALLS", "CONTROL", "PREPARE", "SLOW", "scores_of"]

Call = Callable[..., object]


def unknown_domain(scores: NDArray[np.int64], **more: object) -> object:
    """A list of items, of which the counts are the scores and the labels are always the same."""
    return safeselect.unknown_domain_top_k(
        scores,
        labels=LABELS[: scores.size],
        k=10,
        k_bar=scores.size - 1,
        places="all",
        epsilon=1,
        delta="1e-6",
        **more,
    )


def table(scores: NDArray[np.int64]) -> Path:
    """A file of ready scores: every number takes as many bytes, whatever it is."""
    lines = [f"{label},{score:08}\n" for label, score in zip(LABELS, scores.tolist(), strict=False)]
    FILE.write_text("label,score\n" + "".join(lines))
    return FILE


def command(file: Path, **more: object) -> object:
    """`safeselect select` on a file of ready scores, in this process."""
    words = ["select", str(file), "--label", "label", "--score", "score", "--epsilon", "1"]
    with redirect_stdout(io.TextIOWrapper(io.BytesIO())), redirect_stderr(io.StringIO()):
        return main([*words, "--sensitivity", "1", "--monotonic"])


FILE = Path(mkdtemp()) / "scores.csv"
LABELS = [f"item {i:06}" for i in range(1 << 14)]


def sparse_vector(scores: NDArray[np.int64], **more: object) -> object:
    """A session that answers for all scores; none is above, so that its length is the same."""
    session = safeselect.SparseVector(
        threshold=10**6, k=1, epsilon=1, sensitivity=1, monotonic=True, **more
    )
    return session.query_many(scores)


CALLS: dict[str, Call] = {
    "permute_and_flip": lambda scores, **more: safeselect.permute_and_flip(
        scores, epsilon=1, sensitivity=1, monotonic=True, **more
    ),
    "exponential_mechanism": lambda scores, **more: safeselect.exponential_mechanism(
        scores, epsilon=1, sensitivity=1, monotonic=True, **more
    ),
    "top_k": lambda scores, **more: safeselect.top_k(
        scores, k=10, epsilon=1, delta="1e-6", sensitivity=1, monotonic=True, **more
    ),
    "report_noisy_max_laplace": lambda scores, **more: safeselect.report_noisy_max(
        scores, epsilon=1, noise="laplace", sensitivity=1, monotonic=True, **more
    ),
    "permute_and_flip_with_gap": lambda scores, **more: safeselect.permute_and_flip_with_gap(
        scores, epsilon=1, sensitivity=1, monotonic=True, **more
    ),
    "top_k_with_gaps": lambda scores, **more: safeselect.top_k_with_gaps(
        scores, k=10, epsilon=1, sensitivity=1, monotonic=True, **more
    ),
    "unknown_domain_top_k": unknown_domain,
    "sparse_vector": sparse_vector,
    "command": command,
}

PREPARE: dict[str, Callable[[NDArray[np.int64]], object]] = {"command": table}
"""What a call is given in place of the array; made before the time is taken."""

SLOW = {"unknown_domain_top_k": 4, "sparse_vector": 20, "command": 100}
"""Of these calls so many times fewer pairs are compared: each takes so much longer."""


def specified(scores: NDArray[np.int64], *, source: Source) -> object:
    """The largest noisy score by the specification, which refines noise while two are close."""
    with Bits(source) as bits:
        return noisy_top_k("laplace", scores.tolist(), 1, NoiseRate(Fraction(1)), bits)


CONTROL = "the specification (control)"
ALL: dict[str, Call] = {**CALLS, CONTROL: specified}
"""With the positive control, which must be told apart."""


def scores_of(family: str, n: int) -> NDArray[np.int64]:
    """tie: all equal; far: one dominating; neighbour: one more by 1; stairs; extremes; random."""
    scores = np.zeros(n, dtype=np.int64)
    if family == "far":
        scores[n // 2] = 1000
    elif family == "neighbour":
        scores[n // 2] = 1
    elif family == "stairs":
        scores[:] = np.arange(n)
    elif family == "extremes":
        limits = np.iinfo(np.int64)
        scores[0::2], scores[1::2] = limits.min, limits.max
    elif family == "random":
        scores[:] = np.random.default_rng(3).integers(0, 1000, n)
    elif family != "tie":
        raise ValueError(f"no family {family}")
    return scores
