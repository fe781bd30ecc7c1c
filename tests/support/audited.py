"""A release, its ledger, a published head and a certificate; and how a forger changes them.

A forger who may write the log, has no key, and publishes heads too, computes commitment, chain and
head anew: then only what the release, its records and the certificate say of each other is left.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ledgers import chained

import safeselect as s
from safeselect.audit.certified import certificate as certificate_of
from safeselect.audit.code import running
from safeselect.cli import main
from safeselect.ledger import Signer
from safeselect.ledger.record import commitment
from safeselect.ledger.signing import Ed25519Signer

Json = dict[str, Any]
Forgery = Callable[["Case"], object]
TERMS = {"unit": "person", "neighbours": "add_remove"}
CREATED, SCOPE, OTHER, EARLIER, EARLIER_OUT, CHARGED, RELEASED = range(7)
UP_TO = "HOLDS up to record 6, which the head names: all 14 comparisons; none: signatures"


@cache
def certificate() -> str:
    """A certificate of this code, as if it had given all known answers."""
    content = certificate_of(
        running(), dict.fromkeys(("one", "other"), True), ["f: x"], "2026-01-01T00:00:00Z"
    )
    return json.dumps(content, indent=2, sort_keys=True) + "\n"


class Case:
    """What an auditor is given; `write` puts it into files."""

    def __init__(
        self,
        folder: Path,
        certified: str,
        signer: Signer | None = None,
        call: Callable[..., Any] | None = None,
        of_rho: bool = False,
    ) -> None:
        self.folder, self.signer = folder, signer
        more = {} if call is None else {"delta": "1/100"}
        budgets = {"a": s.Budget(**TERMS, epsilon=5, **more), "b": s.Budget(**TERMS, rho=5)}
        ledger = s.Ledger.create(folder / "budget.ledger", budgets, signer=signer)
        scope = ledger.scope("a", **TERMS, purpose="a test")
        counts = {"tea": 50_000, "milk": 20_000, "rum": 5}
        many: Json = {"k": 2, "epsilon": 1, "sensitivity": 1, "mechanism": "permute_and_flip"}
        self.earlier = json.loads(s.top_k(counts, **many, ledger=scope).to_json())
        if of_rho:
            scope = ledger.scope("b", **TERMS, purpose="a test")
        made = s.top_k(counts, **many, ledger=scope) if call is None else call(ledger=scope)
        self.release: Json = json.loads(made.to_json())
        self.log = (folder / "budget.ledger").read_bytes()
        self.head = ledger.head
        self.certificate: Json = json.loads(certified)
        self.text: str | None = None

    @property
    def records(self) -> list[Json]:
        return [json.loads(line)["record"] for line in self.log.splitlines()]

    def rewrite(self, change: Callable[[list[Json]], object], *, publish: bool = True) -> None:
        """Change the records, commit to the release as it is now, and compute the chain anew."""
        records = self.records
        bare = {name: value for name, value in self.release.items() if name != "receipt"}
        change(records)
        if len(records) > RELEASED and "commitment" in records[RELEASED]:
            salt = bytes.fromhex(self.release["receipt"]["salt"])
            output = json.dumps(bare, sort_keys=True)
            records[RELEASED]["commitment"] = commitment(salt, output)
        self.log = chained(records)
        if publish:
            last = self.log.splitlines()[-1]
            self.head = f"{len(records) - 1}:{json.loads(last)['hash']}"

    def audit(
        self, capfdbinary: pytest.CaptureFixture[bytes], *more: str, without: Sequence[str] = ()
    ) -> tuple[int, dict[str, str], str]:
        """Exit code, the lines by what they compare, and the verdict."""
        release, log, certified = (self.folder / name for name in ("r.json", "log", "c.json"))
        release.write_text(json.dumps(self.release) if self.text is None else self.text, "utf-8")
        log.write_bytes(self.log)
        certified.write_text(json.dumps(self.certificate, indent=2, sort_keys=True) + "\n")
        given = {"--log": str(log), "--head": self.head, "--certificate": str(certified)}
        options = [part for name in given.keys() - set(without) for part in (name, given[name])]
        capfdbinary.readouterr()
        code = main(["audit", str(release), *options, *more])
        out, said = (part.decode() for part in capfdbinary.readouterr())
        if not out:
            return code, {}, said
        *rows, _, last = out.splitlines()
        lines = {}
        for row in rows:
            word, what, sentence = (part.strip() for part in split(row))
            lines[what] = f"{word}: {sentence}"
        return code, lines, last


def split(row: str) -> tuple[str, str, str]:
    word, rest = row[:13], row[13:].strip()
    what, _, sentence = rest.partition("  ")
    return word, what, sentence


def signer(byte: bytes = b"k") -> Ed25519Signer:
    return Ed25519Signer(byte * 32, key_id="vault")


# ------------------------------------------------------------------------------ forgeries


def restate(case: Case, name: str, value: Any) -> bool:
    """Change a field of the release or of its statement; whether it said something else."""
    where = case.release if name in case.release else case.release["provenance"]
    old = where[name]
    where[name] = {**old, **value} if isinstance(value, dict) else value
    return bool(where[name] != old)


def release(**fields: Any) -> Forgery:
    """The release says something else, and the forger commits to it."""

    def forge(case: Case) -> None:
        assert all(restate(case, name, value) for name, value in fields.items())
        s.from_json(json.dumps(case.release))  # the forgery is a whole release
        case.rewrite(lambda records: None)

    return forge


def record(place: int, change: Callable[[Json], object], **fields: Any) -> Forgery:
    """A record says something else too."""

    def forge(case: Case) -> None:
        for name, value in fields.items():
            restate(case, name, value)
        case.rewrite(lambda records: change(records[place]))

    return forge


def both(**parameters: str) -> Forgery:
    """Release and record agree on parameters that do not fit each other."""
    return record(
        CHARGED, lambda each: each["parameters"].update(parameters), parameters=parameters
    )


def agreed(change: Callable[[Case, Json], object]) -> Forgery:
    """Release and charge are changed alike."""

    def forge(case: Case) -> None:
        case.rewrite(lambda records: change(case, records[CHARGED]))
        case.rewrite(lambda records: None)  # the commitment is to the release as it is now
        s.from_json(json.dumps(case.release))

    return forge


def of_parts(count: str) -> Forgery:
    """A release that says it made another number of draws."""

    def forge(case: Case) -> None:
        case.release["parts"][0]["count"] = count
        case.rewrite(lambda records: None)

    return forge


def kind(name: str, epsilon: str = "1") -> Json:
    return {"type": name, "epsilon": epsilon}


def one(each: Json) -> list[Json]:
    return [{"count": "1", "each": each}]


def weaker(name: str, number: str, value: str = "1/10000") -> Forgery:
    """Release, guarantee of the record and its draws say what the noise does not give."""
    less = {"type": name, number: value}

    def change(case: Case, charged: Json) -> None:
        case.release["guarantee"] = less
        if case.release["schema"] == "safeselect.numbers/1":
            case.release["parts"] = one(less)
        charged |= {"guarantee": less, "parts": one(less)}

    return agreed(change)
