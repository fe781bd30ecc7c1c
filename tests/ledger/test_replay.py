"""Nothing is believed that was not checked: forged last records, other keys, other totals."""

from __future__ import annotations

import stat
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from ledgers import TERMS, ListStore, chained, forge, new, pure, records_of, scope

from safeselect import Budget, BudgetError, Ledger, LedgerDamaged, LedgerError, ParameterError
from safeselect.errors import SafeSelectWarning
from safeselect.ledger.stores import file

pytestmark = pytest.mark.claim("C9")


def charge_of(record: dict[str, Any]) -> dict[str, Any]:
    (charge,) = record["charges"]
    return charge  # type: ignore[no-any-return]


def reset(record: dict[str, Any]) -> None:
    """The whole budget again: a charge from nothing."""
    charge_of(record).update(after={"epsilon": "1/10"})


def is_refused(path: Path, said: str) -> None:
    for use in (lambda: Ledger.open(path), lambda: scope(Ledger.open(path)).pay(pure())):
        with pytest.raises(LedgerDamaged, match=said):
            use()


def test_a_total_that_somebody_reset_is_refused_before_the_next_charge(tmp_path: Path) -> None:
    path = tmp_path / "budget.ledger"
    running = scope(new(path, epsilon=1))
    running.pay(pure("1/2"))
    scope(Ledger.open(path)).pay(pure())
    forge(path, reset)
    is_refused(path, "record 3 states a total that is not the sum")
    with pytest.raises(LedgerDamaged, match="record 3 states a total that is not the sum"):
        running.pay(pure())


def test_nothing_is_written_that_a_reader_would_refuse(tmp_path: Path) -> None:
    path = tmp_path / "budget.ledger"
    there, before = scope(new(path, epsilon=1)), path.read_bytes()
    for wrong in (
        {"mechanism": "two\nlines"},
        {"source": ("\u202e", "yes", "passed")},
        {"source": ("OpenSSLSource", "maybe", "passed")},
        {"parameters": {"k": 3}},
        {"parameters": {"long": "x" * 2**18}},
        {"nonce": b"short"},
    ):
        with pytest.raises(LedgerError, match=r"nothing was (written|charged)"):
            there.pay(pure(**wrong))
        assert path.read_bytes() == before
    with pytest.raises(LedgerError, match="longer than 262144 bytes"):
        there.pay(pure(parameters={"long": "x" * (2**18 - 300)}))
    there.pay(pure(parameters={"long": "x" * (2**18 - 3000)}))


# ------------------------------------------------------------------------------------- refusals


def test_too_many_refusals_close_a_scope_and_its_owner_opens_it_again() -> None:
    ledger = Ledger.create(
        store := ListStore(),
        {"a": Budget(**TERMS, epsilon=100), "b": Budget(**TERMS, epsilon=1)},
        max_refusals=3,
    )
    there = scope(ledger)
    under_way = there.pay(pure())
    for _ in range(2):
        there.pay(pure()).aborted("input")
    for reason in ("source", "interrupt", "error"):
        there.pay(pure()).aborted(reason)
    assert not ledger.balance("a").is_closed
    there.pay(pure()).aborted("input")
    said = set()
    for use in (
        lambda: there.pay(pure()),
        lambda: under_way.released("blue", b"s" * 32),
        lambda: scope(Ledger.open(store)).pay(pure()),
    ):
        with pytest.raises(BudgetError, match="scope 'a' is closed") as caught:
            use()
        said.add(str(caught.value))
        assert caught.value.scope == "a"
    assert len(said) == 1
    under_way.aborted("error")  # that there is no answer may be told
    scope(ledger, "b").pay(pure()).released("blue", b"s" * 32)
    checker = ledger.check()
    assert (checker.scopes["a"].refusals, checker.scopes["b"].refusals) == (3, 0)
    with pytest.raises(ParameterError, match="scope 'b' is not closed"):
        ledger.reopen("b", reason="why not")
    with pytest.raises(ParameterError, match="reason must be"):
        ledger.reopen("a", reason="")
    ledger.reopen("a", reason="NaN among the scores: cleaned upstream", refusals=2)
    there.pay(pure()).released("blue", b"s" * 32)
    for _ in range(2):
        there.pay(pure()).aborted("input")
    with pytest.raises(BudgetError, match="is closed"):
        there.pay(pure())
    assert ledger.check().scopes["a"].max_refusals == 5


@pytest.mark.parametrize("wrong", [0, -1, 1001, True, "3", None, 2.0])
def test_how_many_refusals_a_scope_bears_is_a_count(wrong: Any) -> None:
    budget = Budget(**TERMS, epsilon=1)
    with pytest.raises(ParameterError, match="max_refusals must be"):
        Ledger.create(":memory:", {"a": budget}, max_refusals=wrong)
    with pytest.raises(ParameterError, match="max_refusals must be"):
        new(":memory:").add_scope("b", budget, max_refusals=wrong)


