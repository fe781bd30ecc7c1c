"""`Repeated` against the law of the best run itself: divergences enumerated, never simulated."""

from __future__ import annotations

import itertools
from fractions import Fraction
from itertools import cycle, product

import mpmath
import pytest
from effort import LONG
from mpmath import mpmathify as mp

import safeselect as s
from safeselect.accounting import PoissonRepeated, Repeated
from safeselect.accounting.moments import log_moment
from safeselect.promises.guarantees import guarantee_record
from vectors import vectors

pytestmark = pytest.mark.claim("C2")

CASES = [case for case in vectors("weights_quantiles_runs") if case["group"] == "k4"]
LAWS = [
    *(("-1/2", "1/30"), ("0", "1/2"), ("0", "1/30"), ("1/3", "1/30")),
    *(("1", "1/30"), ("5/2", "1/2")),
]
ORDERS = [Fraction(x) for x in ("1.01", "1.3", "2", "5", "20", "120")]


def generating(eta: Fraction, gamma: Fraction):
    """f(x) = E x**K, from the definition of the law."""
    e, g = mp(eta), mp(gamma)
    if not e:
        return lambda x: mpmath.log(1 - (1 - g) * x) / mpmath.log(g)
    return lambda x: ((1 - (1 - g) * x) ** -e - 1) / (g**-e - 1)


def best(law: list[mpmath.mpf], f) -> list[mpmath.mpf]:
    """The law of the best of K draws; later outcomes are better."""
    sums = [mpmath.mpf(0), *itertools.accumulate(law)]
    sums[-1] = mpmath.mpf(1)
    return [f(high) - f(low) for low, high in itertools.pairwise(sums)]


def renyi(p, q, order) -> mpmath.mpf:
    moment = mpmath.fsum(x**order * y ** (1 - order) for x, y in zip(p, q, strict=True) if x)
    return mpmath.log(moment) / (order - 1)


def hockey(p, q, epsilon) -> mpmath.mpf:
    return mpmath.fsum(max(x - mpmath.exp(epsilon) * y, 0) for x, y in zip(p, q, strict=True))


def pure_pairs(epsilon: Fraction) -> list[tuple[list[mpmath.mpf], list[mpmath.mpf]]]:
    """Randomized responses, with the better answer on either side, rare and frequent ones."""
    ratio, found = mpmath.exp(mp(epsilon)), []
    heavy = ratio / (1 + ratio)
    found.append(([1 - heavy, heavy], [heavy, 1 - heavy]))
    rare = mpmath.mpf(1) / 50
    for good in (rare / ratio, rare):
        other = good * ratio if good < rare else good / ratio
        found.append(([1 - good, good], [1 - other, other]))
    # Three outcomes, the middle one equally likely on both.
    side = (1 - mpmath.mpf(1) / 3) / (1 + ratio)
    found.append(
        ([side, 1 - side - side * ratio, side * ratio],) * 1
        + ([side * ratio, 1 - side - side * ratio, side],)
    )
    return [*found, *[(q, p) for p, q in found]]


def concentrated_pair(mu: Fraction) -> tuple[list[mpmath.mpf], list[mpmath.mpf]]:
    """N(0, 1) and N(mu, 1) cut into 24 intervals: (mu**2 / 2)-zCDP, and no pure guarantee."""
    ends = [mpmath.mpf(x) / 2 for x in range(-11, 12)]
    laws = []
    for mean in (mpmath.mpf(0), mp(mu)):
        sums = [mpmath.mpf(0), *(mpmath.ncdf(end - mean) for end in ends), mpmath.mpf(1)]
        laws.append([high - low for low, high in itertools.pairwise(sums)])
    return laws[0], laws[1]


def poisson(mean: Fraction):
    """f(x) = E x**K = exp(mean (x - 1)), which is not 0 at 0: nothing may be released."""
    return lambda x: mpmath.exp(mp(mean) * (x - 1))


def check(guarantee: Repeated | PoissonRepeated, base_pairs) -> None:
    if isinstance(guarantee, Repeated):
        f = generating(guarantee.eta, guarantee.gamma)
    else:
        f = poisson(guarantee.mean)
    for p, q in base_pairs:
        # f(0) is the chance that nothing is released: an outcome of its own.
        one, other = ([f(mpmath.mpf(0)), *best(law, f)] for law in (p, q))
        if isinstance(guarantee, Repeated):
            assert one.pop(0) == 0 == other.pop(0)
        assert abs(mpmath.fsum(one) - 1) < 1e-30
        for order in ORDERS:
            true = renyi(one, other, mp(order)) * (mp(order) - 1)
            assert true <= mp(log_moment(guarantee, order - 1, 128).fractions()[1])
            assert true <= mp(order * (order - 1) * guarantee.zcdp.rho)
        if guarantee.pure is not None:
            for x, y in zip(one, other, strict=True):
                assert mpmath.log(x / y) <= mp(guarantee.pure.epsilon) + mpmath.mpf(10) ** -40
        for delta in ("1e-2", "1e-6"):
            own = guarantee.approximate(delta).epsilon
            least = s.compose([guarantee], delta=delta).guarantee.epsilon
            assert least <= own
            for epsilon in {own, least}:
                assert hockey(one, other, mp(epsilon)) <= mp(delta)


