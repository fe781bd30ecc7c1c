"""A certificate vouches for the code that ran, if it is whole and passed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from audited import CREATED, Case

pytestmark = pytest.mark.claim("C8")


def certificate(**fields: Any) -> Callable[[Case], None]:
    def forge(case: Case) -> None:
        for name, value in fields.items():
            old = case.certificate[name]
            case.certificate[name] = {**old, **value} if isinstance(value, dict) else value
            assert case.certificate[name] != old

    return forge


def unreadable(case: Case) -> None:
    """Neither the code that ran nor the code that was checked could be read."""
    nothing = {"deciding_sha256": "unreadable"}
    case.certificate["library"] |= nothing
    case.release["provenance"] |= nothing
    case.rewrite(lambda records: records[CREATED]["library"].update(nothing))


DIFFERING = {"differing": ["small: quantile"]}
WHOLE = "It is not whole"
OTHERS = {
    "of other code": (
        "certified code",
        certificate(library={"deciding_sha256": "1" * 64}),
        "It is of version 0.1.0, deciding_sha256",
    ),
    "of nothing": ("certified code", unreadable, "deciding_sha256 unreadable"),
    "of another version": (
        "certified code",
        certificate(library={"version": "0.0.9"}),
        "It is of version 0.0.9",
    ),
    "that did not pass": (
        "certificate",
        certificate(known_answers=DIFFERING, passed=False),
        "It did not pass: small: quantile",
    ),
    "that says so only in part": ("certificate", certificate(known_answers=DIFFERING), WHOLE),
    "that failed as a whole": ("certificate", certificate(passed=False), WHOLE),
    "of other answers": ("certificate", certificate(known_answers={"sha256": "0" * 64}), WHOLE),
    "of no answers": ("certificate", certificate(known_answers={"count": 0}), WHOLE),
    "of another schema": ("certificate", certificate(schema="safeselect.certificate/9"), WHOLE),
    "without the machine": ("certificate", lambda case: case.certificate.pop("machine"), WHOLE),
    "without a digest": (
        "certificate",
        lambda case: case.certificate["code"]["modules"].popitem(),
        WHOLE,
    ),
    "of other libraries": ("libraries", certificate(library={"gmp": "GMP 1.0"}), "another gmp"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_certificate_that_does_not_vouch_for_the_release(refuse: Any, name: str) -> None:
    refuse(*OTHERS[name])
