"""The law of each mechanism of `tests/mission.json`, by its releases.

What is compared is what `safeselect verify` compares: releases of the public call, few and in
pairs, with laws that are worked out from the published formulas alone.  All tests together raise a
false alarm as often as one run of `verify`; noise of an eighth of the width is noticed, as
`make laws` shows.  SAFESELECT_LONG=1 counts thousands of releases, with minutes of work.
"""

from __future__ import annotations

import os

import pytest

from safeselect.audit.finding import Refuted
from safeselect.audit.mechanisms import names
from safeselect.audit.verify import FULL, QUICK, Check, checks

pytestmark = [
    pytest.mark.slow("counts releases of each mechanism"),
    pytest.mark.filterwarnings("ignore::safeselect.testing.InsecureSourceWarning"),
]

ASPECTS = {"few candidates", "joint", "noise", "privacy"}
"""What is looked at here; the rest is about sizes, charges and sources."""

LONG = os.environ.get("SAFESELECT_LONG") == "1"


def looks(name: str) -> list[Check]:
    """The checks of one mechanism's law."""
    own = (check for check in checks() if check.name.startswith(f"{name}: "))
    return [check for check in own if check.aspect in ASPECTS and check.kind != "rules"]


@pytest.mark.parametrize("name", names())
def test_the_law_of_a_row(name: str) -> None:
    found = looks(name)
    assert "few candidates" in {check.aspect for check in found}
    for check in found:
        # The quick effort counts so few releases that a wrong rate might pass.
        full = LONG or check.aspect == "few candidates"
        try:
            check.examine(FULL if full else QUICK)
        except Refuted as error:
            pytest.fail(f"{check.name}: {error}")
