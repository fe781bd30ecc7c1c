"""Whatever ends a run of `best_of` or `first_above`: it is counted, and no word of it comes out."""

from __future__ import annotations

import asyncio
import signal
import sys
import traceback
from collections.abc import Callable
from itertools import cycle
from types import FrameType
from typing import Any

import pytest
from ledgers import new, scope
from sentinels import LABEL, everything_of, found_in

from safeselect import BudgetError, PureDP, ScoreError, best_of, first_above, permute_and_flip

pytestmark = pytest.mark.claim("C8")

Run = Callable[[Any], Any]


def raising(error: BaseException) -> Run:
    def run(inner: Any) -> Any:
        raise error

    return run


class Interrupted(KeyboardInterrupt):
    """A subclass that carries more than arguments."""

    def __init__(self, *words: object) -> None:
        super().__init__(*words)
        self.person = LABEL

    def __str__(self) -> str:
        return LABEL


class Cancelled(asyncio.CancelledError):
    person = LABEL


class Left(SystemExit):
    def __init__(self) -> None:
        super().__init__(LABEL)
        self.code = LABEL


class Grudging(KeyboardInterrupt):
    """Cannot be made without its words."""

    def __init__(self, word: str, *, also: str) -> None:
        super().__init__(word, also)


class Meta(type):
    """Lies about what its classes are."""

    def __instancecheck__(cls, instance: object) -> bool:
        raise SystemExit(LABEL)

    def __subclasscheck__(cls, subclass: type) -> bool:
        raise SystemExit(LABEL)


class Lying(BaseException, metaclass=Meta):
    pass


def with_notes(error: BaseException) -> BaseException:
    error.add_note(LABEL)
    error.__cause__ = ValueError(LABEL)
    return error


def behind(inner: Any) -> Any:
    """Raised while another error was handled, and from it."""
    try:
        raise ValueError(LABEL)
    except ValueError as error:
        raise KeyboardInterrupt(LABEL) from error


def by_a_signal(inner: Any) -> Any:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell runs it behind
    signal.raise_signal(signal.SIGINT)
    return 1, 1


GOES_ON: dict[str, tuple[Run, type[BaseException]]] = {
    "KeyboardInterrupt": (raising(KeyboardInterrupt(LABEL)), KeyboardInterrupt),
    "a subclass": (raising(Interrupted(LABEL, 2)), KeyboardInterrupt),
    "behind another": (behind, KeyboardInterrupt),
    "a signal": (by_a_signal, KeyboardInterrupt),
    "GeneratorExit": (raising(GeneratorExit(LABEL)), GeneratorExit),
    "a subclass of CancelledError": (raising(with_notes(Cancelled())), asyncio.CancelledError),
    "SystemExit": (raising(SystemExit(LABEL)), SystemExit),
    "one that needs its words": (raising(Grudging(LABEL, also=LABEL)), KeyboardInterrupt),
    "a class that lies": (raising(Lying(LABEL)), SystemExit),
}


class Own(BaseException):
    """Neither an Exception nor one of those that go on."""


