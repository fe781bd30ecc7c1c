"""diffprivlib's mechanisms of selection and its quantiles, with its arguments and our exact laws.

`Exponential` and `PermuteAndFlip` take what `diffprivlib.mechanisms` takes under these names, and
have its method `randomise`.  `quantile`, `percentile` and `median` take what `diffprivlib.tools`
takes, and charge its accountant; bounds must be given.  Nothing here imports diffprivlib.
`docs/drop-ins.md` shows the lines to change.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import prod
from operator import index
from typing import Any, ClassVar, Self, final

import numpy as np

from safeselect.adapters._numbers import array_of, at_least, cost, number, scores
from safeselect.errors import ParameterError
from safeselect.exact.parameters import Number, describe, rational
from safeselect.mechanisms.quantiles import Neighbours
from safeselect.mechanisms.quantiles import quantile as choose
from safeselect.mechanisms.select import exponential_mechanism, permute_and_flip
from safeselect.randomness.source import Source
from safeselect.release.results import Selection

__all__ = ["Exponential", "PermuteAndFlip", "median", "percentile", "quantile"]

Rows = np.ndarray[Any, Any]
"""An array of numbers of any type."""

_POINTS = 2**32  # of a grid that nobody chose: nine digits


class _Choice:
    """What both mechanisms keep: utilities, what to call them, and the cost of each choice."""

    __slots__ = ("_candidates", "_terms", "_utility")
    _choose: ClassVar[Callable[..., Selection[Any]]]

    def __init__(
        self,
        *,
        epsilon: Number,
        sensitivity: Number,
        utility: Sequence[Any],
        monotonic: bool = False,
        candidates: Sequence[Any] | None = None,
        measure: object = None,
        random_state: object = None,
    ) -> None:
        if measure is not None:
            raise ParameterError(
                "measure must be None; for public weights, call "
                "safeselect.exponential_mechanism(..., weights=...), and for quantiles, call "
                "safeselect.adapters.diffprivlib.quantile"
            )
        # Of other classes an element is looked up by its label, or by chance.
        if type(candidates) not in (type(None), list, tuple, np.ndarray):
            raise ParameterError(f"candidates must be a list, got {type(candidates).__name__}")
        self._terms = cost(epsilon, sensitivity, monotonic)
        self._utility, self._candidates = utility, candidates

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def copy(self) -> Self:
        """Return the same mechanism; there is nothing in it that a call changes."""
        return self

    def randomise(self, value: None = None) -> Any:
        """Choose a candidate; each call is a release and costs epsilon.

        Raises:
            ParameterError: a value is given, or there are more or fewer candidates than utilities.
            ScoreError: a utility is not a finite number.
        """
        if value is not None:
            # What would have been randomised is private, so its type is all that is said.
            raise ParameterError(f"value must be None, got {type(value).__name__}")
        read, candidates = scores(self._utility), self._candidates
        if candidates is None:
            return self._choose(read, **self._terms).label
        # Candidates may be equal to one another and of any type; labels may not.
        return candidates[self._choose(read, labels=range(len(candidates)), **self._terms).label]


@final
class Exponential(_Choice):
    """The exponential mechanism: P(r) proportional to exp(epsilon u_r / (2 sensitivity)).

    With `monotonic` the 2 is absent.  Utilities are read on a grid of a thousandth of the
    sensitivity, and the noise covers what reading adds.

    Guarantee: BoundedRange(epsilon), hence epsilon-DP, for each call of `randomise`.

    Args:
        epsilon, sensitivity, monotonic: as in diffprivlib; epsilon is from 1e-8 to 1e8, and the
            sensitivity is positive.
        utility: n utilities; larger is better.
        candidates: list, tuple or NumPy array that names them; by default their positions.
        measure: None; weights are refused.
        random_state: not used: there is no seed, and no choice can be repeated.

    Raises:
        ParameterError: a parameter is wrong, or a measure is given.

    Example:
        >>> Exponential(epsilon=1.0, sensitivity=1, utility=[0.5, 900.0]).randomise()
        1
    """

    __slots__ = ()
    _choose = staticmethod(exponential_mechanism)


@final
class PermuteAndFlip(_Choice):
    """Permute-and-flip of exp(epsilon (u_r - best) / (2 sensitivity)); see `Exponential`.

    Guarantee: LaplaceDominated(epsilon), hence epsilon-DP, for each call of `randomise`.

    Args:
        epsilon, sensitivity, utility, monotonic, candidates, measure, random_state: as for
            `Exponential`.

    Raises:
        ParameterError: a parameter is wrong.

    Example:
        >>> PermuteAndFlip(epsilon=1.0, sensitivity=1, utility=[0.5, 900.0]).randomise()
        1
    """

    __slots__ = ()
    _choose = staticmethod(permute_and_flip)


def quantile(
    array: object,
    quant: object,
    epsilon: Number = 1,
    bounds: object = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    random_state: object = None,
    accountant: object = None,
    *,
    step: Number | None = None,
    neighbours: Neighbours = "replace_one",
    source: Source | None = None,
) -> Any:
    """Choose a point with about a share `quant` of the values below it; see `safeselect.quantile`.

    The original draws a real number between two values; this draws a point of a public grid, by the
    same law between values: P(g) is proportional to exp(-epsilon d(g) / 2), or to exp(-epsilon
    d(g)) for the quantiles 0 and 1. d(g) is the distance of quant n from #{x < g} .. #{x <= g};
    inside this interval, it is minus the distance to the nearer end.

    Guarantee: epsilon-DP for all outputs together, each with an equal share, as in the original.
    Neighbours: one value is replaced, or, at these rates, added or removed.  With
        neighbours="add_remove" the noise is smaller, up to half, but for the quantiles 0 and 1, and
        replacing is not covered.

    Args:
        array: numbers, in any number of dimensions; they are clamped to the bounds.
        quant: from 0 to 1, or a list of them.
        epsilon: what all outputs cost together.
        bounds: the pair (lowest, highest), fixed without the data.  With an axis that leaves one
            dimension each end may have a number for each output.
        axis, keepdims: the axes over which a quantile is taken, and whether they stay.
        random_state: not used: there is no seed, and no output can be repeated.
        accountant: a `BudgetAccountant`; by default diffprivlib's default one, if it is loaded.  It
            is charged once, before anything is returned, with epsilon as the next float above.
        step: the distance of two points; by default 2**-32 of that of the bounds.
        neighbours, source: as for `safeselect.quantile`.

    Returns:
        A float, or an array of floats, of the shape that the original has.

    Raises:
        ParameterError: a parameter is wrong, or the bounds are missing.
        ScoreError: a value is not a number.
    """
    shares = [rational(each, "quant", zero=True) for each in _each(quant)]
    if not shares or max(shares) > 1:
        raise ParameterError("pass numbers from 0 to 1 as quant, or from 0 to 100 as percent")
    rows, shape = _rows(array, axis, keepdims)
    ends = _bounds(bounds, len(rows), len(shape))
    total = rational(number(epsilon), "epsilon")
    accounts, spent = _accountant(accountant), at_least(total)
    if accounts is not None:
        accounts.check(spent, 0)
    found = np.empty((len(shares), len(rows)), dtype=np.float64)
    for place in np.ndindex(*found.shape):
        lowest, highest = ends[place[1]]
        drawn = choose(
            rows[place[1]],
            quantile=shares[place[0]],
            lowest=lowest,
            highest=highest,
            step=(highest - lowest) / _POINTS if step is None else step,
            epsilon=total / found.size,
            neighbours=neighbours,
            source=source,
        )
        found[place] = drawn.value
    # Where the accountant refuses now, because another thread spent, nothing is returned.
    if accounts is not None:
        accounts.spend(spent, 0)
    shaped = found.reshape(len(shares), *shape)
    return shaped if len(shares) > 1 else shaped[0][()]


def percentile(
    array: object,
    percent: object,
    epsilon: Number = 1,
    bounds: object = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    random_state: object = None,
    accountant: object = None,
) -> Any:
    """Return `quantile` for percents from 0 to 100.

    Guarantee, Neighbours, Args, Returns, Raises: as for `quantile`.
    """
    shares = [rational(each, "percent", zero=True) / 100 for each in _each(percent)]
    return quantile(array, shares, epsilon, bounds, axis, keepdims, None, accountant)


def median(
    array: object,
    epsilon: Number = 1,
    bounds: object = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    random_state: object = None,
    accountant: object = None,
) -> Any:
    """Return `quantile` for the quantile 1/2.

    Guarantee, Neighbours, Args, Returns, Raises: as for `quantile`.
    """
    return quantile(array, "1/2", epsilon, bounds, axis, keepdims, None, accountant)


def _each(given: object) -> list[object]:
    """The numbers of a list, or the one number."""
    if isinstance(given, (list, tuple)):
        return [number(each) for each in given]
    if isinstance(given, np.ndarray):
        return list(given.ravel().tolist())
    return [number(given)]


def _rows(array: object, axis: object, keepdims: bool) -> tuple[Rows, tuple[int, ...]]:
    """The values of each output as a row, and the shape of all outputs."""
    if isinstance(array, np.ma.MaskedArray):
        raise ParameterError("array must not be masked; pass, for example, array.compressed()")
    values = array_of(array)
    given = range(values.ndim) if axis is None else axis if isinstance(axis, Sequence) else [axis]
    try:
        over = tuple(map(index, given))
        shape = np.zeros(values.shape, np.bool_).any(axis=over, keepdims=keepdims).shape
    except (TypeError, ValueError):  # NumPy's of a dimension that there is not, too
        raise ParameterError(
            "axis must be one or more distinct dimensions of the array, whose ndim is "
            f"{values.ndim}; got {describe(axis)}"
        ) from None
    if not prod(shape):
        raise ParameterError("each dimension of array not in axis must have a length of 1 or more")
    last = np.moveaxis(values, over, range(-len(over), 0))
    return last.reshape(prod(shape), values.size // prod(shape)), shape


def _bounds(bounds: object, count: int, dimensions: int) -> list[tuple[Fraction, Fraction]]:
    """The lowest and the highest point for each output."""
    if not isinstance(bounds, (list, tuple)) or len(bounds) != 2:
        raise ParameterError(
            "bounds must be a pair (lowest, highest) chosen without looking at the data, got "
            f"{describe(bounds)}"
        )
    lowest, highest = ([rational(each, "bounds", signed=True) for each in _each(e)] for e in bounds)
    sizes = {1, count} if dimensions == 1 else {1}
    if len(lowest) not in sizes or len(highest) not in sizes:
        raise ParameterError(
            "each end of bounds must be one number or, if the result for a single quantile has one "
            "dimension, one number for each of its entries"
        )
    pairs = [(lowest[place % len(lowest)], highest[place % len(highest)]) for place in range(count)]
    if any(low >= high for low, high in pairs):
        raise ParameterError("bounds must be a pair (lowest, highest) with lowest below highest")
    return pairs


def _accountant(given: object) -> Any:
    """The accountant that the original would charge; None if diffprivlib is not in use."""
    module = sys.modules.get("diffprivlib.accountant")
    if module is not None:
        return module.BudgetAccountant.load_default(given)
    if given is not None:
        raise ParameterError(f"accountant must be a BudgetAccountant, got {describe(given)}")
    return None
