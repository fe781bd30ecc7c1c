"""Faults that once got through: what they break is looked at, and each is planted again."""

from __future__ import annotations

import errno
import os
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from ledgers import new, pure, scope
from planted import noticed

import safeselect as s
from safeselect.prepared import ExponentialMechanism

# ------------------------------------------------------------------------ each row of a batch


WHOLE = {"a": 5, "b": 9, "c": 7}


@pytest.mark.claim("C2")
@pytest.mark.parametrize("batch", [list, tuple])
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("more", [{}, {"k": 2}])
@pytest.mark.parametrize(
    ("row", "message"),
    [
        (s.Counts(WHOLE, places=3), "the largest counts of a table, and their items are private"),
        (s.Counts(WHOLE, places="all", unit="trip"), "the unit of these counts is 'trip'"),
    ],
)
def test_each_row_of_counts_is_looked_at(row, message, more, place, batch):
    usual = s.Counts(WHOLE, places="all", unit="person")
    rows = batch([row if each == place else usual for each in range(3)])

    def look() -> None:
        ledger = s.Ledger.create(":memory:", {"a": s.Budget("person", "add_remove", epsilon=3)})
        there = ledger.scope("a", unit="person", neighbours="add_remove", purpose="a test")
        with pytest.raises(s.ParameterError, match=message):
            s.select_many(rows, epsilon=1, sensitivity=1, monotonic=True, ledger=there, **more)
        assert ledger.balance("a").spent["epsilon"] == 0

    look()
    if place:
        first = '(cast("Iterable[object]", scores) if in_rows else (scores,))[:1]'
        every = 'cast("Iterable[object]", scores) if in_rows else (scores,)'
        noticed("mechanisms/select.py:on", every, first, look)


@pytest.mark.claim("C2")
def test_a_row_whose_counts_move_both_ways_is_looked_at():
    """One user in another's place moves the counts of a row by a range of 2."""
    rows = [WHOLE, s.Counts(WHOLE, places="all"), WHOLE]
    ledger = s.Ledger.create(":memory:", {"a": s.Budget("person", "replace_one", epsilon=3)})
    there = ledger.scope("a", unit="person", neighbours="replace_one", purpose="a test")
    with pytest.raises(s.ParameterError, match="range_ must be at least 2"):
        s.select_many(rows, epsilon=1, range_=1, ledger=there)
    assert len(s.select_many(rows, epsilon=1, range_=2, ledger=there).labels) == 3


# ------------------------------------------------------------------------ a digest of weights


def test_a_digest_of_weights_follows_their_order():
    """What is recorded, against the texts of the weights in the order of the candidates."""

    def recorded(weights: Any, **more: Any) -> str:
        given = {"epsilon": 1, "sensitivity": 1, "weights": weights}
        first = s.exponential_mechanism([3, 5, 4], **given, **more)
        second = ExponentialMechanism(**given)([3, 5, 4], **more)
        (one,) = {dict(each.provenance.parameters)["weights"] for each in (first, second)}
        return one

    def look() -> None:
        for texts in (["1", "2", "1/3"], ["2", "1", "1/3"], ["1/3", "2", "1"], ["0", "7", "1"]):
            written = ",".join(texts).encode()
            if texts == ["0", "7", "1"]:
                written = b"|u1" + bytes([0, 7, 1])
            due = "sha256:" + sha256(written).hexdigest()
            assert (recorded(texts), recorded([Fraction(text) for text in texts])) == (due, due)
            by = dict(reversed([*zip("abc", texts, strict=True)]))
            assert recorded(by, labels=["a", "b", "c"]) == due

    for other in ("sorted(map(exact_text, cells))", "set(map(exact_text, cells))"):
        noticed("mechanisms/weights.py:_digest", "map(exact_text, cells)", other, look)
    noticed("mechanisms/weights.py:_digest", "ray(cells", "ray(np.sort(cells)", look)


# ------------------------------------------------------------------------ a sync that failed


def test_a_sync_that_failed_is_tried_again_before_a_head_is_shown(tmp_path: Path) -> None:
    """A line of another process is shown when it is on the disk, and not before."""
    synced = os.fdatasync

    def look() -> None:
        path = tmp_path / os.urandom(4).hex()
        writer, reader = new(path), s.Ledger.open(path)
        shown = reader.head
        scope(writer).pay(pure())
        asked: list[int] = []
        failing = [True, True]

        def sync(descriptor: int) -> None:
            asked.append(descriptor)
            if failing and failing.pop():
                raise OSError(errno.EIO, "Input/output error")
            synced(descriptor)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "fdatasync", sync)
            for again in (1, 2):
                with pytest.raises(s.LedgerError, match="check the disk"):
                    _ = reader.head
                assert len(asked) == again
            assert reader.head == writer.head != shown
            assert len(asked) == 3
            _ = reader.head
            assert len(asked) == 3  # what is on the disk is not put there again

    noticed(
        "ledger/stores/file.py:read",
        "if not os.fstatvfs(",
        "self._durable = (here.st_dev, here.st_ino, end)\n                if not os.fstatvfs(",
        look,
    )
