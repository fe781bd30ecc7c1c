"""Records: one spelling, a chain that breaks at any change, and nothing private in them."""

from __future__ import annotations

import hashlib
import io
import json
import re
import sys
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledgers import TERMS, new, pure, scope

from safeselect import ApproximateDP, Budget, Ledger, LedgerDamaged, LedgerError, ParameterError
from safeselect.ledger import Checker, Record, check_log, log_lines
from safeselect.ledger.balance import exact_texts
from safeselect.ledger.record import (
    canonical,
    commitment,
    library,
    parse,
    read_numbers,
    record_hash,
    text,
)
from safeselect.ledger.signing import stated
from safeselect.release.results import code


@pytest.fixture
def ledger() -> Ledger:
    """Two scopes; a release, one that was aborted and one without an outcome."""
    made = new(":memory:", epsilon=1, delta="1e-6")
    made.add_scope("b", Budget("visit", "replace_one", rho=1))
    first = scope(made).pay(pure(guarantee=ApproximateDP("1/3", "1e-9")))
    second = scope(made).pay(pure())
    first.released('{"label": "blue"}', b"s" * 32)
    second.aborted("interrupt")
    scope(made).pay(pure("1/7"))
    return made


def lines(ledger: Ledger) -> list[str]:
    return list(log_lines(ledger.records()))


def check(log: list[str] | bytes, head: str | None = None, public_keys: Any = ()) -> Checker:
    """Check a log to its end; raises LedgerError."""
    content = log if isinstance(log, bytes) else "".join(log).encode()
    checker = Checker(public_keys, head)
    for _ in check_log(io.BytesIO(content), checker):
        pass
    return checker


def forge(log: list[str], place: int, **changes: Any) -> list[str]:
    """The log with a record changed, and all hashes from there on worked out anew."""
    previous, forged = "", []
    for i, line in enumerate(log):
        record = json.loads(line)["record"]
        if i == place:
            record |= changes
        if i > place:
            record["previous"] = previous
        previous = record_hash(canonical(record))
        forged += log_lines([Record(record, previous, json.loads(line)["signature"])])
    return forged


def test_a_log_that_was_not_changed_passes(ledger: Ledger) -> None:
    checker = check(lines(ledger), head=ledger.head)
    assert checker.head == ledger.head
    assert checker.scopes["a"].spent["epsilon"] == Fraction(1, 3) + Fraction(1, 10) + Fraction(1, 7)
    assert (len(checker.pending), forge(lines(ledger), 3)) == (1, lines(ledger))


@pytest.mark.claim("C9")
def test_a_change_of_any_byte_is_found() -> None:
    ledger = new(":memory:")
    scope(ledger).pay(pure()).released("blue", b"s" * 32)
    log = "".join(lines(ledger)).encode()
    # Every byte once, by another bit each time, and the bytes that end lines in all ways.
    for place in range(len(log)):
        flips = range(8) if log[place] == ord("\n") else [place % 8]
        for bit in flips:
            changed = bytearray(log)
            changed[place] ^= 1 << bit
            with pytest.raises(LedgerError, match=r"of the log is truncated|^record [0-9]+ "):
                check(bytes(changed))


@pytest.mark.claim("C9")
def test_only_a_published_head_shows_that_the_end_was_cut(ledger: Ledger) -> None:
    log, head = lines(ledger), ledger.head
    check(log[:-1])
    for cut in range(len(log)):
        with pytest.raises(
            LedgerError,
            match="the ledger is empty" if cut == 0 else "its last records were removed",
        ):
            check(log[:cut], head=head)
    # The log may have grown since the head was published.
    scope(ledger).pay(pure())
    check(lines(ledger), head=head)
    assert ledger.check(head=head).head == ledger.head != head
    with pytest.raises(LedgerError, match="differs from the published head"):
        check(forge(log, 4, utc="2000-01-01"), head=head)


@pytest.mark.parametrize("wrong", ["", "7", "7:abc", "07:" + "0" * 64, "-1:" + "0" * 64, 7])
def test_a_head_has_one_form(ledger: Ledger, wrong: Any) -> None:
    with pytest.raises(ParameterError, match="head"):
        ledger.check(head=wrong)


