"""The k best candidates of those above a threshold."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from safeselect._exact import describe, integer, rational
from safeselect.errors import ParameterError
from safeselect.guarantees import LaplaceDominated
from safeselect.mechanisms._call import Call

__all__ = ["TopAbove", "top_k_above"]


@dataclass(frozen=True, slots=True)
class TopAbove:
    """At most k candidates above a threshold, in the order of their noisy scores, best first.

    Attributes:
        labels: their labels (positions where no labels were given).
        indices: their positions among the candidates.
        gaps: by how much each one's noisy score exceeds that of the next in the order, rounded down
            to the grid, in score units.  Behind the last comes the noisy threshold, or, if k were
            found, whoever is next.
        guarantee: what the release costs.
        spent: how much of epsilon this very release used, ex post; see `top_k_above`.
        mechanism: name of the mechanism and version of its law.
        source: where the random bytes came from.
    """

    labels: tuple[Hashable, ...]
    indices: tuple[int, ...]
    gaps: tuple[Fraction, ...]
    guarantee: LaplaceDominated
    spent: Fraction
    mechanism: str
    source: str


def top_k_above(
    scores: object,
    *,
    threshold: object,
    k: int,
    epsilon: object,
    sensitivity: object,
    monotonic: bool = False,
    noise: Literal["exponential", "laplace"] = "exponential",
    minimize: bool = False,
    grid: object = None,
    labels: object = None,
    source: object = None,
    engine: str | None = None,
) -> TopAbove:
    """Choose the k largest noisy scores, with gaps, but none behind the noisy threshold.

    The threshold takes part as one more score and gets noise like all others: independent,
    identical, continuous noise of scale k R / epsilon, R being the `sensitivity` if monotonic, else
    twice that.  The order ends where the threshold comes.

    Guarantee: LaplaceDominated(epsilon): a part of the k first of n + 1 with their gaps
        (Ding et al. 2023; `docs/mathematics.md`, section 12).  An outcome that ends with the
        threshold in place j is at most e**spent times as likely on a neighbour, spent being
        epsilon j / k: so much may an accountant of ex-post losses charge.  The call as such costs
        epsilon.
    Neighbours: as for `permute_and_flip`.  There is no `range_`: the threshold does not move with
        the scores, so a range of the scores alone would not cover it.

    Args:
        threshold: rational of either sign, in score units; public; rounded down to the grid.
        k: how many at most, from 1 to the number of candidates.
        epsilon: total cost of this call; positive rational.
        noise: "exponential" or "laplace".
        minimize: smaller scores are better, and those below the threshold are wanted.
        scores, sensitivity, monotonic, grid, labels, source, engine: as for `permute_and_flip`.

    Raises:
        ParameterError, ScoreError, SourceError: as for `permute_and_flip`.
    """
    if not isinstance(noise, str) or noise not in ("exponential", "laplace"):
        raise ParameterError(f"noise must be 'exponential' or 'laplace', got {describe(noise)}")
    guarantee = LaplaceDominated(rational(epsilon, "epsilon"))
    call = Call(
        scores,
        sensitivity=rational(sensitivity, "sensitivity"),
        range_=None,
        monotonic=monotonic,
        minimize=minimize,
        grid=grid,
        labels=labels,
        source=source,
        engine=engine,
        threshold=rational(threshold, "threshold", signed=True),
    )
    last = call.size - 1  # where the threshold stands
    count = integer(k, "k", minimum=1, maximum=last)
    decay = call.decay(guarantee.epsilon / count)
    rank = call.engine.exponential_top if noise == "exponential" else call.engine.laplace_top
    with call:
        ranking = rank(call.candidates.steps, count, decay, call.bits, gaps=True)
    places = (*ranking.indices, last)
    end = places.index(last)
    return TopAbove(
        labels=tuple(call.label(index) for index in places[:end]),
        indices=places[:end],
        gaps=tuple(gap * call.candidates.grid for gap in (ranking.gaps or ())[:end]),
        guarantee=guarantee,
        spent=guarantee.epsilon * min(end + 1, count) / count,
        mechanism=f"top_k_above_{noise}/1",
        source=call.source_name,
    )
