"""What is decided from enclosures is what the proved programs decide (proofs/Decide.v)."""

from __future__ import annotations

from collections.abc import Iterator

import proved
import pytest
from proved_tables import compare_inputs, decide_modes, enclosures, read

pytestmark = pytest.mark.claim("C1")

Decision = tuple[tuple[tuple[int, int], ...], int, tuple[int, int, int] | None, int | None, str]


def decisions() -> Iterator[Decision]:
    """Every enclosure of the table, and every answer about it."""
    rows = iter(read("decide")[1])
    for n in (1, 2, 3, 4):
        for ends in enclosures(n):
            _, *answers = next(rows)
            for (k, unit, ceiling), answer in zip(decide_modes(n), answers, strict=True):
                yield ends, k, unit, ceiling, answer


@pytest.mark.slow("all inputs of small width")
def test_the_array_engine_decides_as_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """57 456 decisions: enclosures of up to four numbers, with and without a ceiling and gaps."""
    seen = 0
    for ends, k, unit, ceiling, answer in decisions():
        found = proved.decide(monkeypatch, ends, k, unit, ceiling)
        assert proved.told(found) == answer, (ends, k, unit, ceiling)
        seen += found is not None
    assert seen > 5_000


def logs_of(ends: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
    """Enclosures of logarithms, as wide as the whole enclosure allows, up to two units."""
    return [(place, place + min(2, high - low)) for place, (low, high) in enumerate(ends)]


@pytest.mark.slow("all inputs of small width")
def test_the_array_engine_decides_as_proved_with_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same decisions, a part of each number being the logarithm of a weight."""
    for ends, k, unit, ceiling, answer in decisions():
        found = proved.decide(monkeypatch, ends, k, unit, ceiling, logs_of(ends))
        assert proved.told(found) == answer, (ends, k, unit, ceiling)


def test_floors_alone_decide_as_proved() -> None:
    """Noise known to its floor lies in an enclosure of one unit: the scalar tier's rule."""
    for ends, k, unit, ceiling, answer in decisions():
        if unit is None and ceiling is None and all(high - low == 1 for low, high in ends):
            floors = [low - place for place, (low, _) in enumerate(ends)]
            found = proved.combine_floors(range(len(ends)), floors, k)
            assert proved.told(found) == answer, (ends, k)


def test_sessions_compare_as_proved() -> None:
    wrong = []
    for key, *answers in read("compare")[1]:
        low, high = map(int, key.split(","))
        for (least, cell), answer in zip(compare_inputs(), answers, strict=True):
            found = proved.compare(low, high, least, cell)
            said = "-" if found is None else "b" if found == proved.BELOW else str(found)
            if said != answer:
                wrong.append((low, high, least, cell))
    assert not wrong
