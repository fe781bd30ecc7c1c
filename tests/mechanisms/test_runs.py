"""The best of many private runs: the law of their number, what is released, what is paid."""

from __future__ import annotations

import functools
import itertools
import os
import random
import re
from bisect import bisect
from contextlib import suppress
from fractions import Fraction

import ledgers
import mpmath
import pytest
from children import in_child
from mpmath import mpmathify as mp

import safeselect
from safeselect import BoundedRange, LaplaceDominated, ParameterError, PureDP, ZeroConcentratedDP
from safeselect.accounting import Repeated
from safeselect.mechanisms.runs import NegativeBinomial, Poisson, Stopping
from safeselect.testing import ReplaySource

MEANS = ["1/100", "1", "7/2", "40"]
LAWS = [("1", "1/10"), ("0", "1/100"), ("1/2", "1/10"), ("-1/2", "1/20"), ("3", "1/3")]


def probabilities(eta, gamma, count):
    """P(K = 1), ... from the definition of the law alone, normalised by its closed form."""
    e, g = mp(eta), mp(gamma)
    total = mpmath.log(1 / g) if not e else g**-e - 1
    product, found = mpmath.mpf(1), []
    for k in range(1, count + 1):
        # prod over l < k of (l + eta) / (l + 1); for eta = 0 without its first factor, 0.
        if k == 1:
            product = e if e else mpmath.mpf(1)
        else:
            product *= (k - 1 + e) / k
        found.append((1 - g) ** k * product / total)
    return found


class Word:
    """Bits whose requests are answered by given numbers, until there are none left."""

    def __init__(self, *values):
        self._values = [*values[::-1]]

    def take(self, count):
        assert self._values, "undecided"
        return self._values.pop()


# ------------------------------------------------------------------------- the law of K


def poisson_sums(mean, count=400):
    """P(K <= 0), P(K <= 1), ... from the definition of the law alone."""
    m = mp(mean)
    return list(
        itertools.accumulate(mpmath.exp(-m) * m**k / mpmath.factorial(k) for k in range(count))
    )


def laws():
    """Each law, and where its sums are, in units of 2**-160."""
    for eta, gamma in LAWS:
        sums = [mpmath.mpf(0), *itertools.accumulate(probabilities(eta, gamma, 900))]
        yield NegativeBinomial(Fraction(eta), Fraction(gamma)), sums
    for mean in MEANS:
        yield Poisson(Fraction(mean)), poisson_sums(mean)


def test_every_word_stops_where_the_exact_sums_say():
    """For all words of 9 digits: K where the digits decide it, and more digits where not."""
    with mpmath.workdps(60):
        for law, sums in laws():
            places = [int(mpmath.floor(each * 2**160)) for each in sums]
            undecided = 0
            for word in range(1 << 9):
                stopping, runs = Stopping(law, Word(word), 9), 0
                low, high = word << 151, word + 1 << 151
                crossed = bisect(places, high - 1) - bisect(places, low)
                try:
                    while stopping.goes_on():
                        runs += 1
                except AssertionError:
                    undecided += 1
                    assert crossed or high == 1 << 160, law
                    more = Stopping(law, Word(word, 1 << 63), 9)  # a word that goes on decides
                    ran = sum(1 for _ in iter(more.goes_on, False))
                    assert ran == bisect(places, low + (1 << 150)), law
                else:
                    assert not crossed, law
                assert runs == bisect(places, low), law
            assert 0 < undecided < 1 << 8, law


# ------------------------------------------------------------------------- what is released


def scripted(scores):
    """A run that returns one score after the other, with its place as output; and the count."""
    made = []

    def run(scope):
        made.append(None)
        return scores[(len(made) - 1) % len(scores)], len(made) - 1

    return run, made


@functools.cache
def partial_sums(eta, gamma):
    with mpmath.workdps(60):
        return [int(s * 2**128) for s in itertools.accumulate(probabilities(eta, gamma, 3000))]


def expected_runs(eta, gamma, data):
    """K for the first 128 digits of a tape, by the definition of the law."""
    return 1 + bisect(partial_sums(eta, gamma), int.from_bytes(data[:16], "big"))


