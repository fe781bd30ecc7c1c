"""diffprivlib's mechanisms and quantiles with our laws: arguments, its accountant, refusals."""

from __future__ import annotations

import copy
import pickle
import sys
import types
from collections import Counter
from fractions import Fraction
from math import exp
from typing import Any

import numpy as np
import pandas
import pytest
from chances import fits

import safeselect.adapters.diffprivlib as ours
from safeselect import ParameterError, ScoreError
from safeselect.scores.reals import place_of
from safeselect.testing import DeterministicSource

pytestmark = [pytest.mark.filterwarnings("ignore::safeselect.SafeSelectWarning")]

BOTH = pytest.mark.parametrize("name", ["Exponential", "PermuteAndFlip"])


@BOTH
@pytest.mark.parametrize("monotonic", [False, True])
def test_the_noise_is_that_of_the_original(
    name: str, monotonic: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading widens it by 2 thousandths at most."""
    function = {"Exponential": "exponential_mechanism", "PermuteAndFlip": "permute_and_flip"}[name]
    found: list[Any] = []
    real = getattr(ours, function)

    def kept(*given: Any, **more: Any) -> Any:
        found.append(real(*given, **more))
        return found[-1]

    monkeypatch.setattr(getattr(ours, name), "_choose", staticmethod(kept))
    public = {"epsilon": 1.5, "sensitivity": 1, "monotonic": monotonic, "candidates": [*"abc"]}
    assert getattr(ours, name)(utility=[1.5, 0.25, 2.75], **public).randomise() in "abc"
    rate = Fraction(3, 2) if monotonic else Fraction(3, 4)
    assert rate / Fraction("1.002") <= found[0].noise_rate <= rate
    assert found[0].mechanism == f"{function}/1"


@BOTH
def test_what_is_shown_and_returned(name: str) -> None:
    mechanism = getattr(ours, name)(
        epsilon=1.0, sensitivity=1.0, utility=[777123.5, 1.0], random_state=5
    )
    assert "777" not in repr(mechanism)
    assert mechanism.randomise() == 0


@BOTH
@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"epsilon": float("inf")}, ParameterError, "epsilon must be a finite number"),
        ({"epsilon": 1e12}, ParameterError, "epsilon must be between 1e-8 and 1e8"),
        ({"sensitivity": 0}, ParameterError, "sensitivity must be greater than zero"),
        ({"utility": [1.0, float("inf")]}, ScoreError, "finite"),
        ({"monotonic": "yes"}, ParameterError, "monotonic must be True or False"),
        ({"candidates": ["a"]}, ParameterError, "one label for each score"),
        ({"candidates": pandas.Series(["a", "b"], [1, 0])}, ParameterError, "a list, got Series"),
        ({"candidates": {"a", "b"}}, ParameterError, "candidates must be a list, got set"),
        ({"candidates": {10: "a", 11: "b"}}, ParameterError, "candidates must be a list, got dict"),
        ({"candidates": iter("ab")}, ParameterError, "candidates must be a list, got str_"),
        ({"utility": [900.5, None]}, ScoreError, "nulls"),
        ({"utility": (each for each in [900.5])}, ScoreError, "must be a list"),
    ],
)
def test_refusals(name: str, given: dict[str, Any], error: type[Exception], says: str) -> None:
    usual = {"epsilon": 1.0, "sensitivity": 1.0, "utility": [1.0, 2.0]}
    with pytest.raises(error, match=says) as raised:
        getattr(ours, name)(**{**usual, **given}).randomise()
    assert "900" not in str(raised.value)


@BOTH
def test_a_value_is_refused_and_not_quoted(name: str) -> None:
    mechanism = getattr(ours, name)(epsilon=1, sensitivity=1, utility=[1, 2])
    with pytest.raises(ParameterError, match="value must be None, got float"):
        mechanism.randomise(777123.5)


@BOTH
@pytest.mark.parametrize(
    ("candidates", "wanted"),
    [
        (["a", "a", "b"], "a"),
        ([[1], [2], [3]], [2]),
        ([None, None, None], None),
        (np.array([0.5, 0.25, 0.5]), 0.25),
    ],
)
def test_candidates_may_be_equal_and_of_any_type(name: str, candidates: Any, wanted: Any) -> None:
    usual = {"epsilon": 1.0, "sensitivity": 1.0, "candidates": candidates}
    for utility in ([1, 900.5, 2], np.array([1, 900.5, 2]), [np.float32(1), 2**70, np.int8(2)]):
        assert getattr(ours, name)(utility=utility, **usual).randomise() == wanted


@BOTH
def test_copies_and_pickles_draw_anew(name: str) -> None:
    first = getattr(ours, name)(epsilon=1.0, sensitivity=1, utility=[0] * 2**16, random_state=1)
    again = getattr(ours, name)(epsilon=1.0, sensitivity=1, utility=[0] * 2**16, random_state=1)
    found = [
        tuple(each.randomise() for _ in range(4))
        for each in (
            first,
            again,
            first.copy(),
            copy.deepcopy(first),
            pickle.loads(pickle.dumps(first)),  # noqa: S301 - our own
        )
    ]
    assert len(set(found)) == 5  # 2**-60 for a right one


def test_its_forest_runs_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two well separated clouds: the forest tells them apart."""
    forest: Any = pytest.importorskip(
        "diffprivlib.models.forest", reason="diffprivlib is not installed", exc_type=ImportError
    )
    monkeypatch.setattr(forest, "PermuteAndFlip", ours.PermuteAndFlip)
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 600)
    x = rng.normal(size=(600, 2)) * 0.1 + y[:, None]
    model = forest.RandomForestClassifier(
        n_estimators=5, epsilon=5.0, bounds=(-1, 2), classes=[0, 1], random_state=1
    )
    assert model.fit(x, y).score(x, y) > 0.9


