"""A certificate vouches for the code that ran, if it is whole and passed."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from audited import CREATED, UP_TO, Case, signer
from audited import certificate as whole

from safeselect.audit.certified import compare_code, sealed

pytestmark = pytest.mark.claim("C8")


def certificate(**fields: Any) -> Callable[[Case], None]:
    def forge(case: Case) -> None:
        for name, value in fields.items():
            old = case.certificate[name]
            case.certificate[name] = {**old, **value} if isinstance(value, dict) else value
            assert case.certificate[name] != old

    return forge


def without_a_digest(case: Case) -> None:
    case.certificate["code"]["modules"].popitem()


def unreadable(case: Case) -> None:
    """Neither the code that ran nor the code that was checked could be read."""
    nothing = {"deciding_sha256": "unreadable"}
    case.certificate["library"] |= nothing
    case.release["provenance"] |= nothing
    case.rewrite(lambda records: records[CREATED]["library"].update(nothing))


DIFFERING = {"differing": ["small: quantile"]}
WHOLE = "It is incomplete"
OTHER_CODE = certificate(library={"deciding_sha256": "1" * 64})
FAILED = certificate(known_answers=DIFFERING, passed=False)
OTHERS = {
    "of other code": ("certified code", OTHER_CODE, "It covers version 0.1.0, deciding_sha256"),
    "of nothing": ("certified code", unreadable, "deciding_sha256 unreadable"),
    "for another version": ("certified code", certificate(library={"version": "9"}), "version 9"),
    "that did not pass": ("certificate", FAILED, "It did not pass: small: quantile"),
    "that says so only in part": ("certificate", certificate(known_answers=DIFFERING), WHOLE),
    "that failed as a whole": ("certificate", certificate(passed=False), WHOLE),
    "of other answers": ("certificate", certificate(known_answers={"sha256": "0" * 64}), WHOLE),
    "of no answers": ("certificate", certificate(known_answers={"count": 0}), WHOLE),
    "of another schema": ("certificate", certificate(schema="safeselect.certificate/9"), WHOLE),
    "without the machine": ("certificate", lambda case: case.certificate.pop("machine"), WHOLE),
    "without a digest": ("certificate", without_a_digest, WHOLE),
    "of other libraries": ("libraries", certificate(library={"gmp": "GMP 1.0"}), "another gmp"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_certificate_that_does_not_vouch_for_the_release(refuse: Any, name: str) -> None:
    refuse(*OTHERS[name])


@pytest.mark.parametrize("key", ["passed", "keyid"])
def test_no_certificate_states_a_key_twice(key: str) -> None:
    pytest.importorskip("cryptography")
    text = whole() if key in whole() else json.dumps(envelope(json.loads(whole())))
    (line,) = compare_code(text.replace(f'"{key}": ', f'"{key}": "x", "{key}": ', 1), {})
    assert line.sentence == "It is not an envelope with one signature."


# ------------------------------------------------------------------------ somebody's certificates

OWN, OTHER = signer(b"v"), signer(b"f")
KEY = ["--certificate-key", OWN.public_key.hex()]
Envelope = dict[str, Any]


def envelope(content: Any, by: Any = OWN) -> Envelope:
    return json.loads(json.dumps(sealed(content, by)))  # type: ignore[no-any-return]


def changed(change: Callable[[Any], object], *taken: str) -> Callable[[Envelope], object]:
    """Change the content, sign it with a key of the forger's, and take these fields of that."""

    def forge(each: Envelope) -> None:
        content = json.loads(b64decode(each["payload"]))
        change(content)
        each |= {name: envelope(content, OTHER)[name] for name in taken}

    return forge


def by(**fields: Any) -> Callable[[Envelope], object]:
    return lambda each: each["signatures"][0].update(fields)


CONTENTS: list[Callable[[Any], object]] = [
    lambda each: each.update(utc="2027-01-01T00:00:00Z"),
    lambda each: each["machine"].update(host="another"),
    lambda each: each["machine"].update(os="another"),
    lambda each: each["machine"].update(cpu="another"),
    lambda each: each["library"].update(numpy="1.0.0"),
    lambda each: each["known_answers"].update(count=3),
    lambda each: each["code"].update(functions=each["code"]["functions"] + 1),
    lambda each: each.update(passed=False),
]
FORGERIES: list[Callable[[Envelope], object]] = [
    *(changed(each, "payload") for each in CONTENTS),
    *(changed(each, "payload", "signatures") for each in CONTENTS[:3]),
    lambda each: each.update(payloadType="application/vnd.safeselect.record"),
    lambda each: each.update(payload=each["payload"][:-8]),
    lambda each: each.update(signatures=[]),
    lambda each: each["signatures"].append(each["signatures"][0]),
    by(keyid=OTHER.public_key.hex()),
    by(keyid="x"),
    by(sig=b64encode(b"0" * 64).decode()),
    by(sig="?"),
    lambda each: each.update(payload=7),
    lambda each: each.pop("signatures"),
    lambda each: (each.clear(), each.update(json.loads(whole()))),
    lambda each: (each.update(json.loads(b64decode(each["payload"]))), each.pop("payloadType")),
]


@pytest.fixture
def case(tmp_path: Path) -> Case:
    pytest.importorskip("cryptography")
    return Case(tmp_path, whole())


Run = pytest.CaptureFixture[bytes]


def test_a_signed_certificate_says_whose_key(case: Case, capfdbinary: Run) -> None:
    case.certificate = envelope(json.loads(whole()))
    code, lines, last = case.audit(capfdbinary, *KEY)
    assert (code, last) == (0, UP_TO.replace("14", "15"))
    said = f"It is signed with ed25519 key {OWN.public_key.hex()}"
    assert lines["certificate's key"] == f"holds: {said}, as given."
    code, lines, last = case.audit(capfdbinary)
    assert (code, last.partition(":")[0]) == (3, "NOT ESTABLISHED")
    assert lines["certificate's key"] == f"not compared: {said}; give --certificate-key."
    code, lines, _ = case.audit(capfdbinary, "--certificate-key", OTHER.public_key.hex())
    assert "It is signed with a different key" in lines["certificate's key"]
    assert code == 3


@pytest.mark.parametrize("number", range(len(FORGERIES)))
def test_no_forged_certificate_holds_against_a_key(
    case: Case, capfdbinary: Run, number: int
) -> None:
    assert len(FORGERIES) >= 20
    case.certificate = envelope(json.loads(whole()))
    FORGERIES[number](case.certificate)
    code, lines, last = case.audit(capfdbinary, *KEY)
    assert (code, last.partition(":")[0]) == (3, "DOES NOT HOLD"), lines
    assert lines["certificate's key"].startswith("DOES NOT HOLD: ")


@pytest.mark.parametrize("number", range(len(CONTENTS)))
def test_a_key_of_the_forgers_own_does_not_help_what_contradicts_itself(
    case: Case, capfdbinary: Run, number: int
) -> None:
    """Time, machine, and numbers of functions and answers follow from nothing else."""
    content = json.loads(whole())
    CONTENTS[number](content)
    case.certificate = envelope(content, OTHER)
    code, lines, _ = case.audit(capfdbinary, *["--certificate-key", OTHER.public_key.hex()])
    assert lines["certificate's key"].startswith("holds: ")
    assert (code == 0) is (number in (0, 1, 2, 3, 5, 6)), lines