@pytest.mark.parametrize(("eta", "gamma"), LAWS)
def test_the_first_of_the_best_of_k_is_released(eta, gamma):
    draw = random.Random(9)
    for trial in range(40):
        data = draw.randbytes(256)
        scores = [draw.randrange(4) for _ in range(50)]
        run, made = scripted(scores)
        chosen = safeselect.best_of(
            run,
            base=PureDP(1),
            eta=eta,
            gamma=gamma,
            minimize=bool(trial % 2),
            source=ReplaySource(data),
        )
        k = expected_runs(eta, gamma, data)
        assert len(made) == k
        seen = [scores[i % 50] for i in range(k)]
        best = min(seen) if trial % 2 else max(seen)
        assert (chosen.values, chosen.labels) == ((best,), (seen.index(best),))


# --------------------------------------------------------------- a Poisson number of runs


def test_the_first_above_stops_at_the_first_that_passes_or_after_k():
    draw, found = random.Random(3), set()
    for _ in range(60):
        data, scores = draw.randbytes(256), [draw.randrange(9) for _ in range(50)]
        run, made = scripted(scores)
        chosen = safeselect.first_above(
            run, threshold=8, base=LaplaceDominated(1), gamma="1/9", source=ReplaySource(data)
        )
        k = expected_runs(1, Fraction(1, 9), data)
        seen = [scores[i % 50] for i in range(k)]
        found.add(len(chosen) == 1)
        if 8 in seen:
            assert chosen.labels == (seen.index(8),)
            assert len(made) == seen.index(8) + 1
        else:
            assert (chosen.values, chosen.labels) == ((), ())
            with pytest.raises(IndexError, match="no run was chosen"):
                _ = chosen.value
            assert len(made) == k
        assert chosen.guarantee == PureDP(2)
    assert found == {True, False}


@pytest.mark.parametrize(
    "returned", ["3", None, 3, (1, 2, 3), [1, 2], ("a", 1), ("0.5", 1), (None, 1), (1j, 1)]
)
def test_a_run_that_returns_no_pair_ends_the_call_and_is_not_quoted(returned):
    with pytest.raises(ParameterError, match="a run must return") as caught:
        safeselect.best_of(lambda scope: returned, base=PureDP(1), gamma="1/2")
    assert "0.5'" not in str(caught.value).replace("Decimal('0.5')", "")


# ----------------------------------------------------------------------------- the ledger


def ledger(**budget):
    made = ledgers.new(":memory:", **budget)
    return made, ledgers.scope(made)


def lines(made):
    return [record.content for record in made.records()]


def test_the_number_of_runs_stands_nowhere(caplog):
    """Equal tapes but for K give equal results and equal records, but for times and salts."""
    told = []
    for data in (bytes(288), bytes(32) + b"\xff\xff\xff" + bytes(253)):
        made, scope = ledger(rho=10)
        run, count = scripted([7])
        chosen = safeselect.best_of(
            lambda inner, run=run: (run(inner)[0], "same"),
            base=ZeroConcentratedDP("1/50"),
            gamma="1/100",
            source=ReplaySource(data),
            ledger=scope,
        )
        records = lines(made)
        for record in records:
            for name in ("utc", "previous", "commitment", "ledger", "nonce"):
                record.pop(name, None)
        told.append((len(count), records, [chosen.values, chosen.labels, chosen.guarantee]))
    (few, *first), (many, *second) = told
    assert few == 1
    assert many > 100
    assert first == second
    assert not caplog.records
    written = re.sub(r'"gamma": "1/100"|[0-9a-f]{64}', "", chosen.to_json())  # the code's hashes
    assert "100" not in written.split('"receipt"')[0]


COVERED = [
    (PureDP(1), [PureDP(1)], True),
    (PureDP(1), [BoundedRange("1/2"), LaplaceDominated("1/2")], True),
    (PureDP(1), [PureDP("1/2"), PureDP("2/3")], False),
    (PureDP(1), [ZeroConcentratedDP("1/1000")], False),
    (LaplaceDominated(1), [BoundedRange(1)], True),
    (LaplaceDominated(1), [LaplaceDominated("1/4")] * 2, False),
    (LaplaceDominated(1), [PureDP(1)], False),
    (BoundedRange(1), [BoundedRange(1)], True),
    (BoundedRange(1), [BoundedRange("1/4")] * 2, False),
    (ZeroConcentratedDP("1/2"), [PureDP("1/2"), BoundedRange("1/2")], True),
    (ZeroConcentratedDP("1/2"), [ZeroConcentratedDP("1/2"), PureDP("1/9")], False),
    (PureDP(2), [Repeated(PureDP("1/2"), 1, "1/2")], True),
    (PureDP(1), [Repeated(PureDP("1/2"), 1, "1/2")], False),
]


