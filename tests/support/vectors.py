"""Published numbers and those of other programs: the files of `tests/vectors`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def vectors(name: str) -> Any:
    """What a file of this name holds."""
    return json.loads((Path(__file__).parents[1] / "vectors" / f"{name}.json").read_text("utf-8"))
