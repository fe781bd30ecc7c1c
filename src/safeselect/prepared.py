"""Prepared mechanisms: the public arguments of a function, read once; each call is one release.

The arguments are checked when the object is made, and the noise is calibrated then.  An object
holds nothing private.  Threads may call it at the same time.  `StatedLaw` is a mechanism of your
own, for `TopKMechanism` and `top_k`.
"""

from __future__ import annotations

from typing import ClassVar, final, get_args

from safeselect.exact.parameters import Number, integer, read_choice
from safeselect.mechanisms.select import Asked, read_base
from safeselect.mechanisms.stated import StatedLaw
from safeselect.mechanisms.table import ORDERED, Calibration, Noise, Ordered
from safeselect.promises.guarantees import Guarantee
from safeselect.randomness.source import Source
from safeselect.release.call import Scope
from safeselect.release.results import Selection, TopK
from safeselect.scores.candidates import Factors, Label, Labels, Scores

__all__ = [
    "ExponentialMechanism",
    "ExponentialMechanismBase2",
    "PermuteAndFlip",
    "ReportNoisyMax",
    "StatedLaw",
    "TopKMechanism",
]

_MOST = 2**31 - 1  # candidates: more do not fit the memory of a call


class _Planned:
    """What is asked of any candidates, and its noise."""

    __slots__ = ("_asked", "_plan")
    _asked: Asked
    _plan: Calibration

    @property
    def guarantee(self) -> Guarantee:
        """What each call costs."""
        return self._plan.guarantee

    @property
    def mechanism(self) -> str:
        """Name of the mechanism and version of its law."""
        return self._plan.mechanism


class _One(_Planned):
    """One candidate."""

    __slots__ = ()

    def __call__(self, scores: Scores[Label], *, labels: Labels[Label] = None) -> Selection[Label]:
        """Choose one candidate; scores and labels, and errors, as for `permute_and_flip`."""
        return self._asked.choose(self._plan, scores, labels)


class Prepared(_One):
    """One candidate, by the law of a name; its arguments are those of `PermuteAndFlip`."""

    __slots__ = ()
    _law: ClassVar[str]

    def __init__(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        sensitivity: Number | None = None,
        range_: Number | None = None,
        monotonic: bool = False,
        minimize: bool = False,
        grid: Number | None = None,
        on_grid: bool = False,
        score_error: Number | None = None,
        weights: Factors = None,
        source: Source | None = None,
        ledger: Scope | None = None,
    ) -> None:
        scored = sensitivity, range_, monotonic, minimize, grid, on_grid, score_error
        self._asked = Asked.read((epsilon, None, rho), scored, weights, source, ledger)
        self._plan = self._asked.calibrate(self._law)


@final
class PermuteAndFlip(Prepared):
    """A prepared version of `permute_and_flip` that reads the parameters once and can then be
    called many times.

    Each call `mechanism(scores, labels=None)` is one release.

    Args:
        epsilon, rho, sensitivity, range_, monotonic, minimize, grid, on_grid, score_error, source,
            ledger, weights: as for `permute_and_flip`; epsilon or rho is the cost of each call.

    Attributes:
        guarantee: the cost of each call.
        mechanism: name of the mechanism, with the version of its law.

    Raises:
        ParameterError: a parameter is wrong.

    Example:
        >>> choose = PermuteAndFlip(epsilon=1, sensitivity=1, monotonic=True)
        >>> choose({"tea": 3, "milk": 900}).label, choose([2000, 3]).index
        ('milk', 0)
    """

    __slots__ = ()
    _law = "permute_and_flip"


@final
class ExponentialMechanism(Prepared):
    """A prepared version of `exponential_mechanism` that reads the parameters once and can then
    be called many times.

    Each call `mechanism(scores, labels=None)` is one release.

    Args, Attributes, Raises: as for `PermuteAndFlip`.

    Example:
        >>> choose = ExponentialMechanism(rho="1/8", sensitivity=1, monotonic=True)
        >>> choose([3, 900, 5]).index
        1
    """

    __slots__ = ()
    _law = "exponential_mechanism"


