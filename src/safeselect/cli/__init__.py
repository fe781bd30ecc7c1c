"""The command `safeselect`."""

from __future__ import annotations

from safeselect.cli._main import main
from safeselect.release.page import escaped

__all__ = ["escaped", "main"]
