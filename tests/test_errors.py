"""One class for each decision of a caller; what each carries, and what counts as from outside."""

import pickle
from fractions import Fraction

import pytest

from safeselect import errors

OURS = [each for each in vars(errors).values() if isinstance(each, type)]
RAISED = [each for each in OURS if issubclass(each, errors.SafeSelectError)][1:]  # not the base


def test_every_error_is_ours_and_one_of_pythons():
    """Who knows only Python's own classes catches wrong arguments, or failures while running."""
    for kind in RAISED:
        assert issubclass(kind, ValueError) != issubclass(kind, RuntimeError), kind
    assert not issubclass(errors.SafeSelectWarning, errors.SafeSelectError)


def test_a_repeated_request_and_an_empty_budget_are_refused_alike():
    assert issubclass(errors.RepeatedRequest, errors.BudgetError)
    assert not issubclass(errors.BudgetError, errors.LedgerError)


def test_only_a_busy_ledger_may_be_asked_again():
    assert [each for each in RAISED if getattr(each, "try_again", False)] == [errors.LedgerBusy]


def test_what_an_error_carries_is_its_own():
    asked = {"epsilon": Fraction(1)}
    found = errors.BudgetError("no", scope="a", asked=asked, left={})
    asked.clear()
    assert (found.scope, found.asked, found.left) == ("a", {"epsilon": 1}, {})
    again = errors.RepeatedRequest("no", scope="a, b", record=7, outcome="released")
    assert (again.scope, again.record, again.outcome) == ("a, b", 7, "released")
    assert errors.ChargeStands("no", charge=3).charge == 3


@pytest.mark.parametrize("kind", RAISED)
def test_errors_pass_between_processes(kind):
    """As those of a pool of workers do."""
    found = pickle.loads(pickle.dumps(kind("a sentence")))  # noqa: S301 - our own
    assert type(found) is kind
    assert str(found) == "a sentence"


@pytest.mark.parametrize(
    ("error", "outside"),
    [
        (KeyboardInterrupt(), True),
        (SystemExit(), True),
        (GeneratorExit(), True),
        (ValueError(), False),
        (MemoryError(), False),
        (type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})(), False),
    ],
)
def test_what_comes_from_outside(error, outside):
    """An interrupt passes; whatever values cause is an error of ours, a panic of Rust too."""
    assert errors.from_outside(error) is outside
