"""The checks of keys, measurements and groups see what is wrong: each mutant is refuted."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from safeselect.audit import measures
from safeselect.audit.finding import Refuted
from safeselect.audit.lists import check_bottom, check_list
from safeselect.audit.mechanisms import LISTS, ONE_SHOT
from safeselect.audit.paths import check_few
from safeselect.audit.tables import KEYS, MEASURES
from safeselect.audit.verify import FULL, QUICK, Check, checks, found
from safeselect.mechanisms import keys

KINDS = (*KEYS, *MEASURES, *(name for name in (*ONE_SHOT, *LISTS) if "_by_group_" in name))


def of(name: str, aspect: str) -> list[Check]:
    return [
        c for c in checks() if c.mechanisms == (name,) and c.aspect == aspect and not c.only_full
    ]


@pytest.mark.parametrize("name", KINDS)
def test_the_right_thing_passes_every_check(name):
    """Each rejects what is right with probability below 1e-9."""
    for check in checks():
        if name in check.mechanisms and not check.only_full and check.kind != "samplers":
            result = found(check, QUICK)
            assert result.passed, (check.name, result.detail)


def refuted(name: str, aspect: str) -> bool:
    return not all(found(check, QUICK).passed for check in of(name, aspect))


@pytest.mark.parametrize("name", KEYS)
def test_keys_that_share_a_threshold_are_seen(name, monkeypatch):
    """Mutant: the first threshold of a release is that of all; of keys, of every call."""

    def same(table: Any, count: int, bits: Any) -> Any:
        return np.full(count, int(real(table, 1, bits)[0]), dtype=np.int64)

    real, one = keys.draw_thresholds, keys.keyed_threshold
    monkeypatch.setattr(keys, "draw_thresholds", same)
    monkeypatch.setattr(keys, "keyed_threshold", lambda table, seed, _: one(table, seed, 0))
    assert refuted(name, "joint")
    assert refuted(name, "thousands")


@pytest.mark.parametrize("name", KEYS)
def test_keys_that_are_kept_too_often_are_seen(name, monkeypatch):
    """Mutant: a key counts one user more."""
    real = keys.Terms.counted
    monkeypatch.setattr(keys.Terms, "counted", lambda terms, n: real(terms, n) + 1)
    assert refuted(name, "few candidates") or refuted(name, "thousands")


@pytest.mark.parametrize("name", MEASURES)
def test_noise_that_is_too_small_is_seen(name, monkeypatch):
    """Mutants: half of the noise is lost; the stated noise is half of what it must be."""
    case = MEASURES[name]

    def halved(*arguments: Any, **more: Any) -> Any:
        made = case.call(*arguments, **more)
        return replace(made, values=tuple(value // 2 for value in made.values))

    with pytest.raises(Refuted, match=r"do not follow the claimed law|its law does not have"):
        measures.check_many_values(replace(case, call=halved), 5000, QUICK)

    def cheap(*arguments: Any, **more: Any) -> Any:
        made = case.call(*arguments, **more)
        if made.rate is not None:
            return replace(made, rate=made.rate * 2)
        return replace(made, sigma_squared=made.sigma_squared / 2)

    with pytest.raises(Refuted, match="does not cover"):
        measures.check_cost(replace(case, call=cheap), QUICK)

    def promising(*arguments: Any, **more: Any) -> Any:
        made = case.call(*arguments, **more)
        kind = type(made.guarantee)
        number = next(iter(kind.__dataclass_fields__))
        return replace(made, guarantee=kind(getattr(made.guarantee, number) / 2))

    with pytest.raises(Refuted, match="does not state the cost"):
        measures.check_cost(replace(case, call=promising), QUICK)


@pytest.mark.parametrize("name", MEASURES)
def test_values_that_share_their_noise_are_seen(name):
    """Mutant: the noise of the first value is that of all."""
    case = MEASURES[name]

    def same(values: Any, **more: Any) -> Any:
        made = case.call(values, **more)
        noise = made.values[0] - values[0]
        return replace(made, values=tuple(value + noise for value in values))

    for check in (measures.check_few_values, measures.check_two_values):
        with pytest.raises(Refuted, match="do not follow the claimed law"):
            check(replace(case, call=same), QUICK)
    with pytest.raises(Refuted, match="do not follow the claimed law"):
        measures.check_many_values(replace(case, call=same), 5000, QUICK)


@pytest.mark.parametrize("name", [name for name in MEASURES if "gaussian" in name])
def test_a_number_that_is_not_the_inversion_of_its_word_is_seen(name, monkeypatch):
    """Mutant: numbers are larger by one in a thousand words."""
    real = measures.draw_symmetric

    def wrong(n: int, law: Any, bits: Any) -> Any:
        drawn = real(n, law, bits)
        drawn[n // 2] += 1
        return drawn

    monkeypatch.setattr(measures, "draw_symmetric", wrong)
    with pytest.raises(Refuted, match="not the inversion of its random word"):
        measures.check_words(MEASURES[name], QUICK)


@pytest.mark.parametrize("name", [name for name in LISTS if "_by_group_" in name])
def test_groups_whose_bottom_is_too_low_are_seen(name):
    """Mutants: delta or epsilon is a hundred or two times what is stated."""
    case = LISTS[name]

    def loose(counts: Any, **more: Any) -> Any:
        made = case.ask(counts, **more)
        made.offset -= 3
        return made

    with pytest.raises(Refuted, match="bottom is not as far away"):
        check_bottom(replace(case, ask=loose), QUICK)

    def loud(counts: Any, **more: Any) -> Any:
        made = case.ask(counts, **{**more, "epsilon": 4 * Fraction(more["epsilon"])})
        made.parts = case.ask(counts, **more).parts
        made.offset = case.ask(counts, **more).offset
        return made

    with pytest.raises(Refuted, match="do not follow the claimed law"):
        check_list(replace(case, ask=loud), QUICK)


def test_rows_of_groups_with_the_noise_of_another_cost_are_seen():
    """Mutant: a group gets three times the cost that is stated."""
    for name in ("top_k_by_group_permute_and_flip/1", "top_k_by_group_exponential/1"):
        case = ONE_SHOT[name]

        def loud(scores: Any, *, epsilon: Any, call: Any = case.call, **more: Any) -> Any:
            return call(scores, epsilon=3 * Fraction(epsilon), **more)

        with pytest.raises(Refuted, match="do not follow the claimed law"):
            check_few(replace(case, call=loud), FULL)
