"""Hyper-parameter choice: which of four private models is best on planes that none of them saw?

The models guess whether a plane leaves New York at least 50 times a year.  Each is a noisy table
that was released before; the choice looks at other planes.

Neighbours: all flights of one plane are added or removed.
Guarantee: 1/2-differential privacy for each plane: a plane is in the training half, which pays
4 x 1/8, or in the validation half, which pays 1/2, and never in both.
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
    """For whom it flew most; of equals, the first by name."""
    return min(Counter(flight.carrier for flight in plane).items(), key=lambda x: (-x[1], x[0]))[0]


def first_month(plane: Plane) -> int:
    """When it came."""
    return min(flight.month for flight in plane)


def reach(plane: Plane) -> int:
    """To how many airports it flew, 20 counting for all above."""
    return min(20, len({flight.destination for flight in plane}))


# The hyper-parameter: what a model looks at, and all values of it.  Public.
LOOKS = {
    "carrier": (carrier, CARRIERS),
    "first month": (first_month, MONTHS),
    "reach": (reach, range(1, 21)),
    "carrier and reach": (lambda p: (carrier(p), reach(p)), [*product(CARRIERS, range(1, 21))]),
}


def train(name: str, planes: list[Plane]) -> Model:
    """Release, for each value, how many more busy planes than others have it, with noise.

    One plane more changes one number of the table by 1: discrete Laplace noise of rate EACH on all
    of them is PureDP(EACH).  What is made of the table afterwards costs nothing.
    """
    look, values = LOOKS[name]
    lead = dict.fromkeys(values, 0)
    for plane in planes:
        lead[look(plane)] += 1 if len(plane) >= BUSY else -1
    noisy = measure(lead, epsilon=EACH, sensitivity_l1=1)
    table = dict(zip(noisy.labels, noisy.values, strict=True))
    return lambda plane: table[look(plane)] > 0


def scores(models: dict[str, Model], planes: list[Plane]) -> dict[str, int]:
    """How many planes each model guesses rightly.

    Sensitivity: one plane more adds 0 or 1 to every score: sensitivity 1, monotonic.
    """
    return {
        name: sum(model(plane) == (len(plane) >= BUSY) for plane in planes)
        for name, model in models.items()
    }


def main() -> None:
    halves: tuple[list[Plane], list[Plane]] = [], []
    for tail_number, plane in by_plane().items():
        halves[sha256(tail_number.encode()).digest()[0] % 2].append(plane)  # its own number decides
    training, validation = halves
    models = {name: train(name, training) for name in LOOKS}
    best = permute_and_flip(
        scores(models, validation), epsilon=CHOICE, sensitivity=1, monotonic=True
    )
    print(f"look at: {best.label}")
    print(f"paid by a plane of the training half: {compose([PureDP(EACH)] * len(LOOKS)).guarantee}")
    print(f"paid by a plane of the validation half: {best.guarantee}")


if __name__ == "__main__":
    main()
