"""Settings for all tests.

- Examples of hypothesis are the same on every run: a pass stays a pass and a failure can be
  repeated; `HYPOTHESIS_PROFILE=explore make test` looks for new ones;
  `first_failure` is `repeatable` that does not look for a smaller example (`make mutants`).
- A difference is cut short, also where the variable CI is set: pytest would there compare lists of
  10**5 numbers line by line, for minutes, before it says that a test failed.
- No output of any test may show a private value: see `leak_net`.
- A test that is marked `slow` or `nightly` says why.
"""

from __future__ import annotations

import os

import pytest
from effort import LONG
from hypothesis import Phase, settings
from leak_net import LeakNet

for name in ("CI", "BUILD_NUMBER"):
    os.environ.pop(name, None)

EXAMPLES = 100 if LONG else 25
settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=EXAMPLES)
settings.register_profile("explore", deadline=None)
settings.register_profile(
    "first_failure",
    derandomize=True,
    deadline=None,
    max_examples=EXAMPLES,
    phases=(Phase.explicit, Phase.generate),
    report_multiple_bugs=False,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(LeakNet())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for mark in item.iter_markers():
            said = mark.args[0] if mark.args else None
            if mark.name in ("slow", "nightly") and not (isinstance(said, str) and said.strip()):
                raise pytest.UsageError(
                    f'{item.nodeid}: write pytest.mark.{mark.name}("the reason")'
                )
