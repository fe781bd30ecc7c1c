"""A release's promise against its law and its draws: of a kind that is proved, and no smaller.

A forger who makes release and records agree may still promise too much: a kind of guarantee that
the law does not have, or less than the draws cost together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from safeselect.accounting import compose
from safeselect.accounting.kinds import AnyGuarantee
from safeselect.audit.line import Line
from safeselect.audit.theorems import is_known, strongest, theorem
from safeselect.errors import SafeSelectError
from safeselect.promises.guarantees import (
    ApproximateDP,
    BoundedRange,
    LaplaceDominated,
    PureDP,
    ZeroConcentratedDP,
)

Draws = Sequence[tuple[AnyGuarantee, int]]
"""The guarantees of draws, each with the number of them."""

_MANY = 10_000  # draws, above which the certified optimum takes too long
_STRENGTH = (BoundedRange, LaplaceDominated)
"""The kinds that only some laws have, the strongest first; each implies those after it."""


def law_of(mechanism: str, whole: AnyGuarantee, draws: Draws) -> Line:
    """The mechanism is known, and neither the whole nor a draw has a kind that is not proved."""
    if not is_known(mechanism):
        return Line(
            "law",
            False,
            f"This library has no mechanism {mechanism}, so nothing here proves its law.",
        )
    proved = _STRENGTH[_STRENGTH.index(kind) :] if (kind := strongest(mechanism)) else ()
    for each in (whole, *(draw for draw, _ in draws)):
        if isinstance(each, _STRENGTH) and not isinstance(each, proved):
            name = type(each).__name__
            return Line("law", False, f"{name} is not proved of {mechanism}.")
    return Line("law", True, f"The guarantee of {mechanism} is proved: {theorem(mechanism)}.")


def composition_of(whole: AnyGuarantee, said: str, draws: Draws) -> Line:
    """All draws together cost no more than the whole promises.

    Args:
        said: the whole in words.
    """
    what = "composition"
    if len(draws) == 1 and draws[0] == (whole, 1):
        return Line(what, True, f"It is one draw of {said}.")
    try:
        covered = any(_bounds(whole, draws))
    except SafeSelectError:
        covered = False
    if not covered:
        return Line(what, False, f"The draws cost more than {said}.")
    number = sum(count for _, count in draws)
    return Line(what, True, f"All {number} draws together cost no more than {said}.")


def _bounds(whole: AnyGuarantee, draws: Draws) -> Iterator[bool]:
    """Whether bounds of what the draws cost are within the whole, the quickest bound first."""
    pure = [(each.pure.epsilon, count) for each, count in draws if each.pure is not None]
    if isinstance(whole, (PureDP, LaplaceDominated)):
        kinds = _STRENGTH if isinstance(whole, LaplaceDominated) else object
        yield (
            len(pure) == len(draws)
            and all(isinstance(each, kinds) for each, _ in draws)
            and _sum(pure) <= whole.epsilon
        )
    elif isinstance(whole, BoundedRange):
        yield all(isinstance(each, BoundedRange) for each, _ in draws) and (
            sum(count for _, count in draws) == 1 and _sum(pure) <= whole.epsilon
        )
    elif isinstance(whole, ZeroConcentratedDP):
        costs = [(each.zcdp.rho, count) for each, count in draws if each.zcdp is not None]
        yield len(costs) == len(draws) and _sum(costs) <= whole.rho
    elif isinstance(whole, ApproximateDP):
        approximate = [(each, count) for each, count in draws if isinstance(each, ApproximateDP)]
        if len(pure) + len(approximate) == len(draws):
            epsilon = _sum(pure) + _sum([(each.epsilon, count) for each, count in approximate])
            delta = _sum([(each.delta, count) for each, count in approximate])
            yield epsilon <= whole.epsilon and delta <= whole.delta
        listed = [each for each, count in draws for _ in range(count)]
        for precision in (None, "1e-6")[: 1 if len(listed) > _MANY else 2]:
            found = compose(listed, delta=whole.delta, precision=precision).guarantee
            yield isinstance(found, ApproximateDP) and (
                found.epsilon <= whole.epsilon and found.delta <= whole.delta
            )


def _sum(costs: Sequence[tuple[Fraction, int]]) -> Fraction:
    return sum((cost * count for cost, count in costs), Fraction(0))
