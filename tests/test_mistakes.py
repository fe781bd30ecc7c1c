"""The first hour: the commonest mistakes, and every word that somebody reads who has made one.

Each message says what was wrong, what was got (a type or a parameter, never a score) and what to
write instead.  The last few are refused by Python itself, before any of our code runs.
"""

from __future__ import annotations

import numpy as np
import pytest
from public import PUBLIC

import safeselect
from safeselect import SafeSelectError

pandas = pytest.importorskip("pandas")

SECRET = 987_654_321  # a score: no message may show it
NAMES = PUBLIC | {
    "np": np,
    "votes": {"red": 12, "blue": SECRET, "green": 29},
    "counts": [12, SECRET, 29],
    "floats": [12.0, SECRET + 0.5, 29.0],
    "table": pandas.DataFrame({"colour": ["red", "blue"], "votes": [12, SECRET]}),
    "ledger": safeselect.Ledger.create(
        ":memory:", {"votes": safeselect.Budget("person", "add_remove", epsilon=2)}
    ),
}
LIST = (
    "scores must be a list, a tuple, a dict, a plain NumPy array or a column of pandas, polars "
    "or Arrow, got "
)
ONE = "scores must have one dimension, got "
COLUMN = (
    "; pass one column, such as table['votes'], or one row; select_many takes many rows at once"
)
CONVERT = "; convert them to integers first, such as "
SOURCE = (
    " Omit source for the default, or pass OpenSSLSource(), SystemSource() or, for your own "
    "device, CallbackSource(function)."
)

