"""Confirm known answers of one-shot rankings from the definitions alone: imports no safeselect.

Candidate i has Y = rate * score + Q(V) nats, V the uniform number whose binary digits are the
bytes: Q = -ln V (exponential), -ln(-ln(1 - V)) (gumbel), -ln 2V or ln 2(1 - V) (laplace).  The
digits that were drawn enclose V, and so Y.  An answer is "confirmed" if every value of the digits
not drawn gives it, "possible" if some does, and else "WRONG".

Which candidate takes which bytes is written in docs/mathematics.md, section 10, "Bytes".  Inputs
and tapes are made here once more, from what the rows say.

    python tests/support/confirm.py [SET ...]
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from hashlib import shake_256
from math import comb, isqrt
from pathlib import Path
from typing import Any

import numpy as np
from mpmath.ctx_mp import MPContext

mp = MPContext()  # of its own: others set the precision of mpmath's
mp.prec = 300
exp, floor, log, mpf = mp.exp, mp.floor, mp.log, mp.mpf
PLACE = Path(__file__).parents[2] / "src" / "safeselect" / "known_answers"
LAWS = {
    "permute_and_flip": "exponential",
    "exponential_mechanism": "gumbel",
    "exponential_mechanism_base2": "gumbel",
    "permute_and_flip_with_gap": "exponential",
    "exponential_mechanism_with_gap": "gumbel",
    "exponential": "gumbel",
    "exponential_base2": "gumbel",
    "one_shot_exponential": "exponential",
    "top_k": "exponential",
}
"""The noise of a call, or of what `mechanism` says."""

WORDS = {"epsilon", "sensitivity", "monotonic", "mechanism", "noise", "k", "gap_grid"}
"""The arguments that are understood here; rows with others are confirmed by nothing."""

LOWEST, STEEP = {"exponential": 0, "laplace": -672, "gumbel": -160}, {"laplace": 34, "gumbel": 5}
ERROR, LOSS, WINDOW = (1 << 17) + 16, 1 << 11, 2320
Verdicts = Counter[str]


# ---------------------------------------------------------------- rows, tapes and inputs once more
def tape(row: str, kind: str, size: int) -> bytes:
    data = bytearray(shake_256(f"{row}/{kind}".encode()).digest(size + 4096 - size % 8))
    words = np.frombuffer(data, "<u8")
    if kind == "ties":
        tied = words % 4 != 3
        words[tied] = words[:4].copy()[words[tied] // 256 % 4]
    elif kind == "tails":
        short = np.frombuffer(data, "<u2")
        short[short % 20 == 7] &= 31
    elif kind in ("zeros", "ones"):
        data[:256] = (b"\0" if kind == "zeros" else b"\xff") * 256
    elif kind.startswith("near"):
        words[:64] >>= 1
        words[64:128] = words[:64] + np.uint64(1 << int(kind[5:]))
        words[128:192] = 2**63 - 1
    return bytes(data)


def numbers(given: Any) -> Any:
    """The scores of a row, if they are integers."""
    if isinstance(given, list):
        return np.array(given)
    ((form, args),) = given.items()
    if form != "$drawn":
        return None
    found = np.random.RandomState(7).randint(args[1], args[2], args[0])
    if len(args) > 3:
        found[slice(*args[3])] = args[4]
    return found


# ---------------------------------------------------------------------------------------- the laws
def quantile(law: str, v: mpf) -> mpf:
    """Q(V); it falls."""
    if v <= 0:
        return mpf("inf")
    if v >= 1:
        return mpf(0) if law == "exponential" else mpf("-inf")
    if law == "exponential":
        return -log(v)
    if law == "gumbel":
        return -log(-mp.log1p(-v))
    return -log(2 * v) if 2 * v < 1 else log(2 * (1 - v))


def survival(law: str, x: mpf) -> mpf:
    """P(noise > x)."""
    if law == "gumbel":
        return -mp.expm1(-exp(-x))
    if law == "laplace":
        return exp(-x) / 2 if x >= 0 else 1 - exp(x) / 2
    return exp(-x)


def about(law: str, v: Any) -> Any:
    """Q of many V in floats."""
    with np.errstate(divide="ignore"):
        if law == "exponential":
            return -np.log(v)
        if law == "gumbel":
            return -np.log(-np.log1p(-v))
        return np.where(v < 0.5, -np.log(2 * v), np.log(2 * np.maximum(1 - v, 1e-300)))


# ------------------------------------------------------------------ who takes which bytes: the keys
@cache
def node(law: str, side: int, zeros: int, point: int) -> int:
    """The noise at U = 2**-(zeros + 1) * (1 + point / 64), or at 1 - U, in units of 2**-32 nat."""
    u = mpf(64 + point) / mpf(2) ** (zeros + 7)
    return int(floor(quantile(law, 1 - u if side else u) * 2**32))


@cache
def line(law: str, word: int) -> int:
    """The noise at the least V that begins with these 16 digits, read off a straight line."""
    side, v = word >> 15, word << 48
    v = v ^ (2**64 - 1) if side else v
    zeros = 64 - v.bit_length()
    rest = v << zeros + 1 & 2**64 - 1
    point, place = rest >> 58, (rest << 6 & 2**64 - 1) >> 32
    here, after = node(law, side, zeros, point), node(law, side, zeros, point + 1)
    return here + ((after - here) * place >> 32)


@cache
def thresholds(law: str) -> list[int]:
    """The least digits, of 74 without 11 leading zeros, whose noise is below 52, 51 63/64, ..."""
    steps = range(3328, LOWEST[law] - 1, -1)
    found = (-int(floor(-survival(law, mpf(u) / 64) * mpf(2) ** 74)) for u in steps)
    return [min(each, 1 << 63) for each in found]


def key(law: str, rate: mpf, steps: int, word: int, extra: int) -> int:
    """A candidate's key, `steps` above a common level; 0 where its noise has no bound."""
    if word >= 32:
        noise = line(law, word) + ERROR - (LOWEST[law] << 26)
    else:
        digits = word << 58 | extra >> 6
        above = int(np.searchsorted(thresholds(law), digits, side="right"))
        noise = len(thresholds(law)) - above << 26
    power = int(floor(mp.log(rate, 2))) + 1
    unit = mpf(2) ** (power + 9 - 32) / rate  # of the noise, in units of a key
    back = 25 - int(floor(mp.log(unit, 2)))
    factor = int(floor(unit * mpf(2) ** back)) + 1
    return (steps << power + 9) + (noise * factor >> back) + 2


