"""The fixture of pytest is `replay`."""

from __future__ import annotations

import pytest

from safeselect.testing import replay

pytest_plugins = ["safeselect.testing.fixture"]


def test_there_is_a_fixture(request: pytest.FixtureRequest):
    assert request.getfixturevalue("replay") is replay