def test_what_nobody_may_write_about_refusals(tmp_path: Path) -> None:
    path = tmp_path / "budget.ledger"
    ledger = Ledger.create(path, dict.fromkeys("ad", Budget(**TERMS, epsilon=9)), max_refusals=1)
    there = scope(ledger)
    open_, refused = (there & scope(ledger, "d")).pay(pure()), there.pay(pure())
    refused.aborted("input")
    ledger.reopen("a", reason="mended")
    whole = path.read_bytes()
    for changes, said in (
        ({"limit": "epsilon"}, "is not approved, or raises a limit that its"),
        ({"scope": "b"}, "raises a limit of a scope that does not exist"),
        ({"approvals": ["x"]}, "has approvals, but requires none"),
        ({"after": "1"}, "does not raise the current max_refusals"),
        ({"before": "7"}, "does not raise the current max_refusals"),
        ({"caps": {"epsilon": "9"}}, "does not raise the current max_refusals"),
        ({"after": "10000000"}, "not an integer from 1 to"),
    ):
        path.write_bytes(whole)
        forge(path, lambda record, changes=changes: record.update(changes))
        is_refused(path, f"record 6 .*{said}")
    # An answer and a charge after the scope was closed, in place of its opening.
    path.write_bytes(whole)
    *before, last = records_of(path)
    released = {"kind": "released", "charge": str(open_.charge), "commitment": "x"}
    common = {name: last[name] for name in ("schema", "ledger")}
    path.write_bytes(chained([*before, {**common, **released}]))
    is_refused(path, "record 6 releases an answer from a closed scope")
    charged = {**records_of(path)[4], "nonce": "ab" * 16}
    charge_of(charged).update(after={"epsilon": "3/10"})
    path.write_bytes(chained([*before, charged]))
    is_refused(path, "record 6 charges a closed scope")


# --------------------------------------------------------------------------------------- places


MOUNTS = """\
22 1 254:0 / / rw - ext4 /dev/vda rw
30 22 0:5 / /mnt/a\\040b rw - nfs4 server:/x rw
31 22 0:6 / /mnt/over rw - xfs /dev/vdb rw
32 31 0:7 / /mnt/over rw - fuse.sshfs host rw
33 22 0:8 /f /srv/budget.ledger rw - btrfs /dev/vdc rw
"""


@pytest.mark.skipif(sys.platform != "linux", reason="mounts as Linux tells them")
@pytest.mark.parametrize(
    ("path", "kind"),
    [
        *(("/x", "ext4"), ("/mnt/a b/x", "nfs4"), ("/mnt/a bc/x", "ext4")),
        *(("/mnt/over/x/y", "fuse.sshfs"), ("/srv/budget.ledger", "btrfs"), ("/srv/x", "ext4")),
    ],
)
def test_the_type_of_a_file_system(path: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda *_: MOUNTS)
    assert file.file_system(Path(path)) == kind


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "9p", "virtiofs", "fuse.sshfs", "fuse"])
def test_file_systems_that_are_not_known_to_be_good_are_refused(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "budget.ledger"
    there = Ledger.open(path) if path.exists() else new(path, epsilon=1)
    opened = scope(Ledger.open(path))
    monkeypatch.setattr(file, "file_system", lambda _: kind)
    with pytest.raises(LedgerError, match=f"of type {kind}, because locks or fsync"):
        opened.pay(pure())
    with pytest.raises(LedgerError, match=f"of type {kind}, because locks or fsync"):
        new(tmp_path / "new.ledger")
    assert there.check().count == 2  # it may be read


@pytest.mark.parametrize("kind", ["tmpfs", "overlay", "unknown"])
def test_file_systems_that_pass_away_are_warned_of_and_refused_when_hardened(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file, "file_system", lambda _: kind)
    with pytest.warns(SafeSelectWarning, match=f"of type {kind}, so it may be lost"):
        made = new(tmp_path / "budget.ledger", epsilon=1)
    assert next(iter(made.records())).content["place"] == {"file_system": kind}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scope(made).pay(pure())
    monkeypatch.setenv("SAFESELECT_REQUIRE_PRODUCTION", "1")
    with pytest.raises(LedgerError, match="SAFESELECT_REQUIRE_PRODUCTION forbids this type"):
        scope(Ledger.open(tmp_path / "budget.ledger")).pay(pure())
    with pytest.raises(LedgerError, match="SAFESELECT_REQUIRE_PRODUCTION forbids this type"):
        new(tmp_path / "new.ledger")
    assert not (tmp_path / "new.ledger").exists()


def test_a_file_that_anybody_may_write_or_replace_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    path = folder / "budget.ledger"
    there = scope(new(path, epsilon=1))
    path.chmod(0o602)
    with pytest.raises(LedgerError, match="all users can write to the ledger"):
        there.pay(pure())
    path.chmod(0o640)
    folder.chmod(0o777)
    with pytest.raises(LedgerError, match="all users can replace the ledger"):
        there.pay(pure())
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(LedgerError, match="all users can replace the ledger"):
        Ledger.open(tmp_path / "link")
    folder.chmod(0o1777)
    there.pay(pure())


@pytest.mark.parametrize("mode", [0o777, 0o707, 0o773, 0o702])
def test_a_ledger_is_not_made_where_anybody_may_replace_it(tmp_path: Path, mode: int) -> None:
    folder, link = tmp_path / "shared", tmp_path / "link"
    folder.mkdir()
    link.symlink_to(folder)
    folder.chmod(mode)
    for there in (folder, link):
        with pytest.raises(LedgerError, match="run chmod o-w on its folder"):
            new(there / "budget.ledger")
    assert list(folder.iterdir()) == []
    folder.chmod(mode | stat.S_ISVTX)
    new(folder / "budget.ledger")
    folder.chmod(0o770)
    new(folder / "other.ledger")


def test_without_flock_the_package_works_and_a_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (
        "import sys; sys.modules['fcntl'] = None; import safeselect as s; "
        "terms = {'a': s.Budget('person', 'add_remove', epsilon=1)}; "
        "s.Ledger.create(':memory:', terms)\n"
        "try: s.Ledger.create(sys.argv[1], terms)\n"
        "except s.LedgerError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "budget.ledger")],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert "a ledger in a file requires the Unix function flock; use PostgreSQL" in done.stdout
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(file, "fcntl", None)
    with pytest.raises(LedgerError, match="requires the Unix function flock"):
        Ledger.open(tmp_path / "budget.ledger")
