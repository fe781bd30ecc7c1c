"""What the batteries of this folder share."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from sentinels import found_in


@pytest.fixture
def nothing_is_said(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> Iterator[None]:
    """No private value on standard output, on standard error or in a log."""
    caplog.set_level(logging.DEBUG)
    yield
    assert found_in("".join(capfd.readouterr())) == []
    assert found_in(caplog.text) == []
