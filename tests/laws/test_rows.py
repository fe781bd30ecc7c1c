"""The law of each mechanism by its releases, few and in pairs.

Laws and rates are worked out in `checks` from the published formulas alone.  All tests together
raise a false alarm with a probability below 1e-6; noise of an eighth of the width is noticed, as
`make laws` shows.  With SAFESELECT_LONG=1, as by night, thousands of releases are counted:
`releases.SEES` has the changes of a probability that are seen.
"""

from __future__ import annotations

import re

import pytest
from checks.every import checks
from checks.finding import FULL, QUICK, Check, Refuted
from checks.mechanisms import names
from effort import LONG

pytestmark = [pytest.mark.slow("counts releases of each mechanism")]

EVERY = [*checks()]


def examine(found: list[Check]) -> None:
    """What a check refutes fails."""
    for check in found:
        # The quick effort counts so few releases that a wrong rate might pass.
        try:
            check.examine(FULL if LONG or check.aspect == "few" else QUICK)
        except Refuted as error:
            pytest.fail(f"{check.name}: {error}")


OF_ANOTHER_NOISE = pytest.mark.nightly(
    "the same code with other noise, ties or weights: its answers are known, and tests/engine, "
    "test_quantile_laws.py and test_weights.py look at these"
)


def rows() -> list[object]:
    """Every name; of mechanisms that differ by noise, by ties or by weights the first each time."""
    found: dict[str, str] = {}
    for name in names():
        kind = re.sub("_(exponential|laplace|gumbel|geometric)(?=_|/|$)|_base2|_below", "", name)
        found.setdefault("weighted" if "_weighted" in name else kind, name)
    first = set(found.values())
    return [pytest.param(name, marks=() if name in first else OF_ANOTHER_NOISE) for name in names()]


@pytest.mark.parametrize("name", rows())
def test_the_law_of_a_row(name: str) -> None:
    found = [each for each in EVERY if each.name.startswith(f"{name}: ")]
    assert "few" in {check.aspect for check in found}
    assert "joint" in {check.aspect for check in found}
    examine(found)


@pytest.mark.claim("C1")
@pytest.mark.claim("C2")
def test_releases_by_every_calibration() -> None:
    examine([each for each in EVERY if each.name.partition(": ")[0] not in names()])
