"""The best of private runs, and the first above a threshold, against their laws."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import accumulate, pairwise
from math import exp, factorial, inf, log
from typing import Any

from checks.finding import Refuted
from checks.others import Chances, Look, OtherCase, follow, independent, loss

from safeselect.accounting.repetition import PoissonRepeated, Repeated
from safeselect.mechanisms.runs import NegativeBinomial, Poisson, Stopping, best_of, first_above
from safeselect.promises.guarantees import PureDP

_GAMMA = Fraction(1, 3)
_ETAS = (Fraction(1), Fraction(0), Fraction(-1, 2))
_MEANS = (Fraction(1, 2), Fraction(2))
_SCORES = 4  # a run's score is one of so many, each as likely
_ONE = PureDP(Fraction(1, 4))
_NAMES = ("best_of/1", "best_of_poisson/1", "first_above/1")
_NOTHING = -1


def runs() -> Iterator[OtherCase]:
    """The three forms."""
    costs = (3 * _ONE.epsilon, PoissonRepeated(_ONE, Fraction(2)).pure, 2 * _ONE.epsilon)
    for name, cost in zip(_NAMES, costs, strict=True):
        yield OtherCase(
            name,
            "one uniform number",
            partial(_release, name),
            partial(_fingerprint, name),
            cost.epsilon if isinstance(cost, PureDP) else Fraction(cost or 0),
            tuple(_looks(name)),
            neighbours_free=True,
        )


def _looks(name: str) -> Iterator[Look]:
    yield Look("noise", "words", "C1", "noise", partial(_words, name))
    yield Look("releases", "few", "C1", "few candidates", partial(_few, name))
    yield Look("releases", "pairs", "C1", "joint", partial(_pairs, name))
    yield Look("privacy", "neighbours", "C2", "privacy", partial(_neighbours, name))


def _release(name: str, **more: Any) -> Any:
    return _call(name, lambda scope: (3, "x"), **more)


def _call(name: str, run: Callable[[Any], Any], **more: Any) -> Any:
    if name == "first_above/1":
        return first_above(run, **{"base": _ONE, "gamma": _GAMMA, "threshold": 3, **more})
    if name == "best_of/1":
        return best_of(run, **{"base": _ONE, "gamma": _GAMMA, **more})
    return best_of(run, **{"base": _ONE, "mean": 2, **more})


def _fingerprint(name: str, **more: Any) -> Hashable:
    """The numbers of runs of some calls: nothing else is drawn from the source."""
    counts = []
    given: dict[str, Any] = {"mean": 200} if "poisson" in name else {"gamma": Fraction(1, 60)}
    for _ in range(6):
        made: list[Any] = []

        def run(scope: Any, made: list[Any] = made) -> tuple[int, None]:
            made.append(scope)
            return 0, None

        _call(name, run, **given, **more)
        counts.append(len(made))
    return tuple(counts)


def _drawn(_: Any) -> tuple[int, None]:
    """A run whose score is one of four."""
    return os.urandom(1)[0] % _SCORES, None


def _scores(name: str, count: int, **more: Any) -> list[Hashable]:
    calls = (_call(name, _drawn, **more) for _ in range(count))
    return [call.value if call.values else _NOTHING for call in calls]


def _laws(name: str) -> Iterator[tuple[dict[str, Any], Chances]]:
    """Arguments, and the law of the score that is released with them."""
    even = [1 / _SCORES] * _SCORES
    if name == "first_above/1":
        passing = 2 / _SCORES
        stops = float(_GAMMA) + (1 - float(_GAMMA)) * passing
        nothing = (1 - passing) * float(_GAMMA) / stops
        yield {"threshold": 2}, {_NOTHING: nothing, 2: 0.25 / stops, 3: 0.25 / stops}
    elif name == "best_of/1":
        for eta in _ETAS:
            yield {"eta": eta}, dict(enumerate(_best(even, partial(_binomial, float(eta)))))
    else:
        for mean in _MEANS:
            law: dict[Hashable, float] = {_NOTHING: exp(-float(mean))}
            law.update(enumerate(_best(even, partial(_poisson, float(mean)))))
            yield {"mean": mean}, law


def _binomial(eta: float, x: float) -> float:
    """E x**K of the truncated negative binomial law."""
    gamma = float(_GAMMA)
    if not eta:
        return log(1 - (1 - gamma) * x) / log(gamma)
    return float(((1 - (1 - gamma) * x) ** -eta - 1) / (gamma**-eta - 1))


def _poisson(mean: float, x: float) -> float:
    return exp(mean * (x - 1))


def _best(law: Sequence[float], generating: Callable[[float], float]) -> list[float]:
    """The law of the best of K, later outcomes being better."""
    sums = [0.0, *accumulate(law)]
    return [generating(min(b, 1.0)) - generating(a) for a, b in pairwise(sums)]


def _few(name: str, every: int) -> str:
    count, calls = (3000 if every == 1 else 60), 0
    for given, law in _laws(name):
        follow(_scores(name, count, **given), law)
        calls += count
    return f"{calls} releases follow the law of their number of runs"


def _pairs(name: str, every: int) -> str:
    count = 2000 if every == 1 else 60
    given, law = next(_laws(name))
    independent(_scores(name, 2 * count, **given), law)
    return f"{count} pairs are independent"


class _Word:
    """Bits whose first request is answered by a given word."""

    def __init__(self, word: int) -> None:
        self._words = [word]

    def take(self, count: int) -> int:
        """The word, and no more."""
        return self._words.pop()


def _words(name: str, every: int) -> str:
    """Each word of eight digits stops where the sums of the law say, or asks for more digits."""
    some: list[Any] = [NegativeBinomial(eta, _GAMMA) for eta in _ETAS]
    if "poisson" in name:
        some = [Poisson(mean) for mean in _MEANS]
    for law in some[:1] if name == "first_above/1" else some:
        sums = [*accumulate(_numbers(law, 150))]
        for word in range(every - 1, 254, every):
            bits: Any = _Word(word)
            stopping, made, asked = Stopping(law, bits, 8), 0, False
            try:
                while stopping.goes_on():
                    made += 1
            except IndexError:
                asked = True
            below, above = ((word + e) / 256 for e in (1e-7, 1 - 1e-7))
            least = sum(s <= below for s in sums[: made + 2])
            if least != made or (not asked and above > sums[made]):
                raise Refuted("a word stops where the sums of the law do not say")
    return "words of eight digits stop where the sums of the law say"


def _numbers(law: Any, count: int) -> list[float]:
    """P(K = 0), P(K = 1), ... by the definitions of the laws."""
    if isinstance(law, Poisson):
        mean = float(law.mean)
        return [exp(-mean) * mean**k / factorial(k) for k in range(count)]
    eta, gamma = float(law.eta), float(law.gamma)
    chance = (1 - gamma) * (1 / log(1 / gamma) if not eta else eta / (gamma**-eta - 1))
    found = [0.0]
    for k in range(1, count):
        found.append(chance)
        chance *= (1 - gamma) * (k + eta) / (k + 1)
    return found


def _neighbours(name: str, every: int) -> str:
    """What is promised, against the laws of the best run for pairs of laws of one run."""
    worst, pairs = 0.0, 0
    for one, other in _one_run(float(_ONE.epsilon)):
        for given, claim, law in _promised(name):
            p, q = law(one), law(other)
            losses = [abs(log(a / b)) for a, b in zip(p, q, strict=True)]
            worst, pairs = max(worst, max(losses) / claim), pairs + 1
            if any(_renyi(p, q, order) > order * given for order in (1.5, 2.0, 8.0)):
                raise Refuted("a Rényi divergence is larger than the rho that is stated")
    return loss(worst, 1.0, pairs)


def _promised(name: str) -> Iterator[tuple[float, float, Callable[[Sequence[float]], list[float]]]]:
    """The rho and the epsilon that are stated, and the law of the outcomes from that of a run."""
    if name == "first_above/1":

        def above(law: Sequence[float]) -> list[float]:
            stops = float(_GAMMA) + (1 - float(_GAMMA)) * sum(law[1:])
            return [law[0] * float(_GAMMA) / stops, *(each / stops for each in law[1:])]

        stated = _release(name).guarantee
        yield float(stated.zcdp.rho), float(stated.epsilon), above
        return
    made: list[tuple[Any, Callable[[float], float]]]
    if name == "best_of/1":
        made = [(Repeated(_ONE, eta, _GAMMA), partial(_binomial, float(eta))) for eta in _ETAS]
    else:
        made = [(PoissonRepeated(_ONE, mean), partial(_poisson, float(mean))) for mean in _MEANS]
    for guarantee, generating in made:

        def best(law: Sequence[float], f: Callable[[float], float] = generating) -> list[float]:
            nothing = f(0.0)
            return [nothing, *_best(law, f)] if nothing > 0 else _best(law, f)

        yield float(guarantee.zcdp.rho), float(guarantee.pure.epsilon), best


def _one_run(epsilon: float) -> Iterator[tuple[list[float], list[float]]]:
    """Pairs of laws of one run, of three outcomes, each at the limit of its cost."""
    up = exp(epsilon)
    for rare in (0.3, 0.02, 0.0005):
        for rarer in (rare / 50, rare):
            one = [1 - rare * up - rarer / up, rare * up, rarer / up]
            other = [1 - rare - rarer, rare, rarer]
            if all(each > 0 for each in one) and abs(log(one[0] / other[0])) <= epsilon:
                yield one, other
                yield other, one
                yield one[::-1], other[::-1]


def _renyi(p: Sequence[float], q: Sequence[float], order: float) -> float:
    moment = sum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True))
    return log(moment) / (order - 1) - 1e-9 if moment < inf else inf