# ------------------------------------------------------------------------------- quantiles

TABLE = np.random.default_rng(5).random((60, 3, 4)) * 10


def diffprivlib() -> Any:
    return pytest.importorskip(
        "diffprivlib", reason="diffprivlib is not installed", exc_type=ImportError
    )


@pytest.mark.parametrize("neighbours", ["replace_one", "add_remove"])
def test_the_law_is_that_of_the_original(neighbours: str) -> None:
    """An interval with i values below has its width times exp(-epsilon |i - q n| / R), R = 2.

    With add/remove neighbours R is 2 max(q, 1 - q).  On so fine a grid the points at the values
    count for nothing.  False alarm: 1e-9.
    """
    values, share, epsilon = [1, 4, 5, 8], 0.25, 2.0
    change = 2.0 if neighbours == "replace_one" else 1.5
    widths = np.diff([0, *values, 9])
    weights = [
        width * exp(-epsilon * abs(below - share * 4) / change)
        for below, width in enumerate(widths)
    ]
    law = {below: weight / sum(weights) for below, weight in enumerate(weights)}
    source = DeterministicSource(7, i_understand_this_is_not_private=True)
    more = {"neighbours": neighbours, "source": source}
    found = Counter(
        int(np.searchsorted(values, ours.quantile(values, share, epsilon, (0, 9), **more)))
        for _ in range(2000)
    )
    assert fits(found, law, sees=0.12)


def test_the_step_of_the_grid_may_be_given() -> None:
    found = {float(ours.quantile([1, 4, 5, 8], 0.5, 1, (0, 9), step=3)) for _ in range(100)}
    assert found <= {0.0, 3.0, 6.0, 9.0}


@pytest.mark.parametrize("quant", [0.5, [0.5], [0.25, 0.75]])
@pytest.mark.parametrize(
    ("axis", "keepdims"), [(None, False), ((0, 1), False), (-1, False), (0, True), ((0, 2), True)]
)
def test_shapes_and_places_are_those_of_numpy(quant: Any, axis: Any, keepdims: bool) -> None:
    """At an epsilon that protects nobody each output is between the values around the rank."""
    found = ours.quantile(TABLE, quant, 1e5, (0, 10), axis=axis, keepdims=keepdims)
    asked = quant[0] if isinstance(quant, list) and len(quant) == 1 else quant
    # A rank or so on either side: a point between two values is as good as the values.
    ranks = 1.5 * np.size(found) / np.size(asked) / TABLE.size
    below, above = (
        np.quantile(TABLE, share, axis=axis, keepdims=keepdims, method=method)
        for share, method in (
            (np.maximum(np.subtract(asked, ranks), 0), "lower"),
            (np.minimum(np.add(asked, ranks), 1), "higher"),
        )
    )
    assert np.shape(found) == np.shape(below)
    assert found.dtype == np.float64
    assert np.all(below - 1e-6 <= found)
    assert np.all(found <= above + 1e-6)


