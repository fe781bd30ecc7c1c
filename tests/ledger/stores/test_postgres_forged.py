"""Whatever a charger sends, the server refuses it or every reader takes it; forged prices."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from typing import Any

import pytest
from ledgers import pure, scope
from postgres import needs_postgres
from postgres_roles import CHARGER, READER, Place, a_charge

from safeselect import ApproximateDP, Ledger, LedgerDamaged, LedgerError, PureDP
from safeselect.exact.parameters import exact_text
from safeselect.ledger import Row
from safeselect.ledger.balance import exact_texts
from safeselect.ledger.budget import add
from safeselect.ledger.record import canonical, record_hash
from safeselect.ledger.stores.postgres import send

pytestmark = [pytest.mark.claim("C9"), needs_postgres]

OTHERS: list[Any] = [
    *("", "x", " x", "x ", "0", "1", "01", "-1", "1/2", "2/4", "1e3", "\u202e", "\x7f", "\ud800"),
    *("é", '"', "\\", "a\nb", "x" * 201, "0" * 64, "9" * 30, "2026-01-01", "yes", "aborted"),
    *("a\u0378", "a\u200bb", "2026-02-30", "2026-01-01T00Z", "AB" * 16),
    *([], ["x"], [[]], {}, {"x": "y"}, {"x": {}}, {"": ""}, {"x": []}, None, True, 1, 1.5),
]


def variants(content: Any) -> Iterator[Any]:
    """The same with one value replaced, removed or added, at every depth."""
    yield from OTHERS
    if isinstance(content, dict):
        yield {**content, "more": "x"}
        for name, value in content.items():
            yield {key: each for key, each in content.items() if key != name}
            for other in variants(value):
                yield {**content, name: other}
    elif isinstance(content, list):
        yield [*content, *content]
        for place, value in enumerate(content):
            for other in variants(value):
                yield [*content[:place], other, *content[place + 1 :]]


def spellings(body: str) -> Iterator[str]:
    """Other spellings of the same content."""
    yield from (body + " ", " " + body, body + "{}", body.replace(",", ", ", 1), body[:-1])
    yield body.replace("{", '{"kind":"charged",', 1)
    yield body.replace("test", "t\\u0065st")
    yield body.replace("test", "t\u00e9st")
    yield body.replace("test", "t\\u00E9st")
    yield body.replace('"yes"', "yes").replace('"no"', "no")
    yield json.dumps(dict(reversed(json.loads(body).items())), separators=(",", ":"))


@pytest.mark.slow("some thousand statements")
@pytest.mark.parametrize("is_known", [False, True], ids=["new", "known"])
@pytest.mark.parametrize("kind", ["charged", "released", "settled", "aborted"])
def test_what_the_server_takes_every_reader_takes(
    place: Place, kind: str, *, is_known: bool
) -> None:
    """Also what is like an earlier record, and differs in what two records never share."""
    import psycopg

    place.make(epsilon=1)
    ledger = Ledger.open(place.store(CHARGER))
    pending = scope(ledger).pay(pure(parameters={"answers": "3"}))
    asked = {"id": "a" * 64, "asked": "b" * 64}
    about: dict[str, Any] = {"kind": kind, "charge": str(pending.charge)}
    about |= {"commitment": "0" * 64} if kind != "aborted" else {"reason": "input"}
    about |= {"spent": {"answers": "2"}} if kind == "settled" else {}
    if kind == "charged":
        about = {**a_charge(ledger), "request": asked, "library": {"name": "x"}}
        if is_known:
            place.append(CHARGER, {**about, "request": {}, "nonce": "0" * 32})
            about["charges"] = a_charge(ledger)["charges"]
    checker = ledger.check()
    common = {"schema": "safeselect.record/1", "ledger": ledger.id, "previous": checker.last}
    record = {**about, **common, "seq": str(checker.count)}
    records = [*variants(record), {**record, "parameters": {"k": "é" * 50_000}}]
    deep: Any = {"type": "PureDP", "epsilon": "1"}
    for _ in range(900):
        deep = {"type": "About", "guarantee": deep}
    records.append({**record, "guarantee": deep})
    bodies = [json.dumps(each, sort_keys=True, separators=(",", ":")) for each in records]
    fine, taken = canonical(record), 0
    with closing(psycopg.connect(place.conninfo(CHARGER))) as connection:
        for body in [fine, *bodies, *spellings(fine)]:
            if not any(
                f'"{each}"' in body for each in ("charged", "released", "settled", "aborted")
            ):
                continue  # it names no function to call
            row = Row(checker.count, body, record_hash(body), "")
            try:
                sent = json.loads(body)
                if not isinstance(sent, dict) or not isinstance(sent.get("kind"), str):
                    continue
                send(connection, place.name, [row], 5)
            except (psycopg.Error, LedgerError, ValueError):
                pass
            else:
                checker.read(row)
                taken += 1
            connection.rollback()
    assert taken >= 1
    assert ledger.check().count == checker.count


@pytest.mark.parametrize("name", ["epsilon", "moment_1", "moment_2", "moment_3", "own_delta"])
def test_a_price_that_a_charger_forged_is_found(place: Place, name: str) -> None:
    """A server computes no price: it takes less than a guarantee costs, and the check finds it."""
    place.make(epsilon=1, delta="1/10")
    ledger = Ledger.open(place.store(CHARGER))
    guarantee = ApproximateDP("1/10", "1/1000") if name == "own_delta" else PureDP("1/10")
    price = ledger.balance("a").budget.price(guarantee)
    for less, is_found in ((price[name], False), (price[name] * Fraction(999, 1000), True)):
        paid = {**price, name: less}
        forged = a_charge(ledger, charge=exact_texts(paid))
        forged["guarantee"] = {"type": "PureDP", "epsilon": "1/10"}
        if name == "own_delta":
            forged["guarantee"] = {"type": "ApproximateDP", "epsilon": "1/10", "delta": "1/1000"}
        forged["parts"] = []
        after = add(ledger.balance("a").spent, paid)
        forged["charges"][0]["after"] = exact_texts(after)
        place.append(CHARGER, forged)
        reading = Ledger.open(place.store(READER))
        assert reading.balance("a").spent[name] == after[name], exact_text(less)
        if is_found:
            with pytest.raises(LedgerDamaged, match=f"charges scope 'a' less {name} than"):
                reading.check()
        else:
            reading.check()
