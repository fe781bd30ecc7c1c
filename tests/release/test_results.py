"""The six shapes: what each refuses, what it says, and how its columns look."""

from __future__ import annotations

import copy
import hashlib
import pickle
import re
import shutil
from dataclasses import FrozenInstanceError, fields
from fractions import Fraction
from functools import partial
from math import erf, exp
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from written import EVERY

import safeselect
from safeselect import InputError
from safeselect.release.results import (
    BESIDE,
    SHAPES,
    Answers,
    Batch,
    Groups,
    Noise,
    Numbers,
    Provenance,
    Receipt,
    Release,
    Selection,
    TopK,
    code,
    source_hash,
)
from shapes import COUNTED, RELEASES, SAID, said

A = Fraction(1, 2)
ROOT = Path(safeselect.__file__).parent
ROW = np.array([0, 1, 0])
nine = partial(Answers, **SAID, consumed=9)
IMPOSSIBLE = {
    "law": lambda: Selection(**SAID | {"mechanism": "Law"}, label="a"),
    "draws": lambda: Selection(**SAID | {"parts": ()}, label="a"),
    "gap": lambda: Selection(**SAID, label="a", gap=-A),
    "positions": lambda: TopK(**SAID, labels=("a", "b"), indices=(1,)),
    "one position twice": lambda: TopK(**SAID, labels=("a", "b"), indices=(1, 1)),
    "gaps": lambda: TopK(**SAID, labels=("a", "b"), gaps=(A,)),
    "counts": lambda: TopK(**COUNTED, labels=("a", "b"), counts=(1,)),
    "none competed": lambda: TopK(**SAID, labels=(), k_bar=0),
    "an order that tells of noise": lambda: TopK(**SAID, labels=("b", "a"), ordered=False),
    "positions that tell": lambda: TopK(**SAID, labels=("a", "b"), indices=(2, 1), ordered=False),
    "gaps without an order": lambda: TopK(**SAID, labels=("a",), gaps=(A,), ordered=False),
    "no group": lambda: Groups(**SAID, groups=(), labels=()),
    "a group twice": lambda: Groups(**SAID, groups=("x", "x"), labels=((), ())),
    "counts of a group": lambda: Groups(**COUNTED, groups=("x",), labels=(("a",),), counts=((),)),
    "group counts without noise": lambda: Groups(
        **SAID, groups=("x",), labels=(("a",),), counts=((1,),)
    ),
    "winners": lambda: Batch(**SAID, winners=ROW - 1),
    "no winners": lambda: Batch(**SAID, winners=ROW[:0]),
    "winners of another type": lambda: Batch(**SAID, winners=ROW.astype(np.int32)),
    "shapes": lambda: Batch(**SAID, winners=ROW, indices=ROW[:2]),
    "names in another order": lambda: Batch(**SAID, winners=1 - ROW, names=("a", "b")),
    "labels of numbers": lambda: Numbers(**SAID, values=(1,), labels=()),
    "answers behind the last": lambda: nine(indices=(9,), gaps=(A,), costs=(A,)),
    "answers out of order": lambda: nine(indices=(3, 2), gaps=(A, A), costs=(A, A)),
    "costs": lambda: nine(indices=(3,), gaps=(A,)),
    "branches": lambda: nine(indices=(3, 4), gaps=(A, A), costs=(A, A), branches=("top",)),
    "measurements that are no integers": lambda: Numbers(**COUNTED, values=(1, True)),
    "k": lambda: said({"k": "-1"}),
    "record": lambda: Receipt("ab" * 16, 2**63, bytes(32)),
    "ledger": lambda: Receipt("x", 3, bytes(32)),
    "deciding code": lambda: Provenance("u", "n", (), "1", "x", "0" * 64),
    "time": lambda: Provenance("u", "n", (), "1", "0" * 64, "0" * 64, "noon"),
    "range": lambda: said({"effective_range": "0"}),
    "noise rate": lambda: said({"noise_rate": "-1"}),
    "noise": lambda: said(Noise("x", A, 3, 2).as_parameters()),
    "a half of noise": lambda: said(Noise("x", A, 3, 2).as_parameters() | {"noise_low_95": "1/2"}),
}


def test_what_no_release_can_have_is_refused() -> None:
    for name, made in IMPOSSIBLE.items():
        with pytest.raises(InputError, match="this release has an invalid value: "):
            pytest.fail(f"made: {name}, {made()}")


def test_every_shape_has_an_example_here_and_is_frozen() -> None:
    assert {type(each) for each in RELEASES.values()} == {*SHAPES}
    for each in RELEASES.values():
        with pytest.raises(FrozenInstanceError, match="source"):
            each.source = "another"  # type: ignore[misc]
        assert {*[one.name for one in fields(Release)]} <= {one.name for one in fields(each)}


