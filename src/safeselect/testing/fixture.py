"""`replay` as a fixture of pytest: write `pytest_plugins = ["safeselect.testing.fixture"]`."""

from __future__ import annotations

import pytest

from safeselect.testing.replay import replay


@pytest.fixture(name="replay")
def fixture() -> object:
    """Let a test say `assert not replay(pipeline, data, unit="patient")`."""
    return replay
