"""One page of HTML about a ledger, for an auditor: self-contained, and readable without scripts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from safeselect.accounting.cost import rounded_text
from safeselect.audit.theorems import theorem
from safeselect.cli._chart import chart
from safeselect.cli._escape import in_html
from safeselect.cli._releases import Release, raised, releases
from safeselect.ledger import Balance, Checker, Record
from safeselect.ledger.record import read_numbers

_ASSERTED = "asserted by the caller; another library made the release"


def report(name: str, made: str, checker: Checker, records: Sequence[Record]) -> str:
    """Return the page as HTML.

    Args:
        name: the ledger's name, such as the name of its file.
        made: the time of its first record.
        checker: a checker that has read all records.
        records: all records.
    """
    found = releases(records)
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            (
                '<meta http-equiv="Content-Security-Policy" '
                "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
            ),
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>Privacy ledger {in_html(name)}</title>",
            f"<style>{_STYLE}</style></head><body><main>",
            f"<h1>Privacy ledger <code>{in_html(name)}</code></h1>",
            *_summary(made, checker, found),
            *(
                line
                for scope in checker.scopes
                for line in (*_scope(scope, made, checker, found), *_raised(scope, records))
            ),
            _CAVEATS,
            "</main></body></html>\n",
        ]
    )


def _summary(made: str, checker: Checker, found: Sequence[Release]) -> Iterator[str]:
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
        signed = f"{which}: {'checked' if checker.verifier else 'not checked here'}"
        if len(checker.keys.used) > 1:
            signed += f"; the keys, one after the other: {', '.join(checker.keys.used)}"
    yield "<p>Every record was checked: hashes, order, running totals, caps and nonces.</p>"
    yield _facts(
        {
            "Head": f"<code>{checker.head}</code>",
            "Ledger": f"<code>{in_html(checker.ledger)}</code>",
            "Made": in_html(made),
            "Records": str(checker.count),
            "Charges": f"{len(found)}: {counts}",
            "Unfinished writes cut off": str(checker.torn),
            "Signatures": in_html(signed),
            "Approvals": _approvals(checker),
        }
    )


def _approvals(checker: Checker) -> str:
    if checker.approvers is None:
        return "none: who may write opens scopes and reopens them"
    people = f"{checker.approvers.needed} of {len(checker.approvers.keys)} keys"
    return f"{people} sign every new scope and every raised limit: checked"


def _scope(name: str, made: str, checker: Checker, everything: Sequence[Release]) -> Iterator[str]:
    balance = checker.scopes[name]
    found = [release for release in everything if name in release.scopes]
    budget = balance.budget
    yield f"<section><h2>Scope <q>{in_html(name)}</q></h2><p>{_promise(balance)}</p>"
    refusals = f"{balance.refusals} of {balance.max_refusals}"
    yield _facts(
        {
            "Unit": in_html(budget.unit),
            "Neighbours": in_html(budget.neighbours),
            "Refusals of private input": f"{refusals}{': closed' if balance.is_closed else ''}",
        }
    )
    spent_of = budget.in_epsilon(balance.spent)
    for amount, cap in budget.in_epsilon(budget.caps).items():
        spent = spent_of[amount]
        percent = -(-100 * spent.numerator * cap.denominator // (spent.denominator * cap.numerator))
        label = _AMOUNTS[amount]
        if budget.order is not None and budget.delta is not None:
            label = f"{label} beyond the price of δ = {rounded_text(budget.delta)} at this order"
        yield (
            f"<h3>{label}</h3><p><strong>{rounded_text(spent)}</strong> of {rounded_text(cap)} "
            f"spent ({percent} %); {rounded_text(cap - spent)} left.</p>"
        )
        charges = [
            (each.content["utc"], each.amounts(name, "after")[amount], each.content["purpose"])
            for each in found
        ]
        yield chart(f"{label} spent over time", made, charges, cap)
    if found:
        yield from _purposes(name, found)
        yield from _table(name, found)
    yield "</section>"


def _promise(balance: Balance) -> str:
    budget = balance.budget
    if budget.rho is not None:
        total = f"{rounded_text(budget.rho)}-zCDP"
    elif budget.delta is None:
        total = f"{rounded_text(budget.epsilon or Fraction(0))}-differentially private"
    else:
        total = (
            f"({rounded_text(budget.epsilon or Fraction(0))}, {rounded_text(budget.delta)})"
            "-differentially private"
        )
    by = ""
    if budget.order is not None:
        by = f", added up as ln M at the Rényi order {rounded_text(budget.order)}"
    return (
        f"All releases together are at most {total} for one <q>{in_html(budget.unit)}</q>{by}; "
        "later ones may depend on earlier ones."
    )


def _purposes(scope: str, found: Sequence[Release]) -> Iterator[str]:
    sums: dict[str, list[dict[str, Fraction]]] = {}
    for release in found:
        sums.setdefault(release.content["purpose"], []).append(release.amounts(scope, "charge"))
    names = [name for name in _AMOUNTS if name in found[0].amounts(scope, "charge")]
    yield "<h3>By purpose</h3><table><thead><tr><th>Purpose<th>Charges"
    yield "".join(f"<th>{_AMOUNTS[name]}" for name in names) + "</thead><tbody>"
    for purpose, charges in sums.items():
        totals = [sum((each[name] for each in charges), Fraction(0)) for name in names]
        cells = "".join(f"<td>{rounded_text(total)}" for total in totals)
        yield f"<tr><td>{in_html(purpose)}<td>{len(charges)}{cells}"
    yield "</tbody></table>"


def _table(scope: str, found: Sequence[Release]) -> Iterator[str]:
    yield (
        '<h3>Every charge</h3><div class="wide"><table><thead><tr><th>Record<th>Time (UTC)'
        "<th>Purpose<th>Mechanism<th>Guarantee<th>Charged<th>Total after<th>Outcome</thead><tbody>"
    )
    for release in found:
        content = release.content
        by = _ASSERTED if release.is_asserted else theorem(content["mechanism"])
        kind = "ok" if release.outcome.startswith(("released", "settled")) else "bad"
        yield (
            f"<tr><td>{content['seq']}<td>{_day(content['utc'])}<td>{in_html(content['purpose'])}"
            f'<td><code class="name">{in_html(content["mechanism"])}</code>{_details(release)}'
            f"<td>{_guarantee(content['guarantee'])}"
            f"<br><small>{in_html(by)}</small>"
            f"<td>{_shown(release.amounts(scope, 'charge'))}"
            f"<td>{_shown(release.amounts(scope, 'after'))}"
            f'<td><span class="{kind}">{in_html(release.outcome)}</span>'
        )
    yield "</tbody></table></div>"


def _raised(scope: str, records: Sequence[Record]) -> Iterator[str]:
    changes = raised(scope, records)
    if changes:
        yield f"<h3>Raised limits of <q>{in_html(scope)}</q></h3><table><tbody>"
        for content, said in changes:
            yield f"<tr><td>{content['seq']}<td>{_day(content['utc'])}<td>{in_html(said)}"
        yield "</tbody></table>"


def _day(utc: str) -> str:
    """Return a time that can wrap only between day and hour."""
    return " ".join(f'<span class="name">{in_html(part)}</span>' for part in utc.split("T"))


def _details(release: Release) -> str:
    content = release.content
    facts = {
        name.replace("_", " "): in_html(value) for name, value in _texts(content["parameters"])
    }
    parts = "; ".join(
        f"{in_html(str(part.get('count')))} × {_guarantee(part.get('each', {}))}"
        for part in content["parts"]
        if isinstance(part, dict)
    )
    library = dict(_texts(content["library"]))
    facts |= {
        "draws": parts,
        "source": in_html(
            ", ".join(f"{name} {value}" for name, value in _texts(content["source"]))
        ),
        "library": in_html(f"{library.get('name')} {library.get('version')}"),
        "source tree": f"<code>{in_html(library.get('source_tree_sha256', ''))}</code>",
        "record hash": f"<code>{release.record.hash}</code>",
    }
    return f"<details><summary>details</summary>{_facts(facts)}</details>"


def _texts(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name, value) for name, value in content.items() if isinstance(value, str)]


def _guarantee(content: Mapping[str, Any]) -> str:
    numbers = {name: value for name, value in _texts(content) if name not in ("type", "eta")}
    shown = [_shown(read_numbers(numbers, "the record"))]
    if isinstance(base := content.get("base"), dict):
        # The best of many runs is told with the guarantee of one; its eta may be negative.
        shown = [_guarantee(base), f"eta&nbsp;=&nbsp;{in_html(str(content.get('eta')))}", *shown]
    return f"{in_html(str(content.get('type')))}({', '.join(shown)})"


def _shown(amounts: Mapping[str, Fraction]) -> str:
    known = [name for name in _AMOUNTS if name in amounts]
    others = [name for name in amounts if name not in _AMOUNTS]
    return ", ".join(
        f"{in_html(_AMOUNTS.get(name, name))}&nbsp;=&nbsp;{rounded_text(amounts[name])}"
        for name in [*known, *others]
    )


def _facts(facts: Mapping[str, str]) -> str:
    rows = "".join(f"<dt>{in_html(name)}<dd>{value}" for name, value in facts.items())
    return f"<dl>{rows}</dl>"


_AMOUNTS = {"epsilon": "ε", "delta": "δ", "rho": "ρ", "mu_squared": "μ²"}
_CAVEATS = """<section><h2>What this page does not say</h2><ul>
<li>That the end of the records was not cut off: compare the head with one that was published
elsewhere, with <code>safeselect ledger verify --head</code>.
<li>That the sensitivity of the scores was right, or that the candidates were public: the caller
asserted both.
<li>Anything about releases that were not made through this ledger, or about other ledgers on the
same data.
<li>What was released: the records hold commitments, opened by the salt in each result.
</ul></section>"""
_STYLE = """
:root { color-scheme: light dark; --ink: #1d2433; --dim: #5c677d; --paper: #fff; --line: #d9dee8;
  --main: #2456c8; --fill: #2456c826; --bad: #b42318; --ok: #18794e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9f0; --dim: #9aa5b8; --paper: #141821;
  --line: #323a4a; --main: #82a8ff; --fill: #82a8ff33; --bad: #ff8a7a; --ok: #5fd49b; } }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 76rem; margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.6rem; overflow-wrap: anywhere; } h2 { font-size: 1.3rem; margin-top: 2.5rem;
  border-top: 1px solid var(--line); padding-top: 1.5rem; } h3 { font-size: 1rem; }
code { font: 0.88em ui-monospace, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.15rem 1rem; margin: 0.5rem 0; }
dt { color: var(--dim); } dd { margin: 0; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; font-size: 0.92rem; }
th, td { text-align: left; vertical-align: top; padding: 0.4rem 0.7rem 0.4rem 0;
  border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; }
small { color: var(--dim); } .wide { overflow-x: auto; }
.name { white-space: nowrap; }
th { color: var(--dim); font-weight: 600; } summary { color: var(--dim); cursor: pointer; }
.ok { color: var(--ok); } .bad { color: var(--bad); }
svg { width: 100%; height: auto; max-width: 60rem; display: block; }
svg text { fill: var(--dim); font-size: 12px; }
@media print { body { font-size: 11px; } main { max-width: none; padding: 0; } }
"""
