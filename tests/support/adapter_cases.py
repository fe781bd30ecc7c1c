"""Fifty prices, each worked out by us and by another library: the table of `docs/adapters.md`.

`python tests/support/adapter_cases.py` prints the table.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from safeselect import BoundedRange, LaplaceDominated, PureDP, ZeroConcentratedDP, compose
from safeselect.accounting.moments import epsilon_by_orders
from safeselect.adapters import opendp as measurements
from safeselect.adapters.dp_accounting import dp_events

ROUNDING = Fraction(1, 2**44)  # of a value: what a few dozen operations with floats may lose
SEARCH = Fraction(1, 10**11)  # of a value: what a search for the best order may leave on the table


@dataclass(frozen=True)
class Case:
    """One price, twice: `theirs` lies between `ours` and `ours + room`, but for `rounding`."""

    title: str
    ours: Fraction
    theirs: Callable[[], float]
    room: Fraction
    rounding: Fraction = ROUNDING

    def agrees(self, theirs: float) -> bool:
        exact = Fraction(theirs)
        return (
            self.ours * (1 - self.rounding)
            <= exact
            <= (self.ours + self.room) * (1 + self.rounding)
        )

    def row(self, number: int) -> str:
        room = f"{float(self.room):.2g}" if self.room else "0"
        return (
            f"| {number} | {self.title} | {float(self.ours):.6g} | {self.theirs():.6g} | {room} |"
        )


@cache
def cases() -> list[Case]:
    return [*_opendp_maps(), *_opendp_sums(), *_renyi(), *_distributions()]


def _space(monotonic: bool) -> tuple[Any, Any]:
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
    return (
        dp.vector_domain(dp.atom_domain(T="i64")),
        dp.linf_distance(T="i64", monotonic=monotonic),
    )


def _opendp_maps() -> Iterator[Case]:
    """Our privacy maps against those of OpenDP's own mechanisms with the same noise."""
    import opendp.prelude as dp

    for monotonic, scale, d_in in (
        (False, "1", 1),
        (True, "1", 1),
        (False, "0.1", 1),
        (False, "7", 3),
        (True, "30", 50),
    ):
        mine = measurements.make_permute_and_flip(*_space(monotonic), dp.max_divergence(), scale)
        own = dp.m.make_noisy_max(*_space(monotonic), dp.max_divergence(), float(scale))
        yield Case(
            f"OpenDP `make_noisy_max`, scale {scale}, d_in {d_in}{_moves(monotonic)}: ε",
            Fraction(mine.map(d_in)),
            lambda own=own, d_in=d_in: own.map(d_in),
            Fraction(0),
        )
    for monotonic, k, scale in ((False, 2, "3"), (True, 5, "3"), (True, 10, "0.7"), (True, 3, "9")):
        mine = measurements.make_top_k(*_space(monotonic), dp.max_divergence(), scale, k=k)
        own = dp.m.make_noisy_top_k(*_space(monotonic), dp.max_divergence(), k, float(scale))
        yield Case(
            f"OpenDP `make_noisy_top_k`, k {k}, scale {scale}{_moves(monotonic)}: ε",
            Fraction(mine.map(1)),
            lambda own=own: own.map(1),
            Fraction(0),
        )
    for monotonic, k, scale in ((False, 1, "10"), (True, 1, "2"), (True, 10, "30"), (True, 5, "1")):
        mine = measurements.make_top_k(
            *_space(monotonic), dp.zero_concentrated_divergence(), scale, k=k
        )
        own = dp.m.make_noisy_top_k(
            *_space(monotonic), dp.zero_concentrated_divergence(), k, float(scale)
        )
        each = Fraction(1 if monotonic else 2) / Fraction(scale)
        yield Case(
            f"OpenDP `make_noisy_top_k`, zCDP, k {k}, scale {scale}{_moves(monotonic)}: ρ",
            Fraction(mine.map(1)),
            lambda own=own: own.map(1),
            k * each**4 / 512,
        )


