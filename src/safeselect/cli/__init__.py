"""The command `safeselect`."""

from __future__ import annotations

from safeselect.cli._main import main
from safeselect.cli._output import escaped

__all__ = ["escaped", "main"]
