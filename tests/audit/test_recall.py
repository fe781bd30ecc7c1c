"""Recall: no affected release is missed, none is called affected wrongly, budgets are compared."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from effort import LONG
from ledgers import TERMS
from recalled import DEFECTS, advisory, expected, ledger

import safeselect as s
from safeselect.audit.recall import Recall, letter, read_advisory, recall
from safeselect.errors import InputError
from safeselect.ledger import Checker, check_log
from safeselect.promises.guarantees import guarantee_record

SIZE = 100_000 if LONG else 6_000


@pytest.fixture(scope="module")
def written() -> Any:
    lines, truths = ledger(SIZE)
    assert len({truth.mechanism for truth in truths.values()}) >= 60
    return b"".join(lines), truths


def recalled(content: Any, log: bytes) -> Recall:
    checker = Checker()
    return recall(read_advisory(json.dumps(content)), check_log(io.BytesIO(log), checker), checker)


@pytest.mark.slow("releases of every mechanism, and ledgers of thousands of records")
@pytest.mark.filterwarnings("ignore::safeselect.SafeSelectWarning")
def test_20_defects_hit_what_they_hit(written: Any) -> None:
    log, truths = written
    assert len(DEFECTS) == 20
    kinds = set()
    for name, defect in DEFECTS.items():
        found = recalled(advisory(defect[0]), log)
        hits = {place: True if hit.is_sure else None for place, hit in found.hits.items()}
        wanted = dict(expected(defect, truths))
        assert hits == {place: said for place, said in wanted.items() if said is not False}, name
        assert found.others == sum(said is False for said in wanted.values())
        kinds |= {(said, bool(list(hits.values()).count(said))) for said in (True, None)}
        assert found.others < len(truths), f"{name} hits nothing"
    assert kinds >= {(True, True), (None, True)}


@pytest.fixture
def small() -> s.Ledger:
    budgets = {
        "a": s.Budget(**TERMS, epsilon=2),
        "b": s.Budget(**TERMS, epsilon=9, delta="1e-6"),
        "c": s.Budget(**TERMS, rho=1),
    }
    made = s.Ledger.create(":memory:", budgets)
    a, b, c = (made.scope(name, **TERMS, purpose="x") for name in budgets)
    scores: dict[str, Any] = {"scores": [1, 2, 900], "sensitivity": 1}
    s.permute_and_flip(**scores, epsilon="1/2", ledger=a)
    s.top_k(**scores, k=2, epsilon="1/2", mechanism="exponential", ledger=a & b)
    s.top_k(**scores, k=2, rho="1/2", ledger=c)
    s.measure([7], sensitivity_l1=1, epsilon="1/4", ledger=a)
    with a.charge(s.PureDP("1/10"), mechanism="other/law/1") as pending:
        pending.released("x")
    return made


def of(small: s.Ledger, affects: Any, restated: Any) -> Recall:
    checker, read = Checker(), read_advisory(json.dumps(advisory(affects, restated)))
    return recall(read, small.records(checker), checker)


EVERY = [{"mechanism": {"is_not": ["other/law/1"]}}]


def still(times: str, rho: str = "") -> list[Any]:
    """What holds of the four releases with so many times their epsilon, and their rho."""
    one, half = Fraction(times) / 2, Fraction(times) / 4
    zcdp = s.ZeroConcentratedDP(Fraction(rho) / 2) if rho else None
    return [s.LaplaceDominated(one), s.LaplaceDominated(one), zcdp, s.PureDP(half)]


def with_delta(delta: str) -> list[Any]:
    half, quarter = (s.ApproximateDP(epsilon, delta) for epsilon in ("1/2", "1/4"))
    return [half, half, None, quarter]


PURE = [s.PureDP("1/2"), s.PureDP("1/2"), None, s.PureDP("1/4")]


@pytest.mark.parametrize(
    ("restated", "kept", "over"),
    [
        ("none", [None] * 4, {"a", "b", "c"}),
        # 1/2 + 1/2 + 1/4 become twice as much, and another library's 1/10 stays: above 2.
        ({"epsilon_times": "2", "rho_times": "2"}, still("2", "2"), {"a"}),
        ({"epsilon_times": "3/2", "rho_times": "9/4"}, still("3/2", "9/4"), {"c"}),
        # Nothing is said of rho; a budget of epsilon alone bounds no delta.
        ({"delta_plus": "1e-7", "epsilon_times": "1"}, with_delta("1e-7"), {"a", "c"}),
        ({"delta_plus": "9e-7", "epsilon_times": "1"}, with_delta("9e-7"), {"a", "b", "c"}),
        ({"type": "PureDP", "epsilon_times": "1"}, PURE, {"c"}),
    ],
)
def test_guarantees_are_restated_and_budgets_compared(
    small: s.Ledger, restated: Any, kept: list[Any], over: set[str]
) -> None:
    found = of(small, EVERY, restated)
    guarantees = [hit.restated for hit in found.hits.values()]
    second = guarantees[1]
    assert type(second) is type(kept[1])
    if second is not None:  # two draws, whose guarantees are composed
        assert second.epsilon == kept[1].epsilon
    assert [guarantees[0], *guarantees[2:]] == [kept[0], *kept[2:]]
    assert next(iter(found.hits.values())).promised == s.LaplaceDominated("1/2")
    assert set(found.over) == over
    assert all(found.over.values())
    assert found.others == 1
    text = letter(found)
    assert "Releases: 4 affected, 0 possibly, 1 not" in text
    assert ", ".join(sorted(over)) in text
    assert (text.count("no guarantee"), text.count("\n  ")) == (guarantees.count(None), 5)
    assert found.checker.head in text


def test_what_may_be_affected_may_be_over(small: s.Ledger) -> None:
    found = of(small, [{"parameters.unheard": {"is": ["x"]}}], {"epsilon_times": "9"})
    assert {hit.is_sure for hit in found.hits.values()} == {False}
    assert found.over == {"a": False, "c": False}
    assert "a (possibly), c (possibly)" in letter(found)
    found = of(small, [{"parameters.unheard": {"is": ["x"], "absent": True}}], {"rho_times": "1"})
    assert found.over == {"a": True, "b": True}


def test_what_holds_of_repeated_runs_is_what_holds_of_one() -> None:
    read = read_advisory(json.dumps(advisory(EVERY, {"epsilon_times": "2"})))
    once, twice = (s.accounting.Repeated(s.PureDP(each), 1, Fraction(1, 2)) for each in (1, 2))
    assert read.restate(guarantee_record(once)) == twice
    assert read.restate(guarantee_record(s.accounting.GaussianDP(1))) is None
    assert read.restate({"type": "x"}) is None


WRONG: list[tuple[Callable[[Any], object], str]] = [
    (lambda each: each.update(schema="safeselect.advisory/2"), "the schema of an advisory must be"),
    (lambda each: each.pop("summary"), "this is not an advisory"),
    (lambda each: each.update(summary=7), "is unknown, empty or of the wrong"),
    (lambda each: each.update(more="x"), "is unknown, empty or of the wrong"),
    (lambda each: each.update(affects=[]), "is unknown, empty or of the wrong"),
    (lambda each: each.update(affects=[{"law": {"is": ["x"]}}]), "records have no field 'law'"),
    (lambda each: each.update(affects=[{"mechanism": {}}]), "tests nothing"),
    (lambda each: each.update(affects=[{"mechanism": {"like": "x"}}]), "unknown operator: 'like'"),
    (lambda each: each.update(affects=[{"mechanism": {"is": "x"}}]), "require a list of strings"),
    (lambda each: each.update(affects=[{"parameters.k": {"absent": True}}]), "tests nothing"),
    (lambda each: each.update(affects=[{"parameters.k": {"above": "x"}}]), "number in a condition"),
    (lambda each: each.update(affects=[{"library.numpy": {"fixed": "x"}}]), "contain a number"),
    (lambda each: each.update(affects=["x"]), "this is not an advisory"),
    (lambda each: each.update(restated={"epsilon": "2"}), "rule 'epsilon' with value '2' cannot"),
    (lambda each: each.update(restated={"type": "Full"}), "rule 'type' with value 'Full' cannot"),
    (lambda each: each.update(restated="some"), "this is not an advisory"),
]


@pytest.mark.parametrize(("change", "said"), WRONG)
def test_a_condition_that_is_not_understood_is_not_left_out(
    change: Callable[[Any], object], said: str
) -> None:
    content = advisory(EVERY)
    read_advisory(json.dumps(content))
    change(content)
    with pytest.raises(s.SafeSelectError, match=said):
        read_advisory(json.dumps(content))


def test_what_is_not_an_object_with_each_key_once_is_no_advisory() -> None:
    for text in ("", "[]", "{}", "[" * 10**5):
        with pytest.raises(InputError, match="this is not an advisory"):
            read_advisory(text)
    text = json.dumps(advisory(EVERY))
    for key in ('"affects": ', '"mechanism": ', '"is_not": ', '"restated": '):
        assert text.count(key) == 1
        with pytest.raises(InputError, match="state each key of a JSON object once"):
            read_advisory(text.replace(key, f'{key}"none", {key}'))


def test_every_advisory_of_the_project_is_one() -> None:
    folder = Path(__file__).parents[2] / "docs" / "advisories"
    for file in folder.glob("*.json"):
        read_advisory(file.read_text())
