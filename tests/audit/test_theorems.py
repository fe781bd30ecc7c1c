"""A law that nobody proved is refused by its name."""

from __future__ import annotations

from typing import Any

import pytest
from audited import CHARGED, record
from checks.mechanisms import names

from safeselect.audit.theorems import _THEOREMS, is_known

BEST = "top_k_best/1"


@pytest.mark.claim("C8")
def test_a_law_that_nobody_proved(refuse: Any) -> None:
    forge = record(CHARGED, lambda each: each.update(mechanism=BEST), mechanism=BEST)
    refuse("law", forge, "top_k_best/1 is not known")


def test_every_proved_mechanism_is_known() -> None:
    assert all(is_known(f"{name}/1") and not is_known(f"{name}/2") for name in _THEOREMS)
    assert all(map(is_known, names()))
