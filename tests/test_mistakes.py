"""The first hour: the commonest mistakes, and what somebody reads who has made one.

Each message says what was wrong, what was got (a type or a parameter, never a score) and what to
write instead.  The last few are refused by Python itself, before any of our code runs.
"""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pytest
from public import PUBLIC

import safeselect
from safeselect import SafeSelectError

pandas = pytest.importorskip("pandas")

SECRET = 987_654_321  # a score: no message may show it
NAMES = PUBLIC | {
    "np": np,
    "choose": partial(safeselect.permute_and_flip, epsilon=1, sensitivity=1),
    "votes": {"red": 12, "blue": SECRET, "green": 29},
    "counts": [12, SECRET, 29],
    "floats": [12.0, SECRET + 0.5, 29.0],
    "table": pandas.DataFrame({"colour": ["red", "blue"], "votes": [12, SECRET]}),
    "ledger": safeselect.Ledger.create(
        ":memory:", {"votes": safeselect.Budget("person", "add_remove", epsilon=2)}
    ),
}
# What was typed, and what is said of it; `choose` is a call with the rest in order.
MISTAKES = {
    # --- the scores
    "choose(floats)": "without grid=, scores must be integers; .* use grid='1/1000'",
    "choose(counts, on_grid=True)": "on_grid=True requires grid=",
    "choose(counts, score_error='0.1')": "score_error requires grid=",
    "choose(floats, grid=1, on_grid=True, score_error=0)": "pass on_grid=True or score_error, but",
    "choose(['12', '30'])": r"got str; .* such as \[int\(score\) for score in scores\]",
    "choose(np.array(['12', '30']))": r"got ndarray of str_; .* such as scores.astype\(int\)",
    "choose([12.5, float('nan')], grid=1)": "numbers, not NaN or infinity; replace such values",
    "choose([12, None])": "must not contain nulls; replace missing scores",
    "choose((n for n in counts))": r"got generator; pass list\(scores\)",
    "choose(votes.values())": r"got dict_values; pass list\(scores\)",
    "choose(memoryview(np.array(counts)))": r"got memoryview; pass list\(scores\)",
    "choose(set(counts))": "NumPy array or data frame column, got set$",
    "choose([])": "scores must contain at least one candidate",
    "choose(table)": r"got DataFrame with 2; pass one column, such as table\['votes'\]",
    "choose(np.array([counts]))": "got ndarray with 2; .* select_many takes many rows",
    "choose([counts, counts])": "got list; pass one row of numbers; select_many takes many rows",
    "select_many(np.array(counts), epsilon=1, sensitivity=1)": r"use \[scores\] for one row",
    # --- the labels
    "choose(counts, labels=['red', 'blue'])": "one label for each score, .* got 2 labels for 3",
    "choose(counts, labels=['red', 'blue', 'red'])": "unique, but only 2 of 3 are distinct",
    "choose(counts, labels={'red', 'blue', 'green'})": "got set; pass one label for each score",
    "choose(votes, labels=['red', 'blue', 'green'])": "keys are its labels; omit labels=",
    # --- how much it may cost
    "choose(votes, epsilon=0)": r"greater than zero, got 0 \(int\); for example 1 or '0.1'",
    "choose(votes, epsilon='0,5')": "got '0,5' .*; use a decimal point, not a comma",
    "choose(votes, epsilon=float('nan'))": r"got nan \(float\); for example 1 or '0.1'",
    "choose(votes, epsilon=True)": r"epsilon must be a number, got True \(bool\)",
    "choose(votes, epsilon=[1])": "a string such as '1/3' or '0.1', got an object of type list",
    "permute_and_flip(votes, sensitivity=1)": "got none: for example epsilon=1",
    "choose(votes, rho='0.1')": "got epsilon and rho: keep one",
    "top_k(votes, k=2, epsilon=1, delta=1, sensitivity=1)": "delta must be less than 1, .* '1e-9'",
    # --- how much one unit of privacy changes
    "permute_and_flip(votes, epsilon=1)": "for counts of people use sensitivity=1, mono",
    "choose(votes, monotonic='yes')": r"monotonic must be True or False, got 'yes' \(str\)",
    "permute_and_flip(votes, epsilon=1, range_=1, monotonic=True)": "range_= already covers",
    # --- how many
    "top_k(votes, k=4, epsilon=1, sensitivity=1)": "1 and 3, .* 3 is the number of candidates",
    "top_k(votes, k=2.0, epsilon=1, sensitivity=1)": "must be an integer such as 3, got 2.0",
    # --- randomness, budget, accounting
    "choose(votes, source=np.random.default_rng())": "type Generator .* Omit source",
    "choose(votes, source=42)": "source cannot be a seed, .* use safeselect.testing",
    "choose(votes, ledger=ledger)": r"ledger.scope\('name', unit=, neighbours=, purpose=\)",
    "compose([choose(votes)])": "type Selection; pass, for example, result.guarantee",
    "compose(PureDP(1))": r"guarantees must be a list, .* in a list: \[...\]",
}

# The start of Python's own words, which differ between its versions.
PYTHONS = {
    "choose(votes, seed=42)": "permute_and_flip() got an unexpected keyword argument 'seed'",
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
    told = message(typed, SafeSelectError)
    assert re.search(said, told), told
    assert str(SECRET)[:6] not in told


@pytest.mark.claim("C10")
def test_how_many_items_there_are_is_not_told_where_it_is_private() -> None:
    """In an unknown domain the number of items comes from the data."""
    call = (
        "unknown_domain_top_k({}, labels={}, k=1, k_bar=2, places='all', epsilon=1, delta='1e-9')"
    )
    for labels in (["a"], ["a", "b", "c"]):
        longer, counts = [*labels, *(f"item {place}" for place in range(1000))], [7] * 2
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
