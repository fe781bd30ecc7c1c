"""Sources for tests, and tests for sources and score functions.

Nothing here is for production.  `DeterministicSource`, `ReplaySource` and `RecordingSource` repeat
or keep random bytes, and anyone who has the bytes and the release can compute the scores.  Their
`production` is False, and they are refused while SAFESELECT_REQUIRE_PRODUCTION is set.
"""

from __future__ import annotations

from safeselect.testing.conformance import check_source
from safeselect.testing.replay import Finding, Report, replay
from safeselect.testing.sensitivity import SensitivityExceeded, check_sensitivity
from safeselect.testing.sources import (
    DeterministicSource,
    InsecureSourceWarning,
    RecordingSource,
    ReplaySource,
)

__all__ = [
    "DeterministicSource",
    "Finding",
    "InsecureSourceWarning",
    "RecordingSource",
    "ReplaySource",
    "Report",
    "SensitivityExceeded",
    "check_sensitivity",
    "check_source",
    "replay",
]
