"""`replay` as a fixture of pytest: write `pytest_plugins = ["safeselect.testing.fixture"]`."""

from __future__ import annotations

import pytest

from safeselect.testing.replay import replay


def pytest_configure(config: pytest.Config) -> None:
    """Add the fixture: a test says `assert not replay(pipeline, data, unit="patient")`."""

    class Fixtures:  # a decorated function of the module would not be the code of its source
        made = pytest.fixture(name="replay")(lambda _: replay)

    config.pluginmanager.register(Fixtures(), "safeselect replay")
