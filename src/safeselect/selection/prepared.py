"""Prepared mechanisms: the public arguments are read once, and the noise is calibrated once.

Then each call, `mechanism(scores)`, is one release: it charges, reads the scores and draws.  The
functions of `one` and `top_k` prepare a mechanism and call it once.

A prepared mechanism is frozen and holds nothing private.  Threads may call it at the same time.  It
holds no random bits: after a fork, parent and child draw their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Unpack, final, get_args

from safeselect.accounting.cost import UNPRICED
from safeselect.exact.interval import Interval, rounded_up
from safeselect.exact.parameters import Number, integer, rational
from safeselect.exact.rate import NoiseRate
from safeselect.promises.guarantees import BoundedRange, Guarantee
from safeselect.scores.candidates import Label
from safeselect.scores.reading import exactly_one
from safeselect.selection._arguments import Labels, Options, Scores, explicit
from safeselect.selection._call import Call, Terms
from safeselect.selection._results import Selection, TopK
from safeselect.selection._table import (
    MECHANISMS,
    TABLE,
    Calibration,
    Noise,
    Peeled,
    one_draw,
    read_choice,
)

__all__ = [
    "ExponentialMechanism",
    "ExponentialMechanismBase2",
    "PermuteAndFlip",
    "ReportNoisyMax",
    "TopKMechanism",
]

_MOST = 2**31 - 1  # candidates: more do not fit the memory of a call


@final
@dataclass(frozen=True, slots=True, init=False, eq=False)
class PermuteAndFlip:
    """`permute_and_flip`, prepared: `mechanism(scores, labels=None)` is one release.

    Args:
        epsilon, rho, sensitivity, range_, monotonic, minimize, grid, on_grid, score_error, source,
            ledger, engine: as for `permute_and_flip`; epsilon or rho is the cost of each call.

    Attributes:
        guarantee: what each call costs.
        mechanism: name of the mechanism and version of its law.

    Raises:
        ParameterError: a parameter is wrong.

    Example:
        >>> choose = PermuteAndFlip(epsilon=1, sensitivity=1, monotonic=True)
        >>> choose({"tea": 3, "milk": 900}).label, choose([2000, 3]).index
        ('milk', 0)
    """

    guarantee: Guarantee
    mechanism: str
    _terms: Terms = field(repr=False)
    _plan: Calibration = field(repr=False)

    @explicit(Options)
    def __init__(self, **options: Unpack[Options]) -> None:
        terms = Terms.read(**options)
        _keep(self, terms, terms.calibrate(TABLE["permute_and_flip"], "permute_and_flip/1"))

    def __call__(self, scores: Scores[Label], *, labels: Labels[Label] = None) -> Selection[Label]:
        """Choose one candidate; scores and labels, and errors, as for `permute_and_flip`."""
        return Call(scores, self._terms, labels=labels).choose(self._plan)


@final
@dataclass(frozen=True, slots=True, init=False, eq=False)
class ExponentialMechanism:
    """`exponential_mechanism`, prepared: `mechanism(scores, labels=None)` is one release.

    Args, Attributes, Raises: as for `PermuteAndFlip`.

    Example:
        >>> choose = ExponentialMechanism(rho="1/8", sensitivity=1, monotonic=True)
        >>> choose([3, 900, 5]).index
        1
    """

    guarantee: Guarantee
    mechanism: str
    _terms: Terms = field(repr=False)
    _plan: Calibration = field(repr=False)

    @explicit(Options)
    def __init__(self, **options: Unpack[Options]) -> None:
        terms = Terms.read(**options)
        _keep(self, terms, terms.calibrate(TABLE["exponential"], "exponential_mechanism/1"))

    def __call__(self, scores: Scores[Label], *, labels: Labels[Label] = None) -> Selection[Label]:
        """Choose one candidate; scores and labels, and errors, as for `permute_and_flip`."""
        return Call(scores, self._terms, labels=labels).choose(self._plan)


@final
@dataclass(frozen=True, slots=True, init=False, eq=False)
class ExponentialMechanismBase2:
    """`exponential_mechanism_base2`, prepared: `mechanism(scores, labels=None)` is one release.

    Args:
        base: as for `exponential_mechanism_base2`; instead of epsilon and rho.
        the others: as for `PermuteAndFlip`.

    Attributes, Raises: as for `PermuteAndFlip`.

    Example:
        >>> choose = ExponentialMechanismBase2(base="1/2", sensitivity=1, monotonic=True)
        >>> choose([3, 900]).base
        Fraction(1, 2)
    """

    guarantee: Guarantee
    mechanism: str
    _terms: Terms = field(repr=False)
    _plan: Calibration = field(repr=False)

    @explicit(Options)
    def __init__(self, *, base: Number | None = None, **options: Unpack[Options]) -> None:
        ways = {"epsilon": options.get("epsilon"), "rho": options.get("rho"), "base": base}
        exactly_one(ways, "write for example epsilon=1")
        row, name = TABLE["exponential_base2"], "exponential_mechanism_base2/1"
        if base is None:
            terms = Terms.read(**options)
            plan = terms.calibrate(row, name)
        else:
            factor = rational(base, "base", below=1)
            terms = Terms.read(cost=UNPRICED, **options)
            guarantee = BoundedRange(rounded_up(lambda bits: -Interval.of(factor, bits).log()))
            noise_rate = NoiseRate(1 / terms.range_in_steps, factor)
            plan = Calibration(name, row, 1, guarantee, guarantee, 1, noise_rate)
        _keep(self, terms, plan)

    def __call__(self, scores: Scores[Label], *, labels: Labels[Label] = None) -> Selection[Label]:
        """Choose one candidate; scores and labels, and errors, as for `permute_and_flip`."""
        return Call(scores, self._terms, labels=labels).choose(self._plan)


@final
@dataclass(frozen=True, slots=True, init=False, eq=False)
class ReportNoisyMax:
    """`report_noisy_max`, prepared: `mechanism(scores, labels=None)` is one release.

    Args:
        noise: "exponential", "laplace" or "gumbel"; there is no default.
        the others: as for `PermuteAndFlip`.

    Attributes, Raises: as for `PermuteAndFlip`.

    Example:
        >>> choose = ReportNoisyMax(noise="laplace", epsilon=1, sensitivity=1, monotonic=True)
        >>> choose([3, 900, 5]).index
        1
    """

    guarantee: Guarantee
    mechanism: str
    _terms: Terms = field(repr=False)
    _plan: Calibration = field(repr=False)

    @explicit(Options)
    def __init__(self, *, noise: Noise, **options: Unpack[Options]) -> None:
        read_choice(noise, "noise", get_args(Noise))
        # One draw of Gumbel noise is the exponential mechanism: without its gap it promises more.
        row = TABLE["exponential"] if noise == "gumbel" else one_draw(noise)
        terms = Terms.read(**options)
        _keep(self, terms, terms.calibrate(row, f"report_noisy_max_{noise}/1"))

    def __call__(self, scores: Scores[Label], *, labels: Labels[Label] = None) -> Selection[Label]:
        """Choose one candidate; scores and labels, and errors, as for `permute_and_flip`."""
        return Call(scores, self._terms, labels=labels).choose(self._plan)


Ordered = Peeled | Literal["one_shot_exponential"]
ORDERED = tuple(name for name in MECHANISMS if name != "laplace")


@final
@dataclass(frozen=True, slots=True, init=False, eq=False)
class TopKMechanism:
    """`top_k`, prepared: `mechanism(scores, labels=None)` is one release of k candidates.

    Args:
        k: how many each call chooses, at least 1.
        mechanism: as for `top_k`, but for "laplace", whose noise depends on how many candidates
            there are.
        delta: as for `top_k`.
        the others: as for `PermuteAndFlip`.

    Attributes, Raises: as for `PermuteAndFlip`.

    Example:
        >>> choose = TopKMechanism(k=2, epsilon=1, sensitivity=1, monotonic=True)
        >>> choose([3, 2000, 900]).indices
        (1, 2)
    """

    guarantee: Guarantee
    mechanism: str
    _terms: Terms = field(repr=False)
    _plan: Calibration = field(repr=False)

    @explicit(Options)
    def __init__(
        self,
        *,
        k: int,
        delta: Number | None = None,
        mechanism: Ordered | None = None,
        **options: Unpack[Options],
    ) -> None:
        if mechanism is not None:
            more = "; the noise of 'laplace' depends on how many candidates there are"
            read_choice(mechanism, "mechanism", ORDERED, more)
        count = integer(k, "k", minimum=1, maximum=_MOST)
        terms = Terms.read(delta=delta, **options)
        name = mechanism or ("one_shot_exponential" if terms.cost.is_pure else "exponential")
        _keep(self, terms, terms.calibrate(TABLE[name], f"top_k_{name}/1", count))

    def __call__(self, scores: Scores[Label], *, labels: Labels[Label] = None) -> TopK[Label]:
        """Choose k candidates in order; scores and labels, and errors, as for `top_k`."""
        call, plan = Call(scores, self._terms, labels=labels), self._plan
        call.read_k(plan.k)
        with call.draws(plan):
            return call.top_k(plan, call.rank(plan))


def _keep(prepared: Any, terms: Terms, plan: Calibration) -> None:
    """Fill a frozen object."""
    for name, value in (
        ("guarantee", plan.guarantee),
        ("mechanism", plan.mechanism),
        ("_terms", terms),
        ("_plan", plan),
    ):
        object.__setattr__(prepared, name, value)
