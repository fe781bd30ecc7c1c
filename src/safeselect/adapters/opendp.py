"""Our mechanisms as measurements of OpenDP: `safeselect[opendp]`.

Each constructor takes the arguments of OpenDP's own: an input domain, an input metric, an output
measure and the scale of the noise.  The domain is `vector_domain(atom_domain(T=...))` of any of
OpenDP's integer types (its `int` is i32).  The metric is `linf_distance(T=..., monotonic=...)` of
the same type.  The measure is `max_divergence()` or `zero_concentrated_divergence()`.  With `grid`
the type may be f32 or f64, in a domain without NaN; a release refuses infinity.

The guarantee holds for every distance d_in.  At this distance the scores' changes differ by at most
R, the effective range of `docs/scores.md`: 2 d_in, or d_in if the metric is monotonic, plus, with a
grid, the amount that reading adds.  R and the scale give the exact epsilon or rho, and the
privacy map returns a float at least as large.  With `on_grid`, a d_in below one step costs nothing.

- OpenDP requires the features "contrib" and "honest-but-curious" for parts of another library.  By
  enabling them the user trusts the statements of this file.
- A failure inside a release becomes one sentence of ours, with nothing chained to it, because
  OpenDP prints the whole traceback of a Python error.  OpenDP's own refusals, such as of an integer
  too large for its type, have OpenDP's words, which may quote the score.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any, Literal

from safeselect.adapters._opendp_space import Draws, Space, read_scale, single
from safeselect.errors import ParameterError
from safeselect.exact.parameters import Number, describe, integer, rational, read_choice
from safeselect.mechanisms.select import (
    exponential_mechanism,
    permute_and_flip,
    report_noisy_max,
    top_k,
    top_k_with_gaps,
)
from safeselect.promises.guarantees import BoundedRange, Family, LaplaceDominated
from safeselect.randomness.source import Source

__all__ = [
    "make_exponential_mechanism",
    "make_permute_and_flip",
    "make_report_noisy_max",
    "make_top_k",
    "make_top_k_with_gaps",
]

_MOST_CHOSEN = 2**31 - 1
_FAMILIES: dict[str, Family] = {
    "exponential": BoundedRange,
    "permute_and_flip": LaplaceDominated,
    "one_shot_exponential": LaplaceDominated,
}


def make_permute_and_flip(
    input_domain: object,
    input_metric: object,
    output_measure: object,
    scale: Number,
    *,
    negate: bool = False,
    grid: Number | None = None,
    on_grid: bool = False,
    score_error: Number | None = None,
    source: Source | None = None,
) -> Any:
    """Choose the index of a large score by permute-and-flip: exponential noise of this scale.

    Guarantee: epsilon = R / scale; rho = epsilon + exp(-epsilon) - 1.

    Args:
        input_domain, input_metric, output_measure: see the module's docstring.
        scale: of the noise, in score units; an exact positive rational.
        negate: choose a small score.
        grid, on_grid, score_error: how scores are read, as for `permute_and_flip`; without a grid
            scores are integers.
        source: source of random bytes; the default is a cryptographic generator.

    Returns:
        A measurement from vectors of numbers to an index.

    Raises:
        ParameterError: a parameter is wrong, or OpenDP is not installed.
    """
    space = Space.read(
        input_domain,
        input_metric,
        output_measure,
        negate,
        source,
        grid=grid,
        on_grid=on_grid,
        score_error=score_error,
    )
    return single(space, LaplaceDominated, permute_and_flip, scale, source)


def make_exponential_mechanism(
    input_domain: object,
    input_metric: object,
    output_measure: object,
    scale: Number,
    *,
    negate: bool = False,
    grid: Number | None = None,
    on_grid: bool = False,
    score_error: Number | None = None,
    source: Source | None = None,
) -> Any:
    """Choose index i with probability proportional to exp(score i / scale): Gumbel noise.

    Guarantee: epsilon = R / scale; rho = x - 1 - ln(x) with x = epsilon / (exp(epsilon) - 1), at
        most epsilon**2 / 8.

    Args, Returns, Raises: as for `make_permute_and_flip`.
    """
    space = Space.read(
        input_domain,
        input_metric,
        output_measure,
        negate,
        source,
        grid=grid,
        on_grid=on_grid,
        score_error=score_error,
    )
    return single(space, BoundedRange, exponential_mechanism, scale, source)


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

    Guarantee: epsilon = R / scale; rho as for `make_exponential_mechanism` with "gumbel", as for
        `make_permute_and_flip` with the others.

    Args, Returns, Raises: as for `make_permute_and_flip`; `noise` has no default.
    """
    if not isinstance(noise, str) or noise not in ("exponential", "laplace", "gumbel"):
        raise ParameterError(
            f"noise must be 'exponential', 'laplace' or 'gumbel', got {describe(noise)}"
        )
    space = Space.read(
        input_domain,
        input_metric,
        output_measure,
        negate,
        source,
        grid=grid,
        on_grid=on_grid,
        score_error=score_error,
    )
    family = BoundedRange if noise == "gumbel" else LaplaceDominated
    return single(space, family, partial(report_noisy_max, noise=noise), scale, source)


