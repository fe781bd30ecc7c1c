"""`replay` as a fixture of pytest: write `pytest_plugins = ["safeselect.testing.fixture"]`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from safeselect.testing.replay import replay

if TYPE_CHECKING:
    import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Add the fixture: a test says `assert not replay(pipeline, data, unit="patient")`."""
    import pytest  # this package needs it nowhere else

    class Fixtures:
        @pytest.fixture(name="replay")
        def fixture(self) -> object:
            return replay

    config.pluginmanager.register(Fixtures(), "safeselect replay")
