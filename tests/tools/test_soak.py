"""The soak: its evidence is fair, finds what is wrong, and is kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import accumulate
from math import comb, exp, log

import pytest
from checks.releases import Release

import soak
from safeselect import permute_and_flip
from safeselect.testing import DeterministicSource

LAW = {"a": 0.5, "b": 0.3, "c": 0.2}
POINT = {name: (p, p) for name, p in LAW.items()}
BOX = {"a": (0.45, 0.55), "b": (0.25, 0.35), "c": (0.1, 0.3)}
REFUTES = log(soak.ALARM) + log(31)  # of 31 cases


def tables(total: int, cells: int) -> Iterator[tuple[int, ...]]:
    if cells == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in tables(total - first, cells - 1):
            yield first, *rest


def average(box, law, n: int) -> float:
    """The mean of the e-value over all counts of n outcomes of a law."""
    total = 0.0
    for seen in tables(n, len(law)):
        ways = 1
        for place, so_far in zip(seen, accumulate(seen), strict=True):
            ways *= comb(so_far, place)
        chance = ways * exp(sum(c * log(p) for c, p in zip(seen, law, strict=True)))
        total += chance * exp(soak.evidence(dict(zip(box, seen, strict=True)), box))
    return total


@pytest.mark.parametrize("n", [1, 2, 7, 12])
def test_the_bet_gains_nothing_on_average(n):
    """The definition of an e-value, for one law and for laws anywhere in a box."""
    assert average(POINT, LAW.values(), n) == pytest.approx(1)
    for law in ([0.5, 0.3, 0.2], [0.45, 0.25, 0.3], [0.55, 0.35, 0.1], [0.46, 0.34, 0.2]):
        assert average(BOX, law, n) <= 1 + 1e-9
    # And it does gain where the law is another, inside the box of no law.
    assert average(POINT, [0.1, 0.1, 0.8], n) > 1
    assert n < 7 or average(BOX, [0.1, 0.1, 0.8], n) > 1


def test_the_power_that_is_stated():
    """A shift of 0.02 at 1/2: found with 45 000 releases, by counts as they are on average."""
    shifted = {"a": 0.52, "b": 0.29, "c": 0.19}

    def nats(n, law):
        return soak.evidence({name: round(n * p) for name, p in law.items()}, POINT)

    assert nats(20_000, shifted) < REFUTES < nats(45_000, shifted)
    assert nats(45_000, LAW) < 0


def released(epsilon: str, source) -> Release:
    """Permute-and-flip whose documentation claims epsilon 1."""
    claimed = next(r for r in soak.releases() if r.name == "permute_and_flip, monotonic")
    call = partial(
        permute_and_flip, [3, 1, 0], epsilon=epsilon, sensitivity=1, monotonic=True, source=source
    )
    return Release("permute_and_flip", lambda n: [(call().index,) for _ in range(n)], claimed.law)


@pytest.mark.parametrize(("epsilon", "broken"), [("1", False), ("2", True), ("0.7", True)])
def test_a_broken_mechanism_is_found_and_a_right_one_is_not(epsilon, broken):
    """Twice the rate, and 0.7 times it, within 3 000 releases; the bytes are those of a seed."""
    tape = DeterministicSource(b"soak", i_understand_this_is_not_private=True)
    run = soak.Soak([released(epsilon, tape)], {})
    for _ in range(6):
        run.step(0)
    assert bool(run.refuted()) == broken


def test_evidence_adds_up_over_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(soak, "BATCH", 5)
    state, plain = tmp_path / "deep" / "soak.json", released("1", None)
    monkeypatch.setattr(soak, "cases", lambda: [plain])
    totals = []
    for code in ("one", "one", "two", "one"):
        monkeypatch.setattr(soak, "library", lambda code=code: {"source_tree_sha256": code})
        assert soak.main(["--minutes", "0", "--state", str(state)]) == 0
        kept = json.loads(state.read_text())["counts"]
        totals.append({code: sum(sum(c.values()) for c in kept[code].values()) for code in kept})
    assert "releases" in capsys.readouterr().out
    assert [total["one"] for total in totals] == [5, 10, 10, 15]
    assert totals[2]["two"] == totals[3]["two"] == 5
    # A law that is claimed anew starts with nothing.
    other = Release(plain.name, plain.call, lambda: dict.fromkeys(plain.law(), (Fraction(0),) * 2))
    known = json.loads(state.read_text())["counts"]["one"]
    assert soak.Soak([plain], known).counts[0].total() == totals[3]["one"]
    assert soak.Soak([other], known).counts[0].total() == 0