class Claims(Own):
    """Says that it is an interrupt."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return KeyboardInterrupt


class Raises(Own):
    """Raises another error whatever it is asked."""

    def __getattribute__(self, name: str) -> Any:
        raise SystemExit(LABEL)


class Silent(Exception):
    def __str__(self) -> str:
        raise KeyboardInterrupt(LABEL)

    __repr__ = __str__


def a_generator(inner: Any) -> Any:
    yield 1, LABEL


class Odd:
    def __getattribute__(self, name: str) -> Any:
        raise ValueError(f"{LABEL} has no {name}")


def nested(inner: Any) -> Any:
    best_of(raising(ValueError(LABEL)), base=PureDP("1/9999999"), gamma="1/2", ledger=inner)


SENTENCE: dict[str, Run] = {
    "a refusal of its own": raising(BudgetError(LABEL)),
    "a panic of Rust's": raising(
        type("Panic", (BaseException,), {"__module__": "pyo3_runtime"})(LABEL)
    ),
    "more than base": lambda inner: inner.check(PureDP(987_654_321)),
    "a mechanism that fails": lambda inner: permute_and_flip(
        {LABEL: None}, epsilon="1/9999", sensitivity=1, ledger=inner
    ),
    "a repetition that fails": nested,
    "no pair": lambda inner: LABEL,
    "no number": lambda inner: (LABEL, 1),
    "a number that raises": lambda inner: (Odd(), 1),
    "BaseException": raising(BaseException(LABEL)),
    "one that claims to be an interrupt": raising(Claims(LABEL)),
    "one that raises when it is looked at": raising(Raises(LABEL)),
    "one without a text": raising(Silent()),
    "a group with an interrupt": raising(BaseExceptionGroup(LABEL, [KeyboardInterrupt(LABEL)])),
    "StopIteration": raising(StopIteration(LABEL)),
    "a generator": a_generator,
    "pytest's own": lambda inner: pytest.fail(LABEL),
}

LAWS: dict[str, Callable[..., Any]] = {
    "best_of": lambda run, there: best_of(run, base=PureDP("1/1000"), gamma="1/9", ledger=there),
    "poisson": lambda run, there: best_of(run, base=PureDP("1/1000"), mean=40, ledger=there),
    "first_above": lambda run, there: first_above(
        run, threshold=5, base=PureDP("1/1000"), gamma="1/9", ledger=there
    ),
}


PAIRS = [*zip([*GOES_ON, *SENTENCE, *GOES_ON], cycle(LAWS), strict=False)]
"""Each of what may end a run, in turn with each of the laws."""


def ended(law: str, run: Run, there: Any) -> BaseException:
    """What a call ends with; caught here, so that a test is not ended by it."""
    try:
        LAWS[law](run, there)
    except BaseException as error:
        return error
    raise AssertionError("the call returned")


def check_empty(error: BaseException) -> None:
    """Nothing hangs at the error but frames of the call, and none of them knows what a run said."""
    assert error.__cause__ is error.__context__ is None
    assert (vars(error), found_in(everything_of(error))) == ({}, [])
    names = [frame.f_code.co_qualname for frame, _ in traceback.walk_tb(error.__traceback__)]
    assert names[0] == "ended"
    assert names[-2] in ("best_of", "first_above")
    assert names[-1] == "_Call.released"


@pytest.mark.parametrize(("name", "law"), PAIRS)
def test_what_ends_a_run_is_fresh_and_empty_and_was_counted(name: str, law: str) -> None:
    run, kind = GOES_ON.get(name) or (SENTENCE[name], ScoreError)
    made = new(":memory:", epsilon=9)
    for count in (1, 2):
        error = ended(law, run, scope(made))
        assert type(error) is kind
        if kind is ScoreError:
            assert str(error).startswith(
                "a run failed: it raised an error, did not return (score, output)"
            )
        else:
            assert error.args == ((1,) if kind is SystemExit else ())
            assert kind is not SystemExit or error.code == 1  # type: ignore[attr-defined]
        check_empty(error)
        assert made.balance("a").refusals == count
        last = [record.content for record in made.records()][-1]
        assert (last["kind"], last["reason"]) == ("aborted", "input")


@pytest.mark.parametrize("name", GOES_ON)
def test_a_scope_that_was_closed_meanwhile_tells_one_thing(name: str) -> None:
    """Otherwise which of the kinds a run ended with would be told without being counted."""
    made = new(":memory:", epsilon=9)

    def run(inner: Any) -> Any:
        for _ in range(10):
            ended("best_of", SENTENCE["BaseException"], scope(made))
        return GOES_ON[name][0](inner)

    error = ended("best_of", run, scope(made))
    assert type(error) is BudgetError
    assert "scope 'a' is closed" in str(error)
    assert error.__cause__ is error.__context__ is None
    assert found_in(everything_of(error)) == []


def test_an_interrupt_between_two_runs_has_no_words_either() -> None:
    """A run may set a timer, and a handler that speaks."""
    made = new(":memory:", epsilon=9)

    def speak(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_name == "goes_on":
            raise Interrupted(LABEL)

    def run(inner: Any) -> Any:
        sys.setprofile(speak)
        return 1, 1

    before = sys.getprofile()
    try:
        error = ended("first_above", run, scope(made))
    finally:
        sys.setprofile(before)
    assert type(error) is KeyboardInterrupt
    check_empty(error)
    assert made.balance("a").refusals == 1


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (Interrupted(LABEL), KeyboardInterrupt),
        (Left(), SystemExit),
        (Cancelled(LABEL), asyncio.CancelledError),
        (Own(LABEL), ScoreError),
        (Lying(LABEL), SystemExit),  # its class raises that when it is asked
    ],
)
def test_the_text_of_an_output_is_written_without_words_of_its_class(
    raised: BaseException, kind: type[BaseException]
) -> None:
    """The record commits to the text of the output, which its class makes."""

    class Output:
        def __str__(self) -> str:
            raise raised

    made = new(":memory:", epsilon=9)
    error = ended("best_of", lambda inner: (1, Output()), scope(made))
    assert type(error) is kind
    check_empty(error)
    assert [record.content for record in made.records()][-1]["kind"] == "aborted"
