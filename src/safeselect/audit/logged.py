"""The log of a ledger: that it follows, is signed, holds a head, and commits to a release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from safeselect.audit.line import Line, found
from safeselect.errors import InputError, LedgerDamaged
from safeselect.ledger import Checker, Record, Store, kept_records
from safeselect.ledger.record import BARE_HEAD, commitment, head_of, read_head
from safeselect.release.results import Answers, Release

_UNSIGNED = (
    "The ledger is not signed, so only a head shows that it was rewritten.  Anyone who writes it "
    "and also gives you the head can restate the output (labels, positions, counts, gaps, points, "
    "values), the cost and everything that follows from it, the mechanism (as one of the same "
    "form), the declared sensitivity and its range, and everything on which nothing else depends: "
    "candidates, threshold, minimize, grids, score_error, weights, split, margins, gamma, queries, "
    "max_rows, max_contributions and quantiles, k of one draw or session, k_bar and "
    "groups_per_user of groups, pre_threshold of a strategy, unit, neighbours in other words, "
    "time, source with its tests, purpose and platform."
)


def replayed(file: str | Store) -> tuple[Checker, list[Record], Line]:
    """Replay a log without its key; return the records up to the first that is wrong.

    Raises:
        InputError: the file cannot be read.
    """
    checker, records, wrong = Checker(), [], None
    try:
        for record in kept_records(file, checker):
            records.append(record)
    except (OSError, ValueError):
        raise InputError(f"the file {file!r} cannot be read") from None
    except LedgerDamaged as error:
        wrong = f"It is damaged: {error}."
    said = f"The {len(records)} records of ledger {checker.ledger} are consistent"
    torn = f"  {checker.unfinished} bytes of an unfinished write are ignored."
    facts = "hashes, order, totals, caps, nonces and outcomes."
    line = found("log", wrong, f"{said}: {facts}{torn if checker.unfinished else ''}")
    return checker, records, line


def signed(file: str | Store, checker: Checker, public_key: bytes | None, own: set[int]) -> Line:
    """Verify the signatures of a log with the auditor's key.

    Args:
        own: the places of the release and of its charge; none where the log is not whole.
    """
    what, key = "signatures", checker.signer
    if not own:
        return Line(what, "not compared", "The log is damaged, so no signature was verified.")
    if not key and public_key is None:
        return Line(what, "none", _UNSIGNED)
    if not key:
        return found(what, "A key was given, but the log is not signed.", "")
    named = f"{key.get('algorithm')} key {key.get('key_id')}"
    if public_key is None:
        said = f"The records are signed with {named}.  To check this, pass --public-key."
        return Line(what, "not compared", said)
    again, wrong = Checker([public_key]), None
    try:
        for _ in kept_records(file, again):
            pass
    except LedgerDamaged as error:
        wrong = f"Not all records are signed with the given key: {error}."
    if not wrong and again.head != checker.head:
        return Line(what, "not compared", "The log grew while it was read; try again.")
    if not wrong and again.aside & own:
        wrong = "The owner set aside a wrong signature of this release or of its charge."
    but = f" but {len(again.aside)}, which the owner set aside," if again.aside else ""
    return found(
        what, wrong, f"All {checker.count} records{but} are signed with {named}, as given."
    )


def reaches(head: str | None, records: Sequence[Record], place: int, is_signed: bool) -> Line:
    """Find the auditor's head, which must not be older than the release in a log without key.

    All records are here, so a head is found by its hash alone.

    Raises:
        ParameterError: the head is no such thing.
    """
    what = "head"
    if head is not None and BARE_HEAD.fullmatch(head):
        same = (head_of(seq, head) for seq, each in enumerate(records) if each.hash == head)
        head = next(same, None)
        if head is None:
            said = "No record has this hash: the log was truncated or rewritten."
            return found(what, said, "")
    named = read_head(head)
    if named is None:
        said = "No head was given (--head), so records could be missing at the end."
        return Line(what, "none", said if is_signed else f"{said}  All could be rewritten, too.")
    seq, hash_ = named
    if seq >= len(records):
        return found(what, f"It names record {seq}, but the log ends before it.", "")
    if records[seq].hash != hash_:
        return found(what, f"Record {seq} differs from the head: the log was rewritten.", "")
    said = f"It names record {seq}, and {len(records) - seq - 1} records follow"
    if is_signed:
        return found(what, None, f"{said}.")
    if seq < place:
        return Line(what, "not compared", f"{said}.  The head does not cover them or the release.")
    reach = f" up to record {seq}, which the head names"
    return Line(what, "holds", f"{said}.  The head does not cover them.", reach)


def uncommitted(release: Release, ledger: str, records: Sequence[Record]) -> str | None:
    """What is wrong with the commitment to a release, in the record that its receipt names."""
    receipt = release.receipt
    if receipt is None:
        return "The release has no receipt, so its record is unknown."
    if receipt.ledger != ledger:
        return f"The receipt names ledger {receipt.ledger}, but the log is from {ledger or 'none'}."
    if receipt.record >= len(records):
        return f"The receipt names record {receipt.record}, which does not exist."
    where, record = f"Record {receipt.record}", records[receipt.record].content
    spent = release.spent if isinstance(release, Answers) else ()
    if record["kind"] != ("settled" if spent else "released"):
        return f"{where} has kind {record['kind']} and does not commit to a release of this kind."
    if record["commitment"] != commitment(receipt.salt, replace(release, receipt=None).to_json()):
        return f"{where} commits to a different output, or the salt was changed."
    if spent and record["spent"] != {name: str(number) for name, number in spent}:
        return f"{where} states a different use of the session."
    return None
