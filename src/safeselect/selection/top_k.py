"""The k best candidates, by five mechanisms."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Literal, Unpack, overload

from safeselect.exact.parameters import Number
from safeselect.exact.rate import NoiseRate
from safeselect.scores.candidates import Label, label_text
from safeselect.selection._arguments import Labels, Options, Scores, explicit
from safeselect.selection._call import Call
from safeselect.selection._reading import Arguments
from safeselect.selection._results import TopK, TopSet
from safeselect.selection._table import (
    MECHANISMS,
    TABLE,
    Calibration,
    Mechanism,
    Peeled,
    read_choice,
)
from safeselect.selection.prepared import ordered


@overload
def top_k(
    scores: Scores[Label],
    *,
    k: int,
    mechanism: Literal["laplace"],
    delta: Number | None = None,
    labels: Labels[Label] = None,
    **options: Unpack[Options],
) -> TopSet[Label]: ...


@overload
def top_k(
    scores: Scores[Label],
    *,
    k: int,
    mechanism: Peeled | Literal["one_shot_exponential"] | None = None,
    delta: Number | None = None,
    labels: Labels[Label] = None,
    **options: Unpack[Options],
) -> TopK[Label]: ...


@explicit(Options)
def top_k(
    scores: Scores[Label],
    *,
    k: int,
    delta: Number | None = None,
    mechanism: Mechanism | None = None,
    labels: Labels[Label] = None,
    **options: Unpack[Options],
) -> TopK[Label] | TopSet[Label]:
    """Choose k candidates with large scores, best first.

    Here "exponential" names the *mechanism* (one-shot Gumbel noise); exponential *noise* is
    "one_shot_exponential".

    - "one_shot_exponential": exponential noise of scale k R / epsilon, drawn once; the whole call
      is one LaplaceDominated(epsilon).
    - "exponential": k exponential mechanisms, each on the candidates that remain, which is the same
      as one draw of Gumbel noise; each is BoundedRange.
    - "exponential_base2": the same with rational weights.
    - "permute_and_flip": k permute-and-flips, each on the candidates that remain; each is
      LaplaceDominated.
    - "laplace": Laplace noise, drawn once; an unordered set; with `delta` only.

    R is `range_`, or `sensitivity` if monotonic, or twice the `sensitivity`.

    Guarantee: with `epsilon` alone LaplaceDominated(epsilon) (BoundedRange for one draw of the
        exponential mechanism); with `delta` ApproximateDP(epsilon, delta); with `rho`
        ZeroConcentratedDP(rho).  `parts` holds the guarantees of the draws, for `compose`.
    Neighbours: as for `permute_and_flip`.
    Method: all candidates are looked at coarsely, k times for "permute_and_flip", once for the
        others, and then up to 1.5 k of them exactly, with some 600 bytes and 10 us or more each:
        for k close to n = 10**6 half a gigabyte.
    Source: Durfee and Rogers (2019) for one-shot Gumbel noise; Ding et al. (2023) for one-shot
        exponential noise; Qiao, Su and Zhang (2021), Theorem 2.2, for "laplace".

    Args:
        k: how many, from 1 to the number of candidates.
        epsilon: total cost of this call; positive rational.
        delta: with epsilon: an (epsilon, delta) total, which allows less noise.
        rho: total cost of this call in zCDP, instead of epsilon.
        mechanism: see above; by default "one_shot_exponential" for epsilon alone, "exponential"
            where delta or rho is given.
        weights: with "exponential" and "exponential_base2", as for `exponential_mechanism`; a
            candidate that was chosen takes its whole weight with it.
        scores, sensitivity, range_, monotonic, minimize, grid, on_grid, score_error, labels,
            source, ledger, engine: as for `permute_and_flip`.

    Returns:
        TopK; TopSet for "laplace", whose order is not private.

    Raises:
        ParameterError, ScoreError, SourceError, BudgetError: as for `permute_and_flip`.

    Example:
        >>> top_k({"tea": 3, "milk": 900, "rum": 2000}, k=2, epsilon=1, sensitivity=1).labels
        ('rum', 'milk')
    """
    if mechanism is not None:
        read_choice(mechanism, "mechanism", MECHANISMS)
    arguments = Arguments.read(options, delta=delta)
    call = Call(scores, arguments, labels=labels)
    count = call.read_k(k)
    if mechanism == "laplace":
        return _laplace_set(call, count)
    return call.choose_in_order(ordered(arguments, mechanism, count))


def _laplace_set(call: Call, k: int) -> TopSet[Any]:
    """The unordered mechanism of Qiao, Su and Zhang (2021), Theorem 2.2."""
    arguments = call.arguments
    guarantee, rate = arguments.cost.unordered(call.size, k, arguments.range_in_steps)
    row = TABLE["laplace"]
    plan = Calibration("top_k_laplace/1", row, k, guarantee, guarantee, 1, NoiseRate(rate))
    plan = arguments.weighted(plan)  # refuses weights
    with call.draws(plan):
        # Sorted, so that the order of the noise is lost: the iteration order of a set may tell
        # which of two elements was put in first.
        chosen = tuple(sorted(call.rank(plan).indices))
        places = call.positions(chosen)
        indices = None if places is None else frozenset(places)
        labels = _unordered(call, chosen)
        return call.released(TopSet(labels, indices, **call.said(plan), parts=(guarantee,)))


def _unordered(call: Call, chosen: tuple[int, ...]) -> frozenset[object] | tuple[object, ...]:
    """The labels of the chosen; a tuple where a candidate has a label that cannot be hashed."""
    labels = sorted(
        call.labels(chosen), key=lambda label: (label_text(label), type(label).__name__)
    )
    with suppress(Exception):  # a label's class may raise any exception
        hash(call.candidates.labels)
        return frozenset(labels)
    return tuple(labels)
