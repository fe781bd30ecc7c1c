"""The log: that it follows, is signed, holds the head, and commits to the release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from audited import (
    CHARGED,
    CREATED,
    EARLIER,
    EARLIER_OUT,
    RELEASED,
    UP_TO,
    Case,
    Json,
    certificate,
    record,
    release,
    signer,
)

from safeselect.ledger import Ledger, correct, set_aside

pytestmark = pytest.mark.claim("C8")

Run = pytest.CaptureFixture[bytes]


def of_another(case: Case) -> None:
    """The receipt of an earlier release, under this output."""
    case.release["receipt"] = case.earlier["receipt"] | {"salt": case.release["receipt"]["salt"]}


def names(**fields: str) -> Any:
    return lambda case: case.release["receipt"].update(fields)


def without_receipt(case: Case) -> None:
    del case.release["receipt"], case.release["provenance"]["utc"]


def aborted(case: Case) -> None:
    """The call was aborted, and its output shown all the same."""

    def change(records: list[Json]) -> None:
        del records[RELEASED]["commitment"]
        records[RELEASED] |= {"kind": "aborted", "reason": "error"}

    case.rewrite(change)


def twice(case: Case) -> None:
    """One charge, two outputs."""
    case.rewrite(lambda records: records.append({**records[RELEASED], "commitment": "0" * 64}))


def hidden(case: Case) -> None:
    """The earlier release never was: its records are gone, and the balance with them."""

    def change(records: list[Json]) -> None:
        records[CHARGED]["charges"][0] |= {"after": {"epsilon": "1"}}
        del records[EARLIER : EARLIER_OUT + 1]
        records[-1]["charge"] = str(CHARGED - 2)

    case.release["receipt"]["record"] = str(RELEASED - 2)
    case.rewrite(change, publish=False)


def emptied(case: Case) -> None:
    case.log = b""


def no_log(case: Case) -> None:
    case.log = b"ward,patient\nnorth,p1\n"


FORGERIES = {
    "the receipt of another release": ("commitment", of_another, "Record 4 commits to a different"),
    "the record of the charge": ("commitment", names(record=str(CHARGED)), "has kind charged"),
    "a record that is not there": ("commitment", names(record="99"), "99, which does not exist"),
    "another ledger": ("commitment", names(ledger="0" * 32), "The receipt names ledger 0000"),
    "no receipt": ("commitment", without_receipt, "The release has no receipt"),
    "an output of an aborted call": ("commitment", aborted, "has kind aborted"),
    "a second output of one charge": ("log", twice, "a charge that awaits no outcome"),
    "a release that never was": ("head", hidden, "the log ends before it"),
    "no log": ("commitment", no_log, "but the log is from none"),
    "an empty log": ("commitment", emptied, "but the log is from none"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_log_is_refused(refuse: Any, name: str) -> None:
    refuse(*FORGERIES[name])


def test_a_head_from_before_the_release_does_not_cover_it(case: Case, capfdbinary: Run) -> None:
    case.head = f"{EARLIER}:{json.loads(case.log.splitlines()[EARLIER])['hash']}"
    code, lines, _ = case.audit(capfdbinary)
    assert (code, lines["head"][:12]) == (3, "not compared")
    assert "3 records follow.  The head does not cover them or the release." in lines["head"]


def test_a_head_is_found_by_its_hash_alone(case: Case, capfdbinary: Run) -> None:
    case.head = case.head.partition(":")[2]
    assert case.audit(capfdbinary)[::2] == (0, UP_TO)
    case.head = json.loads(case.log.splitlines()[EARLIER])["hash"]
    assert case.audit(capfdbinary)[1]["head"].startswith("not compared")
    case.head = "0" * 64
    code, lines, _ = case.audit(capfdbinary)
    assert (code, lines["head"]) == (
        3, "DOES NOT HOLD: No record has this hash: the log was truncated or rewritten.",
    )  # fmt: skip
    case.head = "0" * 63
    assert case.audit(capfdbinary)[0] == 2


def test_a_correction_that_names_the_charge_is_told(case: Case, capfdbinary: Run) -> None:
    about = {"advisory": "X-1", "sha256": "0" * 64, "reason": "too little noise"}
    for charges, holds in (([EARLIER], True), ([EARLIER, CHARGED], False)):
        place = case.folder / "budget.ledger"
        correct(place, **about, charges=charges)  # type: ignore[arg-type]
        case.log, case.head = place.read_bytes(), Ledger.open(place).head
        code, lines, last = case.audit(capfdbinary)
        assert (code == 0, "correction" in lines) == (holds, not holds)
    assert lines["correction"] == "DOES NOT HOLD: X-1 restates it: too little noise."
    assert last.startswith("DOES NOT HOLD: correction")


def signed(folder: Path) -> tuple[Case, tuple[str, str]]:
    pytest.importorskip("cryptography")
    return Case(folder, certificate(), signer()), ("--public-key", signer().public_key.hex())


def unsigned(created: Json) -> None:
    created["signer"] = {}


def named_anew(case: Case) -> None:
    case.log = case.log.replace(b'"vault"', b'"vault 2"')


SIGNED = {
    "rewritten without the key": (release(), "log", "record 0 has no signature"),
    "the key taken out": (record(CREATED, unsigned), "signatures", "the log is not signed"),
    "the key's name only": (named_anew, "log", "record 0 does not match its hash"),
}


@pytest.mark.parametrize("name", SIGNED)
def test_forgeries_of_a_signed_log(tmp_path: Path, capfdbinary: Run, name: str) -> None:
    case, key = signed(tmp_path)
    assert case.audit(capfdbinary, *key)[0] == 0
    forge, what, said = SIGNED[name]
    forge(case)
    code, lines, _ = case.audit(capfdbinary, *key)
    assert (code, said in lines[what]) == (3, True), lines


@pytest.mark.parametrize(("place", "holds"), [(CHARGED, False), (RELEASED, False), (EARLIER, True)])
def test_a_signature_that_was_set_aside_is_told(
    tmp_path: Path, capfdbinary: Run, place: int, holds: bool
) -> None:
    case, key = signed(tmp_path)
    lines = case.log.splitlines(keepends=True)
    right = json.loads(lines[place])["signature"].encode()
    lines[place] = lines[place].replace(right, b"0" * len(right))
    path = tmp_path / "aside"
    path.write_bytes(b"".join(lines))
    path.chmod(0o600)
    set_aside(path, signer=signer(), reason="stolen")
    case.log = path.read_bytes()
    case.head = f"{len(lines)}:{json.loads(case.log.splitlines()[-1])['hash']}"
    code, found, _ = case.audit(capfdbinary, *key)
    said = "All 8 records but 1, which the owner set" if holds else "of this release or of its"
    assert (code, said in found["signatures"]) == (0 if holds else 3, True), found


def test_who_knows_the_public_key_reaches_a_verdict(tmp_path: Path, capfdbinary: Run) -> None:
    case, key = signed(tmp_path)
    assert case.audit(capfdbinary, *key)[::2] == (0, "HOLDS: all 15 comparisons")
    # Signatures are enough to know that the log is its owner's.
    code, lines, last = case.audit(capfdbinary, *key, without=["--head"])
    assert (code, last) == (0, "HOLDS: all 14 comparisons; none: head")
    assert lines["head"].startswith("none: No head was given")
    code, lines, last = case.audit(capfdbinary)
    reach = "what was compared holds up to record 6, which the head names"
    assert (code, last) == (3, f"NOT ESTABLISHED: {reach}; not compared: signatures")
    assert "signed with ed25519 key vault" in lines["signatures"]
    # With signatures an old head is enough: it shows that this is the ledger that went on.
    case.head = f"0:{json.loads(case.log.splitlines()[0])['hash']}"
    assert case.audit(capfdbinary, *key)[0] == 0
    code, lines, _ = case.audit(capfdbinary, "--public-key", signer(b"x").public_key.hex())
    assert (code, "not signed with the given key" in lines["signatures"]) == (3, True)
