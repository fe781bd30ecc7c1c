"""The k best candidates of those above a threshold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Generic, Unpack, cast, get_args

from safeselect.accounting.cost import PrivacyCost, read_epsilon
from safeselect.exact.parameters import Number, integer, rational
from safeselect.promises.guarantees import Guarantee
from safeselect.promises.records import exact_text
from safeselect.release.results import Receipt, Statement
from safeselect.scores.candidates import Label
from safeselect.selection._arguments import Arguments, Labels, Options, Parameters, Scores, explicit
from safeselect.selection._call import Call
from safeselect.selection._results import rate, texts, views
from safeselect.selection._table import one_draw, read_choice
from safeselect.selection.gaps import GapNoise, in_scores, read_gap_grid


@dataclass(frozen=True, slots=True)
class TopAbove(Generic[Label]):
    """At most k candidates above a threshold, in the order of their noisy scores, best first.

    Attributes:
        labels: their labels (positions where no labels were given).
        indices: their positions among the candidates, or None, as `Selection.index`.
        gaps: by how much each one's noisy score exceeds that of the next in the order, rounded
            down to the gap grid, in score units.  Behind the last comes the noisy threshold, or, if
            k were found, the next candidate or the threshold.
        guarantee: what the release costs.
        spent: how much of epsilon this very release used, ex post; see `top_k_above`.
        mechanism: name of the mechanism and version of its law.
        source: where the random bytes came from.
        statement: the public facts that a reader needs: unit, neighbours, parameters, library.
        receipt: with `ledger=`, where the record of the release is and the salt of its commitment.
    """

    labels: tuple[Label, ...]
    indices: tuple[int, ...] | None
    gaps: tuple[Fraction, ...]
    guarantee: Guarantee
    spent: Fraction
    mechanism: str
    source: str
    statement: Statement = field(repr=False)
    receipt: Receipt | None = None

    __repr__, to_json = texts("safeselect.top-above/3")
    to_dict, to_pandas, to_polars, plot = views()

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[Label]:
        return iter(self.labels)

    def __getitem__(self, place: Any) -> Any:
        return self.labels[place]

    @property
    def noise_rate(self) -> Fraction | None:
        """The rate of the noise per score unit, 1 / scale; None where `base` is given."""
        return rate(self)

    @property
    def effective_range(self) -> Fraction | None:
        """The range of the change of the scores that the noise covers, in score units.

        It is what was declared, and what reading the scores adds.
        """
        return self.statement.effective_range


@explicit(Parameters)
def top_k_above(
    scores: Scores[Label],
    *,
    threshold: Number,
    k: int,
    epsilon: Number,
    sensitivity: Number,
    noise: GapNoise = "exponential",
    gap_grid: Number | None = None,
    labels: Labels[Label] = None,
    **options: Unpack[Parameters],
) -> TopAbove[Label]:
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
        threshold: rational of either sign, in score units; public; the nearest step counts.
        k: how many at most, from 1 to the number of candidates.
        epsilon: total cost of this call; positive rational.
        noise: "exponential" or "laplace".
        minimize: smaller scores are better, and those below the threshold are wanted.
        gap_grid: public step of the gaps, as for `top_k_with_gaps`.
        scores, sensitivity, monotonic, grid, on_grid, score_error, labels, source, ledger, engine:
            as for `permute_and_flip`.

    Returns:
        TopAbove.

    Raises:
        ParameterError, ScoreError, SourceError: as for `permute_and_flip`.

    Example:
        >>> top_k_above([3, 900, 5], threshold=400, k=2, epsilon=1, sensitivity=1).indices
        (1,)
    """
    read_choice(noise, "noise", get_args(GapNoise))
    cost = PrivacyCost(read_epsilon(epsilon), None, None)
    place = rational(threshold, "threshold", signed=True)
    size = rational(sensitivity, "sensitivity")
    given = cast("Options", {**options, "sensitivity": size})
    arguments = Arguments.read(given, cost=cost)
    call = Call(scores, arguments, labels=labels, threshold=place)
    last = call.size - 1  # where the threshold stands
    count = integer(k, "k", minimum=1, maximum=last)
    plan = arguments.calibrate(one_draw(noise), f"top_k_above_{noise}/1", count)
    step = read_gap_grid(arguments.reading, plan, gap_grid)
    with call.draws(plan, {"gap_grid": exact_text(step), "threshold": exact_text(place)}):
        ranking = call.rank(plan, step)
        places = (*ranking.indices, last)
        end = places.index(last)
        return call.released(
            TopAbove(
                call.labels(places[:end]),
                call.positions(places[:end]),
                in_scores(ranking, step)[:end],
                **call.said(plan),
                spent=(cost.epsilon or 0) * Fraction(min(end + 1, count), count),
            )
        )