def test_numbers_of_any_type_are_numbers() -> None:
    for values in ([True, False], np.array([0.1, 0.9], np.float32), [0, 2**80], [1, -np.inf], []):
        found = ours.quantile(values, np.float32(0.5), np.float32(1), (np.int8(0), np.float64(1)))
        assert 0 <= found <= 1
    assert ours.quantile([Fraction(1, 3)], "1/2", "1/2", ("0", 1), step="1/7") * 7 % 1 in (0, 1)


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"bounds": None}, ParameterError, "bounds must be a pair .* chosen without looking"),
        ({"bounds": (1, 0)}, ParameterError, "lowest below highest"),
        ({"bounds": ([0, 0], [1, 1])}, ParameterError, "each end of bounds must be one number"),
        ({"quant": 1.5}, ParameterError, "pass numbers from 0 to 1 as quant"),
        ({"epsilon": 0}, ParameterError, "epsilon must be greater than zero"),
        ({"axis": 1}, ParameterError, "axis must be one or more .* the array, whose ndim is 1"),
        ({"array": np.zeros((3, 0)), "axis": 0}, ParameterError, "must have a length of 1 or more"),
        ({"accountant": 3}, Exception, "BudgetAccountant"),
        ({"neighbours": "some"}, ParameterError, "neighbours must be"),
        ({"array": np.ma.masked_equal([900, 1], 900)}, ParameterError, "must not be masked"),
        ({"array": [900.5, float("nan")]}, ScoreError, "without missing values or NaN"),
        ({"array": ["900.5"]}, ScoreError, "values must be numbers"),
        ({"array": np.array([900.5, None])}, ScoreError, "without missing values or NaN"),
    ],
)
def test_refusals_of_quantiles(given: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says) as raised:
        ours.quantile(**{"array": [0.5], "quant": 0.5, "bounds": (0, 1), **given})
    assert "900" not in str(raised.value)


def test_its_accountant_is_charged_as_by_the_original() -> None:
    accounts: Any = diffprivlib().BudgetAccountant
    spent = []
    for function in (diffprivlib().tools.quantile, ours.quantile):
        accountant = accounts(3.0, 0)
        with accountant:  # the default one, too
            function(TABLE, [0.25, 0.5, 0.75], 1.0, (0, 10))
        function(TABLE[:, 0], 0.5, 1.0, (0, 10), axis=0, accountant=accountant)
        function([1, 2], 0.5, 1.0, (0, 10), accountant=accountant)
        spent.append(accountant.spent_budget)
        with pytest.raises(Exception, match="exceed"):
            function([1, 2], 0.5, 0.1, (0, 10), accountant=accountant)
        assert accountant.spent_budget == spent[-1]
    # Theirs in parts that are rounded to the nearest float, ours at once and rounded up.
    theirs, own = (sum(Fraction(epsilon) for epsilon, _ in each) for each in spent)
    assert own == 3
    assert abs(own - theirs) < Fraction(1, 10**15)


class Accountant:
    """As diffprivlib's: floats, and an error where they add up to more than the budget."""

    def __init__(self, budget: float) -> None:
        self.budget = budget
        self.spent: list[float] = []

    @classmethod
    def load_default(cls, given: Any) -> Any:
        return given

    def check(self, epsilon: float, delta: float) -> None:
        assert type(epsilon) is float
        if sum([*self.spent, epsilon]) > self.budget or delta:
            raise ValueError("the budget does not allow it")

    def spend(self, epsilon: float, delta: float) -> None:
        self.check(epsilon, delta)
        self.spent.append(epsilon)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Fraction]]:
    """The values and the epsilon of each draw; and an accountant in diffprivlib's place."""
    found: list[tuple[Any, Fraction]] = []
    choose = ours.choose

    def noted(values: Any, **given: Any) -> Any:
        found.append((values, given["epsilon"]))
        return choose(values, **given)

    monkeypatch.setattr(ours, "choose", noted)
    module = types.ModuleType("diffprivlib.accountant")
    module.BudgetAccountant = Accountant  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "diffprivlib.accountant", module)
    return found


