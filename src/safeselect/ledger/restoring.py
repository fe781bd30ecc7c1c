"""By hand: reads a ledger's file or a log, makes an older copy whole, repairs a damaged file.

An older copy is made whole from the lines that its witness kept.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from io import FileIO
from pathlib import Path
from typing import BinaryIO

from safeselect.errors import LedgerDamaged, ParameterError
from safeselect.exact.parameters import describe, read_list
from safeselect.ledger.book import Written, check_key, each_row, judged, was_torn
from safeselect.ledger.ledger import read_place
from safeselect.ledger.record import LONGEST, log_line, read_line, read_record, text
from safeselect.ledger.replay import Checker, Record
from safeselect.ledger.signing import Signer, key_of, read_signer
from safeselect.ledger.store import Journal, Row, Store
from safeselect.ledger.stores.file import FileJournal, FileStore, end_found
from safeselect.ledger.witness import Witness, read_witness
from safeselect.promises.guarantees import Content


def check_log(log: BinaryIO, checker: Checker) -> Iterator[Record]:
    """Check an exported log to its end, and yield its records.

    Every byte counts: a line that `log_lines` would spell differently is refused.

    Raises:
        LedgerError: the log is not what was exported; the records yielded before it are.
    """
    while line := log.readline(LONGEST):
        if not line.endswith(b"\n"):
            raise LedgerDamaged(f"line {checker.count + 1} of the log is truncated or too long")
        row = read_line(line[:-1].decode("latin-1"), checker.count)
        yield checker.check(row.body, row.hash, row.signature)
    checker.finish()


def kept_records(file: str | os.PathLike[str] | Store, checker: Checker) -> Iterator[Record]:
    """Check a ledger or an exported log to its end, and yield its records.

    Bytes after the last whole line are an unfinished write: `checker.unfinished` counts them.

    Raises:
        LedgerError: a record is not what a ledger writes; the records yielded before it are.
        OSError: the file cannot be read.
    """
    if isinstance(file, Store):
        yield from _checked(file.read(lambda journal: [*each_row(journal)]), checker)
    elif stat.S_ISREG(os.stat(file).st_mode):
        with FileIO(file, "r") as opened:
            end, size = end_found(opened)
            checker.unfinished = size - end
            yield from _checked(each_row(FileJournal(opened, end, size)), checker)
    else:
        with open(file, "rb") as log:
            yield from check_log(log, checker)


def _checked(rows: Iterable[Row], checker: Checker) -> Iterator[Record]:
    for row in rows:
        yield checker.check(row.body, row.hash, row.signature)
    checker.finish()


def append(
    place: str | os.PathLike[str] | Store,
    lines: Iterable[bytes],
    *,
    public_keys: Collection[bytes] = (),
    head: str | None = None,
) -> Checker:
    """Add the missing lines to an older copy of a ledger.

    Either all lines are added or none. An unfinished line at the end of the copy is replaced.

    If the copy already has some of the lines, they must be equal. Open the ledger with its witness
    afterwards, to check that it is complete.

    Args:
        place: the copy, which must not be in use.
        lines: consecutive lines of the ledger in order, each with its newline, from a witness or an
            exported log.
        public_keys: keys for the signatures, as for `Ledger.open`; required for a signed ledger.
        head: a head that must be among the records afterwards.

    Returns:
        Checker: the state that follows from all records.

    Raises:
        ParameterError: the ledger is signed but no public key was passed; or `lines` does not
            contain lines.
        LedgerDamaged: the lines do not continue the ledger, or a record is not valid; nothing was
            written.
        LedgerRolledBack: the head is not among the records; nothing was written.
        LedgerError: the place cannot be used.
    """
    given = _rows(lines)

    def work(journal: Journal) -> Checker:
        checker = Checker(public_keys, head)
        for row in each_row(journal):
            checker.check(row.body, row.hash, row.signature)
            if row.seq in given and given[row.seq]._replace(at=row.at) != row:
                raise LedgerDamaged(
                    f"the line passed for record {row.seq} differs from the ledger's"
                )
        if checker.signer and not public_keys:
            raise ParameterError("the ledger is signed; pass public_keys= to add lines")
        if given and min(given) > checker.count:
            raise LedgerDamaged(
                f"the lines begin at record {min(given)}, but the ledger ends at record "
                f"{checker.count - 1}: the lines in between are missing"
            )
        for seq in range(checker.count, max(given, default=-1) + 1):
            row = given[seq]
            checker.check(row.body, row.hash, row.signature)
            journal.append(row)
        checker.finish()
        return checker

    return read_place(place).write(work)


def repair(
    place: str | os.PathLike[str],
    *,
    signer: Signer | None = None,
    head: str | None = None,
    witness: Witness | None = None,
) -> Path:
    """Make a damaged ledger file usable again.

    Everything after the last valid line is moved to another file.

    The moved lines no longer count, although they may have charged something. It is better to
    restore a copy and to `append` the missing lines. The bytes are kept in a file next to the
    ledger. A record of kind "torn" states their length and hash.

    Args:
        place: the file.
        signer: the key of a signed ledger.
        head, witness: as for `Ledger.open`.

    Returns:
        Path: the new file with the bytes that were moved.

    Raises:
        ParameterError: the ledger is not damaged; or a parameter is wrong.
        LedgerDamaged: the first record is not valid.
        LedgerRolledBack: the head or the witness has a record after the last valid line.
        LedgerError: the file cannot be used, or the witness does not answer.
    """
    key, known = read_signer(signer), read_witness(witness)
    if not isinstance(place, (str, os.PathLike)) or place == ":memory:":
        raise ParameterError(f"only a ledger in a file can be repaired, got {describe(place)}")
    checker = Checker(() if key is None else (key.public_key,), head)

    def work(journal: FileJournal) -> tuple[int, Row]:
        if known is not None:
            checker.want(known.ask())
        _good_lines(journal, scout := Checker(checker.public_keys), None)
        end, is_damaged = _good_lines(journal, checker, min(scout.unsigned, default=None))
        if checker.signer and key is None:
            raise ParameterError("the ledger is signed; call safeselect.ledger.repair with signer=")
        checker.finish()
        if not is_damaged:
            raise ParameterError("the ledger is not damaged, so there is nothing to repair")
        check_key(key, checker)
        torn = was_torn(journal.torn_from(end))
        return end, judged(checker, torn, checker.ledger, key).row

    return FileStore(place).replace_end(work)


def set_aside(
    place: str | os.PathLike[str] | Store,
    *,
    signer: Signer,
    reason: str,
    head: str | None = None,
    witness: Witness | None = None,
) -> tuple[int, int]:
    """Set aside the wrong signatures of charges and outcomes, so that the ledger can be used again.

    Whoever may charge at a server can write a record with a wrong signature: the server has no
    keys.  Every process then refuses the ledger.  A record of kind "repaired" says that its signer
    knows.  What the records charged stays charged; their nonces, requests and outcomes stay.

    Args:
        place: the store, opened by its owner.  First take the rights from who wrote the records.
        signer: the key of the ledger.
        reason: reason, one line for the records.
        head, witness: what is known elsewhere of the ledger, as for `Ledger.open`.

    Returns:
        tuple[int, int]: the places of the first and the last record that was set aside.

    Raises:
        ParameterError: no signature is wrong; or a parameter is.
        LedgerError: the ledger cannot be used, or is damaged in another way.
    """
    key, why = read_signer(signer), text(reason, "reason")
    wrong: set[int] = set()

    def decide(checker: Checker) -> Iterator[Written]:
        wrong.update(checker.unsigned)
        if not wrong:
            raise ParameterError("all signatures are valid, so there is nothing to set aside")
        first, last = str(min(wrong)), str(max(wrong))
        yield "repaired", {"first": first, "last": last, "reason": why}

    _write(place, decide, key, head, witness)
    return min(wrong), max(wrong)


def correct(
    place: str | os.PathLike[str] | Store,
    *,
    advisory: str,
    sha256: str,
    charges: Iterable[int],
    reason: str,
    signer: Signer | None = None,
    head: str | None = None,
    witness: Witness | None = None,
) -> str:
    """Append that an advisory restates the guarantees of some charges; return the new head.

    Totals, caps and everything else stay as they are: what was promised cannot be taken back, and
    what holds is in the advisory.  In PostgreSQL only the owner of the schema may do it.

    Args:
        place: the ledger.
        advisory, sha256: identity of the advisory, and hash of its text.
        charges: the places of the charges that are affected.
        reason: one line that goes into the records, such as the summary of the advisory.
        signer: the key of a signed ledger.
        head, witness: what is known elsewhere of the ledger, as for `Ledger.open`.

    Raises:
        ParameterError: a parameter is wrong, or the ledger has no record at a place.
        LedgerError: the ledger cannot be used.
    """
    key, named = read_signer(signer), [*map(str, read_list(charges, "charges"))]
    about = {"advisory": text(advisory, "advisory"), "sha256": text(sha256, "sha256")}

    def decide(checker: Checker) -> Iterator[Written]:
        if not named or not all(each.isdecimal() and int(each) < checker.count for each in named):
            raise ParameterError("there are no charges to correct, or one is not in this ledger")
        for first in range(0, len(named), _IN_A_LINE):
            listed: list[Content] = [*named[first : first + _IN_A_LINE]]
            yield "corrected", {**about, "reason": text(reason, "reason"), "charges": listed}

    return _write(place, decide, key, head, witness)


_IN_A_LINE = 10_000  # places; a line has at most 2**18 bytes


def _write(
    place: str | os.PathLike[str] | Store,
    decide: Callable[[Checker], Iterator[Written]],
    key: Signer | None,
    head: str | None,
    witness: Witness | None,
) -> str:
    """Write records of an owner, after all records were checked; return the new head."""
    known, made = read_witness(witness), list[str]()

    def work(journal: Journal) -> str:
        checker = Checker(() if key is None else (key.public_key,), head)
        if known is not None:
            checker.want(known.ask())
        is_there = False  # a store runs the work again if it does not know what became of the rows
        for row in each_row(journal):
            checker.check(row.body, row.hash, row.signature)
            is_there |= row.hash in made
        if key_of(key).get("public_key") != checker.signer.get("public_key"):
            raise ParameterError("signer is not the current signer of the ledger, or it has none")
        torn = [] if journal.torn is None else [was_torn(journal.torn)]
        for written in () if is_there else (*torn, *decide(checker)):
            reading = judged(checker, written, checker.ledger, key)
            checker.take(reading)
            made.append(journal.append(reading.row).hash)
        checker.finish()
        return checker.head

    return read_place(place).write(work)


def _good_lines(journal: FileJournal, checker: Checker, until: int | None) -> tuple[int, bool]:
    """Check all lines up to the first that is not good; return where they end, and if one is.

    Args:
        until: a record that is not good, whatever it says.
    """
    end, is_damaged = 0, False
    for count in (_BATCH, 1):  # the batch with a line that is none is read again, line by line
        try:
            while rows := journal.rows(checker.count, count, end):
                for row in rows:
                    if row.seq == until:
                        raise LedgerDamaged(f"the signature of record {until} is wrong")
                    checker.take(checker.read(row))
                    end += len(log_line(row.body, row.hash, row.signature))
        except LedgerDamaged:
            is_damaged = True
    return end, is_damaged


def _rows(lines: object) -> dict[int, Row]:
    """Return the rows of lines that follow each other, by place."""
    found: dict[int, Row] = {}
    for number, line in enumerate(read_list(lines, "lines"), 1):
        if not isinstance(line, bytes):
            raise ParameterError(f"line {number} must be bytes, got {describe(line)}")
        if not line.endswith(b"\n"):
            raise LedgerDamaged(f"line {number} does not end with a newline; it may be truncated")
        row = read_line(line[:-1].decode("latin-1"), max(found, default=-1) + 1)
        if not found:
            row = row._replace(seq=_place(row))
        found[row.seq] = row
    return found


def _place(row: Row) -> int:
    seq = read_record(row.body, "line 1")["seq"]
    if not seq.isascii() or not seq.isdecimal() or len(seq) > _DIGITS:
        raise LedgerDamaged("line 1 does not have a valid record number")
    return int(seq)


_BATCH, _DIGITS = 1000, 18
