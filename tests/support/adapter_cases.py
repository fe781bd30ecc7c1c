"""Fifty prices, by safeselect and by another library: the table of `docs/adapter-prices.md`.

`python tests/support/adapter_cases.py` prints the table.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
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


def _made(name: str, monotonic: bool, scale: str, *, zcdp: bool = False, **more: Any) -> Any:
    """One of our measurements in OpenDP, or with a name of theirs one of theirs."""
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
    space = (
        dp.vector_domain(dp.atom_domain(T="i64")),
        dp.linf_distance(T="i64", monotonic=monotonic),
        dp.zero_concentrated_divergence() if zcdp else dp.max_divergence(),
    )
    if name in ("make_noisy_max", "make_noisy_top_k"):
        return getattr(dp.m, name)(*space, **more, scale=float(scale))
    return getattr(measurements, name)(*space, scale=scale, **more)


def _opendp_maps() -> Iterator[Case]:
    """Our privacy maps against those of OpenDP's own mechanisms with the same noise."""
    for monotonic, scale, d_in in (
        *((False, "1", 1), (True, "1", 1), (False, "0.1", 1)),
        *((False, "7", 3), (True, "30", 50)),
    ):
        own = _made("make_noisy_max", monotonic, scale)
        yield Case(
            f"OpenDP `make_noisy_max`, scale {scale}, d_in {d_in}{_moves(monotonic)}: ε",
            Fraction(
                _made("make_report_noisy_max", monotonic, scale, noise="exponential").map(d_in)
            ),
            partial(own.map, d_in),
            Fraction(0),
        )
    for zcdp, monotonic, k, scale in (
        *((False, False, 2, "3"), (False, True, 5, "3"), (False, True, 10, "0.7")),
        *((False, True, 3, "9"), (True, False, 1, "10"), (True, True, 1, "2")),
        *((True, True, 10, "30"), (True, True, 5, "1")),
    ):
        own = _made("make_noisy_top_k", monotonic, scale, zcdp=zcdp, k=k)
        each = Fraction(1 if monotonic else 2) / Fraction(scale)
        kind, number = ("zCDP, k", "ρ") if zcdp else ("k", "ε")
        yield Case(
            f"OpenDP `make_noisy_top_k`, {kind} {k}, scale {scale}{_moves(monotonic)}: {number}",
            Fraction(_made("make_top_k", monotonic, scale, zcdp=zcdp, k=k).map(1)),
            partial(own.map, 1),
            k * each**4 / 512 if zcdp else Fraction(0),
        )


def _opendp_sums() -> Iterator[Case]:
    """What OpenDP makes of our measurements, against `compose`."""
    import opendp.prelude as dp

    several = (("3", 3), ("7", 10), ("10", 100), ("0.3", 7))
    for noise, words, number in (
        ("exponential", "permute-and-flips", "ε"),
        ("gumbel", "exponential mechanisms", "ρ"),
    ):
        for scale, n in several:
            given: Any = {"zcdp": number == "ρ", "noise": noise}
            made, size = _made("make_report_noisy_max", True, scale, **given), 1 / Fraction(scale)
            exact = compose([LaplaceDominated(size)] * n).guarantee.epsilon
            yield Case(
                f"OpenDP `make_composition` of {n} {words}, scale {scale}: {number}",
                exact if number == "ε" else n * BoundedRange(size).zcdp.rho,
                partial(dp.c.make_composition([made] * n).map, 1),
                Fraction(0),
            )
    for scale, delta in (("1", "1e-3"), ("5", "1e-6"), ("5", "1e-9"), ("40", "1e-6")):
        mine = _made("make_report_noisy_max", True, scale, zcdp=True, noise="gumbel")
        rho = ZeroConcentratedDP(BoundedRange(1 / Fraction(scale)).zcdp.rho)
        yield Case(
            f"OpenDP `make_zCDP_to_approxDP` of one, scale {scale}: ε at δ = {delta}",
            rho.approximate(delta).epsilon,
            partial(dp.c.make_zCDP_to_approxDP(mine).map(1).epsilon, float(delta)),
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