@final
class ExponentialMechanismBase2(_One):
    """A prepared version of `exponential_mechanism_base2` that reads the parameters once and can
    then be called many times.

    Each call `mechanism(scores, labels=None)` is one release.

    Args:
        base: as for `exponential_mechanism_base2`, instead of epsilon and rho.
        the others: as for `PermuteAndFlip`.

    Attributes, Raises: as for `PermuteAndFlip`.

    Example:
        >>> choose = ExponentialMechanismBase2(base="1/2", sensitivity=1, monotonic=True)
        >>> choose([3, 900]).base
        Fraction(1, 2)
    """

    __slots__ = ()

    def __init__(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        base: Number | None = None,
        sensitivity: Number | None = None,
        range_: Number | None = None,
        monotonic: bool = False,
        minimize: bool = False,
        grid: Number | None = None,
        on_grid: bool = False,
        score_error: Number | None = None,
        weights: Factors = None,
        source: Source | None = None,
        ledger: Scope | None = None,
    ) -> None:
        total, factor = read_base(epsilon, rho, base)
        scored = sensitivity, range_, monotonic, minimize, grid, on_grid, score_error
        self._asked = Asked.read(total, scored, weights, source, ledger)
        self._plan = self._asked.calibrate_base2(factor)


@final
class ReportNoisyMax(_One):
    """A prepared version of `report_noisy_max` that reads the parameters once and can then be
    called many times.

    Each call `mechanism(scores, labels=None)` is one release.

    Args:
        noise: "exponential", "laplace" or "gumbel"; there is no default.
        the others: as for `PermuteAndFlip`.

    Attributes, Raises: as for `PermuteAndFlip`.

    Example:
        >>> choose = ReportNoisyMax(noise="laplace", epsilon=1, sensitivity=1, monotonic=True)
        >>> choose([3, 900, 5]).index
        1
    """

    __slots__ = ()

    def __init__(
        self,
        *,
        noise: Noise,
        epsilon: Number | None = None,
        rho: Number | None = None,
        sensitivity: Number | None = None,
        range_: Number | None = None,
        monotonic: bool = False,
        minimize: bool = False,
        grid: Number | None = None,
        on_grid: bool = False,
        score_error: Number | None = None,
        weights: Factors = None,
        source: Source | None = None,
        ledger: Scope | None = None,
    ) -> None:
        read_choice(noise, "noise", get_args(Noise))
        scored = sensitivity, range_, monotonic, minimize, grid, on_grid, score_error
        self._asked = Asked.read((epsilon, None, rho), scored, weights, source, ledger)
        self._plan = self._asked.calibrate(f"report_noisy_max_{noise}")


@final
class TopKMechanism(_Planned):
    """A prepared version of `top_k` that reads the parameters once and can then be called many
    times.

    Each call `mechanism(scores, labels=None)` releases k candidates.

    Args:
        k: number of candidates that each call chooses, at least 1.
        mechanism: as for `top_k`, except "laplace", whose noise depends on the number of
            candidates.
        delta: as for `top_k`.
        the others: as for `PermuteAndFlip`.

    Attributes, Raises: as for `PermuteAndFlip`.

    Example:
        >>> choose = TopKMechanism(k=2, epsilon=1, sensitivity=1, monotonic=True)
        >>> choose([3, 2000, 900]).indices
        (1, 2)
    """

    __slots__ = ()

    def __init__(
        self,
        *,
        k: int,
        mechanism: Ordered | StatedLaw | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        sensitivity: Number | None = None,
        range_: Number | None = None,
        monotonic: bool = False,
        minimize: bool = False,
        grid: Number | None = None,
        on_grid: bool = False,
        score_error: Number | None = None,
        weights: Factors = None,
        source: Source | None = None,
        ledger: Scope | None = None,
    ) -> None:
        if mechanism is not None and not isinstance(mechanism, StatedLaw):
            more = "; the noise of 'laplace' depends on how many candidates there are"
            read_choice(mechanism, "mechanism", ORDERED, more)
        count = integer(k, "k", minimum=1, maximum=_MOST)
        scored = sensitivity, range_, monotonic, minimize, grid, on_grid, score_error
        self._asked = Asked.read((epsilon, delta, rho), scored, weights, source, ledger)
        self._plan = self._asked.calibrate_in_order(mechanism, count)

    def __call__(self, scores: Scores[Label], *, labels: Labels[Label] = None) -> TopK[Label]:
        """Choose k candidates in order; arguments and errors are those of `top_k`."""
        return self._asked.choose_in_order(self._plan, self._asked.on(scores, labels))
