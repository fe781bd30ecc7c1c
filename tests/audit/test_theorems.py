"""The table of mechanisms: a law that nobody proved is refused, and so are other draws."""

from __future__ import annotations

from typing import Any

import pytest
from audited import CHARGED, both, record
from checks.mechanisms import names

from safeselect.audit.theorems import drawn, theorem

UNPROVED = "top_k_best/1 top_k_laplace_weighted/1 best_of_weighted/1 top_k_exponential/2"


@pytest.mark.claim("C8")
@pytest.mark.parametrize("name", UNPROVED.split())
def test_a_law_that_nobody_proved(refuse: Any, name: str) -> None:
    forge = record(CHARGED, lambda each: each.update(mechanism=name), mechanism=name)
    refuse("law", forge, f"No proof is known for {name}")
    assert theorem(name) == "see the mechanism's documentation"


OTHERS = {
    "It has": (both(k="1"), "It uses 1, but its record states 2"),
    "rows that were not paid for": (both(rows="50"), "It uses 50, but", "rows"),
    "more items of a group": (both(k="3"), "6 and 2", "groups"),
    "more keys of a user": (both(max_partitions="4"), "It uses 4", "keys"),
    "a strategy for more keys of a user": (both(max_partitions="6"), "It uses 6", "a strategy"),
    "a number that is none": (both(max_partitions="x"), "'max_partitions' must be a", "keys"),
}


@pytest.mark.claim("C9")
@pytest.mark.parametrize("name", OTHERS)
def test_other_draws_are_refused(refuse: Any, name: str) -> None:
    refuse("draws", *OTHERS[name])


@pytest.mark.claim("C9")
def test_the_table_has_a_row_for_every_mechanism() -> None:
    numbers = dict.fromkeys(("k", "rows", "max_groups", "max_partitions", "outcomes"), "3")
    stated = {**numbers, "quantiles": "1/4, 1/2, 3/4"}
    fitting = {name: drawn(name, stated)[1] for name in names()}
    # By hand once more, where a mistake would be cheapest for a forger.
    assert fitting["top_k_permute_and_flip/1"] == (3,)
    assert fitting["top_k_many_exponential/1"] == (9,)
    assert fitting["select_many_permute_and_flip/1"] == (3,)
    assert fitting["top_k_by_group_gumbel/1"] == (9, 3)
    assert fitting["top_k_by_group_permute_and_flip/1"] == (9,)
    assert fitting["quantiles/1"] == (2,)
    assert fitting["pay_what_you_get_gumbel/1"] == (3, 1)


@pytest.mark.claim("C9")
def test_levels_of_quantiles() -> None:
    for asked, levels in [(1, 1), (2, 2), (3, 2), (4, 3), (7, 3), (8, 4)]:
        stated = {"quantiles": ", ".join(f"1/{place + 2}" for place in range(asked))}
        assert drawn("quantiles/1", stated)[1] == (levels,)