# What was typed, and what was said.
MISTAKES = {
    # --- the scores
    "permute_and_flip(floats, epsilon=1, sensitivity=1)": (
        "without grid=, scores must be integers; for real scores use grid='1/1000', a thousandth "
        "of the declared change; for floats that are multiples of a step, such as k/n, use that "
        "step as grid=, with on_grid=True"
    ),
    "permute_and_flip(counts, epsilon=1, sensitivity=1, on_grid=True)": (
        "on_grid=True requires grid=, the public step of the scores"
    ),
    "permute_and_flip(counts, epsilon=1, sensitivity=1, score_error='0.1')": (
        "score_error requires grid=, the public step of the scores"
    ),
    "permute_and_flip(floats, epsilon=1, sensitivity=1, grid=1, on_grid=True, score_error=0)": (
        "give on_grid=True or score_error, not both: with on_grid, the nearest multiple of grid "
        "is the true score"
    ),
    "permute_and_flip(floats, epsilon=1, sensitivity='1/2', grid=1, on_grid=True)": (
        "sensitivity is less than one step of the grid, so with on_grid=True the scores could not "
        "change at all; use grid='1/2', or omit on_grid"
    ),
    "permute_and_flip(['12', '30'], epsilon=1, sensitivity=1)": (
        f"scores must be numbers, got str{CONVERT}[int(score) for score in scores]"
    ),
    "permute_and_flip(np.array(['12', '30']), epsilon=1, sensitivity=1)": (
        f"scores must be numbers, got ndarray of str_{CONVERT}scores.astype(int)"
    ),
    "permute_and_flip([12.5, float('nan')], epsilon=1, sensitivity=1, grid=1)": (
        "scores must be finite numbers, not NaN or infinity; replace such values before you add "
        "up records"
    ),
    "permute_and_flip([12, None], epsilon=1, sensitivity=1)": (
        "scores must not contain nulls; replace missing scores first"
    ),
    "permute_and_flip((n for n in counts), epsilon=1, sensitivity=1)": (
        f"{LIST}generator; pass list(scores)"
    ),
    "permute_and_flip(votes.values(), epsilon=1, sensitivity=1)": (
        f"{LIST}dict_values; pass list(scores)"
    ),
    "permute_and_flip(range(3), epsilon=1, sensitivity=1)": f"{LIST}range; pass list(scores)",
    "permute_and_flip(memoryview(np.array(counts)), epsilon=1, sensitivity=1)": (
        f"{LIST}memoryview; pass list(scores)"
    ),
    "permute_and_flip(set(counts), epsilon=1, sensitivity=1)": f"{LIST}set",
    "permute_and_flip(None, epsilon=1, sensitivity=1)": f"{LIST}NoneType",
    "permute_and_flip([], epsilon=1, sensitivity=1)": (
        "scores must contain at least one candidate"
    ),
    "permute_and_flip(table, epsilon=1, sensitivity=1)": f"{ONE}DataFrame with 2{COLUMN}",
    "permute_and_flip(np.array([counts]), epsilon=1, sensitivity=1)": (
        f"{ONE}ndarray with 2{COLUMN}"
    ),
    "permute_and_flip([counts, counts], epsilon=1, sensitivity=1)": (
        "scores must be numbers, got list; pass one row of numbers; select_many takes many rows at "
        "once"
    ),
    "select_many(np.array(counts), epsilon=1, sensitivity=1)": (
        "scores must be a plain two-dimensional NumPy array or a list of rows, got ndarray; use "
        "[scores] for one row, scores.to_numpy() for a table"
    ),
    # --- the labels
    "permute_and_flip(counts, labels=['red', 'blue'], epsilon=1, sensitivity=1)": (
        "labels must have one label for each score, in the same order, got 2 for 3"
    ),
    "permute_and_flip(counts, labels=['red', 'blue', 'red'], epsilon=1, sensitivity=1)": (
        "labels must be unique, got 2 different labels among 3"
    ),
    "permute_and_flip(counts, labels={'red', 'blue', 'green'}, epsilon=1, sensitivity=1)": (
        "labels must be a list of labels, got set; list them in the order of the scores, such as "
        "labels=['red', 'blue']"
    ),
    "permute_and_flip(votes, labels=['red', 'blue', 'green'], epsilon=1, sensitivity=1)": (
        "a mapping's keys are its labels; omit labels="
    ),
    # --- how much it may cost
    "permute_and_flip(votes, epsilon=0, sensitivity=1)": (
        "epsilon must be greater than zero, got 0 (int); for example 1 or '0.1'"
    ),
    "permute_and_flip(votes, epsilon='0,5', sensitivity=1)": (
        "epsilon must be a finite number, got '0,5' (str); use a decimal point, not a comma"
    ),
    "permute_and_flip(votes, epsilon=float('nan'), sensitivity=1)": (
        "epsilon must be a finite number, got nan (float); for example 1 or '0.1'"
    ),
    "permute_and_flip(votes, epsilon=True, sensitivity=1)": (
        "epsilon must be a number, got True (bool); for example 1 or '0.1'"
    ),
    "permute_and_flip(votes, epsilon=[1], sensitivity=1)": (
        "epsilon must be an int, Fraction, Decimal, float or a string such as '1/3' or '0.1', got "
        "an object of type list"
    ),
    "permute_and_flip(votes, sensitivity=1)": (
        "give exactly one of epsilon and rho; got none: for example epsilon=1"
    ),
    "permute_and_flip(votes, epsilon=1, rho='0.1', sensitivity=1)": (
        "give exactly one of epsilon and rho; got epsilon and rho: omit one"
    ),
    "top_k(votes, k=2, epsilon=1, delta=1, sensitivity=1)": (
        "delta must be less than 1, got 1 (int); for example '1e-9'"
    ),
    # --- how much one unit of privacy changes
    "permute_and_flip(votes, epsilon=1)": (
        "give exactly one of sensitivity and range_; got none: for counts of people use "
        "sensitivity=1, monotonic=True"
    ),
    "permute_and_flip(votes, epsilon=1, sensitivity=1, monotonic='yes')": (
        "monotonic must be True or False, got 'yes' (str)"
    ),
    "permute_and_flip(votes, epsilon=1, range_=1, monotonic=True)": (
        "monotonic=True requires sensitivity=; range_= already covers it"
    ),
    # --- how many
    "top_k(votes, k=4, epsilon=1, sensitivity=1)": (
        "k must be between 1 and 3, got 4 (int); 3 is the number of candidates"
    ),
    "top_k(votes, k=-1, epsilon=1, sensitivity=1)": (
        "k must be between 1 and 3, got -1 (int); 3 is the number of candidates"
    ),
    "top_k(votes, k=2.0, epsilon=1, sensitivity=1)": (
        "k must be an integer, got 2.0 (float); for example 3"
    ),
    # --- randomness, budget, accounting
    "permute_and_flip(votes, epsilon=1, sensitivity=1, source=np.random.default_rng())": (
        "an object of type Generator cannot be the source: its output can be predicted from "
        "earlier output or from its seed, so anyone could subtract the noise." + SOURCE
    ),
    "permute_and_flip(votes, epsilon=1, sensitivity=1, source=42)": (
        "source cannot be a seed, because anyone who repeats the noise can subtract it. For "
        "tests, use safeselect.testing.DeterministicSource." + SOURCE
    ),
    "permute_and_flip(votes, epsilon=1, sensitivity=1, ledger=ledger)": (
        "ledger must be a result of ledger.scope('name', unit=, neighbours=, purpose=), got an "
        "object of type Ledger"
    ),
    "compose([permute_and_flip(votes, epsilon=1, sensitivity=1)])": (
        "every part must be a guarantee, got an object of type Selection; pass for example "
        "result.guarantee or PureDP('0.5')"
    ),
    "compose(PureDP(1))": (
        "guarantees must be a list of guarantees, got an object of type PureDP; put it in a list: "
        "[...]"
    ),
}

