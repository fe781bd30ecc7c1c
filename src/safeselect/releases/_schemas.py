"""The JSON Schemas in the package, by the name that stands in the JSON itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safeselect.errors import ParameterError
from safeselect.exact.parameters import describe

_FOLDER = Path(__file__).parent / "schemas"

SCHEMAS = (
    "safeselect.selection/3",
    "safeselect.top-k/3",
    "safeselect.top-set/3",
    "safeselect.selections/3",
    "safeselect.top-above/3",
    "safeselect.discovered-top-k/2",
    "safeselect.session/2",
    "safeselect.selected-partitions/1",
    "safeselect.partition-strategy/1",
    "safeselect.measurement/1",
    "safeselect.grouped-top-k/1",
    "safeselect.quantiles/1",
    "safeselect.chosen-run/1",
)
"""What `json_schema` knows."""


def json_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of what this library writes as JSON.

    Args:
        name: as it stands at "schema" in the JSON.

    Raises:
        ParameterError: there is no schema of this name.

    Example:
        >>> json_schema("safeselect.top-k/3")["title"]
        'safeselect.top-k/3'
    """
    if name not in SCHEMAS:
        raise ParameterError(f"name must be one of {', '.join(SCHEMAS)}; got {describe(name)}")
    file = f"{name.removeprefix('safeselect.').replace('/', '-')}.json"
    schema: dict[str, Any] = json.loads((_FOLDER / file).read_text("ascii"))
    return schema