def test_copies_of_winners_are_read_only_too() -> None:
    for name in ("rows", "k of rows"):
        for each in (copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))):  # noqa: S301 - our own
            again = each(RELEASES[name])
            assert again.to_json() == RELEASES[name].to_json()
            assert not any(
                it.flags.writeable for it in (again.winners, again.indices) if it is not None
            )


def test_columns() -> None:
    expected = {
        "a": {"rank": [1], "label": ["a"], "index": [3], "gap": [0.5]},
        "pair": {"rank": [1], "label": [("a", 1)]},
        "ordered": {"rank": [1, 2], "label": ["b", "a"], "index": [4, 1], "gap": [0.5, 1.0]},
        "counted": {"label": ["a", "b"], "count": [9, 1], "low": [5, 0], "high": [12, 4]},
        "groups": {
            "group": ["x", "x"],
            "rank": [1, 2],
            "label": ["b", "a"],
            "count": [7, 2],
            "low": [3, 0],
            "high": [10, 5],
        },
        "rows": {"row": [0, 1, 2], "rank": [1, 1, 1], "label": ["u", "v", "u"]},
        "k of rows": {
            "row": [0, 0, 1, 1],
            "rank": [1, 2, 1, 2],
            "label": [0, 2, 2, 1],
            "index": [0, 2, 2, 1],
        },
        "measured": {"label": ["u", "v"], "value": [-1, 5], "low": [-5, 1], "high": [2, 8]},
        "quantiles": {"label": [A], "value": [3]},
        "answers": {
            "index": [0, 2],
            "gap": [0.5, 1.0],
            "branch": ["top", "middle"],
            "cost": [0.25, 0.25],
        },
    }
    found = {name: each.to_dict() for name, each in RELEASES.items() if name in expected}
    assert {name: {k: [*v] for k, v in each.items()} for name, each in found.items()} == expected


def test_what_was_fixed_before_is_read_from_the_parameters() -> None:
    parameters = {"effective_range": "2", "noise_rate": "1/4", "factor": "1/2", "k": "3"}
    chosen = Selection(**SAID | {"provenance": said(parameters)}, label="a")
    assert (chosen.effective_range, chosen.noise_rate, chosen.base) == (2, Fraction(1, 4), A)
    assert (RELEASES["pair"].effective_range, RELEASES["pair"].noise_rate) == (None, None)
    above = said({"k": "3", "threshold": "5"})
    spent = [
        TopK(**SAID | {"provenance": above}, labels=(*"abc"[:found],)).spent for found in range(4)
    ]
    assert spent == [Fraction(1, 3), Fraction(2, 3), 1, 1]
    assert TopK(**SAID | {"provenance": said({"k": "3"})}, labels=()).spent is None


def test_completion_shows_nothing_that_no_release_of_its_shape_has() -> None:
    ledger = safeselect.Ledger.create(
        ":memory:", {"a": safeselect.Budget("person", "add_remove", epsilon=9, delta="1e-6")}
    )
    scope = ledger.scope("a", unit="person", neighbours="add_remove", purpose="to complete")
    one = {"epsilon": "1/9", "sensitivity": 1, "ledger": scope}
    made: list[Release] = [call() for call in EVERY.values()]
    made.append(safeselect.select_many([[1, 2]], mechanism="exponential_base2", **one))
    made.append(EVERY["a strategy"](ledger=scope))
    with safeselect.AdaptiveSparseVector(threshold=5, k=2, **one) as session:
        made.append(session.query_many([10**6, 0]))
    of_ledgers = {"receipt", "spent"}  # a ledger adds these, to every shape
    for shape in SHAPES:
        own = [each for each in made if type(each) is shape]
        shown = {name for name in dir(shape) if name[0] != "_"} - of_ledgers
        never = {n for n in shown if all(str(getattr(e, n)) in ("None", "()") for e in own)}
        assert not never, shape


def test_results_are_containers_of_what_was_drawn() -> None:
    best = RELEASES["ordered"]
    assert (len(best), [*best], best[0], best[-1]) == (2, ["b", "a"], "b", "a")
    groups = RELEASES["groups"]
    assert (len(groups), [*groups], groups["x"], groups["y"]) == (2, ["x", "y"], ("b", "a"), ())
    rows = RELEASES["k of rows"]
    assert (len(rows), [*rows], rows[1]) == (2, [[0, 2], [2, 1]], [2, 1])
    numbers = RELEASES["measured"]
    assert (len(numbers), [*numbers], numbers[1], numbers.value) == (2, [-1, 5], 5, -1)
    assert len(RELEASES["answers"]) == 2
    with pytest.raises(ValueError, match="read-only"):
        rows.winners[0, 0] = 1