# The start of Python's own words, which differ between its versions.
PYTHONS = {
    "permute_and_flip(votes, epsilon=1, sensitivity=1, seed=42)": (
        "permute_and_flip() got an unexpected keyword argument 'seed'"
    ),
    "permute_and_flip(votes, epsilon=1, sensitivity=1, delta='1e-9')": (
        "permute_and_flip() got an unexpected keyword argument 'delta'"
    ),
    "permute_and_flip(votes, 1, sensitivity=1)": "permute_and_flip() takes 1 positional argument",
    "top_k(votes, epsilon=1, sensitivity=1)": (
        "top_k() missing 1 required keyword-only argument: 'k'"
    ),
}


def message(typed: str, kind: type[Exception]) -> str:
    with pytest.raises(kind) as caught:
        eval(typed, dict(NAMES))  # noqa: S307 - the table above
    return str(caught.value)


@pytest.mark.parametrize(("typed", "said"), MISTAKES.items(), ids=str)
def test_mistake(typed: str, said: str) -> None:
    assert message(typed, SafeSelectError) == said
    assert str(SECRET)[:6] not in said


@pytest.mark.claim("C10")
def test_how_many_items_there_are_is_not_told_where_it_is_private() -> None:
    """In an unknown domain the number of items comes from the data."""
    call = (
        "unknown_domain_top_k({}, labels={}, k=1, k_bar=2, places='all', epsilon=1, delta='1e-9')"
    )
    for labels in (["a"], ["a", "b", "c"]):
        longer = [*labels, *(f"item {place}" for place in range(1000))]
        counts = [7] * 2
        few = message(call.format(counts, labels), SafeSelectError)
        assert few == message(call.format([*counts, *[7] * 1000], longer), SafeSelectError)
        assert not any(character.isdigit() for character in few)


@pytest.mark.parametrize(("typed", "said"), PYTHONS.items(), ids=str)
def test_mistake_that_python_refuses(typed: str, said: str) -> None:
    assert message(typed, TypeError).startswith(said)


def test_what_to_write_instead_is_right() -> None:
    """What the messages advise is accepted."""
    safeselect.permute_and_flip(NAMES["votes"], epsilon=1, sensitivity=1, monotonic=True)
    safeselect.permute_and_flip(NAMES["table"]["votes"], epsilon=1, sensitivity=1)
    safeselect.permute_and_flip(list(NAMES["votes"].values()), epsilon=1, sensitivity=1)
    safeselect.permute_and_flip(
        [n + 0.25 for n in NAMES["counts"]], epsilon="0.1", sensitivity=1, grid="1/1000"
    )
    safeselect.permute_and_flip(
        [n / 569 for n in NAMES["counts"]],
        epsilon=1,
        sensitivity="1/569",
        grid="1/569",
        on_grid=True,
    )
    safeselect.top_k(NAMES["votes"], k=3, epsilon=1, delta="1e-9", sensitivity=1)
    safeselect.compose([safeselect.PureDP("0.5")])
    safeselect.select_many([NAMES["counts"]], epsilon=1, sensitivity=1)
    safeselect.select_many(NAMES["table"][["votes"]].to_numpy(), epsilon=1, sensitivity=1)
