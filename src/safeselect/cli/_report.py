"""One page of HTML about a ledger, for an auditor: self-contained, and readable without scripts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

from safeselect.accounting.cost import rounded_text
from safeselect.audit.theorems import theorem
from safeselect.cli._page import Html, facts, fill, join, page, table
from safeselect.errors import LedgerError
from safeselect.ledger import EXTERNAL, Balance, Checker, Record
from safeselect.ledger.record import read_numbers, read_time

_AMOUNTS = {"epsilon": "ε", "delta": "δ", "rho": "ρ", "mu_squared": "μ²"}
_IS = "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"
_LEFT, _RIGHT, _TOP, _BOTTOM = 10, 890, 24, 180  # of a chart


@dataclass(slots=True)
class Release:
    """A charge and its outcome.

    Attributes:
        record: the record of the charge.
        outcome: "released", "settled (what was used)", "aborted (reason)" or "no outcome".
    """

    record: Record
    outcome: str = "no outcome"

    @property
    def content(self) -> dict[str, Any]:
        """The content of the record."""
        return self.record.content

    @property
    def scopes(self) -> dict[str, dict[str, Any]]:
        """The charge to each scope, by name."""
        return {charge["scope"]: charge for charge in self.content["charges"]}

    @property
    def is_asserted(self) -> bool:
        """Whether the guarantee is the caller's word: another library made the release."""
        return bool(self.content["source"].get("name") == EXTERNAL)

    def amounts(self, scope: str, name: str) -> dict[str, Fraction]:
        """Return a scope's amounts "charge" or "after"; ln M as epsilon."""
        charge = self.scopes[scope]
        return self.record.budgets[scope].in_epsilon(read_numbers(charge[name], "the record"))


def releases(records: Iterable[Record]) -> list[Release]:
    """Return the releases in these records, in the order of their charges."""
    found: dict[str, Release] = {}
    for record in records:
        content = record.content
        if content["kind"] == "charged":
            found[content["seq"]] = Release(record)
        elif content["kind"] == "released":
            found[content["charge"]].outcome = "released"
        elif content["kind"] == "aborted":
            found[content["charge"]].outcome = f"aborted ({content['reason']})"
        elif content["kind"] == "settled":
            used = ", ".join(f"{name} {number}" for name, number in content["spent"].items())
            found[content["charge"]].outcome = f"settled ({used})"
    return list(found.values())


def changes(records: Iterable[Record], scope: str | None) -> list[tuple[str, str, str]]:
    """Return place, time and words of each raised limit of a scope, or of each new key."""
    found = []
    for record in records:
        content = record.content
        if scope is None and content["kind"] == "key":
            by = _approved(content) or "handed over by the key before it"
            said = f"key {content['signer']['public_key']} signs, {by}"
        elif content["kind"] == "raised" and content["scope"] == scope:
            by = _approved(content)
            raised = f"raised {content['limit']} from {content['before']} to {content['after']}"
            said = f"{raised}{by and ', '}{by}: {content['reason']}"
        else:
            continue
        found.append((content["seq"], content["utc"], said))
    return found


def _approved(content: dict[str, Any]) -> str:
    return f"approved by {len(content['approvals'])}" if content["approvals"] else ""


def report(name: str, made: str, checker: Checker, records: Sequence[Record]) -> str:
    """Return the page as HTML.

    Args:
        name: the ledger's name, such as the name of its file.
        made: the time of its first record.
        checker: a checker that has read all records.
        records: all records.
    """
    found = releases(records)
    scopes = (_scope(scope, made, checker, found, records) for scope in checker.scopes)
    body = fill(
        "<h1>Privacy ledger <code>{name}</code></h1>\n"
        "<p>Every record was checked: hashes, order, running totals, caps and nonces.</p>\n"
        "{summary}\n{scopes}\n{caveats}",
        name=name,
        summary=_summary(made, checker, found),
        scopes=join(scopes),
        caveats=Html(_CAVEATS),
    )
    return page(f"Privacy ledger {name}", body)


def _summary(made: str, checker: Checker, found: Sequence[Release]) -> Html:
    outcomes = [release.outcome.split(" ")[0] for release in found]
    settled = outcomes.count("settled")  # only sessions are settled
    counts = (
        f"{outcomes.count('released')} released, {f'{settled} settled, ' if settled else ''}"
        f"{outcomes.count('aborted')} aborted, "
        f"{outcomes.count('no')} without an outcome"
    )
    if not checker.signer:
        signed = "none: the chain shows changes only to a reader who knows a later head"
    else:
        which = f"{checker.signer['algorithm']}, key {checker.signer['key_id']}"
        signed = f"{which}: {'checked' if checker.public_keys else 'not checked here'}"
        if len(checker.keys.used) > 1:
            signed += f"; the keys, one after the other: {', '.join(checker.keys.used)}"
    approved = "none: who may write opens scopes and reopens them"
    if checker.approvers is not None:
        people = f"{checker.approvers.needed} of {len(checker.approvers.keys)} keys"
        approved = f"{people} sign every new scope and every raised limit: checked"
    return facts(
        {
            "Head": _code(checker.head),
            "Ledger": _code(checker.ledger),
            "Made": made,
            "Records": checker.count,
            "Charges": f"{len(found)}: {counts}",
            "Unfinished writes cut off": checker.torn,
            "Signatures": signed,
            "Approvals": approved,
        }
    )


