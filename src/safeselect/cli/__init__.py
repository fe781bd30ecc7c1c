"""The command `safeselect`."""

from __future__ import annotations

from safeselect.cli._main import escaped, main

__all__ = ["escaped", "main"]
