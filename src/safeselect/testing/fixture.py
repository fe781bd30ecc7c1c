"""`replay` as a fixture of pytest: write `pytest_plugins = ["safeselect.testing.fixture"]`."""

from __future__ import annotations

from safeselect.testing.replay import replay
from safeselect.testing.replay.worlds import Foreign


def pytest_configure(config: Foreign) -> None:
    """Add the fixture: a test says `assert not replay(pipeline, data, unit="patient")`."""
    import pytest  # this package needs it nowhere else

    class Fixtures:  # a decorated function of the module would not be the code of its source
        made = pytest.fixture(name="replay")(lambda _: replay)

    config.pluginmanager.register(Fixtures(), "safeselect replay")
