"""JSON from the types of the fields: what is written is read again, and nothing else is."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from safeselect import InputError
from safeselect.errors import ParameterError
from safeselect.release.codec import MOST_DRAWS, OtherLabel, read_count
from safeselect.release.results import SHAPES, Selection, TopK, from_json, json_schema
from shapes import RELEASES, SAID

HEADER = "mechanism", "guarantee", "parts", "source", "provenance"
OTHERS = "x", "-1", "1/2", "2/4", " 1", "", 3, 0.5, None, True, [], {}, ["x"], {"x": "y"}


def changes(content: Any) -> Iterator[Any]:
    """The content with one place changed, left out, doubled or added."""
    yield from OTHERS
    if isinstance(content, dict):
        yield content | {"more": "x"}
        for name, each in content.items():
            yield {key: value for key, value in content.items() if key != name}
            yield from (content | {name: other} for other in changes(each))
    if isinstance(content, list):
        yield [*content, "x"]
        yield [*content, *content]
        for place, each in enumerate(content):
            yield content[:place] + content[place + 1 :]
            for other in changes(each):
                yield [*content[:place], other, *content[place + 1 :]]


@pytest.mark.parametrize("name", RELEASES)
def test_what_is_written_is_read_again_and_is_what_the_schema_says(name: str) -> None:
    release = RELEASES[name]
    line = release.to_json()
    again = from_json(line)
    assert again.to_json() == line
    assert type(again) is type(release)
    if name not in ("pair", "none", "rows", "k of rows"):
        assert again == release
    jsonschema.validate(json.loads(line), json_schema(type(release)))


@pytest.mark.parametrize("name", RELEASES)
def test_whatever_is_changed_is_refused_or_is_another_release(name: str) -> None:
    content, read = json.loads(RELEASES[name].to_json()), 0
    for changed in changes(content):
        try:
            found = from_json(json.dumps(changed))
        except InputError:
            continue
        assert json.loads(found.to_json()) == changed
        read += 1
    assert read < len([*changes(content)]) / 3


@pytest.mark.parametrize("name", ["a", "groups"])
def test_the_schema_refuses_what_the_reader_refuses_for_its_form(name: str) -> None:
    """Fields that are missing, added or of another type; what is read fits its schema."""
    release = RELEASES[name]
    content = json.loads(release.to_json())
    schema = jsonschema.Draft202012Validator(json_schema(type(release)))
    for field in content:
        for wrong in (1, 0.5, None, True, float("nan")):
            assert not schema.is_valid(content | {field: wrong}), (field, wrong)
        if field in ("schema", *HEADER):
            assert not schema.is_valid({key: content[key] for key in content if key != field}), (
                field
            )
    assert not schema.is_valid(content | {"more": "x"})
    for changed in changes(content):
        try:
            from_json(json.dumps(changed))
        except InputError:
            continue
        schema.validate(changed)


def test_texts_that_are_no_release() -> None:
    line = RELEASES["a"].to_json()
    bare = line[:-1]
    for wrong in (
        *("", "[]", "null", "{}", "3", '"x"', "{} {}", "\ufeff{}", '{"schema": []}'),
        *("[" * 10**5, '{"a":' * 10**5, '{"schema": "safeselect.selection/2"}'),
        *('{"schema": "os.system"}', '{"schema": "a", "schema": "b"}'),
        *(line[:-1], line + "x", line.replace('"index"', '"schema"', 1)),
        line.replace('"type"', '"type": "PureDP", "type"', 1),
        *(f"{bare}, {more}}}" for more in ('"index": "3"', '"gap": NaN', '"gap": -Infinity')),
        *(line.replace('"3"', number) for number in ("3", "1e999", "NaN", "null", "true")),
        line.replace('"3"', "1" * 10_000),
        *(line.encode(), None, 1, ["{}"], {"schema": "x"}),
    ):
        with pytest.raises(InputError, match="not a release that safeselect wrote"):
            from_json(wrong)  # type: ignore[arg-type]


def labels(kinds: str | list[str], *texts: str) -> dict[str, Any]:
    return {"labels": {"texts": [*texts], "kinds": kinds}}


def pure(epsilon: str) -> dict[str, Any]:
    return {"guarantee": {"type": "PureDP", "epsilon": epsilon}}


_VAST, _TOLD = "1E+999999999", {"ledger": "ab" * 16, "record": "9" * 5000, "salt": "00" * 32}
_DEEP: Any = {"type": "PureDP", "epsilon": "1"}
for _ in range(600):
    _DEEP = {"type": "Repeated", "base": _DEEP, "eta": "0", "gamma": "1/2"}
MISFITS: dict[str, tuple[str, dict[str, Any]]] = {
    "a negative epsilon": ("a", pure("-1")),
    "a delta of 2": ("a", {"guarantee": {"type": "ApproximateDP", "epsilon": "1", "delta": "2"}}),
    "an epsilon that takes for ever": ("a", pure("9" * 10**6)),
    "a guarantee of nothing": ("a", {"guarantee": {"type": "Repeated", "eta": "1", "gamma": "1"}}),
    "a guarantee that there is not": ("a", {"guarantee": {"type": "object", "epsilon": "1"}}),
    "a text that is no integer": ("ordered", labels(["integer", "text"], "1/2", "b")),
    "a decimal that takes for ever": ("ordered", labels(["decimal", "text"], _VAST, "b")),
    "a long decimal": ("ordered", labels(["decimal", "text"], "0." + "1" * 10**6, "b")),
    "a tiny decimal": ("ordered", labels(["decimal", "text"], "-1E-999999999", "b")),
    "a day that there is not": ("ordered", labels(["date", "text"], "2024-02-30", "b")),
    "positions beyond all that can be counted": ("rows", {"winners": ["9" * 19, "0", "0"]}),
    "lists of other lengths": ("k of rows", {"winners": [["0"], ["2", "1"]]}),
    "an order that tells of noise": ("counted", labels("text", "b", "a")),
    "a count that is none": ("counted", {"counts": ["1/2", "3"]}),
    "a group twice": ("groups", {"groups": {"texts": ["x", "x"], "kinds": "text"}}),
    "counts of a group": ("groups", {"counts": [["7"], []]}),
    "a rate of nothing": ("a", {"provenance": {"parameters": {"noise_rate": "0"}}}),
    "guarantees without an end": ("run", {"guarantee": _DEEP}),
    "draws without an end": ("run", {"parts": [{"count": "1", "each": _DEEP}]}),
    "noise of a word": ("measured", {"values": {"texts": ["tea", "x"], "kinds": "text"}}),
    "noise of a half": ("measured", {"values": {"texts": ["1/2", "1"], "kinds": "fraction"}}),
    "none of none": ("a", {"provenance": {"parameters": {"k": "0", "threshold": "1"}}}),
    "a part of one": ("a", {"provenance": {"parameters": {"k": "x", "threshold": "1"}}}),
    "a place beyond all": ("a", {"receipt": _TOLD}),
    "a receipt of nothing": ("a", {"receipt": {"ledger": "x", "record": "7", "salt": "00"}}),
}


@pytest.mark.parametrize("what", MISFITS)
def test_fields_that_do_not_fit_each_other_are_refused(what: str) -> None:
    name, fields = MISFITS[what]
    content = json.loads(RELEASES[name].to_json())
    if "provenance" in fields:
        fields = {"provenance": content["provenance"] | fields["provenance"]}
    assert fields.keys() <= content.keys()
    with pytest.raises(InputError, match="not a release that safeselect wrote"):
        from_json(json.dumps(content | fields))


@pytest.mark.parametrize("wrong", ["1/2", "-1", "x", 1])
def test_what_is_no_count_is_refused(wrong: object) -> None:
    assert read_count("12", "k") == 12
    with pytest.raises(InputError, match="'k' must be a number, written as a string"):
        read_count(wrong, "k")


def test_no_message_quotes_a_label() -> None:
    for release in RELEASES.values():
        content = json.loads(release.to_json())
        for name in ("label", "labels", "names", "groups", "values", "counts"):
            for wrong in ("SECRET", ["SECRET"], {"texts": ["SECRET"] * 9, "kinds": "integer"}):
                if name in content:
                    with pytest.raises(InputError, match="not a release") as caught:
                        from_json(json.dumps(content | {name: wrong}))
                    assert "SECRET" not in str(caught.value)


def test_reading_runs_nothing_and_opens_nothing() -> None:
    lines = [release.to_json() for release in RELEASES.values()]
    for line in lines:
        from_json(line)
    seen: list[str] = []
    watched = [True]
    sys.addaudithook(lambda event, _: seen.append(event) if watched else None)
    try:
        for line in lines:
            from_json(line)
    finally:
        watched.clear()
    assert not {"open", "import", "exec", "compile", "pickle.find_class"} & {*seen}


def test_no_count_of_draws_takes_memory_that_the_text_does_not_have() -> None:
    content = json.loads(RELEASES["a"].to_json())
    for count in (str(MOST_DRAWS + 1), "9" * 30, "9" * 200_000):
        content["parts"][0]["count"] = count
        with pytest.raises(InputError, match="inconsistent with"):
            from_json(json.dumps(content))


def test_labels_of_other_classes_leave_their_text() -> None:
    assert from_json(RELEASES["pair"].to_json()).label == OtherLabel("('a', 1)")  # type: ignore[attr-defined]
    assert str(OtherLabel("x")) == "x"
    for label in (True, 0.5, None, b"x", 2 ** (2**16)):
        again = from_json(Selection(**SAID, label=label).to_json())
        assert type(again.label) is OtherLabel  # type: ignore[attr-defined]


def test_a_label_that_cannot_be_written_is_named_by_its_class() -> None:
    class Broken:
        def __str__(self) -> str:
            raise KeyError("private")

    written = json.loads(TopK(**SAID, labels=(Broken(),)).to_json())
    assert written["labels"] == {"texts": ["an object of type Broken"], "kinds": "other"}


def test_the_schemas_are_closed_and_name_their_shape() -> None:
    for shape in SHAPES:
        schema = json_schema(shape)
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["title"] == schema["properties"]["schema"]["const"] == shape.schema
        assert schema["additionalProperties"] is False


def test_the_schema_of_anything_else_is_refused() -> None:
    for wrong in (int, "safeselect.top-k/1", None):
        with pytest.raises(ParameterError, match="must be one of the classes"):
            json_schema(wrong)  # type: ignore[arg-type]


def test_a_receipt_is_the_only_difference_of_a_release_that_has_one() -> None:
    release = RELEASES["a"]
    bare = json.loads(replace(release, receipt=None).to_json())
    assert {**json.loads(release.to_json()), "receipt": 0} == {**bare, "receipt": 0}