@pytest.mark.parametrize(
    ("place", "epsilon"), [*enumerate([0.3, "1/3", 0.7, 1.0, Fraction(2, 7), "0.1", "1e-30"])]
)
def test_what_is_drawn_is_charged_and_never_less(place, epsilon, drawn) -> None:
    """Each number of outputs with each kind of epsilon."""
    quant = [0.5, [0.25, 0.5, 0.75], [0, 0.1, 0.2, 0.3, 0.4, 0.5, 1]][place % 3]
    axis, accountant = (None, 0)[place % 2], Accountant(9.0)
    ours.quantile(np.ones((5, 3)), quant, epsilon, (0, 9), axis=axis, accountant=accountant)
    whole = sum(each for _, each in drawn)
    assert whole == Fraction(str(epsilon))
    [spent] = accountant.spent
    assert Fraction(spent) >= whole > Fraction(np.nextafter(spent, 0))


def test_a_budget_is_used_up_and_what_is_refused_is_not_drawn(drawn) -> None:
    accountant = Accountant(1.0)
    ours.quantile([1, 2], [0.25, 0.5, 0.75], 1.0, (0, 9), accountant=accountant)
    assert accountant.spent == [1.0]
    del drawn[:]
    for quant in (0.5, [0.25, 0.75]):
        with pytest.raises(ValueError, match="does not allow"):
            ours.quantile([1, 2], quant, 0.5, (0, 9), accountant=accountant)
    assert drawn == []
    tight = Accountant(0.3)  # below 3/10
    with pytest.raises(ValueError, match="does not allow"):
        ours.median([1, 2], 0.3, (0, 9), accountant=tight)
    assert (tight.spent, drawn) == ([], [])


BIG = 2**53 + 1
NEIGHBOURS: dict[str, tuple[Any, Any]] = {
    "a float": ([BIG] * 9, [*[BIG] * 9, 0.5]),
    "an infinity": ((BIG,) * 9, (*(BIG,) * 9, float("inf"))),
    "a negative number": ([2**63 + 1] * 9, [*[2**63 + 1] * 9, -1]),
    "a fraction": ([0.5, BIG], [0.5, BIG, Fraction(1, 3)]),
    "a truth value": ([BIG, 2**64 + 1], [BIG, 2**64 + 1, True]),
    "NumPy's": ([np.int64(BIG)] * 2, [*[np.int64(BIG)] * 2, np.float32(0.5)]),
    "an unsigned one": ([np.int64(-BIG)] * 2, [*[np.int64(-BIG)] * 2, np.uint64(BIG)]),
}


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_one_number_more_does_not_change_the_others(name, drawn) -> None:
    left, right = NEIGHBOURS[name]
    for values in (left, right):
        ours.median(values, 1, (-(2**65), 2**65))
    (before, _), (after, _) = drawn
    assert list(map(place_of, before)) == list(map(place_of, left))
    assert list(map(place_of, after)) == list(map(place_of, right))


def test_rows_and_columns_keep_their_numbers(drawn) -> None:
    nested = [[BIG, 0.5], [BIG, -1], [BIG, 2**64]]
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    table = {"a": [BIG, BIG], "b": [0.5, -1.0]}
    for given in (nested, tuple(map(tuple, nested)), pd.DataFrame(table), pl.DataFrame(table)):
        ours.median(given, 1, (-(2**65), 2**65), axis=0)
        rows = [list(row) for row, _ in drawn]
        assert rows[0] == [BIG] * len(rows[0])
        assert rows[1] == [row[1] for row in nested] or rows[1] == table["b"]
        del drawn[:]
    for column in (pl.Series([BIG, 1]), pd.Series([BIG, 1], dtype="Int64"), pa.array([BIG, 1])):
        ours.median(column, 1, (0, 2**101))
    assert [list(row) for row, _ in drawn] == [[BIG, 1]] * 3


def test_what_cannot_be_read_costs_nothing() -> None:
    accountant = diffprivlib().BudgetAccountant(1.0, 0)
    with pytest.raises(ScoreError, match="without missing values or NaN"):
        ours.median([float("nan")], 1.0, (0, 1), accountant=accountant)
    assert len(accountant) == 0


def test_the_tools_run_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The patch of docs/drop-ins.md."""
    tools: Any = diffprivlib().tools
    for name in ("quantile", "percentile", "median"):
        monkeypatch.setattr(tools, name, getattr(ours, name))
    assert tools.median(np.arange(10), 5.0, (0, 10)) >= 0
