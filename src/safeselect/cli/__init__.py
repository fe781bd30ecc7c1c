"""The command `safeselect`."""

from __future__ import annotations

from safeselect.cli._escape import escaped
from safeselect.cli._main import main

__all__ = ["escaped", "main"]