def _opendp_sums() -> Iterator[Case]:
    """What OpenDP makes of our measurements, against `compose`."""
    import opendp.prelude as dp

    for scale, n in (("3", 3), ("7", 10), ("10", 100), ("0.3", 7)):
        mine = measurements.make_permute_and_flip(*_space(True), dp.max_divergence(), scale)
        exact = compose([LaplaceDominated(1 / Fraction(scale))] * n).guarantee.epsilon
        yield Case(
            f"OpenDP `make_composition` of {n} permute-and-flips, scale {scale}: ε",
            exact,
            lambda mine=mine, n=n: dp.c.make_composition([mine] * n).map(1),
            Fraction(0),
        )
    for scale, n in (("3", 3), ("7", 10), ("10", 100), ("0.3", 7)):
        mine = measurements.make_exponential_mechanism(
            *_space(True), dp.zero_concentrated_divergence(), scale
        )
        yield Case(
            f"OpenDP `make_composition` of {n} exponential mechanisms, scale {scale}: ρ",
            n * BoundedRange(1 / Fraction(scale)).zcdp.rho,
            lambda mine=mine, n=n: dp.c.make_composition([mine] * n).map(1),
            Fraction(0),
        )
    for scale, delta in (("1", "1e-3"), ("5", "1e-6"), ("5", "1e-9"), ("40", "1e-6")):
        mine = measurements.make_exponential_mechanism(
            *_space(True), dp.zero_concentrated_divergence(), scale
        )
        rho = ZeroConcentratedDP(BoundedRange(1 / Fraction(scale)).zcdp.rho)
        exact = rho.approximate(delta).epsilon
        yield Case(
            f"OpenDP `make_zCDP_to_approxDP` of one, scale {scale}: ε at δ = {delta}",
            exact,
            lambda mine=mine, delta=delta: (
                dp.c.make_zCDP_to_approxDP(mine).map(1).epsilon(float(delta))
            ),
            Fraction(0),
            SEARCH,
        )


def _renyi() -> Iterator[Case]:
    """Rényi accounting at the order that is best for us.

    `room` is the share of the value that the event of zCDP gives away against the exact moments.
    """
    from dp_accounting.rdp import RdpAccountant

    for kind, size, n, delta, room in (
        (LaplaceDominated, "1", 1, "1e-6", "0"),
        (LaplaceDominated, "1/3", 10, "1e-6", "0"),
        (LaplaceDominated, "1/10", 100, "1e-6", "0"),
        (LaplaceDominated, "1/100", 1000, "1e-9", "0"),
        (LaplaceDominated, "1/1000", 10**4, "1e-3", "0"),
        (LaplaceDominated, "2", 3, "1e-2", "0"),
        (ZeroConcentratedDP, "1/10", 1, "1e-6", "0"),
        (ZeroConcentratedDP, "1/200", 30, "1e-9", "0"),
        (ZeroConcentratedDP, "1/1000", 500, "1e-6", "0"),
        (BoundedRange, "1/10", 100, "1e-6", "0.01"),
        (BoundedRange, "1/100", 1000, "1e-9", "0.01"),
        (BoundedRange, "1/2", 10, "1e-6", "0.2"),
        (PureDP, "1/10", 100, "1e-6", "0.05"),
        (PureDP, "1/100", 1000, "1e-9", "0.01"),
    ):
        guarantee = kind(size)
        ours, excess = epsilon_by_orders([(guarantee, n)], Fraction(delta))
        order = float(1 + excess)
        yield Case(
            f"`RdpAccountant`, {n} × {kind.__name__}({size}): ε at δ = {delta}",
            ours,
            lambda guarantee=guarantee, n=n, delta=delta, order=order: (
                RdpAccountant(orders=[order])
                .compose(dp_events([guarantee] * n, accountant="rdp"))
                .get_epsilon(float(delta))
            ),
            ours * Fraction(room),
        )


def _distributions() -> Iterator[Case]:
    """Loss distributions, in cells of 1e-4, against the optimum that `compose` knows."""
    from dp_accounting.pld import PLDAccountant

    for kind, size, n, delta in (
        (PureDP, "1", 1, "1e-6"),
        (PureDP, "1/3", 1, "1e-3"),
        (PureDP, "1/3", 10, "1e-6"),
        (PureDP, "1/10", 30, "1e-6"),
        (PureDP, "1/10", 100, "1e-9"),
        (PureDP, "2", 3, "1e-2"),
        (LaplaceDominated, "1", 1, "1e-6"),
        (LaplaceDominated, "1/3", 1, "1e-3"),
        (LaplaceDominated, "3", 1, "1e-2"),
        (LaplaceDominated, "1/100", 1, "1e-3"),
        (BoundedRange, "1", 1, "1e-6"),
    ):
        guarantee = kind(size)
        ours = compose([guarantee] * n, delta).guarantee.epsilon  # type: ignore[union-attr]
        room = Fraction(n, 10**4)
        if kind is BoundedRange:  # whose event is Laplace noise
            room += LaplaceDominated(size).approximate(delta).epsilon - ours
        yield Case(
            f"`PLDAccountant`, {n} × {kind.__name__}({size}): ε at δ = {delta}",
            ours,
            lambda guarantee=guarantee, n=n, delta=delta: (
                PLDAccountant()
                .compose(dp_events([guarantee] * n, accountant="pld"))
                .get_epsilon(float(delta))
            ),
            room,
        )


def _moves(monotonic: bool) -> str:
    return ", monotonic" if monotonic else ""


if __name__ == "__main__":
    sys.stdout.write("\n".join(case.row(i) for i, case in enumerate(cases(), 1)) + "\n")