def test_even_with_new_hashes_a_record_must_make_sense(ledger: Ledger) -> None:
    """What somebody could write who works out the chain again must still not pass."""
    log = lines(ledger)
    charged = next(
        i for i, line in enumerate(log) if json.loads(line)["record"]["kind"] == "charged"
    )
    first = json.loads(log[charged])["record"]
    settled = next(i for i, line in enumerate(log) if '"kind":"released"' in line)
    (was,) = first["charges"]

    def charges(**changes: Any) -> dict[str, Any]:
        return {"charges": [was | changes]}

    zero = dict.fromkeys(list(was["charge"]), "0")
    minus = {**zero, "epsilon": "-1/3"}
    missing = {name: amount for name, amount in was["charge"].items() if name != "not_pure"}
    spelled = json.loads(json.dumps(was).replace("1/3", "2/6"))
    wrong, fields, order = (
        "is a charge that the budget of its scope does not allow",
        "missing or unexpected fields",
        "follow",
    )
    for place, changes, said in [
        (charged, charges(charge=zero, after=zero), wrong),
        (charged, charges(after=zero), "states a total that is not the sum"),
        (charged, charges(charge=minus, after=zero), "not a number"),
        (charged, charges(charge={"epsilon": "1/3"}), "does not charge exactly the amounts"),
        (charged, charges(charge=missing, after=missing), "does not charge exactly the amounts"),
        (charged, charges(charge=was["charge"] | {"rho": "0"}), "not charge exactly the amounts"),
        (charged, {"charges": [spelled]}, "canonical form"),
        (charged, charges(terms={}), fields),
        (charged, charges(scope="b"), "does not charge exactly the amounts"),
        (charged, charges(scope="c"), "a scope that does not exist"),
        (charged, {"charges": [was, was]}, "charges a scope twice"),
        (charged, {"charges": []}, "charges no scope"),
        (charged, {"charges": {"a": was}}, fields),
        (charged, {"kind": "scope"}, fields),
        (charged, {"kind": "refunded"}, "its kind is unknown"),
        (charged, {"schema": "safeselect.record/3"}, "does not have schema"),
        (charged + 1, {"nonce": first["nonce"]}, "repeats a nonce"),
        (charged, {"nonce": "00"}, "does not have a nonce of 16 bytes"),
        (charged, {"seq": "9"}, order),
        (charged, {"ledger": "0" * 32}, "belongs to another ledger"),
        (charged, {"more": "than its fields"}, fields),
        (charged, {"source": {**first["source"], "production": "perhaps"}}, "for production"),
        (charged, {"parts": {"count": 1}}, "canonical"),
        (charged, {"parts": ["x"]}, fields),
        (charged, {"parts": [{"count": "-1", "each": {}}]}, "draws that is not an integer"),
        (charged, {"library": {"fips_mode": []}}, "a library by a value that is not a string"),
        (charged, {"purpose": "two\nlines"}, "unprintable text"),
        (charged, {"parameters": {"k": "\u202e"}}, "unprintable text"),
        (charged, {"parameters": {"k": ["1"]}}, "a parameter that is not a string"),
        (charged, {"request": {"id": "x"}}, fields),
        (settled, {"charge": f"0{first['seq']}"}, "a charge that awaits no outcome"),
        (settled + 1, {"charge": first["seq"]}, "a charge that awaits no outcome"),
        (settled + 1, {"reason": "boredom"}, "a reason that is not one of"),
        (settled, {"reason": "error"}, fields),
        (1, {"max_refusals": "0"}, "not an integer from 1 to"),
        (0, {"clock": "second"}, "does not state its time"),
        (0, {"clock": {}}, fields),
        (charged, {"request": {"id": "x", "asked": "a" * 64}}, "identifies a request by a value"),
        (charged, {"request": {"id": "a" * 64, "asked": "A" * 64}}, "identifies a request by a"),
        (0, {"signer": stated("0" * 64, "k")}, "record 0 has no signature"),
        (0, {"signer": {**stated("0" * 64, "k"), "algorithm": "hmac"}}, "not name an Ed25519 key"),
    ]:
        # The forgery is the last record: no other sentence than its own can be said.
        with pytest.raises(LedgerDamaged, match=said):
            check(forge(log, place, **changes)[: place + 1])


@pytest.mark.claim("C8")
def test_a_session_cannot_have_used_more_than_it_reserved() -> None:
    made, there = new(":memory:", epsilon=1), {"outcomes": "5", "queries": "2"}
    session = scope(made).pay(pure(parameters=there))
    session.settled("{}", {"outcomes": 5, "queries": 1})
    with pytest.raises(LedgerError, match="the ledger already has the outcome"):
        session.settled("{}", {"outcomes": 5, "queries": 1})
    log = lines(made)
    assert check(log).pending == set()
    assert check(log).scopes["a"].spent == {"epsilon": Fraction(1, 10)}
    for spent in (
        {"outcomes": "6", "queries": "1"},
        {"outcomes": "1/2"},
        {"outcomes": "-1"},
        {"outcomes": ["1"]},
        {"labels": "1"},
        {},
        "5",
    ):
        with pytest.raises(
            LedgerError, match=r"up to those reserved|missing or unexpected fields|a value is not"
        ):
            check(forge(log, 3, spent=spent))
    check(forge(log, 3, spent={"outcomes": "0", "queries": "0"}))  # known to be false by nobody


def test_a_log_of_another_kind_is_refused() -> None:
    for log in (b"", b"\n", b"{}\n", b"[]\n", b'"x"\n', b"1\n", b"\xff\n", b"[" * 10**5 + b"\n"):
        with pytest.raises(LedgerError, match=r"is not valid: this is not a|the ledger is empty"):
            check(log)
    with pytest.raises(LedgerError, match="is truncated or too long"):
        check(b"x" * 10**6)


