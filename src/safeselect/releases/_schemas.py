"""The JSON Schemas in the package, by the name that stands in the JSON itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safeselect.errors import ParameterError
from safeselect.exact.parameters import describe
from safeselect.release import results

_FOLDER = Path(__file__).parent / "schemas"

SCHEMAS = (
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
        >>> json_schema("safeselect.quantiles/1")["title"]
        'safeselect.quantiles/1'
    """
    shapes = {shape.schema: shape for shape in results.SHAPES}
    if name in shapes:
        return results.json_schema(shapes[name])
    if name not in SCHEMAS:
        raise ParameterError(f"name must be one of {', '.join(SCHEMAS)}; got {describe(name)}")
    file = f"{name.removeprefix('safeselect.').replace('/', '-')}.json"
    schema: dict[str, Any] = json.loads((_FOLDER / file).read_text("ascii"))
    return schema
