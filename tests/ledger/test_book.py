"""Opening replays: nothing in a log is believed because the log states it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from effort import pairs
from ledgers import TERMS, Kept, chained, new, pure, records_of, scope

from safeselect import Budget, Ledger, LedgerDamaged
from safeselect.ledger import replay, signing
from safeselect.ledger.book import holds
from safeselect.ledger.record import canonical, log_line, record_hash
from safeselect.ledger.signing import Ed25519Signer
from safeselect.ledger.stores.file import FileStore

pytestmark = pytest.mark.claim("C9")

SIGNER = Ed25519Signer(b"k" * 32, key_id="k")
PEOPLE = [Ed25519Signer(bytes([n]) * 32, key_id="an approver") for n in (1, 2, 3)]


FORMS: dict[str, dict[str, Any]] = {
    "unsigned": {},
    "signed": {"signer": SIGNER},
    "two of three": {
        "signer": SIGNER,
        "approvers": [each.public_key for each in PEOPLE],
        "approvals_needed": 2,
    },
}


def spent_and_closed(path: Path, witness: Kept | None, form: dict[str, Any]) -> Ledger:
    """A ledger of which one scope is spent, and the other closed."""
    budgets = {name: Budget(**TERMS, epsilon=1) for name in ("a", "b")}
    ledger = Ledger.create(path, budgets, max_refusals=2, witness=witness, **form)
    scope(ledger).pay(pure(1)).released("blue", b"s" * 32)
    for _ in range(2):
        scope(ledger, "b").pay(pure()).aborted("input")
    scope(ledger, "b")
    return ledger


def limit(path: Path) -> dict[str, Any]:
    """A raised limit that nobody approved."""
    utc = records_of(path)[0]["utc"]
    said = {"limit": "epsilon", "before": "1", "after": "2", "reason": "why", "scope": "a"}
    return {"kind": "raised", "utc": utc, "approvals": [], **said}


def again(path: Path) -> dict[str, Any]:
    """A charge that begins from nothing."""
    records = records_of(path)
    return {**next(each for each in records if each["kind"] == "charged"), "nonce": "ab" * 16}


STATED: dict[str, Callable[[Path], dict[str, Any]]] = {"a limit": limit, "a charge": again}


def add(path: Path, content: dict[str, Any], key: Any) -> None:
    """Append a record that follows the last one; signed if there is a key for it."""
    records = records_of(path)
    common = {name: records[-1][name] for name in ("schema", "ledger")}
    keys = [key] * (len(records) + 1)
    path.write_bytes(chained([*records, {**content, **common}], keys))


@pytest.mark.parametrize(
    ("known", "form", "stated"),
    pairs(["nothing", "a head", "a witness", "both"], [*FORMS], [*STATED]),
)
def test_a_forged_state_is_not_opened(stated: str, form: str, known: str, tmp_path: Path) -> None:
    """Also where the writer's key is in the wrong hands."""
    path, keys = tmp_path / "budget.ledger", FORMS[form]
    witness = Kept() if known in ("a witness", "both") else None
    running = spent_and_closed(path, witness, keys)
    given: dict[str, Any] = {"signer": keys.get("signer"), "witness": witness}
    if known in ("a head", "both"):
        given["head"] = running.head
    add(path, STATED[stated](path), keys.get("signer"))
    with pytest.raises(LedgerDamaged, match=r"record 9 "):
        Ledger.open(path, **given)
    with pytest.raises(LedgerDamaged, match=r"record 9 "):
        scope(running).pay(pure())
    # What follows it does not make it true.
    add(path, again(path), keys.get("signer"))
    with pytest.raises(LedgerDamaged, match=r"record 9 "):
        Ledger.open(path, **given)


@pytest.mark.parametrize("signature", ["", "00" * 64, "that of the record before"])
def test_a_forged_last_line_without_the_key_is_not_opened(signature: str, tmp_path: Path) -> None:
    path = tmp_path / "budget.ledger"
    ledger = spent_and_closed(path, None, FORMS["signed"])
    ledger.add_scope("c", Budget(**TERMS, epsilon=1))
    whole = path.read_bytes()
    last = json.loads(whole.splitlines()[-1])
    signed = last["signature"] if signature.startswith("that") else signature
    body = canonical({**last["record"], "scope": "d", "seq": "10", "previous": last["hash"]})
    path.write_bytes(whole + log_line(body, record_hash(body), signed))
    with pytest.raises(LedgerDamaged, match="signature"):
        Ledger.open(path, signer=SIGNER)
    with pytest.raises(LedgerDamaged, match="signature"):
        ledger.balance("a")


def test_an_older_line_signed_by_nobody_is_found_by_the_check_and_before_a_charge_follows_it(
    tmp_path: Path,
) -> None:
    """Opening verifies the last signature, by whose key everything before it was judged."""
    path = tmp_path / "budget.ledger"
    ledger = spent_and_closed(path, None, FORMS["signed"])
    lines = path.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3].replace(json.loads(lines[3])["signature"].encode(), b"00" * 64)
    path.write_bytes(b"".join(lines))
    opened = Ledger.open(path, signer=SIGNER)
    assert opened.balance("a").spent == {"epsilon": 1}
    for each in (opened, ledger):
        with pytest.raises(LedgerDamaged, match="the signature of record 3 is wrong"):
            each.check()


def test_opening_a_signed_ledger_verifies_the_last_signature_and_each_change_of_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, keys = (
        tmp_path / "budget.ledger",
        [Ed25519Signer(bytes([n]) * 32, key_id="k") for n in (7, 8, 9)],
    )
    ledger = new(path, signer=keys[0], epsilon=10)
    for key in keys[1:]:
        for _ in range(5):
            scope(ledger).pay(pure()).released("blue", b"s" * 32)
        ledger.rotate(key)
    for _ in range(5):
        scope(ledger).pay(pure()).released("blue", b"s" * 32)
    found: list[bytes] = []
    real = signing.is_signed

    def verify(public_key: str, message: bytes, signature: str) -> bool:
        found.append(message)
        return real(public_key, message, signature)

    for module in (signing, replay):
        monkeypatch.setattr(module, "is_signed", verify)
    # The first, two handovers each with the first signature of its key, and the last.
    opened = Ledger.open(path, public_keys=[keys[0].public_key])
    assert len(found) == 6
    found.clear()
    assert opened.check().count + 2 == len(found)


def test_a_row_is_looked_for_in_its_place_whatever_is_there(tmp_path: Path) -> None:
    ledger = new(tmp_path / "l")
    scope(ledger).pay(pure())
    first, *_, last = ledger._book.rows()
    wrong = [last._replace(at=at) for at in (first.at, last.at + 5, last.at + 10**6)]
    wrong.append(last._replace(hash=first.hash))
    look = FileStore(tmp_path / "l").read
    assert look(lambda journal: [holds(journal, row) for row in (first, last)]) == [True, True]
    assert not look(lambda journal: [row for row in wrong if holds(journal, row)])


def test_what_is_kept_in_memory_grows_with_charges_and_requests_alone(tmp_path: Path) -> None:
    path = tmp_path / "budget.ledger"
    there = scope(new(path, epsilon=10**6))
    for n in range(30):
        (there.asked(f"request {n}") if n < 10 else there).pay(pure()).aborted("error")
    there.pay(pure())
    known = Ledger.open(path)._book.state(lambda checker: checker)
    assert (len(known.nonces), len(known.requests)) == (31, 10)
    assert known.pending == {"62"}
