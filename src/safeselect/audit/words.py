"""From words to decisions: whose each word is, and that no fast path decides what digits do not.

The engine is run on a tape, so that its random words are known.  A word that is made small gives
its owner so much noise that it wins.  So words tell whose they are, and little here knows how the
engine lays them out.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from hashlib import shake_256
from typing import Any

import numpy as np

from safeselect.audit.finding import Refuted
from safeselect.audit.tape import Tape
from safeselect.engine import noisy_max_rows, noisy_top_k, peeled_top_k
from safeselect.engine.laws import Law, enclose
from safeselect.engine.rows import batch_plan, combine_rows
from safeselect.exact.rate import NoiseRate
from safeselect.randomness.bits import Bits

_RATE = NoiseRate(Fraction(1))
_SMALL = 1 << 36  # of 64 digits: V = 2**-28, noise of 19 nats, more than any other word's here
_SMALLER = 1 << 6  # of 16 digits: a tail word; with the digits behind it noise of 6.9 nats at least


def check_owners(noise: Law, every: int) -> str:
    """Equal candidates: a word that is made small makes one candidate win, and each another.

    Of few candidates all words are looked at; of many some, the first and the last among them, and
    those next to every power of two.

    Raises:
        Refuted: two words have one owner, a candidate has none, or a request has words of nobody.
    """
    sizes = [(20, 8, _SMALL), (400, 8, _SMALL)]
    if every == 1:
        sizes += [(4096, 8, _SMALL), (5000, 2, _SMALLER), (300_000, 2, _SMALLER)]
    else:
        sizes += [(5000, 2, _SMALLER)]
    looked = 0
    for n, width, small in sizes:

        def run(known: bytes, n: int = n) -> tuple[int, int]:
            tape = Tape(known)
            with Bits(tape) as bits:
                scores = np.zeros(n, dtype=np.uint64)
                winner = noisy_top_k(noise.name, scores, 1, _RATE, bits).indices[0]
            return winner, tape.asked

        size = run(b"")[1]
        known = _calm(size, width)
        # What stands in front of the words of all: slots, and further digits of a few.
        words = n * width
        start = size - size % 8 - -(-words // 8) * 8 if width == 2 else 0
        places = range(start // width, start // width + n) if width == 2 else range(size // 8)
        some = places if n <= 400 else _some(places, 40 if every == 1 else 12)
        base = run(known)[0]
        winners = [run(_with(known, place, width, small))[0] for place in some]
        owners = [winner for winner in winners if winner != base]
        # Words of slots move nobody, and one word has the owner who wins anyway.
        idle = 1 + (size // 8 - n if width == 8 else 0)
        if len(owners) < len(winners) - idle:
            raise Refuted("some random words have no owner")
        if len(owners) != len(set(owners)):
            raise Refuted("two candidates share a random word")
        if n <= 400 and {*owners, base} != set(range(n)):
            raise Refuted("a candidate has no random word of its own")
        looked += len(winners)
    return f"{looked} random words, each with an owner of its own, up to {sizes[-1][0]} candidates"


def check_rows_owners(noise: Law, every: int) -> str:
    """Rows of equal candidates: a word that is made small changes one row, and each another cell.

    Looked at are a few rows, a block and one row more, and several blocks.

    Raises:
        Refuted: rows share words, or a row has none.
    """
    shapes = [(2, 2), (3, 5), (7, 30), (3, (1 << 15) // 2 - 1)]
    if every == 1:
        shapes += [((1 << 15) // 3 + 1, 3), (3 * ((1 << 15) // 3) + 2, 3)]
    looked = 0
    for rows, n in shapes:

        def run(known: bytes, rows: int = rows, n: int = n) -> tuple[Any, int]:
            tape = Tape(known)
            with Bits(tape) as bits:
                found = noisy_max_rows(
                    noise.name, np.zeros((rows, n), dtype=np.uint64), _RATE, bits
                )
            return found, tape.asked

        size = run(b"")[1]
        known = _calm(size, 8)
        base = run(known)[0]
        small = rows * n <= 400
        places = range(size // 8)
        cells = list(enumerate(base.tolist()))
        for place in places if small else _some(places, 30 if every == 1 else 4):
            now = run(_with(known, place, 8, _SMALL))[0]
            changed = np.flatnonzero(now != base).tolist()
            if len(changed) > 1:
                raise Refuted("two rows share a random word")
            cells += [(row, int(now[row])) for row in changed]
            looked += 1
        if len(cells) != len(set(cells)):
            raise Refuted("two candidates share a random word")
        if small and set(cells) != {(row, i) for row in range(rows) for i in range(n)}:
            raise Refuted("a candidate of a row has no random word of its own")
        if not small:
            _last_row(run, known, base, 30 if every == 1 else 6)
    return f"{looked} random words, each with one row of its own"


def _last_row(run: Callable[[bytes], tuple[Any, int]], known: bytes, base: Any, count: int) -> None:
    """On other tapes the last row has other winners, as the first has."""
    winners = [(base[0], base[-1])]
    for number in range(count):
        found = run(_calm(len(known), 8, number))[0]
        winners.append((found[0], found[-1]))
    for end in (0, 1):
        if len({pair[end] for pair in winners}) < 2:
            raise Refuted("a row does not depend on the random words")
    if all(one == other for one, other in winners):
        raise Refuted("two rows have the same winner always")


def check_near_ties(noise: Law, every: int) -> str:
    """Batches whose rows are all near ties: the coarse decision must not decide them.

    The words of two candidates of a row are so close that the noise read off the table, in units of
    2**-32 nat, cannot tell them apart.  The winner is worked out from 64 digits, enclosed to 2**-70
    nat.

    Raises:
        Refuted: the batch has another winner.
    """
    rows, n = (2000 if every == 1 else 300), 3
    public = batch_plan(noise, n, _RATE).ranking
    drawn = np.frombuffer(_calm(rows * 8, 8), dtype=np.uint64)
    words = np.empty((n, rows), dtype=np.uint64)
    words[0] = drawn
    # The second is 2**-57 to 2**-33 nat away, to either side; the third is far behind.
    apart = np.left_shift(np.uint64(1), (np.arange(rows) % 24 + 7).astype(np.uint64))
    words[1] = np.where(np.arange(rows) % 2 == 0, drawn + apart, drawn - apart)
    words[2] = np.uint64(0xF << 60)
    scores = np.full((n, rows), 50, dtype=np.uint64)
    scores[2] = 0
    more = np.zeros((batch_plan(noise, n, _RATE).capacity, n), dtype=np.uint64)
    with Bits(Tape(b"", b"near ties")) as bits:
        found = combine_rows(scores, words.copy(), more, public, bits).tolist()
    for row in range(rows):
        ends = [enclose(noise, int(words[i, row]), 64, 70) for i in (0, 1)]
        for i, other in ((0, 1), (1, 0)):
            if ends[i][0] > ends[other][1] and found[row] != i:
                raise Refuted("the coarse decision differs from the exact one")
    return f"{rows} near ties are decided as their digits say"


def check_rounds(every: int) -> str:
    """Rounds of peeling: a small word changes the winner of one round, and of none before it.

    Raises:
        Refuted: a round has no words of its own, or its words decide an earlier one.
    """
    n, k = (12, 5) if every == 1 else (6, 3)

    def run(known: bytes) -> tuple[tuple[int, ...], int]:
        tape = Tape(known)
        with Bits(tape) as bits:
            scores = np.zeros(n, dtype=np.uint64)
            ranking = peeled_top_k("exponential", scores, k, _RATE, bits)
        return ranking.indices, tape.asked

    known = _calm(run(b"")[1], 8)
    base = run(known)[0]
    heads: dict[int, set[int]] = {}
    for place in range(len(known) // 8):
        now = run(_with(known, place, 8, _SMALL))[0]
        changed = [i for i in range(k) if now[i] != base[i]]
        if changed:
            heads.setdefault(changed[0], set()).add(now[changed[0]])
    # In round j all n - j that are left may win, the one that wins anyway apart.
    if [len(heads.get(j, ())) for j in range(k)] != [n - j - 1 for j in range(k)]:
        raise Refuted("rounds share their random words")
    return f"{len(known) // 8} random words of {k} rounds, each of one round"


def _calm(size: int, width: int, number: int = 0) -> bytes:
    """Random bytes in which all words of this many bytes lie in the middle half of their range."""
    kind = np.uint16 if width == 2 else np.uint64
    drawn = shake_256(b"calm %d" % number).digest(size - size % width)
    words: Any = np.right_shift(np.frombuffer(drawn, dtype=kind), kind(1))
    calm: bytes = np.add(words, kind(1 << 8 * width - 2)).tobytes()
    return calm


def _with(known: bytes, place: int, width: int, word: int) -> bytes:
    start = place * width
    return known[:start] + word.to_bytes(width, "little") + known[start + width :]


def _some(places: range, count: int) -> list[int]:
    """The first, the last, those next to powers of two, and others evenly spread."""
    last = len(places) - 1
    powers = [1 << shift for shift in range(last.bit_length())]
    near = [p + d for p in powers for d in (-1, 0)] if count >= 40 else powers[-3:]
    spread = [last * i // count for i in range(count + 1)]
    return [places[i] for i in sorted({0, last, *near, *spread}) if i <= last]
