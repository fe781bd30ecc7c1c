"""Counts that say how they were made, and the mechanisms that refuse what does not fit."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Mapping
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest

import safeselect
import safeselect.prepared
from safeselect import Budget, Counts, Ledger, ParameterError, PayWhatYouGet, select_many, top_k

pytestmark = pytest.mark.claim("C2")

FOUND = {"Zebedee": 4711, "Ermintrude": 23}
CALL: dict[str, Any] = {"k": 1, "epsilon": 1, "delta": "1e-9"}
KNOWN: dict[str, Any] = {"k": 1, "epsilon": 1, "sensitivity": 1, "monotonic": True}


def ask(counts: object, **more: Any) -> None:
    """Both mechanisms for unknown domains; nothing is spent where one refuses."""
    session = PayWhatYouGet(outcomes=9, queries=2, epsilon=1, delta="1e-9")
    given = {name: value for name, value in more.items() if name != "noise"}
    try:
        session.query(counts, k=1, **given)
    except ParameterError as error:
        assert session.spent.queries == 0
        with pytest.raises(ParameterError, match=f"^{re.escape(str(error))}$"):
            safeselect.unknown_domain_top_k(counts, **CALL, **more)
        raise
    safeselect.unknown_domain_top_k(counts, **CALL, **more)


def test_counts_are_read_like_a_mapping_and_say_nothing_of_the_data() -> None:
    counts = Counts(FOUND, places=101, max_contributions=5, unit="one rider")
    assert isinstance(counts, Mapping)
    assert (counts, list(counts.items())) == (FOUND, list(FOUND.items()))
    assert (len(counts), counts.get("Dougal", 0)) == (2, 0)
    for text in (repr(counts), str(counts), f"{counts}"):
        assert text == ("<Counts places=101, max_contributions=5, unit='one rider'>")
    with pytest.raises(FrozenInstanceError, match="cannot assign"):
        counts.places = 5  # type: ignore[misc]
    with pytest.raises(TypeError, match="does not support item assignment"):
        counts.counts["Zebedee"] = 0  # type: ignore[index]
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match=r"cannot be copied or pickled; pickle dict\(counts\)"):
            copied(counts)


@pytest.mark.parametrize("k_bar", [3, (1, 3)])
def test_more_items_compete_than_were_fetched(k_bar: Any) -> None:
    for places in (1, 2, 3):
        message = f"only {places} were requested; count again with places=4"
        with pytest.raises(ParameterError, match=message):
            ask(Counts(FOUND, places=places), k_bar=k_bar)
        with pytest.raises(ParameterError, match=message):
            ask(FOUND, k_bar=k_bar, places=places)
    for fits in (4, 5, "all"):
        ask(Counts(FOUND, places=fits), k_bar=k_bar)
        ask(FOUND, k_bar=k_bar, places=fits)


@pytest.mark.parametrize("noise", ["gumbel", "laplace"])
def test_users_count_for_more_items_than_the_noise_covers(noise: str) -> None:
    more: dict[str, Any] = {"k_bar": 3, "max_contributions": 2, "noise": noise}
    with pytest.raises(ParameterError, match="but they were not capped"):
        ask(Counts(FOUND, places=4), **more)
    with pytest.raises(ParameterError, match="but they were capped at 3"):
        ask(Counts(FOUND, places=4, max_contributions=3), **more)
    for cap in (1, 2):
        ask(Counts(FOUND, places=4, max_contributions=cap), **more)
    ask(FOUND, places="all", **more)  # the caller's word
    ask(Counts(FOUND, places=4, max_contributions=3), k_bar=3)  # any number is covered


def test_counts_that_do_not_say_how_many_places_there_are() -> None:
    for counts, labels in ((FOUND, None), ([4711], ["Zebedee"])):
        with pytest.raises(ParameterError, match="pass places='all'") as caught:
            ask(counts, labels=labels, k_bar=3)
        assert "4711" not in str(caught.value)
    with pytest.raises(ParameterError, match="these counts already state their places"):
        ask(Counts(FOUND, places="all"), k_bar=3, places="all")
    with pytest.raises(ParameterError, match="a mapping's keys are its labels"):
        ask(Counts(FOUND, places="all"), k_bar=3, labels=["a", "b"])


def test_known_domains_take_whole_tables() -> None:
    for ask_known in (
        lambda counts: top_k(counts, **KNOWN),
        lambda counts: select_many([counts], **KNOWN),
        lambda counts: select_many((counts,), **KNOWN),
    ):
        ask_known(Counts(FOUND, places="all"))
        with pytest.raises(ParameterError, match="largest counts of a table, and their items are"):
            ask_known(Counts(FOUND, places=2))


EVERY_WAY: dict[str, Any] = {
    "permute_and_flip": safeselect.permute_and_flip,
    "prepared": lambda counts, **o: safeselect.prepared.PermuteAndFlip(**o)(counts),
    "top_k": lambda counts, **o: top_k(counts, k=1, **o),
    "select_many": lambda counts, **o: select_many([counts, counts], **o),
}
ONE_UP, BOTH = (
    "one user changes these counts by 1",
    "can move one of these counts up by 1 and another",
)


@pytest.mark.parametrize("ask_known", EVERY_WAY.values(), ids=EVERY_WAY)
@pytest.mark.parametrize("cap", [None, 1, 2])
def test_the_least_statement_of_a_change_is_that_of_the_neighbours(
    ask_known: Any, cap: Any
) -> None:
    """A user adds 1 to some counts, and to no other; one in another's place takes 1 from others.

    So scores move by 1 both times, and the range is 1, or 2; a cap changes neither.
    """
    counts = Counts(FOUND, "all", max_contributions=cap)
    for neighbours, least in ((None, 1), ("add_remove", 1), ("replace_one", 2)):
        there = None
        if neighbours is not None:
            ledger = Ledger.create(":memory:", {"a": Budget("person", neighbours, epsilon=9)})
            there = ledger.scope("a", unit="person", neighbours=neighbours, purpose="test")
        known = {"epsilon": "1/2", "ledger": there}
        ask_known(counts, range_=least, **known)
        ask_known(counts, sensitivity=1, **known)
        ask_known(counts, sensitivity=1, grid="1/3", on_grid=True, **known)
        ask_known(counts, sensitivity=1, grid="2/3", **known)
        spent = 0 if there is None else ledger.balance("a").spent["epsilon"]
        with pytest.raises(ParameterError, match=BOTH if least == 2 else ONE_UP) as caught:
            ask_known(counts, range_=f"{least - 1}.99", **known)
        assert f"range_ must be at least {least}" in str(caught.value)
        with pytest.raises(ParameterError, match=f"{ONE_UP}, so sensitivity must be at least 1"):
            ask_known(counts, sensitivity="0.99", **known)
        message = "counts need not be multiples of grid; omit on_grid=True and grid"
        for grid in ("2/3", "2"):  # 1, 2 and 3 are read as 2, 3 and 5 steps of 2/3
            with pytest.raises(ParameterError, match=message):
                ask_known(counts, sensitivity=2, grid=grid, on_grid=True, **known)
        if neighbours == "replace_one":
            with pytest.raises(
                ParameterError, match="monotonic=True requires add/remove neighbours"
            ):
                ask_known(counts, sensitivity=1, monotonic=True, **known)
        else:
            ask_known(counts, sensitivity=1, monotonic=True, **{**known, "ledger": None})
        if there is not None:
            assert ledger.balance("a").spent["epsilon"] == spent


def test_counts_of_another_unit_than_that_of_the_ledger(tmp_path: Path) -> None:
    budget = Budget(unit="person", neighbours="add_remove", epsilon=9, delta="1e-6")
    ledger = Ledger.create(tmp_path / "ledger", {"trips": budget})
    scope = ledger.scope("trips", unit="person", neighbours="add_remove", purpose="test")
    trip = Counts(FOUND, places="all", unit="trip")
    with pytest.raises(
        ParameterError, match=r"counts is 'trip' \(str\), but the unit of the scope"
    ):
        top_k(trip, **KNOWN, ledger=scope)
    with pytest.raises(ParameterError, match="but the unit of the scope is 'person'"):
        safeselect.unknown_domain_top_k(trip, **CALL, k_bar=3, ledger=scope)
    assert ledger.balance("trips").spent["epsilon"] == 0
    with PayWhatYouGet(outcomes=9, queries=2, epsilon=1, delta="1e-9", ledger=scope) as session:
        with pytest.raises(ParameterError, match="but the unit of the scope is 'person'"):
            session.query(trip, k=1, k_bar=3)
        for unit in ("person", None):
            session.query(Counts(FOUND, places="all", unit=unit), k=1, k_bar=3)
    for unit in ("person", None):
        fits = Counts(FOUND, places="all", unit=unit)
        top_k(fits, **KNOWN, ledger=scope)
        safeselect.unknown_domain_top_k(fits, **CALL, k_bar=3, ledger=scope)
    safeselect.unknown_domain_top_k(trip, **CALL, k_bar=3)  # without a ledger nobody said more