def _scope(
    name: str, made: str, checker: Checker, every: Sequence[Release], records: Sequence[Record]
) -> Html:
    balance = checker.scopes[name]
    found = [release for release in every if name in release.scopes]
    budget = balance.budget
    closed = ": closed" if balance.is_closed else ""
    known = facts(
        {
            "Unit": budget.unit,
            "Neighbours": budget.neighbours,
            "Refusals of private input": f"{balance.refusals} of {balance.max_refusals}{closed}",
        }
    )
    parts = [*_totals(name, made, balance, found)]
    if found:
        parts += [*_purposes(name, found), *_charges(name, found)]
    if raised := changes(records, name):
        rows = [(seq, _day(utc), said) for seq, utc, said in raised]
        parts += [fill("<h3>Raised limits of <q>{name}</q></h3>", name=name), table((), rows)]
    return fill(
        "<section><h2>Scope <q>{name}</q></h2><p>All releases together are at most {total} for one "
        "<q>{unit}</q>{by}; later ones may depend on earlier ones.</p>{known}\n{parts}</section>",
        name=name,
        total=_promise(balance),
        unit=budget.unit,
        by=""
        if budget.order is None
        else f", added up as ln M at the Rényi order {rounded_text(budget.order)}",
        known=known,
        parts=join(parts),
    )


def _promise(balance: Balance) -> str:
    budget = balance.budget
    if budget.rho is not None:
        return f"{rounded_text(budget.rho)}-zCDP"
    epsilon = rounded_text(budget.epsilon or Fraction(0))
    if budget.delta is None:
        return f"{epsilon}-differentially private"
    return f"({epsilon}, {rounded_text(budget.delta)})-differentially private"


