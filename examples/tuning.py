"""Hyper-parameter choice: which of four private models is best on planes it was not trained on?

The models predict whether a plane leaves New York at least 50 times a year. Each model is a noisy
table that is already released. The choice uses other planes.

Neighbours: data sets that differ only in whether they contain the flights of one plane.
Guarantee: 1/2-differential privacy for each plane. The cost is 4 x 1/8 for a plane in the training
half, and 1/2 for a plane in the validation half. No plane is in both halves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from hashlib import sha256
from itertools import product

from flights import CARRIERS, MONTHS, Flight, by_plane

from safeselect import PureDP, compose, measure, permute_and_flip

Plane = list[Flight]
Model = Callable[[Plane], bool]
BUSY = 50
EACH, CHOICE = Fraction(1, 8), Fraction(1, 2)


def carrier(plane: Plane) -> str:
    """Return the most frequent airline of a plane, or the first by name if there is a tie."""
    return min(Counter(flight.carrier for flight in plane).items(), key=lambda x: (-x[1], x[0]))[0]


def first_month(plane: Plane) -> int:
    """Return the month of the first flight of a plane."""
    return min(flight.month for flight in plane)


def reach(plane: Plane) -> int:
    """Return the number of airports to which a plane flew, at most 20."""
    return min(20, len({flight.destination for flight in plane}))


# The hyper-parameter: the attribute that a model uses, with all its values. Both are public.
LOOKS = {
    "carrier": (carrier, CARRIERS),
    "first month": (first_month, MONTHS),
    "reach": (reach, range(1, 21)),
    "carrier and reach": (lambda p: (carrier(p), reach(p)), [*product(CARRIERS, range(1, 21))]),
}


def train(name: str, planes: list[Plane]) -> Model:
    """Release, for each value, the noisy difference between the numbers of busy and other planes.

    One more plane changes one number of the table by 1. Discrete Laplace noise of rate EACH on all
    numbers gives PureDP(EACH). Everything computed from the noisy table costs nothing.
    """
    look, values = LOOKS[name]
    lead = dict.fromkeys(values, 0)
    for plane in planes:
        lead[look(plane)] += 1 if len(plane) >= BUSY else -1
    noisy = measure(lead, epsilon=EACH, sensitivity_l1=1)
    table = dict(zip(noisy.labels, noisy.values, strict=True))
    return lambda plane: table[look(plane)] > 0


def scores(models: dict[str, Model], planes: list[Plane]) -> dict[str, int]:
    """Return the number of planes that each model predicts correctly.

    Sensitivity: one more plane adds 0 or 1 to every score: sensitivity 1, monotonic.
    """
    return {
        name: sum(model(plane) == (len(plane) >= BUSY) for plane in planes)
        for name, model in models.items()
    }


def main() -> None:
    halves: tuple[list[Plane], list[Plane]] = [], []
    for tail_number, plane in by_plane().items():
        # The half of a plane depends on this plane alone.
        halves[sha256(tail_number.encode()).digest()[0] % 2].append(plane)
    training, validation = halves
    models = {name: train(name, training) for name in LOOKS}
    best = permute_and_flip(
        scores(models, validation), epsilon=CHOICE, sensitivity=1, monotonic=True
    )
    print(f"best attribute: {best.label}")
    print(f"cost for a plane in training: {compose([PureDP(EACH)] * len(LOOKS)).guarantee}")
    print(f"cost for a plane in validation: {best.guarantee}")


if __name__ == "__main__":
    main()
