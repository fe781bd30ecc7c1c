"""Bits: each byte of the source is used once, in order, by one process."""

from __future__ import annotations

import os
from fractions import Fraction
from hashlib import shake_256

import numpy as np

from safeselect.audit.finding import Refuted
from safeselect.audit.forks import in_child
from safeselect.audit.tape import Tape
from safeselect.engine.geometric import discrete_laplace, geometric
from safeselect.errors import SourceError
from safeselect.exact.rate import NoiseRate
from safeselect.randomness import bits as random_bits
from safeselect.randomness.bits import Bits


def check_requests(every: int) -> str:
    """A buffer of any size, and digits taken one by one, are the next bytes of the source.

    Looked at are the sizes around each boundary: of a piece, of the largest request, of several.

    Raises:
        Refuted: bytes are skipped, repeated or left as they were.
    """
    request = random_bits.FILL_REQUEST
    sizes = [1, 7, 64, 4096, 65_537, request - 1, request, request + 1, 2 * request + 3]
    if every == 1:
        sizes += [3 * request - 1, 5 * request + 11]
    stream = bytes(shake_256(b"requests").digest(sum(sizes)))
    tape = Tape(stream)
    place = 0
    with Bits(tape) as bits:
        for size in sizes:
            buffer = bytearray(b"\xa5" * size)
            bits.fill(buffer)
            if bytes(buffer) != stream[place : place + size]:
                raise Refuted("a buffer does not hold the next bytes of the source")
            place += size
    whole = bytes(shake_256(b"digits").digest(4096))
    counts = [1, 7, 8, 3, 64, 65, 127, 512, 13, 1000, 2049, 1, 31, 4000]
    with Bits(Tape(whole)) as bits:
        taken = "".join(f"{bits.take(count):0{count}b}" for count in counts)
    digits = f"{int.from_bytes(whole, 'big'):0{8 * len(whole)}b}"
    if not digits.startswith(taken):
        raise Refuted("digits are skipped or repeated")
    _failure_ends(stream)
    return f"{len(sizes)} buffers and {sum(counts)} digits are the source's next ones"


def _failure_ends(stream: bytes) -> None:
    """Bits of a source that failed, or that were closed, are never given again."""
    with Bits(Tape(stream)) as bits:
        bits.take(5)
    try:
        bits.take(1)
    except SourceError:
        return
    raise Refuted("bits are given after the end of their call")


def check_forked(every: int) -> str:
    """Bits that were begun in a process are refused in its child.

    Raises:
        Refuted: the child was given bits that the parent may be given too.
    """
    if not hasattr(os, "fork"):
        return "this system has no fork"
    with Bits(Tape()) as bits:
        bits.take(3)
        for draw in (lambda: bits.take(8), lambda: bits.fill(bytearray(8))):
            if in_child(draw) != "SourceError":
                raise Refuted("a child is given the bits of its parent")
        bits.take(8)
    return "a child is given no bits of its parent"


def check_variates(every: int) -> str:
    """Arrays of geometric and discrete Laplace noise: no number comes back after a block.

    Raises:
        Refuted: numbers come back, or are made of no random words.
    """
    n = 300_000 if every == 1 else 140_000
    rate = NoiseRate(Fraction(1, 1 << 20))
    for name, draw in (("geometric", geometric), ("Laplace", discrete_laplace)):
        tape = Tape(b"", name.encode())
        with Bits(tape) as bits:
            found = np.asarray(draw(n, rate, bits))
        # Two numbers of rate 2**-20 are equal with probability 2**-21: by chance 20 of 2**25 pairs.
        for lag in (1, 2, 3, 64, 512, 4096, 1 << 15, 1 << 16, 1 << 17, (1 << 17) + 1):
            if np.count_nonzero(found[lag:] == found[:-lag]) > 40:
                raise Refuted("numbers repeat: they share random words")
        if len(set(found[-1000:].tolist())) < 900:
            raise Refuted("the last numbers do not depend on random words")
    return f"{n} numbers of each kind: none repeats"
