"""What is drawn is what is charged: every mechanism, with other values of each of its parameters.

`support/observer.py` sees what reaches the engine's draws, `support/entitled.py` says by hand what
each mechanism may draw and what that costs, `support/judged.py` compares, and
`support/observed_calls.py` has the calls.  At the end stand faults that must be found.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from fractions import Fraction
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from broken_laws import BROKEN
from judged import Observation, judge
from observed_calls import CASES, ELSEWHERE, ONE_VALUE, called
from observer import WATCHED, observed
from planted import modules, planted
from public import PUBLIC

from faults import FAULTS
from safeselect import adapters, permute_and_flip, tables
from safeselect.engine import gaussian
from safeselect.engine.laws import LAWS
from safeselect.engine.single import Kind
from safeselect.randomness.bits import Bits

pytestmark = [pytest.mark.slow("every parameter of every mechanism")]

_SEEN: dict[str, list[Observation]] = {}


def _observations(name: str) -> list[Observation]:
    """The calls of a name, each made once for all tests."""
    if name not in _SEEN:
        case = CASES[name]
        changes = [{}, *(each for some in case.vary.values() for each in some), *case.more]
        _SEEN[name] = [called(name, {**case.args, **change}) for change in changes]
    return _SEEN[name]


# ------------------------------------------------------------------------ drawn, stated, charged


@pytest.mark.claim("C2")
@pytest.mark.parametrize("name", CASES)
def test_what_is_drawn_is_what_is_charged(name):
    for found in _observations(name):
        try:
            judge(found)
        except AssertionError as error:
            shown = {key: str(value)[:80] for key, value in found.args.items()}
            pytest.fail(f"{name}({shown}): {error}")


def test_what_one_user_moves_under_replacement_is_refused_or_paid():
    """Counts of users of whom one takes another's place: both outcomes are among the calls."""
    replaced = [
        found
        for name in ("permute_and_flip", "top_k", "measure")
        for found in _observations(name)
        if "moved" in found.args and found.neighbours == "replace_one"
    ]
    assert {found.refused is None for found in replaced} == {True, False}


# ------------------------------------------------------------------------ nothing is passed over


def _drawing() -> dict[str, Any]:
    """Every public name that takes a source: of the package, its tables and its adapters."""
    found = dict(PUBLIC)
    found |= {name: getattr(tables, name) for name in tables.__all__}
    for info in pkgutil.walk_packages(adapters.__path__, adapters.__name__ + "."):
        if info.name.rpartition(".")[2].startswith("_"):
            continue
        module = importlib.import_module(info.name)
        for name in getattr(module, "__all__", vars(module)):
            value = getattr(module, name)
            if getattr(value, "__module__", "").startswith(info.name) and callable(value):
                found[f"{info.name}.{name}"] = value
    return {name: value for name, value in found.items() if "source" in _parameters(value)}


def _parameters(function: Any) -> dict[str, inspect.Parameter]:
    """What a caller may hand over, of what makes releases rather than of what states them."""
    if not (inspect.isfunction(function) or inspect.isclass(function)):
        return {}
    try:
        found = dict(inspect.signature(function).parameters)
    except ValueError:
        return {}
    given = found.get("source")
    return found if given is not None and given.default is None else {}


def test_every_public_name_that_draws_is_observed():
    assert set(_drawing()) == CASES.keys() | ELSEWHERE.keys()


def _handed(name: str, parameter: str) -> list[str]:
    """The different values that the observations of a name had for one parameter."""
    default = _parameters(_drawing()[name])[parameter].default
    reached = [found.args.get(parameter) for found in _observations(name) if found.seen.draws]
    other = [each for each in reached if each is not None and each is not default]
    return sorted({repr(each)[:300] for each in other} - {repr(default)})


