"""Sources for tests, tests for sources and score functions, and experiments on made-up scores.

Nothing here is for production.  `DeterministicSource`, `ReplaySource` and `RecordingSource` repeat
or keep random bytes, and anyone who has the bytes and the release can compute the scores.  Their
`production` is False.  What `simulate` and `probabilities` return is NOT PRIVATE.  All five are
refused while SAFESELECT_REQUIRE_PRODUCTION is set.
"""

from __future__ import annotations

from safeselect.testing.conformance import check_source
from safeselect.testing.experiments import Probabilities, Simulation, probabilities, simulate
from safeselect.testing.replay import replay
from safeselect.testing.replay.comparing import Finding, Report
from safeselect.testing.sensitivity import SensitivityExceeded, check_sensitivity
from safeselect.testing.sources import DeterministicSource, RecordingSource, ReplaySource

__all__ = [
    "DeterministicSource",
    "Finding",
    "Probabilities",
    "RecordingSource",
    "ReplaySource",
    "Report",
    "SensitivityExceeded",
    "Simulation",
    "check_sensitivity",
    "check_source",
    "probabilities",
    "replay",
    "simulate",
]
