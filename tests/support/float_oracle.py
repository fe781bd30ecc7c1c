"""Noisy scores by floating point, straight from the definitions, for millions of words at once.

Independent of the engine: no table, no enclosure, no key.  A float is not exact, so every answer
comes with whether it is sure: noisy scores closer than SURE are never told apart here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]

SURE = 1e-9
"""Nats.  All that is rounded here is below 1e-12; the digits after the 64th are in `_open`."""

_WORD = 2.0**-64


def noise(law: str, words: Words) -> Floats:
    """Q(V) in nats for V in the middle of [word, word + 1] / 2**64."""
    return _quantile(
        law,
        (words.astype(np.float64) + 0.5) * _WORD,
        (np.invert(words).astype(np.float64) + 0.5) * _WORD,
    )


def noise_of(law: str, known: Sequence[tuple[int, int]]) -> Floats:
    """Q(V) in nats for V = (v + 1/2) / 2**bits, of any number of digits."""
    v = np.array([(2 * v + 1) / (2 << bits) for v, bits in known])
    c = np.array([((2 << bits) - 2 * v - 1) / (2 << bits) for v, bits in known])
    return _quantile(law, v, c)


def _quantile(law: str, v: Floats, c: Floats) -> Floats:
    """Q(V), from V and from c = 1 - V."""
    if law == "exponential":
        return _minus_log(v, c)
    if law == "gumbel":
        return -np.log(_minus_log(c, v))
    return np.where(v < 0.5, -np.log(2 * np.minimum(v, 0.5)), np.log(2 * np.minimum(c, 0.5)))


def _minus_log(v: Floats, c: Floats) -> Floats:
    """-ln v, from v or from c = 1 - v, whichever is the smaller."""
    return np.where(v < 0.5, -np.log(v), -np.log1p(-np.minimum(c, 0.5)))


def _open(words: Words) -> Floats:
    """How far the digits after the 64th may move the noise: |dQ/dV| <= 2 / min(V, 1 - V)."""
    nearer = np.minimum(words, np.invert(words)).astype(np.float64)
    return np.where(nearer > 0, 2 / np.maximum(nearer, 1), np.inf) + SURE


def short_nats(scores: NDArray[np.uint64], rate: float) -> Floats:
    """How many nats each score lies behind the best of its row."""
    return np.subtract(np.max(scores, axis=-1, keepdims=True), scores).astype(np.float64) * rate


def winners(
    law: str, rate: float, scores: NDArray[np.uint64], words: Words
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The winner of each row, and whether these words decide it for sure."""
    noisy = noise(law, words) - short_nats(scores, rate)
    best = np.argmax(noisy, axis=1)
    if scores.shape[1] == 1:
        return best, np.full(len(best), True)
    rows, error = np.arange(len(best)), _open(words)
    low, high = (noisy - error)[rows, best], noisy + error
    high[rows, best] = -np.inf
    return best, low > np.max(high, axis=1)


def words_for(law: str, nats: Floats) -> Words:
    """Words whose noise is near these, as near as a float can say; the least noise where none."""
    x = np.asarray(nats, dtype=np.float64)
    if law == "exponential":
        v, c = np.exp(-np.maximum(x, 0)), -np.expm1(-np.maximum(x, 0))
    elif law == "gumbel":
        inner = np.exp(-np.minimum(np.maximum(x, -6), 700))
        v, c = -np.expm1(-inner), np.exp(-inner)
    else:
        tail = np.exp(-np.abs(x)) / 2
        v, c = np.where(x > 0, tail, 1 - tail), np.where(x > 0, 1 - tail, tail)
    small = np.minimum(np.minimum(v, c) * 2.0**64, 2.0**63 - 2048).astype(np.uint64)
    return np.where(v <= c, small, np.invert(small))


def near_ties(
    law: str,
    rate: float,
    scores: NDArray[np.uint64],
    place: Floats,
    spread: Floats,
    rng: np.random.Generator,
) -> Words:
    """Words with which all candidates of a row come within `spread` nats of one another.

    Args:
        scores: shape (m, n).
        place: shape (m, 1), nats above the best score at which they meet.
        spread: shape (m, 1).
    """
    aim = place + short_nats(scores, rate) + spread * (rng.random(scores.shape) - 0.5)
    return words_for(law, aim)


def order_is_sound(
    rate: float, scores: NDArray[np.uint64], noises: tuple[Floats, Floats], order: Sequence[int]
) -> bool:
    """Whether no digits not drawn could make another order than this one, of the first places.

    Args:
        noises: the least and the largest noise that each candidate may have, in nats.
    """
    short = short_nats(scores, rate)
    lows, highs = noises[0] - short, noises[1] - short
    rest = highs.copy()
    rest[[*order]] = -np.inf
    behind = float(np.max(rest))
    for i in reversed(order):
        if lows[i] < behind - SURE:
            return False
        behind = max(behind, float(highs[i]))
    return len(set(order)) == len(order)