def test_canonical_has_one_spelling() -> None:
    content: Any = {"b": ["x", {"é": "\n"}], "a": ""}
    body = canonical(content)
    assert (body, parse(body, "it")) == ('{"a":"","b":["x",{"\\u00e9":"\\n"}]}', content)
    for other in (
        *('{"b":"","a":""}', '{"a":"","a":""}', '{"a": ""}', '{"a":1}', '{"a":1.0}', '{"a":null}'),
        *('{"a":true}', '{"a":NaN}', '{"a":"é"}', '{"a":"\\u0041"}', '["a"]', "", "{", '{"a":[1]}'),
    ):
        with pytest.raises(LedgerError, match="it is not canonical"):
            parse(other, "it")


@given(st.fractions(min_value=0))
def test_numbers_are_read_back_as_they_were(value: Fraction) -> None:
    assert read_numbers(exact_texts({"x": value}), "it") == {"x": value}


@pytest.mark.parametrize(
    "written", ["2/4", "+1", "01", "1.0", "1e3", "-1", " 1", "", "1/1", "٣", 1]
)
def test_a_number_has_one_spelling(written: Any) -> None:
    with pytest.raises(LedgerError, match=r"it is not valid: a (number|value) is not"):
        read_numbers({"x": written}, "it")


def test_long_numbers_are_written_whatever_the_limit_of_digits() -> None:
    limit = sys.get_int_max_str_digits()
    try:
        sys.set_int_max_str_digits(640)
        value = Fraction(3**2500, 2**4000)
        assert read_numbers(exact_texts({"x": value}), "it") == {"x": value}
    finally:
        sys.set_int_max_str_digits(limit)


def test_the_hashes_are_those_that_the_documentation_states(ledger: Ledger) -> None:
    """Worked out again with nothing of ours."""
    log = [json.loads(line) for line in lines(ledger)]
    for before, line in zip([None, *log], log, strict=False):
        body = json.dumps(line["record"], sort_keys=True, separators=(",", ":"))
        expected = hashlib.sha256(b"safeselect/record/1\0" + body.encode()).hexdigest()
        assert line["hash"] == expected
        assert line["record"]["previous"] == (before["hash"] if before else "0" * 64)
    released = next(line["record"] for line in log if line["record"]["kind"] == "released")
    output = b"safeselect/out/1\0" + b"s" * 32 + b'{"label": "blue"}'
    assert released["commitment"] == hashlib.sha256(output).hexdigest()


def test_a_commitment_depends_on_salt_and_output() -> None:
    assert (
        len({commitment(salt, out) for salt in (b"a", b"b") for out in ("x", "y", "\udc80")}) == 6
    )


def test_times_are_of_charges_alone_and_whole_days(ledger: Ledger) -> None:
    for record in ledger.records():
        stamped = record.content["kind"] in ("created", "scope", "charged")
        assert ("utc" in record.content) == stamped
        if stamped:
            assert re.fullmatch(r"20[0-9]{2}-[01][0-9]-[0-3][0-9]", record.content["utc"])


def test_the_library_is_named_with_its_hashes() -> None:
    stated = library()
    assert (stated["version"], stated["deciding_sha256"], stated["source_tree_sha256"]) == code()
    assert set(library()) >= {"version", "python", "numpy", "gmpy2", "openssl", "fips_mode"}


def test_the_engine_of_tables_is_named_once_it_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("duckdb", "pyspark"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert {"duckdb", "pyspark"}.isdisjoint(library())
    monkeypatch.setitem(sys.modules, "duckdb", SimpleNamespace(__version__="9.9"))
    assert library()["duckdb"] == "9.9"


@pytest.mark.parametrize(
    "wrong", ["", " a", "a ", "a\tb", "\u2028", "x" * 201, "\ud800", b"", type("", (str,), {})("a")]
)
def test_text_of_records_is_one_printable_line(wrong: Any) -> None:
    with pytest.raises(ParameterError, match="purpose must be"):
        text(wrong, "purpose")
    assert text("Wer ist häufig? (μ)", "purpose") == "Wer ist häufig? (μ)"


def test_a_record_is_read_with_the_budgets_and_the_library_in_force(tmp_path: Path) -> None:
    """A charge repeats neither: the library is stated once, and at each change."""
    ledger = new(tmp_path / "l", epsilon=1)
    scope(ledger).pay(pure())
    with pytest.MonkeyPatch.context() as patch:
        other = {**library(), "numpy": "another"}
        patch.setattr("safeselect.ledger.scope.library", lambda: other)
        scope(ledger).pay(pure())
        scope(ledger).pay(pure())
    scope(ledger).pay(pure())
    records = list(Ledger.open(tmp_path / "l").records())
    stated = [record.content.get("library") for record in records]
    assert stated == [library(), None, None, other, None, library()]
    assert [record.library for record in records] == [library()] * 3 + [other] * 2 + [library()]
    assert records[-1].budgets == {"a": Budget(**TERMS, epsilon=1)}
    assert {"gmpy2", "gmp", "mpfr", "numpy", "python"} <= library().keys()
