"""Quantiles: any values and grids, wrong parameters, and what is paid."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from quantile_laws import ledger, whole

from safeselect import ParameterError, ScoreError, from_json, quantile, quantiles
from safeselect.mechanisms.quantiles import Law, _split

# ---------------------------------------------------------------------------- all inputs


DAY = datetime.date(2024, 2, 29)
NOON = datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.UTC)
KINDS = [
    ([DAY] * 9, (datetime.date(2024, 2, 1), datetime.date(2024, 3, 31), 1), datetime.date),
    (
        np.array(["2024-02-29"] * 9, "datetime64[ns]"),
        (datetime.date(2024, 2, 28), DAY, 1),
        datetime.date,
    ),
    ([0.3] * 9, (Decimal(0), Decimal(1), "0.1"), Decimal),
    (np.array([0.25, np.inf, -np.inf]), ("0", "1", "1/3"), Fraction),
    (np.arange(9, dtype=np.uint8), (0, 9, 3), int),
    ([1, 2.5, Fraction(1, 3), Decimal("0.1")], (0, 9, "1/2"), Fraction),
]


@pytest.mark.parametrize(("values", "ends", "kind"), [k for k in KINDS if k[1]])
def test_points_are_of_the_kind_of_the_ends(values, ends, kind):
    lowest, highest, step = ends
    found = quantile(values, quantile="1/2", lowest=lowest, highest=highest, step=step, epsilon=1)
    assert type(found.value) is kind
    assert (
        Fraction(lowest) <= found.value <= Fraction(highest)
        if kind is not datetime.date
        else (lowest <= found.value <= highest)
    )
    assert from_json(found.to_json()) == found


@pytest.mark.parametrize(
    ("ends", "proposed"),
    [
        ((0, 9), "step='9/1000'"),
        ((7, 7), "step='1'"),
        ((datetime.date(2024, 1, 1), datetime.date(2024, 12, 31)), "step=1, in days"),
        ((datetime.date(1900, 1, 1), datetime.date(2000, 1, 1)), "step=36, in days"),
    ],
)
def test_a_step_is_proposed_by_the_ends_alone(ends, proposed):
    """Five values in [0, 1] on a grid of integers are five zeros: nobody may forget the step."""
    made, scope = ledger(epsilon=9)
    given = {"lowest": ends[0], "highest": ends[1], "epsilon": 1, "ledger": scope}
    column = np.empty(2, dtype=object)
    for held in ([0, 1], [0.25, None], ["x"], [DAY], column):
        for call in (partial(quantile, quantile="1/2"), partial(quantiles, quantiles=["1/2"])):
            with pytest.raises(ParameterError, match="step, the distance") as caught:
                call(held, **given)
            assert proposed in str(caught.value)
            said = proposed.removeprefix("step=").partition(",")[0].strip("'")
            call([], **{**given, "step": said, "ledger": None})
    assert made.balance("main").spent["epsilon"] == 0


# ------------------------------------------------------------------------------ what is paid


def test_depth_is_that_of_the_levels(monkeypatch):
    """The recursion itself: no path draws more often than is paid for."""
    depth = [0]

    def counted(part, order, law_of, bits):
        depth.append(depth[-1] + bool(order))
        deepest.append(depth[-1])
        found = _split(part, order, law_of, bits)
        depth.pop()
        return found

    monkeypatch.setattr("safeselect.mechanisms.quantiles._split", counted)
    monkeypatch.setattr(
        "safeselect.mechanisms.quantiles.draw_point", lambda part, law, bits: part.first
    )
    for count in range(1, 40):
        deepest: list[int] = []
        shares = [Fraction(i, count) for i in range(1, count + 1)]
        counted(whole([], 0, 9), shares, lambda q: Law(q, Fraction(1), "below"), None)
        assert max(deepest) == count.bit_length()


def test_a_mapping_is_not_read_by_its_keys():
    with pytest.raises(ScoreError, match=r"got dict; pass list\(values.values\(\)\)"):
        quantile({"ann": 3}, quantile="1/2", lowest=0, highest=9, step=1, epsilon=1)