def excess(ranked: int, words: int, rarity: int) -> int:
    """The least m with comb(ranked + m - 1, m) * (words / 2**16)**m <= 2**-rarity."""
    m = 1
    while comb(ranked + m - 1, m) * words**m > (1 << 16 * m) >> rarity:
        m += 1
    return m


def largest(values: list[int], m: int) -> list[int]:
    """Places of the m largest: up to 32 descending, equal ones as they come; more by place."""
    found = sorted(range(len(values)), key=lambda place: (-values[place], place))[:m]
    return found if m <= 32 else sorted(found)


def best(values: list[int], m: int) -> list[int]:
    """The same; more than 4096 values are looked for in groups of 32 first."""
    columns = len(values) // 32
    if len(values) <= 4096 or columns * 32 != len(values) or columns < 4 * m:
        return largest(values, m)
    most = [max(values[column::columns]) for column in range(columns)]
    members = [i for column in best(most, m) for i in range(column, len(values), columns)]
    return [members[place] for place in largest([values[i] for i in members], m)]


def in_order(first: list[int], keys: dict[int, int], tails: list[int], count: int) -> list[int]:
    """The contenders in the order in which slots are given to them.

    Args:
        first: the key of each candidate; where its word is a tail word, what its score is worth.
        keys: the final keys of those that were not removed.
        tails: the candidates with tail words.
    """
    n, members = len(first), list(range(len(first)))
    if n >= 128 * (count + 1):
        block = min(1 << 15, 1 << max(n // 3, 4096).bit_length() - 1)
        width, blocks = block // 32, -(-n // block)
        most = [
            max(first[start + column : start + block : width], default=0)
            for start in range(0, blocks * block, block)
            for column in range(width)
        ]
        groups = best(most, count + 1)
        starts = [g // width * block + g % width for g in groups]
        members = [i for start in starts for i in range(start, start + block, width) if i < n]
    some = set(tails)
    values = [0 if i in some else keys.get(i, 0) for i in members]
    values += [keys.get(i, 0) for i in tails]
    every = members + tails
    return [every[place] for place in largest(values, count)]


# --------------------------------------------------------------------------------------- a ranking
@dataclass(frozen=True)
class Ranking:
    """One ranking of a row: its public numbers, and where its bytes begin."""

    law: str
    rate: mpf
    scores: Any
    k: int
    gaps: Fraction | None
    data: bytes
    removed: tuple[int, ...] = ()

    @property
    def ranked(self) -> int:
        return self.k + (self.gaps is not None)

    @property
    def slot(self) -> int:
        """Words of 64 bits in a slot."""
        return 2 if self.gaps is not None or self.k > 256 else 1

    @property
    def contenders(self) -> int:
        if self.ranked > 1000:
            return self.ranked + self.ranked // 2 + self.ranked // 64 + 16
        steep = excess(self.ranked, STEEP.get(self.law, 0), 42)
        return self.ranked + excess(self.ranked, WINDOW, 42) + steep - 2

    @property
    def layout(self) -> tuple[int, int, int]:
        """How many words of 64 bits the slots, the tails and the candidates take."""
        n, present = len(self.scores), len(self.scores) - len(self.removed)
        if present <= max(self.contenders, 24):
            return present * self.slot, 0, 0
        if n <= 4096:
            return (self.ranked + excess(self.ranked, 5, 41) + 1) * (self.slot - 1), 0, n
        mean = -(-n // 2048)
        return self.contenders * self.slot, mean + 8 * (isqrt(mean) + 1) + 40, -(-n // 4)

    def known(self) -> dict[int, tuple[int, int]]:
        """The digits of V that the ordinary call draws, and how many, by candidate."""
        slots, tails, words = self.layout
        lanes = np.frombuffer(self.data, "<u8", slots + tails + words).tolist()
        present = [i for i in range(len(self.scores)) if i not in self.removed]
        if not words:
            groups = [lanes[at : at + self.slot] for at in range(0, slots, self.slot)]
            found = (sum(w << 64 * j for j, w in enumerate(group)) for group in groups)
            return {i: (v, 64 * self.slot) for i, v in zip(present, found, strict=True)}
        if not tails:  # the slots follow the words; without them the answer may only be possible
            return {i: (lanes[i], 64) for i in present}
        return self._coarse(lanes, present, slots, tails)

    def _coarse(
        self, lanes: list[int], present: list[int], slots: int, room: int
    ) -> dict[int, tuple[int, int]]:
        n = len(self.scores)
        words = np.frombuffer(self.data, "<u2", n, 8 * (slots + room)).tolist()
        tails = [i for i, w in enumerate(words) if w < 32]
        extra = dict(zip(tails, lanes[slots : slots + room], strict=False))
        found = {i: (w, 16) for i, w in enumerate(words)}
        found |= {i: (words[i] << 64 | e, 80) for i, e in extra.items()}
        if len(tails) > room:  # those without room are decided by further digits
            return {i: found[i] for i in present}
        base = int(min(self.scores))
        keys = {
            i: key(self.law, self.rate, int(self.scores[i]) - base, words[i], extra.get(i, 0))
            for i in present
        }
        power = int(floor(mp.log(self.rate, 2))) + 10
        first = [keys.get(i, 0) for i in range(n)]
        for i in tails:
            first[i] = int(self.scores[i]) - base << power if i in keys else 0
        for place, i in enumerate(in_order(first, keys, tails, self.contenders)):
            at, bits = place * self.slot, 64 * self.slot
            slot = sum(lane << 64 * j for j, lane in enumerate(lanes[at : at + self.slot]))
            v, size = found[i]
            more = size - 16  # so many digits fewer of the slot
            found[i] = (v << bits - more | slot >> more, 16 + bits)
        return {i: found[i] for i in present}


def judged(
    of: Ranking, known: dict[int, tuple[int, int]], answer: list[int], gaps: list[str] | None
) -> str:
    """What the enclosures of Y say of who is first, second, ..., and of the gaps between them."""
    places = list(known)
    low = np.array([known[i][0] / 2 ** known[i][1] for i in places])
    high = np.array([(known[i][0] + 1) / 2 ** known[i][1] for i in places])
    part = float(of.rate) * np.asarray(of.scores, float)[places]
    # Nearly all cannot be among the first, as floats show; the others are enclosed.
    least = np.sort(part + about(of.law, np.minimum(high, 1 - 1e-16)))[::-1]
    cut = least[min(of.ranked, len(places)) - 1] - 1e-6
    upper = part + about(of.law, np.maximum(low, 1e-300))
    near = {i for i, most in zip(places, upper.tolist(), strict=True) if most >= cut}
    near |= set(answer) & set(places)
    ends = {}
    for i in near:
        (v, bits), score = known[i], of.rate * int(of.scores[i])
        ends[i] = [score + quantile(of.law, mpf(v + d) / mpf(2) ** bits) for d in (1, 0)]
    sure, rest = True, set(near)
    for i in answer:
        rest.discard(i)
        if ends[i][1] < max((ends[j][0] for j in rest), default=mpf("-inf")):
            return "WRONG"
        sure &= ends[i][0] >= max((ends[j][1] for j in rest), default=mpf("-inf"))
    if not sure:
        return "possible"
    order = [*answer, *sorted(rest, key=lambda j: -ends[j][0])]
    for gap, i, j in zip(gaps or [], order, order[1:], strict=False):
        unit = of.rate * of.gaps.numerator / of.gaps.denominator  # type: ignore[union-attr]
        floors = {int(floor((ends[i][a] - ends[j][1 - a]) / unit)) for a in (0, 1)}
        if Fraction(gap) / of.gaps not in range(min(floors), max(floors) + 1):  # type: ignore[operator]
            return "WRONG"
        sure &= len(floors) == 1
    return "confirmed" if sure else "possible"


# -------------------------------------------------------------------------------------------- rows
def rankings(name: str, row: dict[str, Any], kind: str) -> Iterator[str]:
    """The verdict about each ranking of a row on one tape."""
    (call, args, words), told = row["do"][0], row["told"][kind]
    scores = numbers(args[0])
    law = words.get("noise") or LAWS[words.get("mechanism", call)]
    total, k = Fraction(words["epsilon"]), words.get("k", 1)
    rows = len(scores) if call == "select_many" else 1
    nats = total / (k * rows * (1 if words.get("monotonic") else 2))
    rate = mpf(nats.numerator) / nats.denominator
    if "base2" in call + words.get("mechanism", ""):
        rate = -log(mp.ceil(exp(-rate) * 2**64) / mpf(2) ** 64)
    gaps = Fraction(words.get("gap_grid", 1)) if "gap" in call else None
    data = tape(name, kind, told[1])
    if call == "select_many":
        yield from batch(law, rate, scores, told[0][0]["winners"], data)
        return
    made, at = [], 0
    for value in told[0]:
        if isinstance(value, str):
            return
        answer = value.get("indices") or [value["index"]]
        found = value.get("gaps") or ([value["gap"]] if "gap" in value else None)
        rounds = [(answer, ())]
        if words.get("mechanism") == "permute_and_flip":
            rounds = [([place], tuple(answer[:turn])) for turn, place in enumerate(answer)]
        for here, gone in rounds:
            one = Ranking(law, rate, scores, len(here), gaps, data[at:], gone)
            made.append((one, here, found))
            at += 8 * sum(one.layout)
    # Where one was refined, the bytes of the next begin at no public place.
    for one, here, found in made if at == told[1] else made[:1]:
        yield judged(one, one.known(), here, found)


def batch(law: str, rate: mpf, scores: Any, winners: list[int], data: bytes) -> Iterator[str]:
    """The verdict about each row of a batch that 64 digits of each candidate decide."""
    (m, n), at = scores.shape, 0
    per, clear = max(1, (1 << 15) // n), 2 * ERROR + LOSS
    chance, capacity = clear + clear // 100 + 1 + 2 * n, 0
    while comb(per, capacity + 1) * chance ** (capacity + 1) > (1 << 32 * (capacity + 1)) >> 41:
        capacity += 1
    for start in range(0, m, per):
        count = min(per, m - start)
        words = np.frombuffer(data, "<u8", n * count, at).reshape(n, count)
        for r in range(count):
            one = Ranking(law, rate, scores[start + r], 1, None, b"")
            known = {i: (int(words[i, r]), 64) for i in range(n)}
            yield judged(one, known, [int(winners[start + r])], None)
        at += 8 * (n * count + min(capacity, per, count) * min(4, n))


def confirmed(which: str, only: str = "", step: int = 1) -> Iterator[tuple[str, Verdicts]]:
    """Every so many rows of a set, of those that are rankings: how often there is which verdict."""
    for name, row in list(json.loads((PLACE / f"{which}.json").read_text()).items())[::step]:
        (call, *rest), *more = row["do"]
        args, words = rest[0] if rest else [], rest[1] if len(rest) > 1 else {}
        ranking = call in LAWS or call in ("report_noisy_max", "report_noisy_max_with_gap")
        ranking |= call in ("top_k", "top_k_with_gaps", "select_many")
        ranking &= "vary" not in row
        if more or not ranking or not words.keys() <= WORDS or numbers_of(args) is None:
            continue
        if call == "select_many" and "k" in words:
            continue  # several of each row are peeled; only batches of one winner are confirmed
        if name.endswith(only):
            yield name, Counter(v for kind in row["told"] for v in rankings(name, row, kind))


def numbers_of(args: list[Any]) -> Any:
    """The scores, where they are integers in a list or an array."""
    if isinstance(args[0], dict) and next(iter(args[0]))[0] != "$":
        return None
    return numbers(args[0])


if __name__ == "__main__":
    for each in sys.argv[1:] or ["small", "large"]:
        for row_, verdicts in confirmed(each):
            print(each, row_, dict(verdicts), flush=True)
