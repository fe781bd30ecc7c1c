"""The optimum of an adaptive composition, between two bounds that are computed.

Fixed pairs come first and ranges last: no other order, chosen in advance or while it goes on, gives
a larger delta (`docs/mathematics.md`, section 14).  Above, ranges of different size become the pairs
of their own optima; below, they follow one another, the largest last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import gcd, isqrt, lcm, prod

from safeselect.accounting.backward import Curve, backward, interleaved, start
from safeselect.accounting.bracket import Profile
from safeselect.accounting.closed_forms import dong_durfee_rogers_epsilon
from safeselect.accounting.gaussian import GaussianDP
from safeselect.accounting.masses import Masses, certain, dots, mirrored, power, product
from safeselect.accounting.profiles import Law, Pair, grid_masses
from safeselect.exact import Interval
from safeselect.promises import BoundedRange, LaplaceDominated, PureDP

__all__ = ["Bracket", "Part", "Problem", "least_delta", "least_epsilon", "worth_trying"]

Part = BoundedRange | Pair
Read = Callable[[Profile, Fraction], Fraction]
"""What is read off a profile whose losses may be too large by a shift."""

_BITS = 72  # of masses, below delta
_CUT = 36  # bits below delta of what is cut off
_COMMON = 64  # steps: ranges up to so many times their common measure are put on a common grid
_MOST_KINDS = 48  # of pairs of a type; more are made equal, upwards and downwards
_MOST_RANGES = 12  # the same, of ranges
_MOST_WORK = 2**20  # places of curves, each worked out once per mechanism
_SHARES = 64  # of a range, as offsets of adversaries that do not adapt
_LEAST_DELTA = Fraction(1, 2**200)
_LARGEST, _SMALLEST = 64, Fraction(1, 2**64)  # epsilon of a part
_FIRST = 64  # cells of the largest epsilon, at first
_MOST_ROUNDS = 4
_BLOCK = 256  # ranges in a row that are worked out one by one; longer rows are powers of these
_MOST_PLACES = 2**18  # of a law of losses
_ROW = 1024  # up to which a row is not cut into blocks


@dataclass(frozen=True, slots=True)
class Bracket:
    """Two bounds on the least epsilon at a delta.

    Attributes:
        lower: no smaller epsilon is possible for such guarantees.
        upper: this one holds.
    """

    lower: Fraction
    upper: Fraction


@dataclass(frozen=True, slots=True)
class Problem:
    """Guarantees with how often each occurs, and a delta.

    Attributes:
        above, below: the list, with nearly equal parts made equal: upwards, and downwards.
        delta: rational.
        most: an epsilon that is known to be enough.
    """

    above: Sequence[tuple[Part, int]]
    below: Sequence[tuple[Part, int]]
    delta: Fraction
    most: Fraction

    @classmethod
    def of(cls, parts: Sequence[tuple[Part, int]], delta: Fraction, most: Fraction) -> Problem:
        """The problem of a list; equal parts need not be together."""
        counted: Counter[Part] = Counter()
        squared = Fraction(0)
        for part, count in parts:
            if isinstance(part, GaussianDP):
                squared += part.mu_squared * count
            else:
                counted[part] += count
        sides: list[list[tuple[Part, int]]] = [[], []]
        for side, upwards in zip(sides, (True, False), strict=True):
            for kind in (PureDP, LaplaceDominated, BoundedRange):
                own = [(g.epsilon, n) for g, n in counted.items() if type(g) is kind]
                kinds = _MOST_RANGES if kind is BoundedRange else _MOST_KINDS
                side += [(kind(e), n) for e, n in _fewer(own, kinds, upwards=upwards)]
            if squared:
                side.append((GaussianDP(squared), 1))
        return cls(*sides, delta, most)

    def step(self, cells: int) -> Fraction:
        """A step of which about so many make the largest epsilon, and many epsilons multiples."""
        sizes = [part.epsilon for part, _ in self.above if not isinstance(part, GaussianDP)]
        largest, denominator = max(sizes), lcm(*(size.denominator for size in sizes))
        common = Fraction(gcd(*(int(size * denominator) for size in sizes)), denominator)
        measure = common
        if largest > max(_COMMON, 2 * cells) * common:
            ranges = _ranges(self.above)
            measure = max(ranges, key=_weight)[0] if ranges else largest
        step = measure / -(-cells * measure // largest)
        # Tiny parts beside large ones: not so fine that nothing could be computed.
        return max(step, 8 * self.most / _MOST_PLACES) if cells == 1 else step

    def work(self, cells: int) -> Fraction:
        """Roughly how long a bracket takes, as a share of what is allowed."""
        step = self.step(cells)
        products = len(self.above).bit_length()
        ranges, tail = _ranges(self.above), self.delta / 2**_CUT
        reaches = [_reach(e, _BLOCK if n > _ROW else n, tail) for e, n in ranges]
        states = prod(n + 1 for _, n in ranges)
        if len(ranges) > 1 and states <= _ROW:
            rows = states * len(ranges) * sum(reaches) / step
        else:
            # Each row grows by its range at a step, up to its reach.
            rows = sum(
                ((_BLOCK if n > _ROW else n) - reach / (2 * e)) * reach / step
                for (e, n), reach in zip(ranges, reaches, strict=True)
            )
        share = Fraction(cells, 64) if cells <= 64 else 2
        return 2 * (products + 1) * self.most / step / _MOST_PLACES + rows * share / _MOST_WORK


@lru_cache(maxsize=256)
def _reach(epsilon: Fraction, count: int, tail: Fraction) -> Fraction:
    """An epsilon at which equal ranges leave less than a tail."""
    return min(count * epsilon, dong_durfee_rogers_epsilon(epsilon, count, tail / count))


def _weight(part: tuple[Fraction, int]) -> Fraction:
    """What a part contributes to the variance of the loss."""
    size, count = part
    return size * size * count


def _ranges(parts: Sequence[tuple[Part, int]]) -> list[tuple[Fraction, int]]:
    return [(part.epsilon, n) for part, n in parts if isinstance(part, BoundedRange)]


def _fewer(
    parts: Sequence[tuple[Fraction, int]], most: int, *, upwards: bool
) -> list[tuple[Fraction, int]]:
    """Few different sizes, each at least (or at most) what it stands for, with a common measure."""
    if len(parts) <= most:
        return list(parts)
    unit = max(size for size, _ in parts) / (2 * most)
    heaps: Counter[Fraction] = Counter()
    for size, count in parts:
        heaps[(-(-size // unit) if upwards else size // unit) * unit] += count
    return [(size, count) for size, count in heaps.items() if size]


def worth_trying(parts: Sequence[tuple[Part, int]], delta: Fraction, most: Fraction) -> bool:
    """Whether floats reach so far, and the work is bounded."""
    sizes = [part.epsilon for part, _ in parts if not isinstance(part, GaussianDP)]
    if not sizes or not most or delta < _LEAST_DELTA or max(sizes) > _LARGEST:
        return False
    return max(sizes) > _SMALLEST and Problem.of(parts, delta, most).work(1) <= 1


def least_epsilon(problem: Problem, precision: Fraction) -> Bracket:
    """Bounds on the least epsilon at the problem's delta.

    As narrow as `precision`, relatively, or as narrow as a bounded amount of work makes them.
    """
    delta = problem.delta
    return _narrowed(problem, precision, problem.most, lambda p, shift: p.epsilon(delta) - shift)


def least_delta(problem: Problem, epsilon: Fraction, precision: Fraction) -> Bracket:
    """The same for the least delta at an epsilon; the problem's delta is enough at it."""
    return _narrowed(
        problem, precision, problem.delta, lambda p, shift: p.delta(epsilon + shift)
    )


