"""One release against its record, its plan, its ledger and the certificate of the code that ran.

`audit` is the specification: read it from 1 to 14.  What it calls makes one comparison each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from safeselect.accounting.repetition import AnyGuarantee
from safeselect.audit.certified import compare_code
from safeselect.audit.line import Line, found
from safeselect.audit.logged import reaches, replayed, signed, uncommitted
from safeselect.audit.output import wrong_output
from safeselect.audit.plan import Draws, Plan, plan_of
from safeselect.audit.theorems import drawn, is_known, theorem
from safeselect.errors import InputError, SafeSelectError
from safeselect.ledger import Checker, Record, Store
from safeselect.ledger.balance import check_prices
from safeselect.promises.guarantees import STATED, guarantee_record
from safeselect.release.codec import read_part
from safeselect.release.results import Release, from_json

_Facts = Mapping[str, Any]
_CODE = "version", "deciding_sha256", "source_tree_sha256"


@dataclass(slots=True)
class Seen:
    """What an audit read, as far as it came; for a page about it.

    Attributes:
        release: the release.
        checker: has read the log.
        records: of the log.
        scopes: those that the release was charged to.
        library: what ran, as the records say.
    """

    release: Release | None = None
    checker: Checker = field(default_factory=Checker)
    records: Sequence[Record] = ()
    scopes: Sequence[str] = ()
    library: Mapping[str, str] = field(default_factory=dict)


def audit(
    text: str,
    log: str | Store,
    head: str | None = None,
    public_key: bytes | None = None,
    certificate: str | None = None,
    certificate_key: bytes | None = None,
    seen: Seen | None = None,
) -> Iterator[Line]:
    """Compare a release with all that an auditor has; `verdict` sums up the lines.

    Args:
        text: the release in JSON.
        log: the file of a ledger, or of a log that it exported; or the store of a ledger.
        head: a head that was published, or that the auditor noted.
        public_key: verifies the signatures of the ledger.
        certificate: what `safeselect verify --certificate` wrote.
        certificate_key: verifies the signature of the certificate.
        seen: takes what was read.

    Raises:
        InputError: the log cannot be read.
        ParameterError: the head is no such thing.
    """
    # 1. It is a whole release, in the one spelling of the library.
    release, wrong = _read(text)
    receipt = None if release is None else release.receipt
    yield found("release", wrong, "The file is a well-formed, canonical release.")
    # 2. The records of the log follow from each other.
    checker, records, chain = replayed(log)
    seen = seen or Seen()
    seen.release, seen.checker, seen.records = release, checker, records
    yield chain
    # 3. They are signed with the auditor's key.  A log without signatures has none.
    place = 0 if receipt is None else receipt.record
    own = {place, *(int(each.content.get("charge", 0)) for each in records[place : place + 1])}
    own = own if chain.word == "holds" else set()
    yield (signatures := signed(log, checker, public_key, own))
    # 4. The auditor's head is among them; without signatures it reaches as far as the release.
    yield reaches(head, records, place, signatures.word == "holds")
    # 5. The record that the receipt names commits to this very release, opened by its salt.
    if release is None:
        yield Line("commitment", "not compared", "There is no release to find in the log.")
        return
    wrong = uncommitted(release, checker.ledger, records)
    yield found("commitment", wrong, f"Record {place} commits to it, as its salt shows.")
    if receipt is None or place >= len(records) or "charge" not in records[place].content:
        yield Line("record", "not compared", "The receipt does not lead to a record of a charge.")
        return
    record = records[int(records[place].content["charge"])]
    charge = {**record.content, "library": record.library, "budgets": record.budgets}
    seen.library, seen.scopes = record.library, [each["scope"] for each in charge["charges"]]
    draws, plan, known = _draws_of(charge), list[Plan](), is_known(release.mechanism)
    unproved = None if known else f"No proof is known for {release.mechanism}."
    number, seq = sum(times for _, times in draws), charge["seq"]
    for what, right, judge in (
        # 6. Release and record of the charge say the same, word by word.
        ("record", f"It matches record {seq}.", lambda: _differs(release, charge, draws)),
        # 7. There is such a mechanism, whose law is proved.
        ("law", f"It is proved: {theorem(release.mechanism)}.", lambda: unproved),
        # 8. It took as many draws as a table says that was written by hand.
        ("draws", f"It used {number}, as expected.", lambda: _miscounted(release, draws)),
        # 9. Its plan follows from mechanism, cost and parameters, all of it.
        ("plan", "It equals the recomputed value.", lambda: _planned(release, draws, plan)),
        # 10. Its output is one that this plan can have.
        ("output", "It is a possible output of this plan.", lambda: wrong_output(release, plan[0])),
        # 11. Each scope was charged its price.
        ("price", _paid(checker, charge), lambda: check_prices([(charge, charge["budgets"])])),
    ):
        line = _judged(what, right, judge)
        if what == "law" and release.mechanism.startswith(STATED):
            line = Line(what, "not compared", f"It is {theorem(release.mechanism)}.")
        yield line
        if line.word != "holds":  # what follows rests on it
            break
    # 12. Its random bytes came from a source for production, which passed its tests.
    yield _source(charge["source"])
    # 13. The code that ran is the code that was verified.
    yield from compare_code(certificate, charge["library"], certificate_key)
    # 14. Nobody corrected what was promised.
    for each in records:
        if each.content["kind"] == "corrected" and seq in each.content["charges"]:
            said = f"{each.content['advisory']} restates it: {each.content['reason']}."
            yield found("correction", said, "")


def _read(written: str) -> tuple[Release | None, str | None]:
    try:
        return from_json(written), None
    except InputError as error:
        return None, f"{str(error)[:1].upper()}{str(error)[1:]}."


def _judged(what: str, right: str, judge: Callable[[], str | None]) -> Line:
    """A comparison that computes with what a forger may have written: an error is a verdict too."""
    try:
        wrong = judge()
    except SafeSelectError as error:
        wrong = f"This release is not possible: {error}."
    except Exception as error:  # noqa: BLE001 - whatever was written, there is a verdict
        wrong = f"This release is not possible ({type(error).__name__})."
    return found(what, wrong, right)


def _draws_of(charge: _Facts) -> Draws:
    """The draws of a charge, whose form a replay does not check; none if they are none."""
    try:
        return tuple(map(read_part, charge["parts"]))
    except SafeSelectError:
        return ()


def _differences(own: _Facts, other: _Facts, said: str) -> str | None:
    one, two = _flat(own), _flat(other)
    names = sorted(name for name in one.keys() | two.keys() if one.get(name) != two.get(name))
    pairs = [f"{name} is {one.get(name)}, but {said} {two.get(name)}" for name in names]
    return f"Differences: {'; '.join(pairs)}." if names else None


def _flat(content: _Facts) -> dict[str, Any]:
    """The same without objects inside: the name of a field in one is that of both."""
    flat: dict[str, Any] = {}
    for name, value in content.items():
        inside = _flat(value).items() if isinstance(value, Mapping) else ()
        flat |= {f"{name} {each}": of for each, of in inside} or {name: value}
    return flat


def _written(draws: Sequence[tuple[AnyGuarantee, int]]) -> str:
    return " and ".join(f"{times} x {guarantee_record(each)}" for each, times in draws)


def _differs(release: Release, charge: _Facts, draws: Draws) -> str | None:
    """Compare what a release and the record of its charge both say."""
    stated, library, kept = release.provenance, charge["library"], charge["budgets"].values()
    unit, neighbours = (
        " and ".join(sorted({getattr(each, name) for each in kept}))
        for name in ("unit", "neighbours")
    )
    if neighbours not in ("add_remove", "replace_one"):
        # A scope may say in its own words what a mechanism asks for in one of these two.
        neighbours = charge["parameters"].get("neighbours", neighbours)
    pairs: dict[str, tuple[Any, Any]] = {
        "unit": (stated.unit, unit),
        "neighbours": (stated.neighbours, neighbours),
        "parameters": (dict(stated.parameters), charge["parameters"]),
        "name": ("safeselect", library.get("name")),
        **{name: (getattr(stated, name), library.get(name)) for name in _CODE},
        "utc": (stated.utc, charge["utc"]),
        "mechanism": (release.mechanism, charge["mechanism"]),
        "guarantee": (guarantee_record(release.guarantee), charge["guarantee"]),
        "source": (release.source, charge["source"]["name"]),
    }
    parts = [(each, len(list(same))) for each, same in groupby(release.parts)]
    pairs["draws"] = _written(parts), _written(draws)
    own, again = ({name: both[at] for name, both in pairs.items()} for at in (0, 1))
    return _differences(own, again, "its record says")


def _miscounted(release: Release, draws: Draws) -> str | None:
    kind, numbers = drawn(release.mechanism, dict(release.provenance.parameters))
    if not isinstance(release, kind):
        return f"{release.mechanism} does not release {type(release).__name__}."
    recorded = tuple(times for _, times in draws)
    if recorded == numbers:
        return None
    taken, said = (" and ".join(map(str, each)) for each in (numbers, recorded))
    return f"It uses {taken}, but its record states {said or 'none'}."


def _planned(release: Release, draws: Draws, made: list[Plan]) -> str | None:
    """Compute the plan again, and compare all of it; keep it for what comes after."""
    plan, stated = plan_of(release), dict(release.provenance.parameters)
    made.append(plan)
    if release.provenance.neighbours == "replace_one" and stated.get("monotonic") == "yes":
        return "Replacing one unit by another can move even monotonic scores in both directions."
    own = {"guarantee": guarantee_record(release.guarantee), "draws": _written(draws)}
    own["parameters"] = stated
    again = {"guarantee": guarantee_record(plan.guarantee), "draws": _written(plan.draws)}
    again["parameters"] = dict(plan.parameters)
    return _differences(own, again, "the recomputed value is")


def _paid(checker: Checker, charge: _Facts) -> str:
    """What it was charged to: the promise of each scope, and where it stands at the log's end."""
    said = ["The charge equals its price."]
    for each in charge["charges"]:
        balance = checker.scopes[each["scope"]]
        said.append(f"Scope {each['scope']}: {balance.budget.statement()} {balance}.")
        said.append(balance.loss())
    return " ".join(filter(None, said))


def _source(source: _Facts) -> Line:
    name, health, wrong = source["name"], source["health"], None
    if source["production"] == "no":
        wrong = f"The random bytes came from {name}, a source for tests: NOT PRIVATE."
    elif health not in ("passed", "not tested"):
        wrong = f"It is {name}, with test results: {health}."
    by = "" if source["production"] == "yes" else "; that it is for production is asserted"
    return found("source", wrong, f"It is {name}, with test results: {health}{by}.")
