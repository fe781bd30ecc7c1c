"""Every constant that is a size has tests around it; a new one fails until it is listed.

Sizes are taken from the constants themselves, so a constant that is changed takes its tests along.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tapes import TapeSource

import engine
import safeselect

CONSTANTS = engine.constants()


# ------------------------------------------------------------------------------- their tests


def around(name: str) -> list[int]:
    return [CONSTANTS[name] + step for step in (-1, 0, 1)]


def test_the_most_digits_at_once():
    below, most, above = around("bits.MAX_TAKE")
    for count in (below, most):
        assert engine.Bits(TapeSource(seed=1)).take(count).bit_length() > count - 64
    with pytest.raises(safeselect.ParameterError, match=f"from 0 to {most}"):
        engine.Bits(TapeSource()).take(above)


@pytest.mark.parametrize("kind", [np.int64, np.uint32, np.uint64])
@pytest.mark.parametrize("m", around("arrays._PEEL_LIMIT"))
def test_maxima_around_the_number_that_is_peeled(m, kind):
    """The m largest and the next, one by one or by a threshold; equal ones too, and m of m."""
    given = np.random.default_rng(m)
    for size, most in ((m, 9), (m + 1, 9), (200, 5), (5000, 2**30)):
        values = given.integers(1, most, size).astype(kind)
        places, rest = engine.arrays.best_and_rest(values, m)
        order = np.sort(values)[::-1].tolist()
        assert sorted(set(places.tolist())) == sorted(places.tolist())
        assert sorted(values[places].tolist(), reverse=True) == order[:m]
        assert rest == (order[m] if size > m else int(np.iinfo(kind).min))
        assert engine.arrays.mth_largest(values, m) == order[m - 1]


@pytest.mark.parametrize("bits", [32, 33, 63, 64])
def test_the_mth_largest_on_either_way(bits):
    """By maxima or bit by bit: which is quicker turns at half as many as a number has digits."""
    given = np.random.default_rng(bits)
    values = given.integers(0, 2**bits - 1, 999, dtype=np.uint64, endpoint=True)
    order = np.sort(values)[::-1].tolist()
    for m in (1, 2, bits // 2 - 1, bits // 2, bits // 2 + 1, bits // 2 + 2, 500, 998, 999):
        assert engine.arrays.mth_largest(values, m, bits) == order[m - 1]


def test_the_most_places_of_a_list():
    below, most, above = around("unknown._MOST_PLACES")
    more = {"k": 1, "epsilon": 1, "delta": "1e-6", "max_contributions": 1}
    for k_bar in (below, most):
        found = safeselect.unknown_domain_top_k({"a": 10**6}, k_bar=k_bar, places="all", **more)
        assert (found.labels, found.k_bar) == (("a",), k_bar)
    with pytest.raises(safeselect.ParameterError, match="k_bar"):
        safeselect.unknown_domain_top_k({"a": 10**6}, k_bar=above, places="all", **more)


def test_counts_are_cut_at_the_largest():
    """One more than the largest count is the largest count: the noise alone tells them apart."""
    below, most, above = around("items._MOST")
    noise = {}
    for count in (below, most, above):
        found = safeselect.unknown_domain_top_k(
            {"a": count},
            k=1,
            k_bar=1,
            epsilon=1,
            delta="1e-6",
            max_contributions=1,
            places="all",
            source=TapeSource(seed=3),
        )
        noise[count] = found.counts[0] - most
    assert noise[below] == noise[most] - 1
    assert noise[above] == noise[most]


def test_the_largest_score():
    """Around 2**63 of both signs, where signed numbers end: the larger one wins, by one step."""
    most = CONSTANTS["numbers._LARGEST"]
    for end in (most - 1, -most):
        for step in (-2, -1, 0, 1, 2):
            scores = [end + step, end + step - 1, end + step - 2]
            inside = all(-most <= score < most for score in scores)
            try:
                found = safeselect.permute_and_flip(scores, epsilon=2**20, range_=1)
            except safeselect.ScoreError:
                assert not inside
            else:
                assert found.index == 0


@pytest.mark.parametrize("kind", ["SparseVector", "AdaptiveSparseVector"])
def test_many_answers_around_one_request(kind):
    """As many values as fit into a request, one less and one more: each gets its own answer."""
    probe = TapeSource(seed=1)
    session = getattr(safeselect, kind)(
        threshold=0,
        k=1000,
        epsilon=1000,
        sensitivity=1,
        gap_grid=Fraction(1, 1 << 30),
        source=probe,
    )
    opened = probe.asked
    session.query(10**9)
    fit = CONSTANTS["sessions._MANY"] // (probe.asked - opened)
    assert fit > 50
    for count in (fit - 1, fit, fit + 1, 2 * fit + 1):
        session = getattr(safeselect, kind)(
            threshold=0,
            k=1000,
            epsilon=1000,
            sensitivity=1,
            gap_grid=Fraction(1, 1 << 30),
            source=TapeSource(seed=2),
        )
        found = session.query_many([10**9] * count)
        assert found.consumed == len(found.indices) == len(set(found.gaps)) == count


@pytest.mark.parametrize("kind", ["SparseVector", "AdaptiveSparseVector"])
def test_the_most_answers_of_a_session(kind):
    below, most, above = around("sessions.MAX_K")
    more = {"threshold": 0, "epsilon": 1, "sensitivity": 1}
    for k in (below, most):
        assert getattr(safeselect, kind)(k=k, **more).remaining == k
    with pytest.raises(safeselect.ParameterError, match="k must be"):
        getattr(safeselect, kind)(k=above, **more)


def test_values_are_cut_at_the_reach():
    """As far as the reach the gap follows the value, one step for one step; from there it stays."""
    gaps = []
    for value in (*around("sessions._REACH"), CONSTANTS["sessions._REACH"] * 3):
        session = safeselect.SparseVector(
            threshold=0, k=1, epsilon=1, sensitivity=1, source=TapeSource(seed=9)
        )
        gaps.append(session.query(value).gap)
        session = safeselect.SparseVector(
            threshold=0, k=1, epsilon=1, sensitivity=1, source=TapeSource(seed=9)
        )
        assert not session.query(-value).above
    assert gaps[1] - gaps[0] == 1
    assert gaps[1] == gaps[2] == gaps[3]


@pytest.mark.parametrize("name", ["outcomes", "queries"])
def test_the_most_outcomes_of_a_session(name):
    below, most, above = around("sessions.MAX_K")
    more = {"outcomes": 5, "queries": 2, "epsilon": 1, "delta": "1e-6"}
    for count in (below, most):
        session = safeselect.PayWhatYouGet(**more | {name: count})
        assert getattr(session.remaining, name) == count
    with pytest.raises(safeselect.ParameterError, match=f"{name} must be"):
        safeselect.PayWhatYouGet(**more | {name: above})


def test_a_nonce_is_known_again_after_all_that_are_remembered():
    """A nonce that comes back is noticed, whether it is one or as many back as are remembered."""
    remembered = CONSTANTS["guard._REMEMBERED"]
    for back in (1, 2, remembered - 1):
        nonces = [number.to_bytes(16, "big") for number in range(back)]
        source = safeselect.sources.CallbackSource(Nonces([*nonces, nonces[0]]), exclusive=True)
        for _ in nonces:
            source.begin()
        with pytest.raises(safeselect.SourceError, match="same nonce twice"):
            source.begin()


class Nonces:
    """Nonces, and random bytes for the start-up tests, whose last request is as long as a nonce."""

    def __init__(self, nonces: list[bytes]) -> None:
        self._nonces = nonces
        self._testing = False

    def __call__(self, count: int) -> bytes:
        if count > 16 or self._testing:
            self._testing = count > 16
            return np.random.default_rng().bytes(count)
        return self._nonces.pop(0)


def test_digits_one_by_one_or_at_once():
    """Digits drawn one by one or at once are the same digits."""
    from safeselect.samplers import LazyExponential

    noise_rate = engine.NoiseRate(Fraction(1, 3))
    for level in (32, 33, 64):
        one, two = (LazyExponential(engine.Bits(TapeSource(seed=5)), noise_rate) for _ in range(2))
        first, second = (engine.Bits(TapeSource(seed=6)) for _ in range(2))
        one.refine(first, level)
        for _ in range(level):
            two.refine(second, 1)
        assert (one.floor, one.level) == (two.floor, two.level) == (one.floor, level)
        # A digit of weight 2**-33 nat or less is a fair coin: half of the last ones are set.
        assert one.floor != one.floor >> level << level
