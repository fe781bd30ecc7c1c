"""Do something at the n-th line of a room's own code that a call runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import safeselect

_PACKAGE = Path(safeselect.__file__).parent


def at_step(
    call: Callable[[], Any], step: int, act: Callable[[], object], room: str = "ledger"
) -> Any:
    """Run the call; before its line number `step` in a room, counted from 1, do something once."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if not frame.f_code.co_filename.startswith(str(_PACKAGE / room)):
            return None
        if event == "line":
            count += 1
            if count == step:
                act()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        return call()
    finally:
        sys.settrace(before)
