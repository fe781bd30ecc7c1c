"""A total epsilon becomes the noise rates of the proved programs (proofs/Calibrate.v)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

import mpmath
import proved
import pytest
from effort import some
from proved_tables import one_shot_inputs, read, sparse_vector_inputs

from safeselect import AdaptiveSparseVector, SparseVector

pytestmark = pytest.mark.claim("C2")

# By name, and not by what their rows say: noise drawn once and k times as wide.
WIDE = [
    *(name for name in proved.LAWS if re.search("gap|laplace|above|one_shot", name)),
    "report_noisy_max_exponential",
]
PEELED = sorted(set(proved.LAWS) - set(WIDE))

Calibrated = tuple[Fraction, Fraction, int, int, proved.Rates]


def fractions(words: list[str]) -> list[Fraction]:
    """Pairs of a numerator and a denominator."""
    numbers = iter(map(int, words))
    return [Fraction(above, below) for above, below in zip(numbers, numbers, strict=True)]


def one_shot_answers(wide: bool) -> Iterator[Calibrated]:
    """(total, range, k, rows, what the program answers)."""
    for key, *answers in read("one_shot")[1]:
        kind, rows, k = map(int, key.split(","))
        for (total, range_), answer in zip(one_shot_inputs(), answers, strict=True):
            count, *rest = answer.split(",")
            each, rate = fractions(rest)
            if kind == wide:
                yield Fraction(*total), Fraction(*range_), k, rows, (int(count), each, rate)


@pytest.mark.parametrize("name", [*WIDE, *PEELED])
def test_a_one_shot_mechanism_is_calibrated_as_proved(name: str) -> None:
    """360 calibrations of each: draws, what each costs, and the rate of the noise."""
    for total, range_, k, rows, (count, each, rate) in one_shot_answers(name in WIDE):
        found = proved.one_shot(name, total, range_, k, rows)
        assert found[:2] == (count, each), (total, range_, k, rows)
        if not name.endswith("base2"):
            assert found[2] == rate, (total, range_, k, rows)
            continue
        # The least multiple of 2**-64 that is not below exp(-rate); mpmath says where that lies.
        base = proved.base_of(name, total, range_, k, rows)
        assert base is not None
        assert (base * 2**64).denominator == found[2] == 1
        with mpmath.workprec(256):
            factor = mpmath.exp(-mpmath.mpf(rate.numerator) / rate.denominator) * 2**64
            assert int(mpmath.ceil(factor)) == base * 2**64, (total, range_, k, rows)


Opened = tuple[dict[str, object], Fraction, Fraction, Fraction]


def sparse_vector_answers(noise: str) -> Iterator[Opened]:
    """Arguments of a session; the threshold's rate, an answer's cost, and its rate.

    A session on a grid with an error, as the program has it; where the step is one and the error
    none, also one of integers, and one on the grid, whose changes are whole steps.
    """
    for key, *answers in read("sparse_vector")[1]:
        monotonic, k = map(int, key.split(","))
        for (total, share, (h, e, d)), answer in zip(sparse_vector_inputs(), answers, strict=True):
            start, each, rate = fractions(answer.split(","))
            ways: list[dict[str, object]] = [
                {
                    "sensitivity": Fraction(d, 8),
                    "grid": Fraction(h, 8),
                    "score_error": Fraction(e, 8),
                }
            ]
            if (h, e) == (1, 0):
                ways.append({"sensitivity": d})
                if noise == "geometric":  # values move by whole steps
                    ways.append({"sensitivity": Fraction(2 * d - 1, 2)})
                ways.append({"sensitivity": Fraction(2 * d - 1, 6), "grid": "1/3", "on_grid": True})
            for way in ways:
                arguments = {
                    "k": k,
                    "epsilon": Fraction(*total),
                    "split": Fraction(*share),
                    "monotonic": bool(monotonic),
                    **way,
                }
                yield arguments, start, each, rate


@pytest.mark.parametrize("noise", ["exponential", "laplace", "geometric"])
def test_a_session_is_calibrated_as_proved(noise: str) -> None:
    """Some of 3960 sessions with each noise."""
    for arguments, *answer in some(sparse_vector_answers(noise), 7):
        found = proved.sparse_vector(SparseVector, noise, **arguments)
        assert found == [tuple(answer)], arguments


def test_an_adaptive_session_is_calibrated_as_proved() -> None:
    """An answer "middle" costs what the program's answer costs, and "top" half of it."""
    for arguments, start, each, rate in some(sparse_vector_answers("exponential"), 7):
        found = proved.sparse_vector(AdaptiveSparseVector, "exponential", **arguments)
        assert found == [(start, each / 2, rate / 2), (start, each, rate)], arguments
