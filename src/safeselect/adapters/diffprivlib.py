"""diffprivlib's two mechanisms of selection, with its arguments and our exact laws.

`Exponential` and `PermuteAndFlip` take what `diffprivlib.mechanisms` takes under these names, and
have its method `randomise`.  They do not import diffprivlib.  `docs/drop-ins.md` shows the lines to
change; `safeselect.adapters.diffprivlib_tools` has its quantiles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

from safeselect.adapters import _drop_in
from safeselect.errors import ParameterError
from safeselect.exact.parameters import Number
from safeselect.mechanisms.select import exponential_mechanism, permute_and_flip
from safeselect.release.results import Selection

__all__ = ["Exponential", "PermuteAndFlip"]


@final
class Exponential:
    """The exponential mechanism: P(r) proportional to exp(epsilon u_r / (2 sensitivity)).

    With `monotonic` the 2 is absent.  Utilities are read on a grid of a thousandth of the
    sensitivity, and the noise covers what reading adds.

    Guarantee: BoundedRange(epsilon), hence epsilon-DP, for each call of `randomise`.

    Args:
        epsilon, sensitivity, monotonic: as in diffprivlib; epsilon is from 1e-8 to 1e8, and the
            sensitivity is positive.
        utility: n utilities; larger is better.
        candidates: what to call them; by default their positions.
        measure: None; weights are refused.
        random_state: not used: there is no seed, and no choice can be repeated.

    Raises:
        ParameterError: a parameter is wrong, or a measure is given.

    Example:
        >>> Exponential(epsilon=1.0, sensitivity=1, utility=[0.5, 900.0]).randomise()
        1
    """

    __slots__ = ("_candidates", "_terms", "_utility")

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
                "measure must be None: for public weights call "
                "safeselect.exponential_mechanism(..., weights=...), and for quantiles "
                "safeselect.adapters.diffprivlib_tools"
            )
        self._terms = _drop_in.cost(epsilon, sensitivity, monotonic)
        self._utility, self._candidates = utility, candidates

    def __repr__(self) -> str:
        return "<Exponential>"

    def copy(self) -> Exponential:
        """Return the same mechanism; there is nothing in it that a call changes."""
        return self

    def randomise(self, value: None = None) -> Any:
        """Choose a candidate; each call is a release and costs epsilon.

        Raises:
            ParameterError: a value is given, or there are more or fewer candidates than utilities.
            ScoreError: a utility is not a finite number.
        """
        return _choose(exponential_mechanism, self._utility, self._candidates, self._terms, value)


@final
class PermuteAndFlip:
    """Permute-and-flip of exp(epsilon (u_r - best) / (2 sensitivity)); see `Exponential`.

    Guarantee: LaplaceDominated(epsilon), hence epsilon-DP, for each call of `randomise`.

    Args:
        epsilon, sensitivity, utility, monotonic, candidates, random_state: as for `Exponential`.

    Raises:
        ParameterError: a parameter is wrong.

    Example:
        >>> PermuteAndFlip(epsilon=1.0, sensitivity=1, utility=[0.5, 900.0]).randomise()
        1
    """

    __slots__ = ("_candidates", "_terms", "_utility")

    def __init__(
        self,
        *,
        epsilon: Number,
        sensitivity: Number,
        utility: Sequence[Any],
        monotonic: bool = False,
        candidates: Sequence[Any] | None = None,
        random_state: object = None,
    ) -> None:
        self._terms = _drop_in.cost(epsilon, sensitivity, monotonic)
        self._utility, self._candidates = utility, candidates

    def __repr__(self) -> str:
        return "<PermuteAndFlip>"

    def copy(self) -> PermuteAndFlip:
        """Return the same mechanism; there is nothing in it that a call changes."""
        return self

    def randomise(self, value: None = None) -> Any:
        """Choose a candidate; each call is a release and costs epsilon.

        Raises:
            ParameterError, ScoreError: as for `Exponential.randomise`.
        """
        return _choose(permute_and_flip, self._utility, self._candidates, self._terms, value)


def _choose(
    mechanism: Callable[..., Selection[Any]],
    utility: Any,
    candidates: Sequence[Any] | None,
    terms: dict[str, Any],
    value: object,
) -> Any:
    if value is not None:
        # What would have been randomised is private, so its type is all that is said.
        raise ParameterError(f"value must be None, got {type(value).__name__}")
    read = _drop_in.scores(utility)
    if candidates is None:
        return mechanism(read, **terms).label
    # Candidates may be equal to one another and of any type; labels may not.
    return candidates[mechanism(read, labels=range(len(candidates)), **terms).label]
