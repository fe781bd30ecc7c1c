"""The exponential mechanism in the form in which programs for synthetic data call it.

`private-pgm` (the package `mbi`), `dpmm` and programs made from them choose marginals and edges
with a function `exponential_mechanism(q, eps, sensitivity, prng, monotonic)`, or with a method that
takes the qualities as a dict.  The function here takes both.  It imports none of these packages.
`docs/drop-ins.md` shows the lines to change.
"""

from __future__ import annotations

from typing import Any

from safeselect.adapters._numbers import cost, scores
from safeselect.errors import ParameterError
from safeselect.exact.parameters import Number, describe
from safeselect.mechanisms.select import exponential_mechanism as select
from safeselect.randomness.source import Source
from safeselect.release.call import Scope

__all__ = ["exponential_mechanism"]


def exponential_mechanism(
    q: Any,
    eps: Number,
    sensitivity: Number = 1,
    prng: object = None,
    monotonic: bool = False,
    *,
    base_measure: object = None,
    source: Source | None = None,
    ledger: Scope | None = None,
) -> Any:
    """Choose candidate r with probability proportional to exp(eps q_r / (2 sensitivity)).

    With `monotonic` the 2 is absent.  Qualities are read on a grid of a thousandth of the
    sensitivity, and the noise covers what reading adds: it is wider by 1 or 2 thousandths.

    Guarantee: BoundedRange(eps): eps-DP and (eps**2 / 8)-zCDP, as these programs account for it.
    Neighbours: whatever `sensitivity` was computed for; it bounds the change of each quality.

    Args:
        q: n qualities, or a dict from candidates to qualities; larger is better.
        eps: what the choice costs, from 1e-8 to 1e8.
        sensitivity: largest change of any one quality.
        prng: a generator of random numbers, or None.  It is not used: there is no seed, and no
            choice can be repeated.
        monotonic: all qualities move the same way between neighbours.
        base_measure: None; weights of the candidates are refused.
        source, ledger: as for `safeselect.exponential_mechanism`.

    Returns:
        The key of the dict, or the position as an int.

    Raises:
        ParameterError: a parameter is wrong, or a base measure is given.
        ScoreError: a quality is not a finite number.

    Example:
        >>> exponential_mechanism({("age", "sex"): 0.5, ("age", "pay"): 910.25}, 1.0)
        ('age', 'pay')
    """
    if base_measure is not None:
        raise ParameterError(
            "base_measure must be None; for public weights, call "
            "safeselect.exponential_mechanism(..., weights=...)"
        )
    # In the programs' own versions `base_measure` or `monotonic` may be the fourth argument.
    if prng is not None and not callable(getattr(prng, "choice", None)):
        raise ParameterError(
            f"prng must be a random number generator or None, got {describe(prng)}; pass "
            "monotonic= and base_measure= by keyword"
        )
    terms = cost(eps, sensitivity, monotonic)
    return select(scores(q), source=source, ledger=ledger, **terms).label