def make_top_k(
    input_domain: object,
    input_metric: object,
    output_measure: object,
    k: int,
    scale: Number,
    *,
    mechanism: Literal["exponential", "permute_and_flip", "one_shot_exponential"] | None = None,
    negate: bool = False,
    grid: Number | None = None,
    on_grid: bool = False,
    score_error: Number | None = None,
    source: Source | None = None,
) -> Any:
    """Choose the indices of k large scores, best first, with noise of this scale.

    Guarantee: epsilon = k R / scale.  rho is k times that of `make_exponential_mechanism` for
        "exponential", k times that of `make_permute_and_flip` for "permute_and_flip", and that of
        epsilon as a whole, epsilon + exp(-epsilon) - 1, for "one_shot_exponential".

    Args:
        k: how many, at most as many as there are scores.
        mechanism: as for `top_k`: by default "one_shot_exponential" for max-divergence,
            "exponential" for zero-concentrated divergence.
        input_domain, input_metric, output_measure, scale, negate, grid, on_grid, score_error,
            source: as for `make_permute_and_flip`.

    Returns:
        A measurement from vectors of numbers to a list of k indices.

    Raises:
        ParameterError: as for `make_permute_and_flip`.
    """
    if mechanism is not None:
        read_choice(mechanism, "mechanism", tuple(_FAMILIES))
    space = Space.read(
        input_domain,
        input_metric,
        output_measure,
        negate,
        source,
        grid=grid,
        on_grid=on_grid,
        score_error=score_error,
    )
    name = mechanism or ("one_shot_exponential" if space.pure else "exponential")
    count, size = integer(k, "k", minimum=1, maximum=_MOST_CHOSEN), read_scale(scale, space)

    def release(scores: object) -> list[object]:
        with space.scores_on_grid(scores) as scores_on_grid:
            best = top_k(
                scores_on_grid,
                k=count,
                # 1 for each of them; beyond 10 the same noise, said so that no total looks large.
                epsilon=min(count, 10),
                range_=size / space.reading.step * min(count, 10) / count,
                mechanism=name,
                source=source,
            )
        return list(best.labels)

    draws = 1 if name == "one_shot_exponential" else count
    cost = Draws(_FAMILIES[name], draws, Fraction(count, draws) / size)
    return space.measurement(cost, release, "Vec<usize>")


def make_top_k_with_gaps(
    input_domain: object,
    input_metric: object,
    output_measure: object,
    k: int,
    scale: Number,
    *,
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
        ParameterError: as for `make_permute_and_flip`.
    """
    if not isinstance(noise, str) or noise not in ("exponential", "laplace"):
        raise ParameterError(f"noise must be 'exponential' or 'laplace', got {describe(noise)}")
    space = Space.read(
        input_domain,
        input_metric,
        output_measure,
        negate,
        source,
        grid=grid,
        on_grid=on_grid,
        score_error=score_error,
    )
    count, size = integer(k, "k", minimum=1, maximum=_MOST_CHOSEN), read_scale(scale, space)
    step = None if gap_grid is None else rational(gap_grid, "gap_grid") / space.reading.step

    def release(scores: object) -> list[tuple[object, Fraction]]:
        with space.scores_on_grid(scores) as scores_on_grid:
            best = top_k_with_gaps(
                scores_on_grid,
                k=count,
                # 1 for each of them; beyond 10 the same noise, said so that no total looks large.
                epsilon=min(count, 10),
                range_=size / space.reading.step * min(count, 10) / count,
                noise=noise,
                gap_grid=step,
                source=source,
            )
        gaps = (gap * space.reading.step for gap in best.gaps or ())
        return list(zip(best.labels, gaps, strict=True))

    cost = Draws(LaplaceDominated, 1, count / size)
    return space.measurement(cost, release, "ExtrinsicObject")
