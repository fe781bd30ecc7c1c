"""diffprivlib's two mechanisms of selection, with its arguments and our exact laws.

`Exponential` and `PermuteAndFlip` take what `diffprivlib.mechanisms` takes under these names, and
have its method `randomise`.  They do not import diffprivlib.  `docs/adapters.md` shows the lines to
change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from safeselect.errors import ParameterError
from safeselect.exact.parameters import Number, rational
from safeselect.selection import exponential_mechanism, permute_and_flip

__all__ = ["Exponential", "PermuteAndFlip"]

_STEPS = 1000
"""Grid steps in the sensitivity: reading widens the noise by 2 or 3 thousandths."""


def _options(epsilon: Number, sensitivity: Number, monotonic: bool) -> dict[str, Any]:
    size = rational(sensitivity, "sensitivity")
    return {
        "epsilon": rational(epsilon, "epsilon"),
        "sensitivity": size,
        "monotonic": monotonic,
        "grid": size / _STEPS,
    }


@final
class Exponential:
    """The exponential mechanism: P(r) proportional to exp(epsilon u_r / (2 sensitivity)).

    With `monotonic` the 2 is absent.  Utilities are read on a grid of a thousandth of the
    sensitivity, and the noise covers what reading adds.

    Guarantee: BoundedRange(epsilon), hence epsilon-DP, for each call of `randomise`.

    Args:
        epsilon, sensitivity, monotonic: as in diffprivlib; epsilon is finite, and the sensitivity
            is positive.
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

    __slots__ = ("_candidates", "_options", "_utility")

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
                "measure must be None: weights of the candidates are not supported"
            )
        self._options = _options(epsilon, sensitivity, monotonic)
        self._utility, self._candidates = utility, candidates

    def __repr__(self) -> str:
        return "<Exponential>"

    def randomise(self, value: None = None) -> Any:
        """Choose a candidate; each call is a release and costs epsilon.

        Raises:
            ScoreError: a utility is not a finite number.
        """
        found = exponential_mechanism(self._utility, labels=self._candidates, **self._options)
        return found.label


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

    __slots__ = ("_candidates", "_options", "_utility")

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
        self._options = _options(epsilon, sensitivity, monotonic)
        self._utility, self._candidates = utility, candidates

    def __repr__(self) -> str:
        return "<PermuteAndFlip>"

    def randomise(self, value: None = None) -> Any:
        """Choose a candidate; each call is a release and costs epsilon.

        Raises:
            ScoreError: a utility is not a finite number.
        """
        return permute_and_flip(self._utility, labels=self._candidates, **self._options).label
