"""Every public name of the package by itself, whichever module has it."""

from __future__ import annotations

from typing import Any

import safeselect
from safeselect import accounting, estimates, prepared, results, sources

__all__ = ["NAMED", "PUBLIC"]

NAMED = (accounting, estimates, prepared, results, sources)
"""The modules that hold what the package does not say at its top."""

PUBLIC: dict[str, Any] = {
    name: getattr(module, name) for module in (*NAMED, safeselect) for name in module.__all__
}