@pytest.mark.parametrize("name", CASES)
def test_every_parameter_has_two_values_that_are_not_its_default(name):
    """Of a flag one, and of some words all others; each reached a draw."""
    function = _drawing()[name]
    hints = get_type_hints(function.__init__ if inspect.isclass(function) else function)
    for parameter, said in _parameters(function).items():
        if (name, parameter) in ONE_VALUE:
            continue
        values, form = _handed(name, parameter), hints.get(parameter, said.annotation)
        words = [
            word
            for kind in (form, *get_args(form))
            if get_origin(kind) is Literal
            for word in get_args(kind)
        ]
        least = 1 if type(said.default) is bool else 2
        if words and form is not int and not {"int", int} & set(get_args(form)):
            least = min(least, len(words) - (said.default in words))
        if parameter == "ledger":  # a scope of other neighbours is refused by some
            least = 1
        if parameter in ("unit", "item", "user", "group", "value"):
            least = 1 if parameter == "unit" else 2
        assert len(values) >= least, (name, parameter, values)


def test_every_law_of_the_engine_is_observed():
    laws = {
        draw.law for name in CASES for found in _observations(name) for draw in found.seen.draws
    }
    kinds = {*LAWS, *get_args(Kind)}
    kinds |= {each for each, value in vars(gaussian).items() if hasattr(value, "threshold")}
    assert kinds <= laws, kinds - laws


RARE = {name for name in WATCHED if name.endswith("refine")}
"""Further digits, which a draw asks for by chance."""


def test_every_watched_function_is_reached():
    """One that is renamed, or that nothing calls any more, is not watched in vain."""
    reached = set[str]().union(
        *(found.seen.reached for name in CASES for found in _observations(name))
    )
    assert WATCHED.keys() - RARE <= reached, WATCHED.keys() - RARE - reached
    for name in RARE:
        module = max((each for each in modules() if f"safeselect.{name}".startswith(each)), key=len)
        found = importlib.import_module(module)
        for part in f"safeselect.{name}".removeprefix(f"{module}.").split("."):
            found = getattr(found, part)
        assert callable(found), name


def test_every_mechanism_of_the_certificate_is_observed():
    from checks.mechanisms import names

    observed_names = {
        charge[0] for name in CASES for found in _observations(name) for charge in found.charges
    }
    assert set(names()) <= observed_names, set(names()) - observed_names


def test_random_bits_that_nobody_watches_are_found():
    def aside() -> None:
        with Bits(None) as bits:
            bits.take(8)

    aside.__globals__["__name__"], before = "safeselect.aside", __name__
    try:
        with observed() as seen:
            aside()
    finally:
        aside.__globals__["__name__"] = before
    assert len(seen.elsewhere) == 1
    found = called("permute_and_flip", CASES["permute_and_flip"].args)
    found.seen.elsewhere |= seen.elsewhere
    with pytest.raises(AssertionError, match="unobserved draws"):
        judge(found)


def test_the_observer_leaves_nothing_behind():
    before = sys.getprofile()
    with observed() as seen:
        permute_and_flip([1, 2], epsilon=1, sensitivity=1)
    assert sys.getprofile() is before
    assert [draw.law for draw in seen.draws] == ["exponential"]
    assert seen.draws[0].low == seen.draws[0].high == Fraction(1, 2)


# ------------------------------------------------------------------------ faults that must be found


FOUND = {
    "permute_and_flip": "factor 2 dropped",
    "select_many": "batches: the rate of one row",
    "top_k": "the rate of an unordered set",
    "unknown_domain_top_k": "delta is spent twice",
    "SparseVector": "values of a session that move both ways have the noise of one way",
    "select_partitions": "the rows of keys",
    "measure": "mu squared left out",
    "quantile": "quantiles have the noise of half their range",
    "best_of": "the best of runs costs one run less",
}
"""One for each way to judge: whose calls must tell of which fault."""


@pytest.mark.parametrize("name", FOUND)
@pytest.mark.nightly("the observer itself: what is drawn is held against what is charged above")
def test_a_planted_fault_is_found(name):
    (fault,) = FAULTS.get(FOUND[name]) or [BROKEN[FOUND[name]]]
    case = CASES[name]
    changes = [{}, *(each for some in case.vary.values() for each in some), *case.more]
    with planted(fault):
        for change in changes:
            found = called(name, {**case.args, **change})
            try:
                judge(found)
            except AssertionError:
                return
    pytest.fail("nothing tells of it")
