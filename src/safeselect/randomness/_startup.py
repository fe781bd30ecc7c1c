"""Tests that a source must pass before its bytes are used in a process.

They find wiring errors (a device that answers zeros, a callback that replays one answer), and they
do not measure entropy: a generator with a known seed passes all of them.  The bytes tested are
discarded.  Bytes that feed a sampler are never looked at, because rejecting some of them would
change the law of every output whose bytes were rejected.

Sample: 4 blocks of 1024 bytes.  False alarms, for a perfect source, at most:
    repeated block        6 * 2**-8192
    repetition count      2**-52      (4096 places, 9 equal bytes in a row: 2**-64 each)
    adaptive proportion   2**-37      (8 windows of 512 bytes, 2**-40 each)
    monobit               2**-40      (|ones - 16384| <= 646 of 32768 bits)
"""

from __future__ import annotations

from collections.abc import Callable

from safeselect.randomness._buffers import wipe

__all__ = ["startup_problem"]

_BLOCK = 1024
_BLOCKS = 4
_REPETITION_CUTOFF = 9
_WINDOW = 512
_PROPORTION_CUTOFF = 19
_MONOBIT_LIMIT = 646


def startup_problem(draw: Callable[[int], bytes]) -> str | None:
    """Draw a sample, test it, discard it; return the name of the first test failed, or None."""
    sample = bytearray()
    try:
        for _ in range(_BLOCKS):
            sample += draw(_BLOCK)
        if len(sample) != _BLOCK * _BLOCKS:
            return "length"
        for name, test in _TESTS:
            if not test(sample):
                return name
        return None
    finally:
        wipe(sample)


def _blocks_differ(sample: bytearray) -> bool:
    blocks = {bytes(sample[i : i + _BLOCK]) for i in range(0, len(sample), _BLOCK)}
    return len(blocks) == _BLOCKS


def _no_long_run(sample: bytearray) -> bool:
    """No byte value stands _REPETITION_CUTOFF times in a row: SP 800-90B's repetition count."""
    run, last = 0, -1
    for value in sample:
        run, last = (run + 1 if value == last else 1), value
        if run >= _REPETITION_CUTOFF:
            return False
    return True


def _no_frequent_value(sample: bytearray) -> bool:
    """The first value of a window does not come back too often: adaptive proportion, SP 800-90B."""
    for start in range(0, len(sample), _WINDOW):
        later = sample[start + 1 : start + _WINDOW]
        if later.count(sample[start]) >= _PROPORTION_CUTOFF:
            return False
    return True


def _ones_balanced(sample: bytearray) -> bool:
    ones = int.from_bytes(sample, "big").bit_count()
    return abs(ones - 4 * len(sample)) <= _MONOBIT_LIMIT


_TESTS: tuple[tuple[str, Callable[[bytearray], bool]], ...] = (
    ("repeated block", _blocks_differ),
    ("repetition count", _no_long_run),
    ("adaptive proportion", _no_frequent_value),
    ("monobit", _ones_balanced),
)
