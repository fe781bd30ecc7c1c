"""The plans of lists, groups and keys are computed again."""

from __future__ import annotations

from typing import Any

import pytest
from audited import both, release

pytestmark = pytest.mark.claim("C9")

UNCAPPED = "discovered with counts, no cap"
COUNTED, FOUND = "keys with counts", "discovered with counts"
OTHERS = {
    "counts that were not asked for": (
        both(with_counts="no"),
        "mechanism does not match its parameters",
        COUNTED,
    ),
    "another mean of the noise": (both(noise_mean="1"), "noise_mean is 1", COUNTED),
    "counts that are said to be closer": (both(noise_low_95="0"), "noise_low_95 is 0", COUNTED),
    "a smaller deviation": (both(noise_deviation="1/1000"), "noise_deviation is", COUNTED),
    "more competitors": (release(k_bar="4"), "k_bar must be between", FOUND),
    "fewer competitors": (release(k_bar="1"), "k_bar must be between 2", "discovered, capped"),
    "a bottom that is too near": (both(offset="40"), "offset is 40", "discovered"),
    "a bottom of few items": (both(offset="60"), "offset is 60", "discovered, capped"),
    "a bottom of counts": (both(offset="71"), "offset is 71", FOUND),
    "less noise of counts": (both(sigma_squared="2"), "sigma_squared is 2", UNCAPPED),
    "a cap that nobody asked for": (both(max_contributions="1"), "sigma_squared is", UNCAPPED),
    "groups of another noise": (both(noise_rate="9"), "noise_rate is 9", "groups of candidates"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_parameters_that_do_not_follow_are_refused(refuse: Any, name: str) -> None:
    refuse("plan", *OTHERS[name])
