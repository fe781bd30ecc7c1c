"""Ready scores of a file, read at once."""

from __future__ import annotations

from typing import Any

from safeselect.tables import open_scores


def read_scores(path: object, **columns: str) -> tuple[list[str], list[Any]]:
    with open_scores(path, **columns) as (labels, scores):
        return labels, scores.read()