def _tree(root: Path) -> dict[str, Path]:
    """The package's files, by their place in it."""
    return {str(path.relative_to(root)): path for path in sorted(root.rglob("*.py"))}


def _room(name: str) -> str:
    return name.removesuffix(".py").split("/")[0]


def test_the_hash_of_a_tree_covers_names_lengths_and_bytes(tmp_path: Path) -> None:
    digest = hashlib.sha256(b"safeselect/source-tree/1\0")
    for name, path in _tree(ROOT).items():
        digest.update(f"{len(name)} {path.stat().st_size}\0{name}".encode() + path.read_bytes())
    assert code().source_tree_sha256 == digest.hexdigest() == source_hash(ROOT)
    assert code().deciding_sha256 == source_hash(ROOT, beside=BESIDE) != source_hash(ROOT)
    (tmp_path / "a.py").mkdir()
    assert source_hash(tmp_path) == "unreadable"


def test_what_decides_a_release_moves_the_hash_that_a_reviewer_signs(tmp_path: Path) -> None:
    """Each file of a copy is edited: the whole moves, and its room says whether the other does."""
    copy = tmp_path / "safeselect"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("__pycache__"))
    whole, deciding = source_hash(copy), source_hash(copy, beside=BESIDE)
    for name, path in _tree(copy).items():
        text = path.read_bytes()
        path.write_bytes(text + b"#\n")
        moved = source_hash(copy) != whole, source_hash(copy, beside=BESIDE) != deciding
        assert moved == (True, _room(name) not in BESIDE), name
        path.write_bytes(text)


def test_nothing_that_decides_imports_what_is_beside_it() -> None:
    """Whatever runs in a release, also what is imported inside a function, is in the first hash."""
    imported = re.compile(r"^ *(?:from|import) safeselect(?:\.| import )(\w+)", re.MULTILINE)
    for name, path in _tree(ROOT).items():
        found = {*imported.findall(path.read_text("utf-8"))} & {*BESIDE}
        assert not found or _room(name) in BESIDE, (name, found)


@pytest.mark.parametrize(("most", "epsilon"), [(1, 1), (3, "1/2")])
def test_counts_of_keys_say_how_noisy_they_are(most: int, epsilon: Any) -> None:
    """Against the chances that a strategy states, in floats: the noise is a threshold's."""
    terms: Any = {"epsilon": epsilon, "delta": "1e-6", "max_partitions": most, "with_counts": True}
    noise = safeselect.select_partitions({"a": 900, "b": 800}, **terms).noise
    assert noise is not None
    keeps = safeselect.partition_strategy(**terms).probability_of_keep
    upto = next(n for n in range(10**4) if keeps(n) == 1)
    law = {n: float(keeps(n) - keeps(n - 1)) for n in range(1, upto + 1)}
    mean = sum(n * chance for n, chance in law.items())
    deviation = sum(chance * (n - mean) ** 2 for n, chance in law.items()) ** 0.5
    assert deviation <= float(noise.deviation) < deviation + 0.0011
    noises = {round(float(noise.mean) + mean - n): chance for n, chance in law.items()}
    low, high = noise.low_95, noise.high_95
    inside = sum(chance for each, chance in noises.items() if low <= each <= high)
    assert 0.95 <= inside < 0.95 + noises[low] + noises[high]


@pytest.mark.parametrize("squared", ["1/9", "1", "30", "1000"])
@pytest.mark.parametrize("cost", ["epsilon", "rho", "mu"])
def test_measurements_say_how_noisy_they_are(cost: str, squared: str) -> None:
    """Summed from the weights of each law, in floats; bounds may be a little wide, never narrow."""
    change = "sensitivity_l1" if cost == "epsilon" else "sensitivity_l2_squared"
    noise = safeselect.measure([7], **{cost: 1, change: squared}).noise  # type: ignore[arg-type]
    assert noise is not None
    places, width = range(-20_000, 20_001), float(Fraction(squared))
    if cost == "epsilon":
        weights = {x: exp(-abs(x) / width) for x in places}
    elif cost == "rho":
        weights = {x: exp(-(x**2) / width) for x in places}
    else:
        wide = (2 * width) ** 0.5
        weights = {x: erf((x + 0.5) / wide) - erf((x - 0.5) / wide) for x in places}
    whole = sum(weights.values())
    deviation = (sum(each * x * x for x, each in weights.items()) / whole) ** 0.5
    near = noise.high_95
    assert noise.low_95 == -near
    inside = sum(weights[x] for x in range(-near, near + 1)) / whole
    assert deviation - 1e-9 <= float(noise.deviation)
    assert inside >= 0.95 - 1e-12
    if width >= 1:  # narrower noise is nearly always 0
        assert float(noise.deviation) <= deviation * 1.02 + 0.001
        assert near == 0 or inside - 2 * (weights[near] + weights[near - 1]) / whole < 0.95