def _narrowed(problem: Problem, precision: Fraction, most: Fraction, read: Read) -> Bracket:
    cells, best = _FIRST, Bracket(Fraction(0), most)
    while problem.work(cells) > 1 and cells > 1:
        cells //= 2
    last_gap = 4 * most
    for _ in range(_MOST_ROUNDS):
        found = bracket(problem, cells, read)
        best = Bracket(max(best.lower, found.lower), min(best.upper, found.upper))
        gap = best.upper - best.lower
        if gap <= precision * best.lower or gap * 2 > last_gap:
            break
        last_gap = gap
        # The gap falls with the square of the cells; a little more, so that this is enough.
        wanted = 4 * cells
        if best.lower:
            wanted = cells + cells * isqrt(max(2, 5 * gap // (4 * precision * best.lower)))
        while wanted > cells and problem.work(wanted) > 1:
            wanted -= 1 + wanted // 16
        if wanted <= cells:
            break
        cells = wanted
    return best


def bracket(problem: Problem, cells: int, read: Read) -> Bracket:
    """What profiles from both sides say, on a grid where the largest epsilon has so many cells."""
    step = problem.step(cells)
    bits = _BITS + sum((1 / x).__ceil__().bit_length() for x in (problem.delta, step))
    grid = _Grid(step, bits, problem.delta / 2**_CUT)
    pairs = grid.pairs(problem.above, cells)
    upper = _upper(grid, [law.upper for law in pairs], _ranges(problem.above))
    if problem.below != problem.above:
        pairs = grid.pairs(problem.below, cells)
    shift = sum((law.shift for law in pairs), Fraction(0))
    whole = grid.product((law.lower for law in pairs), upper=False)

    def lowest(profile: Profile) -> Fraction:
        return read(profile, shift)

    lower = _lower(grid, whole, _ranges(problem.below), lowest)
    return Bracket(max(Fraction(0), lower), read(upper, Fraction(0)))


@dataclass(frozen=True, slots=True)
class _Grid:
    """What all laws of a problem share."""

    step: Fraction
    bits: int
    tail: Fraction

    @property
    def lost(self) -> int:
        """The tail, times 2**bits."""
        return (self.tail.numerator << self.bits) // self.tail.denominator

    def pairs(self, parts: Sequence[tuple[Part, int]], cells: int) -> list[Law]:
        """Laws of the fixed pairs, equal ones together."""
        laws = []
        for part, count in parts:
            if not isinstance(part, BoundedRange):
                law = grid_masses(part, self.step, self.bits, self.tail, cells)
                both = (power(side, count, self.lost) for side in (law.upper, law.lower))
                laws.append(Law(*both, law.shift * count))
        return laws

    def product(self, masses: Iterable[Masses], *, upper: bool) -> Masses:
        """Of all, the shortest first."""
        waiting = [certain(self.bits, upper=upper), *masses]
        while len(waiting) > 1:
            waiting.sort(key=lambda law: len(law.weights), reverse=True)
            waiting.append(product(waiting.pop(), waiting.pop(), self.lost))
        return waiting[0]

    def row(self, epsilon: Fraction, count: int, step: Fraction, before: Curve | None = None) -> Curve:
        """The optimum of equal ranges before a curve, on a step of which the range is a multiple."""
        known = 0 if before is None else len(before.upper)
        most = known + -(-self.reach([(epsilon, count)]) // step)
        return backward(before or start(step), round(epsilon / step), count, most)

    def reach(self, ranges: list[tuple[Fraction, int]]) -> Fraction:
        """An epsilon at which hardly any delta is left."""
        share = self.tail / max(1, len(ranges))
        return sum((_reach(epsilon, count, share) for epsilon, count in ranges), Fraction(0))


def _upper(grid: _Grid, masses: list[Masses], ranges: list[tuple[Fraction, int]]) -> Profile:
    last = _together(grid, ranges)
    if last is None:
        last = start(grid.step)
        heaviest = max(ranges, key=_weight)
        for epsilon, count in ranges:
            own = epsilon / -(-epsilon // grid.step)
            blocks, rest = divmod(count, _BLOCK) if count > _ROW else (0, count)
            if blocks:
                block = _dotted(grid.row(epsilon, _BLOCK, own), grid)
                masses.append(power(block, blocks, grid.lost))
            if not rest:
                continue
            curve = grid.row(epsilon, rest, own)
            if (epsilon, count) == heaviest and own == grid.step:
                last = curve
            else:
                masses.append(_dotted(curve, grid))
    whole = grid.product(masses, upper=True)
    return Profile.of(whole, last.upper, grid.step)


def _together(grid: _Grid, ranges: list[tuple[Fraction, int]]) -> Curve | None:
    """The optimum of ranges in every order, where they are few and multiples of the step."""
    states = prod(count + 1 for _, count in ranges)
    if any(epsilon % grid.step for epsilon, _ in ranges):
        return None
    most = -(-grid.reach(ranges) // grid.step)
    if states > _ROW or states * len(ranges) * most > _MOST_WORK:
        return None
    return interleaved(grid.step, [(int(e // grid.step), n) for e, n in ranges], most)


def _dotted(curve: Curve, grid: _Grid) -> Masses:
    """The pair of a curve's upper profile, on the grid."""
    own = Profile.of(certain(grid.bits, upper=True), curve.upper, curve.step)
    if curve.step == grid.step:
        values = list(own.values)
    else:
        places = -(-(len(own.values) - 1) * curve.step // grid.step)
        values = [own.between(grid.step * place) for place in range(places + 1)]
    below = mirrored(values, grid.step, grid.bits, upper=True)
    return dots(below[:0:-1] + values, 1 - len(values), grid.step, grid.bits, upper=True)


def _lower(
    grid: _Grid,
    whole: Masses,
    ranges: list[tuple[Fraction, int]],
    read: Callable[[Profile], Fraction],
) -> Fraction:
    step = grid.step
    kept = sorted(((e // step, n) for e, n in ranges if e >= step), reverse=True)
    curve = _together(grid, [(cells * step, n) for cells, n in kept])
    if curve is None:
        if sum(n for _, n in kept) > _ROW:
            return _equal_offsets(grid, whole, kept, read)
        curve = start(step)
        for cells, count in kept:
            curve = grid.row(cells * step, count, step, curve)
    return read(Profile.of(whole, curve.lower, step))


def _equal_offsets(
    grid: _Grid,
    whole: Masses,
    ranges: list[tuple[int, int]],
    read: Callable[[Profile], Fraction],
) -> Fraction:
    """The best of some adversaries that do not adapt: all offsets are the same share of a range."""
    at, jump = _SHARES // 2, _SHARES // 8

    def reached(share: int) -> Fraction:
        offset = Fraction(share, _SHARES)
        laws = [_two_points(grid, cells, count, offset) for cells, count in ranges]
        masses = grid.product([whole, *laws], upper=False)
        return read(Profile.of(masses, start(grid.step).lower, grid.step))

    best = reached(at)
    while jump:
        found = {share: reached(share) for share in (at - jump, at + jump) if 0 < share < _SHARES}
        share = max(found, key=lambda s: found[s])
        if found[share] > best:
            at, best = share, found[share]
        else:
            jump //= 2
    return best


def _two_points(grid: _Grid, cells: int, count: int, share: Fraction) -> Masses:
    """`count` mechanisms with loss t or t - epsilon, t about this share of epsilon."""
    offset = min(max(round(share * cells), 0), cells)
    step, bits = grid.step, grid.bits
    precision = bits + 64
    whole = Interval.of(-cells * step, precision).expm1()
    first = Interval.of((offset - cells) * step, precision).expm1() / whole
    second = Interval.of(1, precision) - first
    both = Masses(0, [max(0, x.scaled(bits)[0]) for x in (second, first)], 0, bits, False)
    powered = power(both, count, grid.lost)
    weights = [0] * ((len(powered.weights) - 1) * cells + 1)
    weights[::cells] = powered.weights
    return Masses(count * (offset - cells) + powered.first * cells, weights, 0, bits, False)
