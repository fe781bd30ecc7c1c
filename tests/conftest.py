"""One setting for all tests: examples of hypothesis are the same on every run.

A pass stays a pass and a failure can be repeated; `HYPOTHESIS_PROFILE=explore make test` looks for
new examples.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
