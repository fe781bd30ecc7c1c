"""Prepared mechanisms: the public arguments are read once, and the noise is calibrated once.

Then each call, `mechanism(scores)`, is one release: it charges, reads the scores and draws.  The
functions of `one` and `top_k` prepare a mechanism and call it once.

A prepared mechanism is frozen and holds nothing private.  Threads may call it at the same time.  It
holds no random bits: after a fork, parent and child draw their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Literal, Unpack, final, get_args

from safeselect.accounting.cost import UNPRICED
from safeselect.exact.interval import Interval, rounded_up
from safeselect.exact.parameters import Number, integer, rational
from safeselect.exact.rate import NoiseRate
from safeselect.promises.guarantees import BoundedRange, Guarantee
from safeselect.scores.candidates import Label
from safeselect.scores.reading import exactly_one
from safeselect.selection._arguments import Labels, Options, Scores, explicit
from safeselect.selection._call import Call
from safeselect.selection._reading import Arguments
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

_MOST = 2**31 - 1  # candidates: more do not fit the memory of a call


def _choose(self: Any, scores: Scores[Label], *, labels: Labels[Label] = None) -> Selection[Label]:
    """Choose one candidate; scores and labels, and errors, as for `permute_and_flip`."""
    return Call(scores, self._arguments, labels=labels).choose(self._plan)


@final
@dataclass(frozen=True, slots=True, init=False, eq=False)
class PermuteAndFlip:
    """`permute_and_flip`, prepared: `mechanism(scores, labels=None)` is one release.

    Args:
        epsilon, rho, sensitivity, range_, monotonic, minimize, grid, on_grid, score_error, source,
            ledger, engine, weights: as for `permute_and_flip`; epsilon or rho is the cost of each
            call.

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
    _arguments: Arguments = field(repr=False)
    _plan: Calibration = field(repr=False)

    @explicit(Options)
    def __init__(self, **options: Unpack[Options]) -> None:
        arguments = Arguments.read(options)
        _keep(self, arguments, arguments.calibrate(TABLE["permute_and_flip"], "permute_and_flip/1"))

    __call__ = _choose


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
    _arguments: Arguments = field(repr=False)
    _plan: Calibration = field(repr=False)

    @explicit(Options)
    def __init__(self, **options: Unpack[Options]) -> None:
        arguments = Arguments.read(options)
        _keep(self, arguments, arguments.calibrate(TABLE["exponential"], "exponential_mechanism/1"))

    __call__ = _choose


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
    _arguments: Arguments = field(repr=False)
    _plan: Calibration = field(repr=False)

    @explicit(Options)
    def __init__(self, *, base: Number | None = None, **options: Unpack[Options]) -> None:
        ways = {"epsilon": options.get("epsilon"), "rho": options.get("rho"), "base": base}
        exactly_one(ways, "write for example epsilon=1")
        row, name = TABLE["exponential_base2"], "exponential_mechanism_base2/1"
        if base is None:
            arguments = Arguments.read(options)
            plan = arguments.calibrate(row, name)
        else:
            factor = rational(base, "base", below=1)
            arguments = Arguments.read(options, cost=UNPRICED)
            guarantee = BoundedRange(rounded_up(lambda bits: -Interval.of(factor, bits).log()))
            noise_rate = NoiseRate(1 / arguments.range_in_steps, factor)
            plan = Calibration(name, row, 1, guarantee, guarantee, 1, noise_rate)
            plan = arguments.weighted(plan)
        _keep(self, arguments, plan)

    __call__ = _choose


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
    _arguments: Arguments = field(repr=False)
    _plan: Calibration = field(repr=False)

    @explicit(Options)
    def __init__(self, *, noise: Noise, **options: Unpack[Options]) -> None:
        read_choice(noise, "noise", get_args(Noise))
        # One draw of Gumbel noise is the exponential mechanism: without its gap it promises more.
        row = TABLE["exponential"] if noise == "gumbel" else one_draw(noise)
        arguments = Arguments.read(options)
        _keep(self, arguments, arguments.calibrate(row, f"report_noisy_max_{noise}/1"))

    __call__ = _choose


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
    _arguments: Arguments = field(repr=False)
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
        arguments = Arguments.read(options, delta=delta)
        _keep(self, arguments, ordered(arguments, mechanism, count))

    def __call__(self, scores: Scores[Label], *, labels: Labels[Label] = None) -> TopK[Label]:
        """Choose k candidates in order; scores and labels, and errors, as for `top_k`."""
        call = Call(scores, self._arguments, labels=labels)
        call.read_k(self._plan.k)
        return call.choose_in_order(self._plan)


def ordered(arguments: Arguments, mechanism: Ordered | None, k: int) -> Calibration:
    """The noise of a top-k in order; where no mechanism is named, the better one for the cost."""
    name = mechanism or ("one_shot_exponential" if arguments.cost.is_pure else "exponential")
    return arguments.calibrate(TABLE[name], f"top_k_{name}/1", k)


def _keep(prepared: Any, arguments: Arguments, plan: Calibration) -> None:
    """Fill a frozen object."""
    values = plan.guarantee, plan.mechanism, arguments, plan
    for each, value in zip(fields(prepared), values, strict=True):
        object.__setattr__(prepared, each.name, value)
