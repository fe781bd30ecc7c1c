"""The best of private runs, and the first above a threshold, against their laws."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import accumulate, pairwise
from math import exp, log
from typing import Any

from checks.finding import Check
from checks.others import Chances, follow, independent

from safeselect.mechanisms.runs import best_of, first_above
from safeselect.promises.guarantees import PureDP

_GAMMA = Fraction(1, 3)
_ETAS = (Fraction(1), Fraction(0), Fraction(-1, 2))
_MEANS = (Fraction(1, 2), Fraction(2))
_SCORES = 4  # a run's score is one of so many, each as likely
_ONE = PureDP(Fraction(1, 4))
_NOTHING = -1


def runs() -> Iterator[Check]:
    """The three forms."""
    for name in ("best_of/1", "best_of_poisson/1", "first_above/1"):
        yield Check(f"{name}: few", "few", partial(_few, name))
        yield Check(f"{name}: pairs", "joint", partial(_pairs, name))


def _call(name: str, run: Callable[[Any], Any], **more: Any) -> Any:
    if name == "first_above/1":
        return first_above(run, **{"base": _ONE, "gamma": _GAMMA, "threshold": 3, **more})
    if name == "best_of/1":
        return best_of(run, **{"base": _ONE, "gamma": _GAMMA, **more})
    return best_of(run, **{"base": _ONE, "mean": 2, **more})


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


def _few(name: str, every: int) -> None:
    count, calls = (3000 if every == 1 else 60), 0
    for given, law in _laws(name):
        follow(_scores(name, count, **given), law)
        calls += count


def _pairs(name: str, every: int) -> None:
    count = 2000 if every == 1 else 60
    given, law = next(_laws(name))
    independent(_scores(name, 2 * count, **given), law)
