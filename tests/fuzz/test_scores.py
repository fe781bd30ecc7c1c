"""Hostile scores, counts and values: a release, or one of our errors, which quotes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from held import read_histogram
from hostile import numbers, refused, things
from hypothesis import given, settings
from hypothesis import strategies as st

import safeselect
from safeselect import SafeSelectError
from safeselect.scores.candidates import read_candidates, read_matrix
from safeselect.scores.reading import Reading

DTYPES = ("int8", "uint8", "int64", "uint64", "float16", "float32", "float64", ">i4", "bool", "U3")


def scores() -> st.SearchStrategy[Any]:
    some = st.lists(numbers(), max_size=5)
    alike = st.one_of(st.lists(st.integers(), max_size=6), st.lists(st.floats(), max_size=6))
    arrays = st.builds(
        lambda kind, size, fill: np.full(size, fill).astype(kind),
        st.sampled_from(DTYPES),
        st.sampled_from([(), 0, 1, 4, (2, 3), (1, 0), (2, 2, 2)]),
        st.integers(0, 100),
    )
    mappings = st.dictionaries(st.one_of(st.text(max_size=2), st.integers()), numbers(), max_size=4)
    return st.one_of(some, alike, alike.map(tuple), arrays, mappings, things())


READINGS = st.builds(
    lambda given: Reading.read(**{"grid": None, "on_grid": False, "score_error": None, **given}),
    st.sampled_from(
        [
            {},
            *({"grid": grid} for grid in (1, "1/3", 7, "1/1024", "1e-1233", "1e1000", 2**4000)),
            {"grid": "1/3", "on_grid": True},
            {"grid": "0.1", "score_error": 0},
        ]
    ),
)


@settings(max_examples=400)
@given(scores(), READINGS, st.booleans())
def test_scores(given_scores, reading, minimize):
    for read in (read_candidates, read_matrix):
        try:
            candidates = read(given_scores)
            steps = candidates.scores_on_grid(reading, minimize=minimize)
        except SafeSelectError as error:
            refused(error)
            continue
        assert steps.dtype == np.uint64
        assert steps.shape[-1] == candidates.size > 0


@settings(max_examples=200)
@given(scores(), st.one_of(st.none(), st.lists(things(), max_size=5)), st.integers(1, 6))
def test_counts(counts, labels, size):
    try:
        found = read_histogram(counts, labels, size)
    except SafeSelectError as error:
        refused(error)
        return
    assert len(found.labels) == len(found.counts) == size
    assert list(found.counts) == sorted(found.counts, reverse=True)


@settings(max_examples=120)
@given(st.lists(numbers(), max_size=4))
@pytest.mark.parametrize("kind", [safeselect.SparseVector, safeselect.AdaptiveSparseVector])
def test_sessions(kind, values):
    """A value that is read is answered; the first one that is refused ends the session."""
    session, ended = kind(threshold=3, k=2, epsilon=1, sensitivity=1, grid="1/2"), False
    for value in values:
        left = session.remaining
        try:
            answer = session.query(value)
        except SafeSelectError as error:
            refused(error)
            assert session.remaining == left
            ended = True
        else:
            assert not ended
            assert answer.remaining == session.remaining <= left
