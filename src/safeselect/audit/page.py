"""One page about an audit: the same facts as HTML and as JSON, short enough to be read.

A page has at most some 600 words: of each comparison its first sentence, of a long release its
first lines.  The command without `--html` or `--json` prints every comparison in full.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice

from safeselect.audit.line import Line, verdict
from safeselect.audit.release import Seen
from safeselect.ledger import Balance

SCHEMA = "safeselect.audit/1"
Page = Mapping[str, Sequence[str] | Mapping[str, str]]
"""The page: under each title sentences, or terms with what is known of each."""

CANNOT_SHOW = """\
That sensitivity, unit, neighbours and origin of the candidates are right: the caller asserts it.
That every release from these data is in this ledger; what else was published about the people.
What happened after the head; anything forged by somebody who has the key or who chose the head.
Who the people behind the keys are; what running time, errors or access to the machine revealed.
"""
_ASKED = "What was asked", "What was released", "What was promised, and to whom", "What was assumed"
_LONGEST, _LINES = 160, 6
_PLAIN = "release", "commitment", "record", "draws", "plan", "output", "price", "libraries"
"""What holds in the same words for every release."""
_RAN = (
    *("version", "deciding_sha256", "source_tree_sha256", "python", "numpy", "gmpy2", "gmp"),
    *("mpfr", "openssl", "platform"),
)


def page_of(
    lines: Sequence[Line], seen: Seen, words: Mapping[str, Sequence[str]], made: Mapping[str, str]
) -> Page:
    """Return the page.

    Args:
        lines: what `audit` found.
        seen: what it read.
        words: the release in words, by titles.
        made: who made the audit, when, of which files and with which head.
    """
    absent = [line.what for line in lines if line.word == "none"]
    missing = [line.what for line in lines if line.word == "not compared"]
    return {
        "Verdict": [f"{verdict(lines)[1]}."],
        **{title: _first(said) for title, said in words.items() if title in _ASKED},
        **{f"Scope {name}": standing(seen.checker.scopes[name]) for name in seen.scopes},
        "Ledger": _ledger(seen),
        "Comparisons": {line.what: _short(line) for line in lines if line.word != "none"},
        "Missing evidence": {
            "none": ", ".join(absent) or "nothing",
            "not compared": ", ".join(missing) or "nothing",
        },
        "Limits of this audit": CANNOT_SHOW.splitlines(),
        "What ran": _ran(seen),
        "This audit": made,
    }


def _ran(seen: Seen) -> dict[str, str]:
    found = {} if seen.release is None else {"mechanism": seen.release.mechanism}
    found |= {name: seen.library.get(name, "not stated") for name in _RAN}
    said = {"0": "off", "1": "on"}.get(seen.library.get("fips_mode", ""), "not known")
    return found | {"FIPS mode": f"{said}, as reported by OpenSSL; no conformance is claimed"}


def _first(said: Sequence[str]) -> list[str]:
    more = [f"And {len(said) - _LINES} more."] if len(said) > _LINES else []
    return [*islice(said, _LINES), *more]


def _short(line: Line) -> str:
    """What was found, and the first part of its sentence where that says more."""
    if line.word == "holds" and line.what in _PLAIN:
        return line.word
    said = line.sentence.partition(". ")[0].partition("; ")[0]
    if line.word == "DOES NOT HOLD":
        said = line.sentence[:_LONGEST]
    return f"{line.word}: {said.removesuffix('.')}"


def standing(balance: Balance) -> dict[str, str]:
    """Whom a scope protects, and how much of its budget is used."""
    budget, closed = balance.budget, ": closed" if balance.is_closed else ""
    raised = (f"{limit} {value}" for limit, value in (budget.ceiling or {}).items())
    facts = {
        "unit": budget.unit,
        "neighbours": budget.neighbours,
        "used": str(balance),
        "may be raised up to": ", ".join(raised),
        "so far": balance.loss(),
        "refusals of private input": f"{balance.refusals} of {balance.max_refusals}{closed}",
    }
    return {name: said for name, said in facts.items() if said}


def _ledger(seen: Seen) -> dict[str, str]:
    kinds = Counter(each.content["kind"] for each in seen.records)
    approved = sum(bool(each.content.get("approvals")) for each in seen.records)
    counts = ", ".join(f"{number} {kind}" for kind, number in kinds.items())
    signer = seen.checker.signer
    return {
        "ledger": seen.checker.ledger or "none",
        "records": f"{counts}; {approved} approved by other keys",
        "signed by": f"{signer['algorithm']} {signer['public_key']}" if signer else "nobody",
    }