def exponential_pairs(epsilon: Fraction, weights: list[str]):
    """Exponential mechanisms on neighbours, of bounded range epsilon: weights times 1 or e**eps."""
    for moved in itertools.product((0, 1), repeat=len(weights)):
        p = [mp(w) for w in weights]
        q = [w * mpmath.exp(mp(epsilon) * m) for w, m in zip(p, moved, strict=True)]
        yield [w / mpmath.fsum(p) for w in p], [w / mpmath.fsum(q) for w in q]


REPEATS = [
    *(lambda base, law=law: Repeated(base, *law) for law in LAWS),
    *(lambda base, mean=mean: PoissonRepeated(base, mean) for mean in ("1/50", "1", "30")),
]


def crossed(sizes):
    """Every law of the number of runs, with one size or the other in turn; or with both."""
    return [*(product(REPEATS, sizes) if LONG else zip(REPEATS, cycle(sizes), strict=False))]


@pytest.mark.parametrize(("repeat", "epsilon"), crossed(["1/20", "2"]))
def test_pure_runs_keep_what_is_promised(repeat, epsilon):
    with mpmath.workdps(50):
        pairs = pure_pairs(Fraction(epsilon))
        check(repeat(s.PureDP(epsilon)), pairs)
        check(repeat(s.PureDP(epsilon).zcdp), pairs)


@pytest.mark.parametrize(("repeat", "mu"), crossed(["1/10", "2"]))
def test_concentrated_runs_keep_what_is_promised(repeat, mu):
    with mpmath.workdps(50):
        p, q = concentrated_pair(Fraction(mu))
        check(
            repeat(s.ZeroConcentratedDP(Fraction(mu) ** 2 / 2)),
            [(p, q), (q, p), (p[::-1], q[::-1])],
        )


@pytest.mark.parametrize("repeat", REPEATS[len(LAWS) :])
@pytest.mark.parametrize("epsilon", ["1/5", "2"])
def test_poisson_runs_of_other_kinds_keep_what_is_promised(repeat, epsilon):
    with mpmath.workdps(50):
        pairs = list(exponential_pairs(Fraction(epsilon), ["1/9", "1", "1/50"]))
        check(repeat(s.BoundedRange(epsilon)), pairs)
        check(repeat(s.LaplaceDominated(epsilon)), pairs)


def test_a_poisson_repetition_is_priced_recorded_and_refused_as_the_other():
    free = PoissonRepeated(s.PureDP(0), 7)
    assert (free.shift, free.zcdp.rho, free.pure) == (0, 0, s.PureDP(0))
    assert log_moment(free, Fraction(1), 96).fractions() == (0, 0)
    one = PoissonRepeated(s.ZeroConcentratedDP("1/50"), "1/3")
    assert one.pure is None
    assert one.expected_runs == Fraction(1, 3)
    assert one.approximate("1/2") == s.ApproximateDP(0, "1/2")
    assert guarantee_record(one) == {
        "type": "PoissonRepeated",
        "base": {"type": "ZeroConcentratedDP", "rho": "1/50"},
        "mean": "1/3",
    }
    at = {"unit": "person", "neighbours": "add_remove"}
    assert s.Budget(**at, rho=1).price(one) == {"rho": one.zcdp.rho}
    pure = PoissonRepeated(s.PureDP("1/10"), 5)
    assert s.compose([pure, s.PureDP(1)]).guarantee == s.PureDP(1 + pure.pure.epsilon)


# ----------------------------------------------------------------------- published numbers


@pytest.mark.parametrize("case", [c for c in CASES if c["name"] == "truncated_negative_binomial"])
def test_the_mean_number_of_runs(case):
    eta, gamma = Fraction(case["inputs"]["eta"]), Fraction(case["inputs"]["gamma"])
    low, high = Repeated(s.PureDP(1), eta, gamma).mean_runs(160).fractions()
    given = Fraction(case["output"]["mean"])
    assert abs(low - given) < Fraction(1, 10**25)
    assert abs(high - given) < Fraction(1, 10**25)
    assert 0 <= Repeated(s.PureDP(1), eta, gamma).expected_runs - low < Fraction(1, 2**56)


# --------------------------------------------------------------------------- composition


def test_without_a_delta_the_pure_guarantee_or_a_rho_adds_up():
    pure = Repeated(s.PureDP("1/10"), 1, "1/10")
    other = Repeated(s.ZeroConcentratedDP("1/50"), 0, "0.1")
    assert s.compose([pure]).guarantee == pure
    assert s.compose([pure, s.PureDP(1)]).guarantee == s.PureDP(Fraction(13, 10))
    assert s.compose([other, s.PureDP(1)]).guarantee.rho == other.zcdp.rho + s.PureDP(1).zcdp.rho
    assert s.compose([pure, pure]).guarantee == s.PureDP(Fraction(6, 10))
