"""What all our measurements share: where they start, what they cost and how they fail."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from typing import Any

from safeselect._exact import describe, rational
from safeselect.accounting.calibration import Family
from safeselect.adapters._floats import at_least
from safeselect.errors import ParameterError, SafeSelectError
from safeselect.sources import resolve

__all__ = ["Draws", "Space"]

_INTEGER_VECTORS = re.compile(r"VectorDomain<AtomDomain<([iu][0-9]+|usize)>>", re.ASCII)


@dataclass(frozen=True, slots=True)
class Draws:
    """Draws of one family, each with an epsilon of `rate` per unit of the range of the change."""

    family: Family
    count: int
    rate: Fraction

    def cost(self, range_: Fraction, *, pure: bool) -> Fraction:
        """The epsilon, or the rho, of all draws together."""
        each = self.family(self.rate * range_)
        return self.count * (each.epsilon if pure else each.zcdp.rho)


@dataclass(frozen=True, slots=True)
class Space:
    """Where a measurement starts and how its privacy is measured."""

    domain: Any
    metric: Any
    measure: Any
    monotonic: bool
    pure: bool

    @classmethod
    def read(
        cls, domain: object, metric: object, measure: object, negate: object, source: object
    ) -> Space:
        """Read what every constructor takes, and refuse what no proof here covers."""
        if not isinstance(negate, bool):
            raise ParameterError(f"negate must be True or False, got {describe(negate)}")
        resolve(source)  # a wrong source is refused now, not at the first release
        dp = _opendp()
        kind = _INTEGER_VECTORS.fullmatch(str(getattr(domain, "type", None)))
        if not isinstance(domain, dp.Domain) or kind is None:
            expected = "vector_domain(atom_domain(T=...)) of an integer type"
            raise _refusal(dp, "input_domain", expected, domain)
        atom = kind.group(1)
        metrics = [dp.linf_distance(T=atom, monotonic=monotonic) for monotonic in (False, True)]
        if metric not in metrics:
            raise _refusal(dp, "input_metric", f"linf_distance(T={atom!r})", metric)
        measures = [dp.max_divergence(), dp.zero_concentrated_divergence()]
        if measure not in measures:
            expected = "max_divergence() or zero_concentrated_divergence()"
            raise _refusal(dp, "output_measure", expected, measure)
        return cls(domain, metric, measure, metric == metrics[1], measure == measures[0])

    def measurement(self, draws: Draws, release: Callable[[object], object], returns: str) -> Any:
        """The measurement that releases so, at the cost of these draws."""

        def privacy_map(d_in: object) -> float:
            distance = rational(d_in, "d_in", zero=True)
            range_ = distance if self.monotonic else 2 * distance
            return at_least(draws.cost(range_, pure=self.pure))

        return _opendp().m.make_user_measurement(
            self.domain, self.metric, self.measure, _guarded(release), privacy_map, TO=returns
        )


def _guarded(release: Callable[[object], object]) -> Callable[[object], object]:
    """The release, whose failures say one sentence of ours and nothing else."""

    def function(scores: object) -> object:
        failure: Exception = RuntimeError("the release failed; there is no output")
        try:
            return release(scores)
        except SafeSelectError as error:
            failure = type(error)(*error.args)
        # Whatever it is, an interrupt too: nothing may pass through OpenDP's compiled code.
        except BaseException:  # noqa: BLE001, S110 - replaced by a constant sentence
            pass
        # Raised outside the handlers, so that what happened is not its context.
        raise failure

    return function


def _refusal(dp: Any, name: str, expected: str, got: object) -> ParameterError:
    shown = str(got) if isinstance(got, (dp.Domain, dp.Metric, dp.Measure)) else describe(got)
    return ParameterError(f"{name} must be {expected}, got {shown}")


def _opendp() -> Any:
    try:
        return import_module("opendp.prelude")
    except ImportError:
        raise ParameterError("measurements need OpenDP: pip install 'safeselect[opendp]'") from None
