"""A law that a caller states: what it gets, what is charged, and who says that it is private."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import safeselect
from safeselect import Budget, Ledger, ParameterError, PureDP, ScoreError, top_k
from safeselect.audit.line import verdict
from safeselect.audit.release import audit
from safeselect.cli import main
from safeselect.prepared import StatedLaw, TopKMechanism
from safeselect.promises.guarantees import BoundedRange, LaplaceDominated
from safeselect.randomness.bits import Bits
from safeselect.testing import DeterministicSource

pytestmark = pytest.mark.claim("C2")

SCOPE: dict[str, Any] = {"unit": "person", "neighbours": "add_remove"}


def by_bits(scores: list[int], k: int, rate: object, bits: Bits) -> list[int]:
    """Choose by three bits, whatever the scores are."""
    first = bits.take(3)
    return [(first + place) % len(scores) for place in range(k)]


def asked(choose: Any = by_bits, promise: Any = PureDP, **more: Any) -> dict[str, Any]:
    law = StatedLaw("by_bits/2", promise, choose)
    return {"k": 2, "mechanism": law, "epsilon": "1/2", "sensitivity": 1, **more}


@pytest.mark.parametrize("cost", ["epsilon", "rho"])
@pytest.mark.parametrize("promise", [BoundedRange, LaplaceDominated, PureDP])
@pytest.mark.parametrize("k", [1, 3])
def test_a_stated_law_ranks_and_is_charged_as_stated(k: int, promise: Any, cost: str) -> None:
    """It gets steps below the best, k and epsilon / (k R), once its price is charged."""
    seen: list[Any] = []

    def choose(*given: Any) -> list[int]:
        seen.append((*given[:3], ledger.balance("a").spent))
        return by_bits(*given)

    ledger = Ledger.create(":memory:", {"a": Budget(**SCOPE, **{cost: 1})})
    more: Any = {"grid": "1/10", "score_error": 0, "sensitivity": "1/5", "epsilon": None}
    more |= {"k": k, "ledger": ledger.scope("a", **SCOPE, purpose="a test"), cost: "1/2"}
    found = top_k([Fraction(1, 2), 1, Fraction(3, 10), 0], **asked(choose, promise, **more))
    ((distances, count, rate, spent),) = seen
    assert (distances, count, found.indices is None) == ([-5, 0, -7, -10], k, False)
    assert found.parts == (found.guarantee,) == (promise(found.guarantee.epsilon),)
    assert rate.rate == found.guarantee.epsilon / (k * 4)  # twice the sensitivity is 4 steps
    priced = found.guarantee.zcdp.rho if cost == "rho" else found.guarantee.epsilon
    assert Fraction(49, 100) < priced <= Fraction(1, 2)
    assert spent == ledger.balance("a").spent == {cost: priced}


@pytest.mark.filterwarnings("ignore:DeterministicSource")
def test_a_known_answer_of_a_stated_law() -> None:
    """Its bits are those of the call; prepared and minimised, the same."""
    answers = []
    for function in (top_k, lambda scores, **given: TopKMechanism(**given)(scores)):
        source = DeterministicSource(7, i_understand_this_is_not_private=True)
        answers.append([function([3, 9, 4], **asked(source=source)).indices for _ in range(4)])
    assert answers == [[(1, 2), (2, 0), (1, 2), (2, 0)]] * 2
    steps: list[Any] = []
    choose = lambda scores, *_: steps.append(scores) or [0, 1]  # noqa: E731 - one line
    top_k({"a": 3, "b": 9, "c": 4}, **asked(choose, minimize=True))
    assert steps == [[0, -6, -1]]


def test_a_release_of_a_stated_law_says_so_and_no_audit_establishes_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger", {"a": Budget(**SCOPE, epsilon=1)})
    scope = ledger.scope("a", **SCOPE, purpose="a test")
    found = top_k({"tea": 3, "milk": 9}, **asked(ledger=scope))
    text, said = found.to_json(), "stated by the caller"
    assert (safeselect.from_json(text), found.mechanism) == (found, "stated_by_bits/2")
    assert found.provenance.parameters == safeselect.from_json(text).provenance.parameters
    assert ("guarantee", said) in found.provenance.parameters
    assert f"guarantee {said}" in repr(found)
    assert said in found._repr_html_()
    assert "The caller stated this guarantee; this library does not prove it." in found.statement()
    lines = list(audit(text, str(tmp_path / "a.ledger"), ledger.head))
    (law,) = (line for line in lines if line.what == "law")
    assert (law.word, said in law.sentence) == ("not compared", True)
    assert verdict(lines)[1].startswith("NOT ESTABLISHED")
    assert main(["ledger", "show", str(tmp_path / "a.ledger"), "--html"]) == 0
    assert f"{said}, and not proved" in capfd.readouterr().out


def private(scores: list[int], *_: object) -> list[int]:
    raise ValueError(f"the scores are {scores}")


WRONG = [[], [0], [0, 0], [0, 3], [-1, 0], [0, 1, 2], ["a", "b"], [0.0, 1.0], None, 7]


@pytest.mark.parametrize("choose", [private, *(lambda *_, found=found: found for found in WRONG)])
def test_whatever_goes_wrong_in_a_stated_law_is_one_sentence_and_stays_charged(choose: Any) -> None:
    ledger = Ledger.create(":memory:", {"a": Budget(**SCOPE, epsilon=1)})
    with pytest.raises(ScoreError, match="function of the StatedLaw failed") as raised:
        top_k([3, 9, 4], **asked(choose, ledger=ledger.scope("a", **SCOPE, purpose="a test")))
    assert raised.value.__cause__ is raised.value.__context__ is None
    assert ledger.balance("a").spent == {"epsilon": Fraction(1, 2)}
    assert [*ledger.records()][-1].content["kind"] == "aborted"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"mechanism": StatedLaw}, "mechanism must be"),
        ({"mechanism": by_bits}, "mechanism must be"),
        ({"weights": [1, 2, 3]}, "weights="),
        ({"epsilon": "2**40"}, "epsilon"),
        ({"epsilon": "1/10000000000000"}, "noise rate"),
        ({"epsilon": 2}, "does not allow"),
    ],
)
def test_refused_before_it_is_charged(given: dict[str, Any], said: str) -> None:
    ledger = Ledger.create(":memory:", {"a": Budget(**SCOPE, epsilon=1)})
    scope = ledger.scope("a", **SCOPE, purpose="a test")
    with pytest.raises((ParameterError, safeselect.BudgetError), match=said):
        top_k([3, 9, 4], **{**asked(private, ledger=scope), **given})
    assert ledger.balance("a").spent == {"epsilon": 0}


@pytest.mark.parametrize(
    "given",
    [
        *(("by_bits", PureDP, by_bits), ("By bits/1", PureDP, by_bits)),
        (type("Name", (str,), {})("by_bits/1"), PureDP, by_bits),
        *(("by_bits/1", PureDP(1), by_bits), ("by_bits/1", safeselect.ZeroConcentratedDP, by_bits)),
        ("by_bits/1", PureDP, "exponential"),
    ],
)
def test_no_stated_law(given: Any) -> None:
    with pytest.raises(ParameterError, match="StatedLaw takes a name"):
        StatedLaw(*given)
