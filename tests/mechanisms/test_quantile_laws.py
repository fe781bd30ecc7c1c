"""Quantiles: the law over the grid, for published cases and for all small ones; its range."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import mpmath
import pytest
from quantile_laws import QUANTILES, TIES, distance, grid_law, point_law, run_law, whole

from safeselect.mechanisms.quantiles import Law, Part, _range, draw_point
from vectors import vectors

CASES = [case for case in vectors("weights_quantiles_runs") if case["group"] == "k3"]


def cases(name):
    found = [(case["inputs"], case["output"]) for case in CASES if case["name"] == name]
    assert found
    return found


def near(found, wanted, digits=20):
    return abs(Fraction(found) - Fraction(str(wanted))) < Fraction(1, 10**digits)


# --------------------------------------------------------------------------- published laws


@pytest.mark.parametrize(("inputs", "output"), cases("quantile_class_probabilities_wide_grid"))
@pytest.mark.claim("C1")
def test_published_probabilities_of_a_grid_of_all_integers(inputs, output):
    share = Fraction(inputs["quantile"])
    rate = Fraction(inputs["epsilon"]) / _range(share, False)
    first, data = inputs["lowest"], sorted(inputs["data"])
    part, by_class = whole(data, first, inputs["highest"]), [Fraction(0)] * len(output)
    for start, after, chance in run_law(part, Law(share, rate, "below")):
        by_class[sum(x - first < start for x in data)] += (after - start) * chance
    assert all(near(p, Fraction(q), 25) for p, q in zip(by_class, output, strict=True))


# ------------------------------------------------------- the law, for all small multisets


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("share", QUANTILES)
@pytest.mark.claim("C1")
def test_parts_have_the_law_of_their_shares(share, ties):
    """All parts of small grids: values are `fine` points each, and what lies outside is not there.

    By definition: the part's shares as values of their own, on the part's fine points.
    """
    rate = Fraction(3, 4)
    for fine, data in itertools.product((1, 2, 3), [(), (1,), (0, 0), (1, 1, 2), (0, 2, 2)]):
        parted = [x * fine + j for x in data for j in range(fine)]
        for first, last in itertools.combinations_with_replacement(range(3 * fine), 2):
            for end in {last, last + 1} if last + 1 == 3 * fine else {last}:
                part = replace(Part.whole(sorted(data), 3, fine), first=first, last=last, end=end)
                inside = [p for p in parted if first <= p < end]
                assert part.size == len(inside)
                cuts = map(part.split, range(first, last + 1))
                assert {low.size + high.size for low, high in cuts} == {part.size}
                wanted = grid_law(inside, first, last, share, rate, ties)
                found = point_law(part, Law(share, rate / share.denominator, ties))
                assert all(near(p, mpmath.nstr(q, 30)) for p, q in zip(found, wanted, strict=True))


def test_the_requests_follow_from_the_grid():
    class Taken:
        def __init__(self):
            self.sizes = []

        def take(self, count):
            self.sizes.append(count)
            return (1 << count) // 3

    for last, size in ((9, 192), (2**64 - 1, 256)):
        for data in ([], [1, 1, 1], list(range(9))):
            bits = Taken()
            draw_point(whole(data, 0, last), Law(Fraction(1, 2), Fraction(1, 3), "interval"), bits)
            assert bits.sizes == [size]


@pytest.mark.claim("C1")
@pytest.mark.parametrize("ties", TIES)
def test_a_draw_at_a_border_of_two_points_takes_more_bits(ties):
    """U begins like a border of the law: the bits that follow decide on which side of it U is."""
    share, rate, data = Fraction(1, 3), Fraction(3, 4), (2, 2, 5)

    class Bits:
        def take(self, count):
            self.taken.append(count)
            return (border if len(self.taken) == 1 else self.rest) % (1 << count)

    with mpmath.workdps(120):
        chances = grid_law(data, 0, 9, share, rate, ties)
        for point in range(9):
            border = int(mpmath.floor(sum(chances[: point + 1]) * mpmath.mpf(2) ** 192))
            for bits, side in ((Bits(), 0), (Bits(), 1)):
                bits.taken, bits.rest = [], -side
                law = Law(share, rate / share.denominator, ties)
                assert draw_point(whole(data, 0, 9), law, bits) == point + side
                assert bits.taken == [192, 64]


# ---------------------------------------------------------------------- the range of the score


def distances_by_point(data, share, ties, top=3):
    return [distance(data, g, share, ties) for g in range(top + 1)]


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("share", QUANTILES)
def test_the_range_of_distances_is_that_of_the_proof(share, ties):
    """All multisets of up to 5 values on 4 points: never above the range, and equal to it at last.

    Enumerated: R = 2 max(q, 1 - q) for add/remove, 2 for replace, 1 for the quantiles 0 and 1.
    """
    stated = {
        kind: Fraction(_range(share, kind == "replace"), share.denominator)
        for kind in ("add", "replace")
    }
    widest = dict.fromkeys(stated, Fraction(0))
    for size in range(5):
        for data in itertools.combinations_with_replacement(range(4), size):
            grown = [distances_by_point((*data, x), share, ties) for x in range(4)]
            before = distances_by_point(data, share, ties)
            pairs = [("add", before, one) for one in grown]
            pairs += [("replace", one, other) for one, other in itertools.combinations(grown, 2)]
            for kind, one, other in pairs:
                moves = [x - y for x, y in zip(other, one, strict=True)]
                assert max(map(abs, moves)) <= stated[kind]
                widest[kind] = max(widest[kind], max(moves) - min(moves))
    assert widest == stated
