"""The shared part of all our measurements: their input space, cost and failures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from typing import Any

from safeselect.adapters._drop_in import number
from safeselect.adapters._floats import at_least
from safeselect.errors import ParameterError, SafeSelectError
from safeselect.exact.parameters import describe, rational
from safeselect.exact.rate import NoiseRate
from safeselect.promises.guarantees import Family
from safeselect.randomness.source import resolve
from safeselect.release.results import Selection
from safeselect.scores.candidates import read_candidates
from safeselect.scores.floats import GridScores
from safeselect.scores.reading import Reading, Sensitivity

_VECTORS = re.compile(r"VectorDomain<AtomDomain<([iu][0-9]+|usize|f32|f64)>>", re.ASCII)


@dataclass(frozen=True, slots=True)
class Draws:
    """Draws of one family, each with an epsilon of `rate` per unit of the range of the change."""

    family: Family
    count: int
    rate: Fraction

    def cost(self, range_: Fraction, *, pure: bool) -> Fraction:
        """Return the epsilon, or the rho, of all draws together."""
        each = self.family(self.rate * range_)
        return self.count * (each.epsilon if pure else each.zcdp.rho)


@dataclass(frozen=True, slots=True)
class Space:
    """The input space of a measurement, and its measure of privacy."""

    domain: Any
    metric: Any
    measure: Any
    monotonic: bool
    pure: bool
    negate: bool
    reading: Reading

    @classmethod
    def read(
        cls,
        domain: object,
        metric: object,
        measure: object,
        negate: object,
        source: object,
        *,
        grid: object,
        on_grid: object,
        score_error: object,
    ) -> Space:
        """Read the arguments of every constructor, and refuse those that no proof here covers."""
        reading = Reading.read(grid=grid, on_grid=on_grid, score_error=score_error)
        if not isinstance(negate, bool):
            raise ParameterError(f"negate must be True or False, got {describe(negate)}")
        resolve(source)  # refuses a wrong source now, not at the first release
        dp = _opendp()
        kind = _VECTORS.fullmatch(str(getattr(domain, "type", None)))
        if not isinstance(domain, dp.Domain) or kind is None:
            expected = "vector_domain(atom_domain(T=...)) of integers or floats"
            raise _refusal(dp, "input_domain", expected, domain)
        atom = kind.group(1)
        if atom.startswith("f"):
            _check_floats(dp, domain, reading)
        metrics = [dp.linf_distance(T=atom, monotonic=monotonic) for monotonic in (False, True)]
        if metric not in metrics:
            raise _refusal(dp, "input_metric", f"linf_distance(T={atom!r})", metric)
        measures = [dp.max_divergence(), dp.zero_concentrated_divergence()]
        if measure not in measures:
            expected = "max_divergence() or zero_concentrated_divergence()"
            raise _refusal(dp, "output_measure", expected, measure)
        return cls(
            domain, metric, measure, metric == metrics[1], measure == measures[0], negate, reading
        )

    @contextmanager
    def scores_on_grid(self, scores: object) -> Iterator[GridScores]:
        """Yield the scores in steps of the grid, larger is better; they are overwritten at the end.

        Raises:
            ScoreError: a score is not a number that the reading covers.
        """
        scores_on_grid = read_candidates(scores).scores_on_grid(self.reading, minimize=self.negate)
        try:
            yield scores_on_grid
        finally:
            scores_on_grid.fill(0)

    def moved(self, distance: Fraction) -> Fraction:
        """Return the range of the change of the scores as read, in score units."""
        step = self.reading.step
        if self.reading.on_grid and distance < step:
            return Fraction(0)  # a multiple of the grid cannot move by less than a step
        return Sensitivity(distance, None, self.monotonic).range_in_steps(self.reading) * step

    def measurement(self, draws: Draws, release: Callable[[object], object], returns: str) -> Any:
        """Return the measurement with this release function, at the cost of these draws."""

        def privacy_map(d_in: object) -> float:
            distance = rational(d_in, "d_in", zero=True)
            if isinstance(d_in, float):
                # A float is a typed decimal or a computed binary number: take the larger one.
                distance = max(distance, Fraction(d_in))
            return at_least(draws.cost(self.moved(distance), pure=self.pure))

        return _opendp().m.make_user_measurement(
            self.domain, self.metric, self.measure, _guarded(release), privacy_map, TO=returns
        )


def _check_floats(dp: Any, domain: Any, reading: Reading) -> None:
    """Refuse floats without a grid."""
    if reading.grid is None:
        raise ParameterError(
            "an input_domain of floats needs grid=, the public step on which they are read, such "
            "as a thousandth of the sensitivity; without it, write an integer type"
        )
    # OpenDP states this only in its text.  A NaN that came anyway would be refused, not released.
    if "nan=true" in str(domain):
        expected = "vector_domain(atom_domain(T=..., nan=False)) for floats"
        raise _refusal(dp, "input_domain", expected, domain)


def _guarded(release: Callable[[object], object]) -> Callable[[object], object]:
    """Wrap the release: every failure becomes one sentence of ours."""

    def function(scores: object) -> object:
        failure: Exception = RuntimeError("the release failed; there is no output")
        try:
            return release(scores)
        except SafeSelectError as error:
            failure = type(error)(*error.args)
        # Any error, an interrupt too: nothing may pass through OpenDP's compiled code.
        except BaseException:  # noqa: BLE001, S110 - replaced by a constant sentence
            pass
        # Raised outside the handlers, so that the error is not its context.
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


def single(
    space: Space, family: Family, mechanism: Callable[..., Selection], scale: object, source: object
) -> Any:
    """Return the measurement that releases the index of one choice."""
    size = read_scale(scale, space)

    def release(scores: object) -> object:
        with space.scores_on_grid(scores) as scores_on_grid:
            range_ = size / space.reading.step
            return mechanism(scores_on_grid, epsilon=1, range_=range_, source=source).index

    return space.measurement(Draws(family, 1, 1 / size), release, "usize")


def read_scale(scale: object, space: Space) -> Fraction:
    """Read the scale of the noise, in score units."""
    size = rational(number(scale), "scale")
    try:
        NoiseRate(space.reading.step / size)  # refuses a rate that no release could use
    except ParameterError:
        refused = f"scale must be between 2**-20 and 2**40 grid steps, got {describe(scale)}"
        raise ParameterError(refused) from None
    return size