def _totals(name: str, made: str, balance: Balance, found: Sequence[Release]) -> Iterator[Html]:
    """How much of each amount is spent, and how it grew."""
    budget = balance.budget
    spent_of = budget.in_epsilon(balance.spent)
    for amount, cap in budget.in_epsilon(budget.caps).items():
        spent, label = spent_of[amount], _AMOUNTS[amount]
        percent = -(-100 * spent.numerator * cap.denominator // (spent.denominator * cap.numerator))
        if budget.order is not None and budget.delta is not None:
            label = f"{label} beyond the price of δ = {rounded_text(budget.delta)} at this order"
        yield fill(
            "<h3>{label}</h3><p><strong>{spent}</strong> of {cap} spent ({percent} %); {left} left."
            "</p>",
            label=label,
            spent=rounded_text(spent),
            cap=rounded_text(cap),
            percent=percent,
            left=rounded_text(cap - spent),
        )
        charges = [
            (each.content["utc"], each.amounts(name, "after")[amount], each.content["purpose"])
            for each in found
        ]
        yield _chart(f"{label} spent over time", made, charges, cap)


def _chart(
    title: str, start: str, charges: Sequence[tuple[str, Fraction, str]], cap: Fraction
) -> Html:
    """Return a step chart of a running total over time as SVG, with its cap at the upper edge."""
    times = [_seconds(start), *(_seconds(time) for time, _, _ in charges)]
    first, span = min(times), max(1, max(times) - min(times))
    line, dots = [f"M{_LEFT} {_BOTTOM}"], []
    for time, total, purpose in charges:
        across = _LEFT + (_seconds(time) - first) * (_RIGHT - _LEFT) // span
        up = _BOTTOM - int(total * (_BOTTOM - _TOP) / cap)
        line.append(f"H{across}V{up}")
        said = f"{time}: {rounded_text(total)} after “{purpose}”"
        dots.append(fill(_DOT, across=across, up=up, said=said))
    return fill(
        _CHART,
        title=title,
        path="".join([*line, f"H{_RIGHT}"]),
        dots=join(dots),
        cap=rounded_text(cap),
        start=start,
        last=max((start, *(time for time, _, _ in charges)), key=_seconds),
    )


def _seconds(time: str) -> int:
    found = read_time(time)
    if found is None:
        raise LedgerError("a record states a time that is none")
    return (found[0] - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)


def _purposes(scope: str, found: Sequence[Release]) -> Iterator[Html]:
    sums: dict[str, list[dict[str, Fraction]]] = {}
    for release in found:
        sums.setdefault(release.content["purpose"], []).append(release.amounts(scope, "charge"))
    names = [name for name in _AMOUNTS if name in found[0].amounts(scope, "charge")]
    yield Html("<h3>By purpose</h3>")
    yield table(
        ("Purpose", "Charges", *(_AMOUNTS[name] for name in names)),
        [
            (
                purpose,
                len(charges),
                *(
                    rounded_text(sum((each[name] for each in charges), Fraction(0)))
                    for name in names
                ),
            )
            for purpose, charges in sums.items()
        ],
    )


def _charges(scope: str, found: Sequence[Release]) -> Iterator[Html]:
    yield Html("<h3>Every charge</h3>")
    names = "Record", "Time (UTC)", "Purpose", "Mechanism", "Guarantee", "Charged", "Total after"
    yield table((*names, "Outcome"), [_row(scope, release) for release in found])


def _row(scope: str, release: Release) -> tuple[object, ...]:
    content = release.content
    by = theorem(content["mechanism"])
    if release.is_asserted:
        by = "asserted by the caller; another library made the release"
    kind = "ok" if release.outcome.startswith(("released", "settled")) else "bad"
    mechanism = '<code class="name">{name}</code><details><summary>details</summary>{all}</details>'
    return (
        content["seq"],
        _day(content["utc"]),
        content["purpose"],
        fill(mechanism, name=content["mechanism"], all=_details(release)),
        fill("{given}<br><small>{by}</small>", given=_guarantee(content["guarantee"]), by=by),
        _amounts(release.amounts(scope, "charge")),
        _amounts(release.amounts(scope, "after")),
        fill('<span class="{kind}">{said}</span>', kind=kind, said=release.outcome),
    )


def _day(utc: str) -> Html:
    """Return a time that can wrap only between day and hour."""
    return join(fill('<span class="name">{part}</span>', part=part) for part in utc.split("T"))


def _details(release: Release) -> Html:
    content = release.content
    library = _texts(release.record.library)
    parts = "; ".join(
        f"{part.get('count')} × {_guarantee(part.get('each', {}))}"
        for part in content["parts"]
        if isinstance(part, dict)
    )
    return facts(
        {
            **{
                name.replace("_", " "): each for name, each in _texts(content["parameters"]).items()
            },
            "draws": parts,
            "source": ", ".join(
                f"{name} {each}" for name, each in _texts(content["source"]).items()
            ),
            "library": f"{library.get('name')} {library.get('version')}",
            "deciding code": _code(library.get("deciding_sha256", "")),
            "source tree": _code(library.get("source_tree_sha256", "")),
            "record hash": _code(release.record.hash),
        }
    )


def _code(text: str) -> Html:
    return fill("<code>{text}</code>", text=text)


def _texts(content: Mapping[str, Any]) -> dict[str, str]:
    return {name: value for name, value in content.items() if isinstance(value, str)}


def _guarantee(content: Mapping[str, Any]) -> str:
    numbers = {n: each for n, each in _texts(content).items() if n not in ("type", "eta")}
    said = [_amounts(read_numbers(numbers, "the record"))]
    if isinstance(base := content.get("base"), dict):
        # The best of many runs is told with the guarantee of one; its eta may be negative.
        said = [_guarantee(base), f"eta{_IS}{content.get('eta')}", *said]
    return f"{content.get('type')}({', '.join(said)})"


def _amounts(amounts: Mapping[str, Fraction]) -> str:
    known = [name for name in _AMOUNTS if name in amounts]
    others = [name for name in amounts if name not in _AMOUNTS]
    return ", ".join(
        f"{_AMOUNTS.get(name, name)}{_IS}{rounded_text(amounts[name])}"
        for name in [*known, *others]
    )


_DOT = '<circle cx="{across}" cy="{up}" r="3" fill="var(--main)"><title>{said}</title></circle>'
_CHART = f"""\
<svg viewBox="0 0 900 205" role="img" aria-label="{{title}}"><title>{{title}}</title>
<path d="{{path}}V{_BOTTOM}Z" fill="var(--fill)"/>
<path d="{{path}}" fill="none" stroke="var(--main)" stroke-width="2"/>{{dots}}
<path d="M{_LEFT} {_TOP}H{_RIGHT}" stroke="var(--bad)" stroke-dasharray="6 4"/>
<path d="M{_LEFT} {_BOTTOM}H{_RIGHT}" stroke="var(--dim)"/>
<text x="{_LEFT}" y="{_TOP - 8}">cap {{cap}}</text>
<text x="{_LEFT}" y="{_BOTTOM + 17}">{{start}}</text>
<text x="{_RIGHT}" y="{_BOTTOM + 17}" text-anchor="end">{{last}}</text></svg>
"""
_CAVEATS = """<section><h2>What this page does not say</h2><ul>
<li>That the end of the records was not cut off: compare the head with one that was published
elsewhere, with <code>safeselect ledger verify --head</code>.
<li>That the sensitivity of the scores was right, or that the candidates were public: the caller
asserted both.
<li>Anything about releases that were not made through this ledger, or about other ledgers on the
same data.
<li>What was released: the records hold commitments, opened by the salt in each result.
</ul></section>"""
