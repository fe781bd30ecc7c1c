"""Every field of every kind of release and record, changed: which change an audit lets pass.

Against a head or a key that the auditor had before, none.  With a head of the forger's own, in a
log without signatures, whose chain and commitments the forger computed anew: only what contradicts
no other field.  These are listed here and in `docs/audit-reference.md`.

`SAFESELECT_LONG=1` makes 12 000 changes and more, and audits all honest releases: some minutes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import honest
import pytest
from audited import certificate
from changed import Changed, changes, rebuilt
from checks.mechanisms import names
from effort import LONG
from honest import Made, made
from written import COUNTS, EVERY, RHO

import safeselect as s
from safeselect.audit.line import verdict
from safeselect.audit.logged import _UNSIGNED
from safeselect.audit.release import audit
from safeselect.ledger import Ed25519Signer, Ledger, log_lines

pytestmark = [
    pytest.mark.claim("C9"),
    pytest.mark.slow("hundreds of releases, and thousands of changes of their fields"),
    pytest.mark.filterwarnings("ignore::safeselect.SafeSelectWarning"),
]

ROOT = Path(__file__).parents[2]

RESTATED: dict[str, set[str]] = {
    # What was released follows from no other field.
    "release": {
        *("label", "labels", "index", "indices", "groups", "k_bar"),
        *("counts", "gap", "gaps", "values", "winners", "names"),
    },
    # Parameters that no other field depends on, and the name of the source, in both.
    "both": {
        *("candidates", "gamma", "gap_grid", "grid", "groups_per_user", "highest", "k"),
        *("lowest", "max_contributions", "max_rows", "minimize", "pre_threshold", "queries"),
        *("score_error", "sensitivity", "source", "split", "step", "threshold", "top_margin"),
        *("weights", "k_bar"),
    },
    # What one record says for itself.
    "record charged": {"purpose", "request", "nonce", "production", "health"},
    "record created": {"library", "place", "utc", "ledger"},
    "record scope": {"max_refusals", "utc"},
}
"""What may be restated: by where it stands, the name of the field, or of the parameter."""

HUGE = ("a huge integer", "a vast integer", "a wild text", "the best of numbers", "a vast grid")


def releases() -> Iterator[tuple[str, Made]]:
    """A release of each kind."""
    more = [each for each in honest.cases() if each[0].endswith((", weights", ", groups_per_user"))]
    sessions = honest.sessions()
    for name, call, caps in (
        *(
            (name, call, honest.RHO if name in RHO else honest.DELTA)
            for name, call in EVERY.items()
            if name not in HUGE
        ),
        *more[::3],
        *sessions[::7],
        sessions[-1],
    ):
        yield name, made(call, caps)


def judged(release: Made, folder: Path, head: str | None, **more: Any) -> tuple[bool, str]:
    """Whether an audit holds, and its page."""
    log = folder / "log"
    log.write_bytes(release.log)
    lines = list(audit(release.release, str(log), head, certificate=certificate(), **more))
    holds, last = verdict(lines)
    rows = "; ".join(f"{line.what}: {line.word}: {line.sentence}" for line in lines)
    return holds, f"{last} ({rows})"


def may_be_restated(change: Changed) -> bool:
    path = change.path[1:] if change.path[0] == "provenance" else change.path
    inside = path[:1] in (("parameters",), ("source",)) and path[1:]
    name = (path[1] if inside else path[0]) if path else "provenance"
    if (change.where, *path) == ("record scope", "terms", "neighbours"):
        # Words of one's own: the neighbours that the mechanism asks for count.
        return change.value not in ("add_remove", "replace_one")
    if change.where == "record scope" and path[0] in ("terms", "caps"):
        # Orders, weights, own delta and ceiling, and caps of moments that these allow.
        return path[0] == "terms" or str(path[1]).startswith("moment_")
    if change.where == "record charged" and path[0] == "library":
        # Stated again where it changed; what counted the rows is compared with nothing.
        return path[1:2] in (("duckdb",), ("pyspark",))
    return str(name) in RESTATED.get(change.where, ())


def test_what_may_be_restated_is_listed() -> None:
    """On the page of what an audit compares, word by word, and in short on that of the audit."""
    page = (ROOT / "docs" / "audit-reference.md").read_text("utf-8")
    page = page.partition("## What an audit cannot see")[2]
    for name in RESTATED["both"] - {"k", "source", "grid", "highest", "lowest", "step"}:
        assert f"`{name}`" in page, name
    short = _UNSIGNED.replace("margins", "top_margin").replace("grids", "gap_grid, grid")
    for name in RESTATED["both"] - {"highest", "lowest", "step"}:
        assert re.search(rf"\b{name}\b", short), name


def test_no_field_can_be_changed_that_contradicts_another(tmp_path: Path) -> None:
    every, seen, tried = 5 if LONG else 131, set(), 0
    for place, (name, release) in enumerate(releases()):
        for number, change in enumerate(changes(release)):
            if (number + place) % every:
                continue
            tried += 1
            forged = rebuilt(change)
            holds, said = judged(forged, tmp_path, forged.head)
            if holds:
                assert may_be_restated(change), f"{name}: {change.name}: {said}"
                seen.add(change.where)
            # The head that the auditor had before names another record, or the commitment fails.
            assert not judged(forged, tmp_path, release.head)[0], f"{name}: {change.name}"
            kept = Made(change.release, release.log, release.head)
            if change.where == "release":
                assert not judged(kept, tmp_path, release.head)[0], f"{name}: {change.name}"
    assert tried > (11_890 if LONG else 500)
    assert seen >= {"release", "both", "record created"}


def key_of(number: int) -> Ed25519Signer:
    pytest.importorskip("cryptography")
    return Ed25519Signer(bytes([number]) * 32, key_id=f"device {number}")


def verifier_of(signer: Any) -> dict[str, Any]:
    """What an auditor has who knows this key."""
    return {"public_key": signer.public_key}


def kinds_of_records(signer: Any, folder: Path) -> Made:
    """A ledger that holds a record of every kind, and a release on it."""
    place = folder / f"{'signed' if signer else 'bare'}.ledger"
    terms = {"unit": "person", "neighbours": "add_remove"}
    ledger = Ledger.create(place, {"a": s.Budget(**terms, epsilon=9)}, signer=signer)
    scope = ledger.scope("a", **terms, purpose="a test")
    given: dict[str, Any] = {"epsilon": "1/3", "sensitivity": 1, "ledger": scope}
    s.permute_and_flip(COUNTS, **given)
    for unread in range(10):
        with pytest.raises(s.ScoreError, match="do not fit"):
            s.permute_and_flip([None, unread], **given)
    ledger.reopen("a", reason="looked into", refusals=20)
    s.SparseVector(threshold=3, k=2, epsilon="1/2", sensitivity=1, ledger=scope).close()
    if signer is not None:
        signer = key_of(2)
        ledger.rotate(signer)
    with place.open("ab") as file:
        file.write(b'{"hash":"torn')
    ledger = Ledger.open(place, signer=signer)
    result = s.top_k(COUNTS, k=2, **{**given, "ledger": ledger.scope("a", **terms, purpose="x")})
    return Made(result.to_json(), place.read_bytes(), ledger.head)


@pytest.mark.parametrize("is_signed", [False, True])
def test_no_kind_of_record_can_be_changed_under_a_head_or_a_key(
    tmp_path: Path, is_signed: bool
) -> None:
    release = kinds_of_records(key_of(1) if is_signed else None, tmp_path)
    kinds = {json.loads(line)["record"]["kind"] for line in release.log.splitlines()}
    assert kinds >= {"created", "scope", "charged", "released", "aborted", "raised", "settled"}
    assert ("key" in kinds, "torn" in kinds) == (is_signed, True)
    more = verifier_of(key_of(1)) if is_signed else {}
    assert judged(release, tmp_path, release.head, **more)[0]
    for number, change in enumerate(changes(release)):
        if number % (1 if LONG else 23):
            continue
        forged = rebuilt(change)
        assert not judged(forged, tmp_path, release.head, **more)[0], change.name
        if is_signed:  # whatever head the forger publishes
            assert not judged(forged, tmp_path, forged.head, **more)[0], change.name
            assert not judged(forged, tmp_path, None, **more)[0], change.name


def test_honest_releases_of_every_mechanism_hold(tmp_path: Path) -> None:
    all_of_them = honest.every()
    assert len(all_of_them) >= 400
    released, refused = set(), 0
    some = all_of_them if LONG else [*all_of_them[::9], *honest.odd()]
    for name, call, caps in some:
        try:
            release = made(call, caps)
        except s.ParameterError:  # a few words do not go together
            refused += 1
            continue
        holds, said = judged(release, tmp_path, release.head)
        assert holds, f"{name}: {said}"
        released.add(json.loads(release.release)["mechanism"])
    if LONG:
        assert released >= set(names())
    assert refused <= 4


# ------------------------------------------------------------------------ ledgers of other kinds


def ledgers(folder: Path) -> Iterator[tuple[str, Made, dict[str, Any]]]:
    """Honest releases on ledgers of other kinds, and what more an auditor has."""
    terms = {"unit": "person", "neighbours": "add_remove"}
    given: dict[str, Any] = {"epsilon": "1/3", "sensitivity": 1}
    key = key_of(7)

    def on(ledger: Ledger, scope: Any, **more: Any) -> Made:
        result = s.top_k(COUNTS, k=2, **{**given, **more}, ledger=scope)
        log = "".join(log_lines(ledger.records())).encode("ascii")
        return Made(result.to_json(), log, ledger.head)

    for near in ("replace_one", "one household more or less"):
        plain = {**terms, "neighbours": near}
        ledger = Ledger.create(":memory:", {"a": s.Budget(**plain, epsilon=5)})
        scope = ledger.scope("a", **plain, purpose="x")
        yield near, on(ledger, scope), {}
        wanted = {"add_remove", "replace_one"} & {near} or {"add_remove"}
        middle = s.quantile(
            [1, 2], quantile="1/2", lowest=0, highest=9, step=1, epsilon="1/3",
            neighbours=wanted.pop(), ledger=scope,
        )  # fmt: skip
        log = "".join(log_lines(ledger.records())).encode("ascii")
        yield f"a quantile, {near}", Made(middle.to_json(), log, ledger.head), {}
    for caps in (honest.EPSILON, honest.DELTA, honest.RHO, honest.SUMS):
        ledger = Ledger.create(":memory:", {"a": s.Budget(**terms, **caps)})
        yield f"caps {sorted(caps)}", on(ledger, ledger.scope("a", **terms, purpose="x")), {}
    budgets = {"a": s.Budget(**terms, epsilon=5), "b": s.Budget(**terms, rho=5)}
    ledger = Ledger.create(folder / "two", budgets)
    a, b = (ledger.scope(name, **terms, purpose="x") for name in budgets)
    yield "two scopes", on(ledger, a & b), {}
    yield "one of two", on(ledger, b), {}
    ledger.add_scope("c", s.Budget(**terms, epsilon=1))
    yield "a scope added later", on(ledger, ledger.scope("c", **terms, purpose="x")), {}
    yield "a request", on(ledger, a.asked("0123456789abcdef")), {}
    for place in range(11):
        with pytest.raises((s.ScoreError, s.BudgetError), match=r"fit|closed"):
            s.top_k([None, place], k=1, **given, ledger=a)
    ledger.reopen("a", reason="looked into")
    yield "reopened after refusals", on(ledger, a), {}
    with b.charge(s.PureDP("1/9"), mechanism="other/law/1") as pending:
        pending.released("an output")
    yield "beside releases of another library", on(ledger, b), {}
    with (folder / "two").open("ab") as file:
        file.write(b'{"hash":"torn')
    ledger = Ledger.open(folder / "two")
    again = on(ledger, ledger.scope("b", **terms, purpose="x"))
    yield "after an unfinished write", again, {}
    unfinished = Made(again.release, again.log + b'{"hash":"', again.head)
    yield "before an unfinished write", unfinished, {}
    ledger = Ledger.create(":memory:", {"a": s.Budget(**terms, epsilon=5)}, signer=key)
    scope = ledger.scope("a", **terms, purpose="x")
    yield "signed", on(ledger, scope), {"public_key": key.public_key}
    created = f"0:{next(iter(ledger.records())).hash}"
    signed = on(ledger, scope)
    yield (
        "signed, with an old head",
        Made(signed.release, signed.log, created),
        {"public_key": key.public_key},
    )
    ledger = Ledger.create(":memory:", {"a": s.Budget(**terms, epsilon=5)}, signer=key_of(1))
    ledger.rotate(key_of(2))
    scope = ledger.scope("a", **terms, purpose="x")
    yield "the second key", on(ledger, scope), verifier_of(key_of(2))
    yield "the first key", on(ledger, scope), verifier_of(key_of(1))


def test_ledgers_of_other_kinds_raise_no_alarm(tmp_path: Path) -> None:
    number = 0
    for name, release, more in ledgers(tmp_path):
        holds, said = judged(release, tmp_path, release.head, **more)
        assert holds, f"{name}: {said}"
        number += 1
    assert number >= 18
