"""Results for readers: one line of JSON, one line for people, the rate of the noise.

What goes in was released, so everything here is post-processing: no release depends on it.  The
classes of results find this module by `present_with`, at the end; frames and plots are made by
`adapters.results` and `adapters.plots`, which are imported when a method asks for them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import fields
from fractions import Fraction
from importlib import import_module
from itertools import islice
from typing import Any

from safeselect.promises.guarantees import Guarantee
from safeselect.promises.records import exact_text, guarantee_record
from safeselect.scores.candidates import label_text
from safeselect.selection._results import present_with

_SHOWN = 10  # labels
_LONGEST = 40  # characters of a label
_LONGEST_INTEGER = 2**16  # bits of a label that is read as an integer again


def _short_text(result: Any) -> str:
    """A result in one line: the first labels, what it cost, the mechanism, and a receipt.

    Labels are text in quotes, without control characters, and cut where they are long.
    """
    count = len(result)
    shown = [_cut(label) for label in islice(result, _SHOWN)]
    shown += [f"... {count - _SHOWN} more"] * (count > _SHOWN)
    guarantee = result.guarantee
    numbers = (f"{each.name}={getattr(guarantee, each.name)}" for each in fields(guarantee))
    cost = f"{type(guarantee).__name__}({', '.join(numbers)})"
    kept = "" if result.receipt is None else f", record {result.receipt.record}"
    source = "" if "NOT PRIVATE" not in result.source else f", {result.source}"
    listed = ", ".join(shown)
    return f"<{type(result).__name__} [{listed}], {cost}, {result.mechanism}{source}{kept}>"


def _cut(label: object) -> str:
    written = label_text(label)
    text = written if isinstance(label, int) else ascii(written)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def rate(result: Any, each: object, wide: int = 1) -> Fraction | None:
    """The rate of the noise per score unit, of draws that cost `each`, `wide` times as wide.

    None where the weights have another base than e, so that the rate is no rational number.
    """
    if getattr(result, "base", None) is not None or result.effective_range is None:
        return None
    # Every draw is LaplaceDominated or BoundedRange; both have an epsilon.
    epsilon, effective = Fraction(getattr(each, "epsilon", 0)), Fraction(result.effective_range)
    return epsilon / (wide * effective)


def kind_of(label: object) -> str:
    """What a written label was: "text", "integer", or "other", of which only the text is kept."""
    if type(label) is int and label.bit_length() <= _LONGEST_INTEGER:
        return "integer"
    return "text" if isinstance(label, str) else "other"


def kinds_of(each: list[str]) -> str | list[str]:
    """The kinds of some labels: one word if all are of one kind."""
    return each[0] if len(set(each)) == 1 else each or "text"


def written_labels(labels: Iterable[object]) -> dict[str, object]:
    """Labels as content for JSON: their texts, and what each of them was."""
    names = list(labels)
    return {"labels": [*map(label_text, names)], "label_kinds": kinds_of([*map(kind_of, names)])}


def _texts(value: Any) -> Any:
    """A value as content for JSON: exact numbers as text, alone or in lists; None stays."""
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return [_texts(each) for each in value]
    return exact_text(value) if isinstance(value, Fraction) else str(value)


def equal_parts(parts: tuple[Guarantee, ...]) -> dict[str, object]:
    """The draws of one call, which share one calibration."""
    return {"count": str(len(parts)), "each": guarantee_record(parts[0])}


def to_json_line(schema: str, result: Any, **content: object) -> str:
    """A result, a dataclass, as one line of JSON: some fields as given, the others as text."""
    content |= {"schema": schema, "guarantee": guarantee_record(result.guarantee)}
    content |= {"statement": None, **result.statement.as_record()}
    content["receipt"] = None if result.receipt is None else result.receipt.as_record()
    for each in fields(result):
        if each.name not in content:
            content[each.name] = _texts(getattr(result, each.name))
    present = {name: value for name, value in content.items() if value is not None}
    return json.dumps(present, sort_keys=True, ensure_ascii=True)


def _present(name: str, result: Any, *more: str) -> Any:
    """What the method of this name of a result returns."""
    if name in _OWN:
        return _OWN[name](result, *more)
    shown_by = "plots" if name.startswith("plot") else "results"
    return getattr(import_module(f"safeselect.adapters.{shown_by}"), name)(result)


_OWN: dict[str, Callable[..., Any]] = {"short_text": _short_text}
present_with(_present)
