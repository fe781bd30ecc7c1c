"""The public functions: parameters, guarantees and results; what is drawn, and when nothing is."""

from __future__ import annotations

import json
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from safeselect import BoundedRange, exponential_mechanism_base2, select_many, top_k

pytestmark = pytest.mark.claim("C2")


ORDERED = ("exponential", "exponential_base2", "permute_and_flip", "one_shot_exponential")


# ------------------------------------------------------------------------------------ base 2


@pytest.mark.parametrize("base", ["1/2", "3/4", Fraction(125, 512), "0.999", "1/1000000"])
@pytest.mark.parametrize("change", [{"sensitivity": 1}, {"range_": 7}, {"sensitivity": "1/3"}])
def test_an_exact_base(base, change):
    result = exponential_mechanism_base2([1, 2, 3], base=base, **change)
    exact = Fraction(base)
    assert result.base == exact
    assert type(result.guarantee) is BoundedRange
    with mpmath.workdps(50):
        true = -mpmath.log(mpmath.mpf(exact.numerator) / exact.denominator)
        ours = mpmath.mpf(result.guarantee.epsilon.numerator) / result.guarantee.epsilon.denominator
        assert true <= ours <= true * (1 + mpmath.mpf(2) ** -62)


# ------------------------------------------------------------------------------- results


@pytest.mark.parametrize("mechanism", [*ORDERED, None])
def test_the_order_is_right_where_the_noise_is_nothing(mechanism):
    scores = [i * 10**6 for i in (3, 0, 4, 1, 2)]
    options = {"epsilon": 2**18, "sensitivity": 1, "mechanism": mechanism}
    for k in (1, 2, 4, 5):
        assert top_k(scores, k=k, **options).indices == (2, 0, 4, 3, 1)[:k]
        assert top_k(scores, k=k, minimize=True, **options).indices == (1, 3, 4, 0, 2)[:k]
    named = top_k(dict(zip("abcde", scores, strict=True)), k=2, **options)
    assert named.labels == ("c", "a")
    assert named.indices is None
    listed = top_k(scores, k=2, labels=["a", "b", "c", "d", "e"], **options)
    assert (listed.labels, listed.indices) == (("c", "a"), (2, 0))


# -------------------------------------------------------------------------------- many rows


def test_sure_winners_of_many():
    scores = np.zeros((4, 5), dtype=np.int64)
    scores[np.arange(4), [3, 0, 4, 1]] = 10**9
    result = select_many(scores, epsilon=4, sensitivity=1, labels=list("abcde"))
    assert (result.indices.tolist(), result.labels) == ([3, 0, 4, 1], list("daeb"))
    lowest = select_many(-scores, epsilon=4, sensitivity=1, minimize=True)
    assert lowest.indices.tolist() == [3, 0, 4, 1]
    both = select_many(np.array([[0, 10**8, 10**9]] * 2), k=3, epsilon=6, range_=1)
    assert both.indices.tolist() == [[2, 1, 0]] * 2
    content = json.loads(both.to_json())
    assert (content["indices"], content["schema"]) == ([["2", "1", "0"]] * 2, "safeselect.batch/1")
