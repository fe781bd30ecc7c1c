"""The private choice of a cap: its quantile, its sensitivity, its charge."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest

from safeselect import Budget, Ledger, ParameterError
from safeselect.tables import choose_cap

pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")

# 600 users: 300 with 1 item, 200 with 4, 100 with 20.
SIZES = [1] * 300 + [4] * 200 + [20] * 100
PAIRS = [(f"c{(user + step) % 40}", user) for user, m in enumerate(SIZES) for step in range(m)]
TABLE = pa.table({"city": [a for a, _ in PAIRS], "rider": [b for _, b in PAIRS]})
COLUMNS = {"item": "city", "user": "rider"}


@pytest.mark.filterwarnings("ignore:epsilon=")
@pytest.mark.parametrize(("share", "cap"), [("0.4", 1), ("0.8", 4), ("0.95", 20)])
def test_the_private_choice_is_the_quantile(share, cap):
    """At an epsilon that decides; one of the caps with the best score, all public up to noise."""
    found = choose_cap(TABLE, **COLUMNS, epsilon=10_000, most=25, share=share)
    # 300, 500 and 600 users have 1, 4 and 20 items or fewer: the nearest to the share of 600.
    assert found.label == cap


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
@pytest.mark.parametrize("share", ["0.5", "0.95", "1/3"])
def test_the_sensitivity_covers_every_user(share, neighbours, monkeypatch):
    """Scores of neighbouring tables, with each kind of user, against the declared sensitivity.

    A user in another's place moves a score by t where share = s / t: twice what one user moves who
    comes or goes, for the median.
    """
    budget = Budget(unit="rider", neighbours=neighbours, epsilon=1)
    ledger = Ledger.create(":memory:", {"trips": budget})
    scope = ledger.scope("trips", unit="rider", neighbours=neighbours, purpose="cap")
    seen, declared = {}, set()

    def watched(scores, *, sensitivity, labels, **more):
        seen[without] = scores.read()
        declared.add(sensitivity)
        raise ParameterError("stopped before any draw")

    monkeypatch.setattr("safeselect.tables.items.permute_and_flip", watched)
    for without in (None, 0, 300, 500, 599):
        kept = [(city, user) for city, user in PAIRS if user != without]
        table = pa.table({"city": [a for a, _ in kept], "rider": [b for _, b in kept]})
        with pytest.raises(ParameterError, match="stopped"):
            choose_cap(table, **COLUMNS, epsilon=1, most=10, share=share, ledger=scope)
    # Two tables that each lack another user differ by replacing one user.
    pairs = [(None, each) for each in seen if each is not None]
    if neighbours == "replace_one":
        pairs = list(combinations([each for each in seen if each is not None], 2))
    moves = [
        abs(a - b) for one, other in pairs for a, b in zip(seen[one], seen[other], strict=True)
    ]
    low, whole = Fraction(share).as_integer_ratio()
    # Both bounds are attained, by users with one item and with more than the largest cap.
    assert (
        declared
        == {max(moves)}
        == {whole if neighbours == "replace_one" else max(low, whole - low)}
    )


def test_a_scope_that_protects_another_unit_is_refused():
    budget = Budget(unit="household", neighbours="add_remove", epsilon=1)
    ledger = Ledger.create(":memory:", {"trips": budget})
    scope = ledger.scope("trips", unit="household", neighbours="add_remove", purpose="cap")
    with pytest.raises(ParameterError, match=r"is 'rider' .*scope is 'household'"):
        choose_cap(TABLE, **COLUMNS, epsilon="0.05", most=25, unit="rider", ledger=scope)
    assert not any(ledger.balance("trips").spent.values())


def test_mistakes_of_the_choice():
    for change, message in (
        ({"most": 0}, "most must be"),
        ({"share": 1}, "share"),
        ({"share": "0.1234567"}, "denominator of share must be between 1 and 1000000"),
    ):
        with pytest.raises(ParameterError, match=message):
            choose_cap(TABLE, **COLUMNS, **{"epsilon": 1, "most": 5, **change})
