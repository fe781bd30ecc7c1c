"""Our mechanisms as measurements of OpenDP (the extra `opendp`).

Each constructor takes the arguments of OpenDP's own: an input domain, an input metric, an output
measure and the scale of the noise; k is said by its name.  The domain is
`vector_domain(atom_domain(T=...))` of any of OpenDP's integer types (its `int` is i32).  The metric
is `linf_distance(T=..., monotonic=...)` of the same type.  The measure is `max_divergence()` or
`zero_concentrated_divergence()`.  With `grid` the type may be f32 or f64, in a domain without NaN;
a release refuses infinity.

The guarantee holds for every distance d_in.  At this distance the scores' changes differ by at most
R, the effective range of `docs/scores.md`: 2 d_in, or d_in if the metric is monotonic, plus, with a
grid, the amount that reading adds.  R and the scale give the exact epsilon or rho, and the
privacy map returns a float at least as large.  With `on_grid`, a d_in counts in whole steps,
rounded up.

- OpenDP requires the features "contrib" and "honest-but-curious" for parts of another library.  By
  enabling them the user trusts the statements of this file.
- A failure inside a release becomes one sentence of ours, with nothing chained to it, because
  OpenDP prints the whole traceback of a Python error.  OpenDP's own refusals, such as of an integer
  too large for its type, have OpenDP's words, which may quote the score.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from importlib import import_module
from typing import Any, Literal

from safeselect.adapters._numbers import at_least, number
from safeselect.errors import ParameterError, SafeSelectError
from safeselect.exact.interval import NoiseRate
from safeselect.exact.parameters import Number, describe, integer, rational, read_choice
from safeselect.mechanisms.select import report_noisy_max, top_k, top_k_with_gaps
from safeselect.promises.guarantees import BoundedRange, Family, LaplaceDominated
from safeselect.randomness.source import Source, resolve
from safeselect.release.display import library
from safeselect.scores.candidates import read_candidates
from safeselect.scores.reading import GridScores, Reading, Sensitivity, flag

__all__ = ["make_report_noisy_max", "make_top_k", "make_top_k_with_gaps", "name_in_context"]

_VECTORS = re.compile(r"VectorDomain<AtomDomain<([iu][0-9]+|usize|f32|f64)>>", re.ASCII)

_MOST_CHOSEN = 2**31 - 1
_named: set[str] = set()
_FAMILIES: dict[str, Family] = {
    "exponential": BoundedRange,
    "permute_and_flip": LaplaceDominated,
    "one_shot_exponential": LaplaceDominated,
}


def make_report_noisy_max(
    input_domain: object,
    input_metric: object,
    output_measure: object,
    scale: Number,
    *,
    noise: Literal["exponential", "laplace", "gumbel"],
    negate: bool = False,
    grid: Number | None = None,
    on_grid: bool = False,
    score_error: Number | None = None,
    source: Source | None = None,
) -> Any:
    """Report the index of the largest score + noise of this scale.

    With exponential noise this is permute-and-flip; with Gumbel noise it is the exponential
    mechanism, which chooses index i with probability proportional to exp(score i / scale).

    Guarantee: epsilon = R / scale; rho = epsilon + exp(-epsilon) - 1, or with "gumbel"
        rho = x - 1 - ln(x) with x = epsilon / (exp(epsilon) - 1), at most epsilon**2 / 8.

    Args:
        input_domain, input_metric, output_measure: see the module's docstring.
        scale: of the noise, in score units; an exact positive rational.
        noise: it has no default.
        negate: choose a small score.
        grid, on_grid, score_error: how scores are read, as for `permute_and_flip`; without a grid
            scores are integers.
        source: source of random bytes; the default is a cryptographic generator.

    Returns:
        A measurement from vectors of numbers to an index.

    Raises:
        ParameterError: a parameter is wrong, or OpenDP is not installed.
    """
    read_choice(noise, "noise", ("exponential", "laplace", "gumbel"))
    reading = Reading.read(grid=grid, on_grid=on_grid, score_error=score_error)
    space = _Space.read((input_domain, input_metric, output_measure), negate, source, reading)
    size = _read_scale(scale, space)

    def release(scores_on_grid: GridScores) -> object:
        range_ = size / space.reading.step
        drawn = partial(report_noisy_max, noise=noise, source=source)
        return drawn(scores_on_grid, epsilon=1, range_=range_).index

    family = BoundedRange if noise == "gumbel" else LaplaceDominated
    return space.measurement(family, 1, 1 / size, release, "usize")


def make_top_k(
    input_domain: object,
    input_metric: object,
    output_measure: object,
    scale: Number,
    *,
    k: int,
    mechanism: Literal["exponential", "permute_and_flip", "one_shot_exponential"] | None = None,
    negate: bool = False,
    grid: Number | None = None,
    on_grid: bool = False,
    score_error: Number | None = None,
    source: Source | None = None,
) -> Any:
    """Choose the indices of k large scores, best first, with noise of this scale.

    Guarantee: epsilon = k R / scale.  rho is k times that of `make_report_noisy_max` with Gumbel
        noise for "exponential", with exponential noise for "permute_and_flip"; for
        "one_shot_exponential", rho = epsilon + exp(-epsilon) - 1 with the total epsilon.

    Args:
        k: how many, at most as many as there are scores.
        mechanism: as for `top_k`: by default "one_shot_exponential" for max-divergence,
            "exponential" for zero-concentrated divergence.
        input_domain, input_metric, output_measure, scale, negate, grid, on_grid, score_error,
            source: as for `make_report_noisy_max`.

    Returns:
        A measurement from vectors of numbers to a list of k indices.

    Raises:
        ParameterError: as for `make_report_noisy_max`.
    """
    if mechanism is not None:
        read_choice(mechanism, "mechanism", tuple(_FAMILIES))
    reading = Reading.read(grid=grid, on_grid=on_grid, score_error=score_error)
    space = _Space.read((input_domain, input_metric, output_measure), negate, source, reading)
    name = mechanism or ("one_shot_exponential" if space.pure else "exponential")
    count, size = integer(k, "k", minimum=1, maximum=_MOST_CHOSEN), _read_scale(scale, space)

    def release(scores_on_grid: GridScores) -> list[object]:
        cost = _several(count, size / space.reading.step)
        best = top_k(scores_on_grid, k=count, mechanism=name, source=source, **cost)
        return list(best.labels)

    draws = 1 if name == "one_shot_exponential" else count
    each = Fraction(count, draws) / size
    return space.measurement(_FAMILIES[name], draws, each, release, "Vec<usize>")


def make_top_k_with_gaps(
    input_domain: object,
    input_metric: object,
    output_measure: object,
    scale: Number,
    *,
    k: int,
    noise: Literal["exponential", "laplace"] = "exponential",
    gap_grid: Number | None = None,
    negate: bool = False,
    grid: Number | None = None,
    on_grid: bool = False,
    score_error: Number | None = None,
    source: Source | None = None,
) -> Any:
    """Choose the indices of k large scores, best first, each with the gap to the next noisy score.

    Guarantee: epsilon = k R / scale, rho = epsilon + exp(-epsilon) - 1, for indices and gaps.

    Args:
        noise: "exponential" or "laplace".
        gap_grid: as for `top_k_with_gaps`.
        input_domain, input_metric, output_measure, k, scale, negate, grid, on_grid, score_error,
            source: as for `make_top_k`; k is at most the number of scores less one.

    Returns:
        A measurement from vectors of numbers to a list of k pairs (index, gap), each gap an exact
        Fraction in score units.

    Raises:
        ParameterError: as for `make_report_noisy_max`.
    """
    read_choice(noise, "noise", ("exponential", "laplace"))
    reading = Reading.read(grid=grid, on_grid=on_grid, score_error=score_error)
    space = _Space.read((input_domain, input_metric, output_measure), negate, source, reading)
    count, size = integer(k, "k", minimum=1, maximum=_MOST_CHOSEN), _read_scale(scale, space)
    step = None if gap_grid is None else rational(gap_grid, "gap_grid") / space.reading.step

    def release(scores_on_grid: GridScores) -> list[tuple[object, Fraction]]:
        cost = _several(count, size / space.reading.step)
        drawn = partial(top_k_with_gaps, noise=noise, gap_grid=step, source=source)
        best = drawn(scores_on_grid, k=count, **cost)
        gaps = (gap * space.reading.step for gap in best.gaps or ())
        return list(zip(best.labels, gaps, strict=True))

    return space.measurement(LaplaceDominated, 1, count / size, release, "ExtrinsicObject")


def _several(count: int, scale: Fraction) -> dict[str, Any]:
    """The cost of so many draws with noise of this scale: an epsilon of 1 for each of them.

    Beyond 10 the same noise, said so that no total looks large.
    """
    return {"epsilon": min(count, 10), "range_": scale * min(count, 10) / count}


def name_in_context() -> None:
    """Let queries of OpenDP's Context API have our measurements as methods, from now on.

    These are `safe_noisy_max`, `safe_top_k` and `safe_top_k_with_gaps`.  Each takes the output
    measure and the arguments of the constructor; the domain and the metric come from the query.
    The context finds the one argument that is left out, as a rule the scale.  It searches among
    floats, and the scale is the decimal that the float shows.

    Guarantee: that of the constructor.  Contexts of pure and of zero-concentrated privacy both
        work.

    Raises:
        ParameterError: OpenDP is not installed.
    """
    _opendp()
    register = import_module("opendp.context").register
    for name, make in (
        ("safe_noisy_max", make_report_noisy_max),
        ("safe_top_k", make_top_k),
        ("safe_top_k_with_gaps", make_top_k_with_gaps),
    ):
        if name not in _named:  # OpenDP takes a name once
            register(make, name)
            _named.add(name)


@dataclass(frozen=True, slots=True)
class _Space:
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
        cls, space: tuple[object, object, object], negate: object, source: object, reading: Reading
    ) -> _Space:
        """Read the arguments of every constructor, and refuse those that no proof here covers."""
        domain, metric, measure = space
        smallest = flag(negate, "negate")
        resolve(source)  # refuses a wrong source now, not at the first release
        dp = _opendp()
        kind = _VECTORS.fullmatch(str(getattr(domain, "type", None)))
        if not isinstance(domain, dp.Domain) or kind is None:
            expected = "vector_domain(atom_domain(T=...)) of integers or floats"
            raise _refusal(dp, "input_domain", expected, domain)
        atom = kind.group(1)
        if atom.startswith("f") and reading.grid is None:
            raise ParameterError(
                "an input_domain of floats requires grid=, a public step such as a thousandth of "
                "the sensitivity"
            )
        # OpenDP states this only in its text.  A NaN that came anyway would be refused.
        if "nan=true" in str(domain):
            expected = "vector_domain(atom_domain(T=..., nan=False)) for floats"
            raise _refusal(dp, "input_domain", expected, domain)
        metrics = [dp.linf_distance(T=atom, monotonic=monotonic) for monotonic in (False, True)]
        if metric not in metrics:
            raise _refusal(dp, "input_metric", f"linf_distance(T={atom!r})", metric)
        measures = [dp.max_divergence(), dp.zero_concentrated_divergence()]
        if measure not in measures:
            expected = "max_divergence() or zero_concentrated_divergence()"
            raise _refusal(dp, "output_measure", expected, measure)
        is_pure = measure == measures[0]
        return cls(domain, metric, measure, metric == metrics[1], is_pure, smallest, reading)

    def moved(self, distance: Fraction) -> Fraction:
        """Return the range of the change of the scores as read, in score units."""
        most = Sensitivity(distance, None, self.monotonic).range_in_steps(self.reading)
        return most * self.reading.step

    def measurement(
        self,
        family: Family,
        draws: int,
        rate: Fraction,
        release: Callable[[GridScores], object],
        returns: str,
    ) -> Any:
        """Return the measurement that releases this of scores in steps, larger is better.

        It costs draws of one family, each with an epsilon of `rate` per unit of the range of the
        change.
        """

        def released(scores: object) -> object:
            read = read_candidates(scores).scores_on_grid(self.reading, minimize=self.negate)
            try:
                return release(read)
            finally:
                read.fill(0)

        def privacy_map(d_in: object) -> float:
            distance = rational(d_in, "d_in", zero=True)
            if isinstance(d_in, float):
                # A float is a typed decimal or a computed binary number: take the larger one.
                distance = max(distance, Fraction(d_in))
            each = family(rate * self.moved(distance))
            return at_least(draws * (each.epsilon if self.pure else each.zcdp.rho))

        return _opendp().m.make_user_measurement(
            self.domain, self.metric, self.measure, _guarded(released), privacy_map, TO=returns
        )


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


_opendp = partial(library, "opendp.prelude", "opendp")


def _read_scale(scale: object, space: _Space) -> Fraction:
    """Read the scale of the noise, in score units."""
    size = rational(number(scale), "scale")
    try:
        NoiseRate(space.reading.step / size)  # refuses a rate that no release could use
    except ParameterError:
        refused = f"scale must be between 2**-20 and 2**40 grid steps, got {describe(scale)}"
        raise ParameterError(refused) from None
    return size