@pytest.mark.parametrize(("base", "releases", "covered"), COVERED)
def test_a_scope_covers_what_follows_from_base(base, releases, covered):
    def run(scope):
        for each in releases:
            scope.check(each)
        return 1, "done"

    if covered:
        assert safeselect.best_of(run, base=base, gamma="1/2").labels == ("done",)
    else:
        with pytest.raises(ParameterError, match="does not cover the run with release"):
            safeselect.best_of(run, base=base, gamma="1/2")


# ------------------------------------------------------------------------ the covered scope


def test_a_run_that_goes_on_after_its_scope_refused_is_refused():
    def run(scope):
        with suppress(ParameterError):
            scope.check(PureDP(2))
        return 1, "done"

    with pytest.raises(ParameterError, match=r"=PureDP\(1\) does not .* release 1, PureDP\(2\)"):
        safeselect.best_of(run, base=PureDP(1), gamma="1/2")


def test_mechanisms_sessions_and_repetitions_take_it():
    def run(scope):
        cost = {"epsilon": "1/4", "sensitivity": 1, "ledger": scope}
        first = safeselect.exponential_mechanism([1, 90], **cost)
        safeselect.top_k([1, 90, 3], k=2, **cost)
        session = safeselect.SparseVector(threshold=3, k=1, **cost)
        session.query(9)
        session.close()
        inner = safeselect.best_of(choose_cheaply, base=PureDP("1/16"), gamma="1/3", ledger=scope)
        return inner.value, first.index

    base = PureDP(Fraction(3, 4) + Fraction(3, 16))
    assert safeselect.best_of(run, base=base, gamma="1/2").labels[0] in (0, 1)
    with pytest.raises(ParameterError, match="with release 4, Repeated"):
        safeselect.best_of(run, base=PureDP(Fraction(9, 10)), gamma="1/2")


def choose_cheaply(scope):
    found = safeselect.permute_and_flip([3, 40], epsilon="1/16", sensitivity=1, ledger=scope)
    return found.index, found.label


def test_a_scope_ends_with_its_run_and_stays_in_its_process():
    kept = []

    def run(scope):
        if hasattr(os, "fork"):

            def child():
                with pytest.raises(ParameterError, match="valid only until the run returns"):
                    scope.check(PureDP("1/9"))

            in_child(child)
        kept.append(scope)
        return 1, 1

    safeselect.best_of(run, base=PureDP(1), gamma="9/10")
    with pytest.raises(ParameterError, match="until the run returns"):
        safeselect.permute_and_flip([1, 2], epsilon="1/2", sensitivity=1, ledger=kept[0])
    assert repr(kept[0]) == "<CoveredScope>"


@pytest.mark.parametrize("base", [PureDP, ZeroConcentratedDP])
def test_a_run_is_held_against_a_base_however_long_its_number(base):
    made, scope = ledger(epsilon=9) if base is PureDP else ledger(rho=9)
    long, name = base(Fraction(3**700, 2 * 3**700 + 1)), "epsilon" if base is PureDP else "rho"
    cost = {name: "1/3"}

    def run(inner):
        safeselect.exponential_mechanism([1, 2], sensitivity=1, **cost, ledger=inner)
        return 1, 1

    assert safeselect.best_of(run, base=long, gamma="1/3", ledger=scope).values == (1,)
    cost[name] = "51/100"
    with pytest.raises(safeselect.ScoreError, match="a run failed"):
        safeselect.best_of(run, base=long, gamma="1/3", ledger=scope)
    assert made.balance("a").spent


@pytest.mark.parametrize("session", [safeselect.SparseVector, safeselect.AdaptiveSparseVector])
@pytest.mark.parametrize("with_ledger", [False, True])
def test_a_session_answers_nothing_after_its_run(session, with_ledger):
    """The sessions of all runs together would cost as many epsilons as there were runs."""
    made, kept = ledger(epsilon=9), []

    def run(scope):
        opened = session(threshold=3, k=2, epsilon=1, sensitivity=1, ledger=scope)
        assert opened.query(10**6).above
        kept.append(opened)
        return 1, opened

    scope = made[1] if with_ledger else None
    chosen = safeselect.best_of(run, base=LaplaceDominated(1), gamma="1/9", ledger=scope)
    assert any(each is chosen.labels[0] for each in kept)
    for each in kept:
        with pytest.raises(ParameterError, match="session queries inside the run"):
            each.query(10**6)
        with pytest.raises(ParameterError, match="session queries inside the run"):
            each.query_many([10**6])
        each.close()
