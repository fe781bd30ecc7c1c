"""Settings for all tests.

- Examples of hypothesis are the same on every run: a pass stays a pass and a failure can be
  repeated; `HYPOTHESIS_PROFILE=explore make test` looks for new ones.
- No output of any test may show a private value: see `leak_net`.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import settings
from leak_net import LeakNet

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(LeakNet())
