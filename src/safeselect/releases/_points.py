"""From JSON to chosen runs."""

from __future__ import annotations

from typing import Any

from safeselect.mechanisms.runs import ChosenRun
from safeselect.releases._fields import Fields, every_guarantee, refuse, text
from safeselect.releases._parts import labelled, read_common


def chosen_run(fields: Fields) -> ChosenRun[Any]:
    """Read one of many runs, or that there is none."""
    found = fields.take("found", text) == "yes"
    score = _given(fields, "score") if found else None
    if isinstance(score, str):
        refuse("'score' is a text, and no run may return one")
    return ChosenRun(
        found=found,
        output=_given(fields, "output") if found else None,
        score=score,
        **read_common(fields, every_guarantee),
    )


def _given(fields: Fields, name: str) -> Any:
    """What a run returned, if it was a text or an integer; of others the text."""
    kind = fields.take(f"{name}_kind", text)
    return labelled([fields.take(name, text)], kind)[0]
