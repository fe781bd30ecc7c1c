"""A release against the records of a ledger: does it say what was charged and committed to?

The caller has replayed the records (`Checker`); here is what a replay does not compare: the release
with its records, and the charge with what the release promises.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import groupby
from typing import Any

from safeselect.accounting.kinds import AnyGuarantee
from safeselect.audit.line import Line
from safeselect.audit.points import range_of_points, range_of_run
from safeselect.audit.promised import Draws, composition_of, law_of
from safeselect.audit.shapes import noise_of, shape_of
from safeselect.errors import SafeSelectError
from safeselect.grid_quantiles import Quantiles
from safeselect.ledger import Budget, Record
from safeselect.ledger.records.fields import charges_of
from safeselect.ledger.records.record import commitment, read_numbers
from safeselect.measurements import Measurement
from safeselect.private_candidates import ChosenRun
from safeselect.promises.records import exact_text, guarantee_record
from safeselect.releases import Release
from safeselect.releases._fields import Fields, count, every_guarantee
from safeselect.scores.reading import Reading, Sensitivity
from safeselect.sessions._opening import Opened

Fact = Mapping[str, Any]


def opened_by(release: Release, ledger: str, records: Sequence[Record]) -> Line:
    """Compare the release with the record that its receipt names."""
    what, receipt = "commitment", release.receipt
    if receipt is None:
        return Line(what, False, "The release has no receipt, so no record is known to be its own.")
    if not records:
        return Line(what, None, "The log has no record in which this release could be found.")
    if receipt.ledger != ledger:
        return Line(
            what, False, f"The receipt names ledger {receipt.ledger}, and the log is of {ledger}."
        )
    if receipt.record >= len(records):
        return Line(what, False, f"The receipt names record {receipt.record}, which is not there.")
    record = records[receipt.record].content
    settled = isinstance(release, Opened) and release.spent is not None
    if record["kind"] != ("settled" if settled else "released"):
        return Line(
            what,
            False,
            f"The receipt names record {receipt.record}, which is of kind {record['kind']} and "
            "commits to no release of this kind.",
        )
    if record["commitment"] != commitment(receipt.salt, replace(release, receipt=None).to_json()):
        return Line(
            what,
            False,
            f"Record {receipt.record} commits to another output: the release, or its salt, was "
            "changed.",
        )
    return Line(
        what, True, f"Record {receipt.record} commits to this very release, opened by its salt."
    )


def charge_of(release: Release, records: Sequence[Record]) -> Fact | None:
    """Return the record of the charge, or None if the receipt leads to none."""
    receipt = release.receipt
    if receipt is None or receipt.record >= len(records):
        return None
    place = records[receipt.record].content.get("charge")
    return None if place is None else records[int(place)].content


def compare(release: Release, charge: Fact) -> Iterator[Line]:
    """Compare the release with the record of its charge, field by field, and that with itself."""
    said = release.statement
    place = charge["seq"]
    yield _same("mechanism", release.mechanism, charge["mechanism"], place)
    promised, recorded = _written(release.guarantee), _plainly(charge["guarantee"])
    try:
        draws = _recorded(charge)
    except SafeSelectError:
        draws = ()
    yield law_of(charge["mechanism"], release.guarantee, draws)
    yield _same("guarantee", promised, recorded, place)
    yield _draws(release, promised, draws, place)
    yield composition_of(release.guarantee, promised, draws)
    yield _parameters(dict(said.parameters), charge["parameters"], place)
    yield _covered(release, charge)
    yield shape_of(release)
    for name, own in (("unit", said.unit), ("neighbours", said.neighbours)):
        stated = sorted({str(each["terms"].get(name)) for each in charges_of(charge)})
        yield _same(name, own, " and ".join(stated), place)
    yield _price(charge)
    yield _same("time", said.utc or "no time", charge["utc"], place)
    yield _source(release.source, charge)
    code = charge["library"]
    yield _same(
        "code that ran",
        f"version {said.version}, source {said.source_tree_sha256}",
        f"version {code.get('version')}, source {code.get('source_tree_sha256')}",
        place,
    )


def _covered(release: Release, charge: Fact) -> Line:
    """Whether the noise covers what one unit changes, as far as the release and its record say."""
    if isinstance(release, Measurement):
        return noise_of(release)
    if isinstance(release, Quantiles):
        return range_of_points(release)
    return range_of_run(release) if isinstance(release, ChosenRun) else _range(charge)


def _same(what: str, own: str, recorded: str, place: str) -> Line:
    if own == recorded:
        return Line(what, True, f"Release and record {place} both say {own}.")
    return Line(what, False, f"The release says {own}, and record {place} says {recorded}.")


def _written(value: AnyGuarantee) -> str:
    return _plainly(guarantee_record(value))


def _plainly(content: Fact) -> str:
    plain = {k: _plainly(v) if isinstance(v, Mapping) else v for k, v in content.items()}
    numbers = ", ".join(f"{k} = {v}" for k, v in sorted(plain.items()) if k != "type")
    return f"{content.get('type')}({numbers})"


def _draws(release: Release, promised: str, draws: Draws, place: str) -> Line:
    if not draws:
        return Line("draws", False, f"Record {place} does not name its draws.")
    recorded = "; ".join(f"{number} x {_written(each)}" for each, number in draws)
    parts: tuple[AnyGuarantee, ...] | None = getattr(release, "parts", None)
    if parts is not None:
        own = [f"{len(list(same))} x {_written(each)}" for each, same in groupby(parts)]
        return _same("draws", "; ".join(own), recorded, place)
    if isinstance(release, Opened):
        return Line("draws", True, f"The session names no draws, and record {place} {recorded}.")
    if recorded != f"1 x {promised}":
        return Line(
            "draws",
            False,
            f"The release is one draw of {promised}, and record {place} says {recorded}.",
        )
    return Line("draws", True, f"Release and record {place} both say {recorded}.")


def _recorded(charge: Fact) -> tuple[tuple[AnyGuarantee, int], ...]:
    """Read the draws of a charge, whose form a replay does not check."""
    return tuple(
        (fields.take("each", every_guarantee), fields.take("count", count))
        for fields in (Fields(each, "a part") for each in charge["parts"])
    )


def _parameters(own: Mapping[str, str], recorded: Mapping[str, str], place: str) -> Line:
    names = sorted(
        name for name in own.keys() | recorded.keys() if own.get(name) != recorded.get(name)
    )
    if names:
        return Line(
            "parameters", False, f"Release and record {place} differ in {', '.join(names)}."
        )
    return Line(
        "parameters", True, f"Release and record {place} have the same {len(own)} parameters."
    )


def _range(charge: Fact) -> Line:
    """The range that noise covers follows from what was declared; noise that covers less leaks."""
    what, stated = "range", charge["parameters"]
    monotonic = stated.get("monotonic") == "yes"
    if stated.get("monotonic", "no") not in ("yes", "no"):
        return Line(what, False, "The record does not say whether all scores move the same way.")
    replaced = any(each["terms"].get("neighbours") == "replace_one" for each in charges_of(charge))
    if monotonic and replaced:
        return Line(
            what,
            False,
            "Scores are declared monotonic, but neighbours replace one unit by another, which "
            "moves scores both ways.",
        )
    grid = stated.get("grid", "none")
    try:
        change = Sensitivity.read(
            sensitivity=stated.get("sensitivity"), range_=stated.get("range"), monotonic=monotonic
        )
        reading = Reading.read(
            grid=None if grid == "none" else grid,
            on_grid=stated.get("on_grid") == "yes",
            score_error=stated.get("score_error"),
        )
        needed = change.range_in_steps(reading) * reading.step
        covered = read_numbers({"range": stated.get("effective_range")}, "the record")["range"]
    except SafeSelectError:
        return Line(what, False, "The record does not say how far a unit may move the scores.")
    if covered < needed:
        return Line(
            what,
            False,
            f"The noise covers a range of {exact_text(covered)}, and the declared change of the "
            f"scores needs {exact_text(needed)}.",
        )
    return Line(
        what,
        True,
        f"The noise covers a range of {exact_text(covered)}, which the declared change needs.",
    )


def _price(charge: Fact) -> Line:
    """A replay adds up what was charged; that it is what the guarantee costs is compared here."""
    what = "price"
    try:
        whole = every_guarantee(charge["guarantee"], "guarantee")
        parts = _recorded(charge)
        for each in charges_of(charge):
            price = Budget.of(each["terms"]).price(whole, parts)
            paid = read_numbers(each["charge"], "the record")
            if any(paid.get(name, Fraction(0)) < amount for name, amount in price.items()):
                return Line(
                    what,
                    False,
                    f"Record {charge['seq']} charged scope {each['scope']} less than the guarantee "
                    "costs.",
                )
    except SafeSelectError:
        return Line(
            what, False, f"Record {charge['seq']} states a guarantee that its scope cannot add up."
        )
    names = " and ".join(each["scope"] for each in charges_of(charge))
    return Line(what, True, f"Record {charge['seq']} charged {names} what the guarantee costs.")


def _source(own: str, charge: Fact) -> Line:
    source = charge["source"]
    name, production = source.get("name"), source.get("production")
    if production not in ("yes", "asserted"):
        return Line(
            "source", False, f"The random bytes came from {name}, a source for tests: NOT PRIVATE."
        )
    if source.get("health") not in ("passed", "not tested"):
        return Line("source", False, f"It is {name}, and its tests were: {source.get('health')}.")
    if own != name:
        return Line(
            "source", False, f"The release says {own}, and record {charge['seq']} says {name}."
        )
    by = "" if production == "yes" else "; that it is for production is the caller's word"
    return Line("source", True, f"Both say {name}, whose tests were: {source.get('health')}{by}.")
