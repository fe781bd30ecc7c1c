"""A release states what its record states, in one spelling."""

from __future__ import annotations

import json
from typing import Any

import pytest
from audited import CHARGED, Case, both, of_parts, record, release

pytestmark = pytest.mark.claim("C8")

TRUST = {"type": "Trust", "epsilon": "0"}
UNREAD = {"parts": [{"count": "2", "each": TRUST}]}
OTHERS = {
    "another unit": (release(unit="visit"), "unit is visit"),
    "other neighbours": (release(neighbours="replace_one"), "neighbours is replace_one"),
    "a better guarantee": (release(guarantee={"epsilon": "1/9"}), "guarantee epsilon is 1/9"),
    "another law": (release(mechanism="top_k_permute_and_flip/2"), "mechanism is top_k_permute"),
    "a smaller sensitivity": (release(parameters={"sensitivity": "1/2"}), "sensitivity is 1/2"),
    "one more parameter": (release(parameters={"reviewed": "yes"}), "reviewed is yes"),
    "fewer draws": (of_parts("1"), "draws is 1 x {'type': 'LaplaceDominated'"),
    "another time": (release(utc="2020-01-01T00:00:00Z"), "utc is"),
    "another source": (release(source="CombinedSource"), "source is CombinedSource"),
    "other code": (release(deciding_sha256="0" * 64), "deciding_sha256 is"),
    "another tree": (release(source_tree_sha256="0" * 64), "source_tree_sha256 is"),
    "no sensitivity": (
        record(CHARGED, lambda each: each["parameters"].pop("sensitivity")),
        "sensitivity is 1",
    ),
    "draws that are none": (record(CHARGED, lambda each: each.update(UNREAD)), "draws is 2 x"),
    "no guarantee": (record(CHARGED, lambda each: each.update(guarantee=TRUST)), "guarantee epsi"),
    "draws of another user": (of_parts("2"), "draws is 2 x {'type': 'App", "keys with counts"),
    "a strategy of another user": (of_parts("2"), "draws is 2 x {'type': 'App", "a strategy"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_its_record_does_not_say_is_refused(refuse: Any, name: str) -> None:
    refuse("record", *OTHERS[name])


def doubled(case: Case) -> None:
    """A key twice: readers that take the first see other labels than readers that take the last."""
    text = json.dumps(case.release)
    case.text = text.replace('"labels": ', '"labels": ["rum", "milk"], "labels": ', 1)
    assert case.text != text


def two(case: Case) -> None:
    case.text = json.dumps(case.release) + "\n" + json.dumps(case.earlier)


NO_RELEASE = "a field is missing, malformed"
NONE = {
    "a key twice": (doubled, "with unique keys"),
    "two releases in one file": (two, "it must be one JSON object"),
    "a field of one's own": (lambda case: case.release.update(approved_by="the board"), NO_RELEASE),
    "another spelling": (lambda case: case.release["guarantee"].update(epsilon="2/2"), NO_RELEASE),
    "another digit": (lambda case: case.release["receipt"].update(record="\u0666"), NO_RELEASE),
    "no noise": (both(sigma_squared="0"), NO_RELEASE, "a rounded gaussian"),
    "noise without a rate": (both(noise_rate="0"), NO_RELEASE, "groups"),
    "noise that covers nothing": (both(effective_range="0"), NO_RELEASE),
}


@pytest.mark.parametrize("name", NONE)
def test_what_no_call_writes_is_no_release(refuse: Any, name: str) -> None:
    refuse("release", *NONE[name])
