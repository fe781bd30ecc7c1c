"""Another key signs: handed over by the one before it, or approved when that is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from effort import pairs
from ledgers import TERMS, chained, pure, records_of, scope
from workers import kinds

from safeselect import Budget, Ledger, LedgerDamaged, LedgerError, ParameterError
from safeselect.cli._main import main
from safeselect.ledger import Checker, Ed25519Signer, Proposal, append, approve, kept_records
from safeselect.ledger.record import START, Row, canonical, log_line, record_hash
from safeselect.ledger.replay import Keys
from safeselect.ledger.signing import handover_message, key_of, signed_message

pytestmark = pytest.mark.claim("C9")

OLD, NEW, LATE, EVE = (Ed25519Signer(bytes([n]) * 32, key_id=f"k{n}") for n in range(10, 14))
ANN, BEN, CID = (Ed25519Signer(bytes([n]) * 32, key_id=f"k{n}") for n in range(1, 4))
BUDGETS = {"a": Budget(**TERMS, epsilon=100)}


def public(key: Ed25519Signer) -> bytes:
    return key.public_key


def made(place: Any, signer: Any = OLD, *, approvers: bool = True) -> Ledger:
    """Two of three approve."""
    people = [public(each) for each in (ANN, BEN, CID)] if approvers else []
    needed = 2 if approvers else None
    return Ledger.create(place, BUDGETS, signer=signer, approvers=people, approvals_needed=needed)


def proposed(ledger: Ledger, key: Ed25519Signer) -> Proposal:
    return ledger.propose.key(key.public_key, key_id=key.key_id)


def spend(ledger: Ledger) -> None:
    scope(ledger).pay(pure()).released("x", b"s" * 32)


def signed(proposal: Proposal, *people: Ed25519Signer) -> list[dict[str, str]]:
    return [approve(Proposal(proposal.text), each) for each in people]


def rotated(path: Path) -> Ledger:
    """OLD signs records 0 to 3, NEW 4 to 6, LATE, which was approved, 7 to 9."""
    ledger = made(path)
    spend(ledger)
    ledger.rotate(NEW)
    spend(ledger)
    lost = Ledger.open(path)
    lost.rotate(LATE, signed(proposed(lost, LATE), ANN, CID))
    spend(lost)
    return lost


def test_whoever_knows_one_key_verifies_all_records(tmp_path: Path) -> None:
    path = tmp_path / "l"
    ledger = rotated(path)
    assert [(n, k) for n, k in enumerate(kinds(ledger)) if k == "key"] == [(4, "key"), (7, "key")]
    for key in (OLD, NEW, LATE):
        checker = Ledger.open(path, public_keys=[public(key)]).check()
        assert checker.signer == key_of(LATE)
        assert checker.keys.used == [each.public_key.hex() for each in (OLD, NEW, LATE)]
    spend(Ledger.open(path, signer=LATE))
    spend(Ledger.open(path, signer=LATE, public_keys=[public(OLD)]))
    for key in (EVE, ANN):
        with pytest.raises(LedgerDamaged, match="not signed with the given key"):
            Ledger.open(path, public_keys=[public(key)])
        with pytest.raises(LedgerDamaged, match="not signed with the given key"):
            ledger.check(public_keys=[public(key)])
    for read in (partial(Ledger.open, path), ledger.check, partial(append, path, [])):
        with pytest.raises(ParameterError, match="public keys must be a list, not an iterator"):
            read(public_keys=iter([public(EVE)]))
    for key in (OLD, NEW, EVE):
        with pytest.raises(ParameterError, match="signer is not the"):
            Ledger.open(path, signer=key)


def test_the_old_key_signs_the_place_all_records_before_and_both_keys(tmp_path: Path) -> None:
    ledger = rotated(tmp_path / "l")
    said = {**records_of(tmp_path / "l")[4], "ledger": ledger.id}
    covered = {name: said[name] for name in ("ledger", "previous", "replaces", "seq", "signer")}
    body = json.dumps(covered, sort_keys=True, separators=(",", ":"))
    message = f"DSSEv1 35 application/vnd.safeselect.handover {len(body)} {body}".encode()
    key = Ed25519PublicKey.from_public_bytes(OLD.public_key)
    key.verify(bytes.fromhex(said["handover"]), message)


def test_a_process_with_the_old_key_charges_no_more(tmp_path: Path) -> None:
    path = tmp_path / "l"
    ledger = made(path)
    there = scope(ledger)
    Ledger.open(path, signer=OLD).rotate(NEW)
    size = path.stat().st_size
    said = "signer is not the current signer of the ledger"
    with pytest.raises(LedgerError, match=said):
        there.pay(pure())
    assert path.stat().st_size == size
    assert ledger.balance("a").spent["epsilon"] == 0  # it may still look


def test_only_the_old_key_or_approvers_hand_over(tmp_path: Path) -> None:
    path = tmp_path / "l"
    ledger, without = made(path), made(tmp_path / "m", approvers=False)
    head, lost = ledger.head, Ledger.open(path)
    proposal = proposed(lost, NEW)
    assert proposal.content["replaces"] == OLD.public_key.hex()
    for approvals, said in (
        ([], "the current key must sign the handover"),
        (signed(proposal, ANN), "requires 2 approvals, but has 1"),
        (signed(proposed(lost, LATE), ANN, BEN), "is for another change"),
        ("x", "approvals must be a list"),
    ):
        with pytest.raises(ParameterError, match=said):
            lost.rotate(NEW, approvals)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="no approvers"):
        Ledger.open(tmp_path / "m").rotate(NEW, signed(proposal, ANN, BEN))
    with pytest.raises(ParameterError, match="no approvers"):
        proposed(without, NEW)
    for key, said in (
        (OLD, "already signed records of the ledger"),
        (ANN, "cannot be an approver's"),
        (public(NEW), "signer must implement the"),
        (None, "must be the new signer"),
    ):
        with pytest.raises(ParameterError, match=said):
            ledger.rotate(key)  # type: ignore[arg-type]

    class Wrong:
        key_id, public_key, sign = "x", NEW.public_key, EVE.sign

    with pytest.raises(ParameterError, match="do not match its public key"):
        ledger.rotate(Wrong())
    assert ledger.head == head
    with pytest.raises(ParameterError, match="this ledger is not signed"):
        made(":memory:", None, approvers=False).rotate(NEW)
    lost.rotate(NEW, signed(proposal, ANN, BEN))


def test_a_proposed_key_is_taken_by_rotate_alone(tmp_path: Path) -> None:
    """The new key signs the record of the change, so `enact` cannot write it, and says who can."""
    ledger = made(tmp_path / "l")
    proposal, head = proposed(ledger, NEW), ledger.head
    with pytest.raises(ParameterError, match=r"call rotate\(key, approvals\) instead"):
        ledger.enact(proposal, signed(proposal, ANN, BEN))
    assert ledger.head == head
    ledger.rotate(NEW, signed(proposal, ANN, BEN))


def test_approvers_do_not_vouch_for_lines_that_the_old_key_did_not_sign(tmp_path: Path) -> None:
    """Whoever writes the file adds a line; nobody has the old key, and nobody would notice."""
    path = tmp_path / "l"
    spend(made(path))
    lines = path.read_bytes().splitlines(keepends=True)
    last = json.loads(lines[-1])
    last["record"]["commitment"] = "0" * 64
    body = canonical(last["record"])
    path.write_bytes(b"".join(lines[:-1]) + log_line(body, record_hash(body), last["signature"]))
    lost = Ledger.open(path)
    approvals = signed(proposed(lost, NEW), ANN, BEN)
    with pytest.raises(LedgerDamaged, match="the signature of record 3 is wrong"):
        lost.rotate(NEW, approvals)


def rechained(
    path: Path, place: int, change: Callable[[dict[str, Any]], object], keys: list[Any]
) -> None:
    """Change a record and compute the chain anew, signed by whom the forger likes."""
    records = records_of(path)
    before = chained(records[:place], keys).splitlines()
    records[place]["previous"] = json.loads(before[-1])["hash"] if before else START
    change(records[place])
    path.write_bytes(chained(records, keys))


def keyed(path: Path, place: int) -> list[Any]:
    """A ledger of 7 records, of which that at this place replaces OLD by NEW; who signed them."""
    ledger = made(path)
    for number in range(2, 7):
        if number == place:
            ledger.rotate(NEW)
        else:
            scope(ledger).pay(pure())
    return [NEW if number >= place else OLD for number in range(7)]


def by(key: Any, **more: Any) -> Callable[[dict[str, Any]], object]:
    """Sign the handover with this key."""

    def change(record: dict[str, Any]) -> None:
        record.update(more)
        record["handover"] = key.sign(handover_message(record)).hex()

    return change


def signed_as(kind: str) -> Callable[[dict[str, Any]], object]:
    """Sign what is handed over with the old key, as something else; or its text alone."""

    def change(record: dict[str, Any]) -> None:
        about = ("ledger", "seq", "previous", "replaces", "signer")
        text = canonical({name: record[name] for name in about})
        stated = record_hash(text) if kind == "record" else text
        message = signed_message(kind, stated) if kind else text.encode()
        record["handover"] = OLD.sign(message).hex()

    return change


def approved(*people: Any, ledger: str = "") -> Callable[[dict[str, Any]], object]:
    """Put approvals in place of the handover."""

    def change(record: dict[str, Any]) -> None:
        record["handover"] = ""
        told = Proposal.of({**record, **({"ledger": ledger} if ledger else {})}, "0" * 64, "99")
        record["approvals"] = [approve(told, each) for each in people]

    return change


@pytest.mark.parametrize("again", [OLD, NEW])
def test_no_key_of_the_past_comes_back(again: Ed25519Signer) -> None:
    keys = Keys()
    for each in (OLD, NEW):
        keys.take(key_of(each))
    record = {"signer": key_of(again), "handover": "", "approvals": []}
    with pytest.raises(LedgerDamaged, match="already signed records"):
        keys.check_next(
            Row(9, "", "", ""), record | {"replaces": NEW.public_key.hex()}, None, "", ""
        )


ANYBODY = key_of(EVE)


FORGED: list[tuple[Any, Any, str]] = [
    (lambda record: record.update(handover=""), NEW, "not signed by the key that it replaces"),
    (lambda record: None, None, "has no signature"),
    (lambda record: None, OLD, "the signature of record . is wrong"),
    (by(NEW), NEW, "not signed by the key that it replaces"),
    (by(NEW, signer=ANYBODY), EVE, "not signed by the key that it replaces"),
    (by(OLD, replaces=EVE.public_key.hex()), NEW, "does not replace the current key"),
    (by(OLD, signer=key_of(OLD)), OLD, "already signed records"),
    (by(OLD, signer=key_of(ANN)), ANN, "lets an approver's key sign"),
    (by(OLD, signer=key_of(NEW) | {"algorithm": "x"}), NEW, "does not name an Ed25519 key"),
    (by(OLD, signer={**key_of(NEW), "public_key": ["x"]}), NEW, "does not name an|fields"),
    *((signed_as(kind), NEW, "not signed by the key that") for kind in ("approval", "record", "")),
    (approved(), NEW, "not signed by the key that it replaces"),
    (approved(ANN, BEN, ledger="0" * 32), NEW, "is for another change"),
    (lambda record: record.update(approvals=[{}]), NEW, "has both approvals and a handover, or"),
]


@pytest.mark.parametrize(("place", "pinned", "forged"), pairs([2, 4, 6], [None, OLD, NEW], FORGED))
def test_forged_records_of_keys(
    tmp_path: Path, place: int, pinned: Any, forged: tuple[Any, Any, str]
) -> None:
    """First, in the middle and last; by whoever may write the file, with or without a pinned key.

    The forger has every later key, and gives everything else that a reader wants to see.
    """
    path, (change, after, said) = tmp_path / "l", forged
    keys = keyed(path, place)
    rechained(path, place, lambda record: None, keys)
    pins = [public(pinned)] if pinned else []
    Ledger.open(path, public_keys=pins).check()
    rechained(path, place, change, keys[:place] + [after or EVE] * (7 - place))
    if after is None:
        lines = path.read_bytes().splitlines(keepends=True)
        lines[place] = lines[place].replace(json.loads(lines[place])["signature"].encode(), b"")
        path.write_bytes(b"".join(lines))
    for look in (
        lambda: Ledger.open(path, public_keys=pins),
        lambda: list(kept_records(path, Checker(pins))),
    ):
        with pytest.raises(LedgerDamaged, match=said):
            look()


def test_a_first_record_that_only_states_the_pinned_key_names_no_approvers(tmp_path: Path) -> None:
    """The forger's own approvers "replace" the pinned key, which signed nothing, by his."""
    path = tmp_path / "l"
    ledger = Ledger.create(path, BUDGETS, signer=EVE, approvers=[public(CID)])
    spend(ledger)
    ledger.rotate(LATE)
    spend(ledger)
    changed: list[str] = []

    def approve_own(record: dict[str, Any]) -> None:
        record.update(handover="", replaces=OLD.public_key.hex())
        record["approvals"] = [approve(Proposal.of(record, changed[0], "99"), CID)]

    keys = [EVE] * 4 + [LATE] * 3
    rechained(path, 0, lambda record: record.update(signer=key_of(OLD)), keys)
    changed.append(json.loads(path.read_bytes().splitlines()[1])["hash"])
    rechained(path, 4, approve_own, keys)
    for look in (
        lambda: Ledger.open(path, public_keys=[public(OLD)]),
        lambda: Ledger.open(path, signer=LATE),
        lambda: list(kept_records(path, Checker([public(OLD)]))),
    ):
        with pytest.raises(LedgerDamaged, match="the signature of record 0 is wrong"):
            look()


def test_the_command_pins_keys_and_shows_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "l"
    rotated(path)
    old, new, late, eve = (each.public_key.hex() for each in (OLD, NEW, LATE, EVE))
    for pinned, code in (
        ([], 3),
        ([old], 0),
        ([eve], 3),
        ([old, new, late], 0),
        ([old, new], 3),
        ([eve, late], 3),
    ):
        words = ["ledger", "verify", str(path)]
        for each in pinned:
            words += ["--public-key", each]
        assert main(words) == code, (pinned, capsys.readouterr().err)
    capsys.readouterr()
    assert main(["ledger", "show", str(path), "--public-key", old]) == 0
    out = capsys.readouterr().out
    assert f"{new}, handed over by the previous key" in out
    assert f"{late}, approved by 2" in out
