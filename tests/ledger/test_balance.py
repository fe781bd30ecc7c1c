"""Budgets, what a release costs in them, and where a scope stands."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import pytest
from ledgers import TERMS, forge, new, pure, records_of, scope

import safeselect
from safeselect import ApproximateDP, Budget, BudgetError, Ledger, ParameterError, PureDP
from safeselect.ledger import Balance
from safeselect.ledger.balance import exact_texts
from safeselect.ledger.budget import add
from vectors import mp

pytestmark = pytest.mark.claim("C8")

LEAST = Fraction(1, 2**1024)


@pytest.mark.parametrize(
    ("budget", "guarantee", "name"),
    [
        ({"epsilon": 1}, PureDP(0), "epsilon"),
        ({"epsilon": 1, "delta": "1e-6"}, PureDP(0), "epsilon"),
        ({"epsilon": 1, "delta": "1e-6"}, PureDP(0), "moment_3"),
        ({"epsilon": 1, "delta": "1e-6"}, safeselect.ZeroConcentratedDP(0), "moment_1"),
        ({"epsilon": 1, "delta": "1e-6", "own_delta": "1e-6"}, PureDP(0), "epsilon"),
        ({"rho": 1}, safeselect.ZeroConcentratedDP(0), "rho"),
        ({"rho": 1, "delta": "1e-6"}, PureDP(0), "rho"),
    ],
)
def test_nothing_is_free(budget: dict[str, Any], guarantee: Any, name: str) -> None:
    """A free release could be repeated without end: the least price is the least that adds up."""
    assert Budget(**TERMS, **budget).price(guarantee)[name] == LEAST
    ledger = new(":memory:", **budget)
    for _ in range(2):
        scope(ledger).pay(pure(guarantee=guarantee))
    assert ledger.balance("a").spent[name] == 2 * LEAST


# ------------------------------------------------------------------------------- forms of budgets

MILLIONTH: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
LONGEST = Fraction(2**1024 - 1)
FORMS: list[dict[str, Any]] = [
    {"epsilon": 1},
    {"rho": "0.1"},
    {"rho": "0.1", "delta": "1e-6"},
    {"epsilon": 1, "delta": "1e-6"},
    {"epsilon": 1, "delta": "1e-6", "own_delta": 0},
    {"epsilon": 1, "delta": "1e-6", "own_delta": "1e-6"},
    {"epsilon": "1/3", "delta": "1e-9", "own_delta": "1e-10", "ceiling": {"epsilon": 2}},
    {"epsilon": 1, "delta": "1e-6", "ceiling": {"delta": "1e-5", "epsilon": 3}},
    {"rho": 1, "delta": "1e-6", "ceiling": {"delta": "1e-5"}},
    {"epsilon": 1, "blocks": ["north", "south"]},
    {"rho": 1, "ceiling": {"rho": 9}, "blocks": ("a b", "c")},
    {"epsilon": 1, "blocks": ("2026-11", "2027-02"), "per": "month", "unit": "person and month"},
    {"epsilon": LONGEST - 1, "ceiling": {"epsilon": LONGEST}},
    {"epsilon": 1 / LONGEST},
]


def made(**terms: Any) -> Budget:
    return Budget(**{**TERMS, **terms})


@pytest.mark.parametrize("terms", FORMS)
def test_a_budget_is_read_from_its_record_exactly(terms: dict[str, Any], tmp_path: Path) -> None:
    budget = made(**terms)
    content = json.loads(json.dumps(budget.as_record()))
    assert (Budget.of(content), Budget.of(content).caps) == (budget, budget.caps)
    assert Budget.of(content).as_record() == content
    assert content["budget"].keys() >= {"own_delta", "excesses", "weights", "ceiling"}
    ledger, again = Ledger.create(tmp_path / "l", {"a": budget}), Ledger.open(tmp_path / "l")
    assert again.scopes() == ledger.scopes() == ledger.check().scopes
    for balance in again.scopes().values():
        assert (balance.budget, balance.budget.caps) == (budget, budget.caps)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "a budget must have either epsilon or rho, each with or without delta; got none"),
    ({"delta": "1e-6"}, "got delta"),
    ({"epsilon": 1, "rho": 1}, "got epsilon, rho"),
    ({"epsilon": LONGEST + 1}, "epsilon must be a ratio of integers with at most 1024 bits"),
    ({"epsilon": 1, "own_delta": "1e-6"}, "own_delta requires delta and must be at most delta"),
    ({**MILLIONTH, "own_delta": "2e-6"}, "own_delta requires delta and must be at most delta"),
    ({**MILLIONTH, "own_delta": -1}, "own_delta must be at least zero"),
    ({**MILLIONTH, "own_delta": 1}, "own_delta must be less than 1"),
    ({"rho": 1, "delta": "1e-6", "own_delta": "1e-7"}, "with rho, it must equal delta"),
    ({"epsilon": 1, "ceiling": 2}, r"must map epsilon to a number, such as \{'epsilon': 2\}"),
    ({"epsilon": 1, "ceiling": {"rho": 2}}, "ceiling must map epsilon to a number"),
    ({**MILLIONTH, "ceiling": {"own_delta": 2}}, "ceiling must map epsilon or delta to a number"),
    ({"epsilon": 1, "ceiling": {"epsilon": 1}}, "the ceiling of epsilon must be above 1"),
    ({"epsilon": 1, "ceiling": {"epsilon": "x"}}, "epsilon must be"),
    ({**MILLIONTH, "ceiling": {"delta": 1}}, "delta must be less than 1"),
    ({"epsilon": 1, "blocks": "north"}, "blocks must be a list of names, got"),
    ({"epsilon": 1, "blocks": [7]}, "a block must be a string"),
    ({"epsilon": 1, "blocks": ["a", "a"]}, "must list at most 10000 distinct names without '/'"),
    ({"epsilon": 1, "blocks": ["a/b"]}, "distinct names without '/'"),
    ({"epsilon": 1, "blocks": [str(n) for n in range(10_001)]}, "at most 10000"),
    ({"epsilon": 1, "blocks": ["a"], "neighbours": "replace_one"}, "neighbours='add_remove', be"),
    ({"epsilon": 1, "neighbours": 7}, "neighbours must be a string"),
    ({"epsilon": 1, "per": "week"}, "per must be 'month', got"),
    ({"epsilon": 1, "per": "month"}, "for example unit='person and month'; otherwise, omit per"),
]
MONTHLY = {"epsilon": 1, "per": "month", "unit": "person and month"}
WRONG += [
    ({**MONTHLY, "blocks": blocks}, r"requires two months, as in blocks=")
    for blocks in ([], ["2026-01"], ["2026-01", "2026-13"], ["2026-01"] * 3, ["26-01", "26-02"])
] + [
    ({**MONTHLY, "blocks": ["2026-02", "2026-01"]}, "the months must be in order and span"),
    ({**MONTHLY, "blocks": ["0001-01", "9999-01"]}, "the months must be in order and span"),
]


@pytest.mark.parametrize(("terms", "said"), WRONG)
def test_wrong_budgets_are_told_what_to_write_instead(terms: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        made(**terms)


def test_what_is_above_a_ceiling_or_no_rise_is_refused() -> None:
    low = made(epsilon=1, delta="1e-6", own_delta="1e-7", ceiling={"epsilon": 3, "delta": "1e-5"})
    for limit, value in (("epsilon", 4), ("delta", Fraction(1, 10**4))):
        with pytest.raises(ParameterError, match="above the ceiling of this scope"):
            low.at(limit, Fraction(value))
    for limit, value in (("epsilon", 1), ("delta", Fraction(1, 10**7)), ("rho", 1), ("unit", 1)):
        with pytest.raises(ParameterError, match=f"{limit}, or its {limit} is not below {value}$"):
            low.at(limit, Fraction(value))
    with pytest.raises(ParameterError, match=r"\(it has none\); open another scope"):
        made(epsilon=1).at("epsilon", Fraction(2))


# ------------------------------------------------------------------------------------ what is paid


def charged(balance: Balance, guarantee: Any) -> Balance:
    """The balance after one more release, by the steps of a charge to a ledger."""
    price = balance.budget.price(guarantee)
    balance.charge("scope", price, guarantee, ())
    return Balance(balance.budget, add(balance.spent, price))


# ---------------------------------------------------------------------------- what a person is told


def after(budget: Budget, *guarantees: Any) -> Balance:
    balance = Balance.fresh(budget)
    for each in guarantees:
        balance = charged(balance, each)
    return balance


LISTED = ApproximateDP("1/50", "3e-8")


def test_the_share_used_is_rounded_up() -> None:
    both = made(**MILLIONTH)
    for guarantees, said in (
        ([], "(1, 0.000001): 0 % used; own delta 0 % used"),
        ([PureDP("1/3")], "(1, 0.000001): 33.4 % used; own delta 0 % used"),
        ([PureDP("1e-9")], "(1, 0.000001): 0.1 % used; own delta 0 % used"),
        ([PureDP("1/2")], "(1, 0.000001): 50 % used; own delta 0 % used"),
        ([LISTED], "(1, 0.000001): 0.9 % used; own delta 12 % used"),
        ([ApproximateDP(0, "1e-12")], "(1, 0.000001): 0 % used; own delta 0.1 % used"),
        ([PureDP(1)], "(1, 0.000001): 100 % used; own delta 0 % used"),
    ):
        assert str(after(both, *guarantees)) == said
    assert str(after(made(epsilon=3), PureDP("1/7"))) == "epsilon 3: 4.8 % used"
    assert str(after(made(rho="1/10"), PureDP("1/10"))) == "rho 0.1: 5 % used"
    assert str(Balance.fresh(made(**MILLIONTH, own_delta=0))) == "(1, 0.000001): 0 % used"
    with_delta = after(made(rho="1/10", delta="1e-6"), LISTED)
    assert str(with_delta) == "rho 0.1, delta 0.000001: 0.2 % used; own delta 3 % used"
    balance = after(both, *[PureDP("1/200")] * 100)
    moment = balance.spent["moment_1"] / both.caps["moment_1"]
    assert balance.used == moment < Fraction(1, 4)
    assert str(balance).startswith(f"(1, 0.000001): {-(-moment * 1000 // 1) / 10:g} % used")


ALL_OF_IT = [PureDP(1)]
OWN = [ApproximateDP(0, "2e-7")]
SUMS = {**MILLIONTH, "own_delta": 0}
REFUSED: list[tuple[dict[str, Any], list[Any], Any, str]] = [
    ({"epsilon": 1}, [PureDP("0.981")], PureDP("0.0238"), "2.4 % .* 1.9 % is left; with 3/4 of"),
    (MILLIONTH, [PureDP("0.98101")], PureDP("0.02381"), "2.4 % .* 1.8 % is left; with 3/4 of"),
    (MILLIONTH, [PureDP("1/100")] * 50, PureDP("0.9"), "99.4 % of the budget, and 74 % is left"),
    ({"rho": 1}, [PureDP("1.4")], safeselect.ZeroConcentratedDP("0.3"), "30 % .* 1/2 of its rho"),
    (MILLIONTH, OWN, ApproximateDP("1/100", "1e-7"), "1e-7, but 5e-8 of 2.5e-7 is left; give the"),
    (SUMS, [], ApproximateDP("1/100", "1e-7"), "own delta of 1e-7, but none is reserved$"),
    (MILLIONTH, [], ApproximateDP(".1", "1/3000000"), "delta of about 3.33334e-7, .* delta$"),
    ({"epsilon": 1}, [PureDP("1/4")], safeselect.BoundedRange(1), "3/4 of its epsilon or 9/16 of"),
    (MILLIONTH, [], ApproximateDP(5, "1e-7"), "5.. % of the budget, and 100 % is left$"),
    (MILLIONTH, [], ApproximateDP("1/10", "5e-6"), "is left; give the release a smaller delta$"),
    ({"epsilon": 1}, ALL_OF_IT, PureDP("1/100"), "epsilon 1 of .* 1 % of .* and 0 % is left$"),
    (MILLIONTH, ALL_OF_IT, safeselect.ZeroConcentratedDP("1/1000"), "nothing of the .* is left$"),
    ({"epsilon": "1/1000"}, [], PureDP(10**30), "more than 1000 % of .* and 100 % is left"),
]


@pytest.mark.parametrize(("terms", "first", "asked", "said"), REFUSED)
def test_a_refusal_says_what_is_missing_and_what_would_fit(
    terms: dict[str, Any], first: list[Any], asked: Any, said: str
) -> None:
    balance = after(made(**terms), *first)
    with pytest.raises(BudgetError, match=said) as caught:
        charged(balance, asked)
    assert caught.value.scope == "scope"
    assert caught.value.asked == {n: balance.budget.price(asked)[n] for n in balance.budget.caps}
    assert caught.value.left == balance.left


SHARES = [Fraction(9, 10), Fraction(3, 4), Fraction(1, 2), Fraction(1, 4), Fraction(1, 10)]


def call(scope: Any, share: Fraction, kind: str) -> Any:
    """A release of a kind at a part of its total; asked for, it is not made."""
    scores: Any = {"scores": [4, 1, 9, 3, 2], "sensitivity": 1, "ledger": scope}
    if kind == "rho":
        return safeselect.top_k(**scores, k=3, rho=share / 900, mechanism="exponential")
    if kind == "one":
        return safeselect.report_noisy_max(**scores, epsilon=share / 9, noise="laplace")
    if kind == "flip":
        return safeselect.permute_and_flip(**scores, rho=share**2 / 170)
    if kind == "range":
        return safeselect.exponential_mechanism(**scores, epsilon=share / 9)
    return safeselect.top_k(**scores, k=3, epsilon=share / 6, mechanism=kind)


@pytest.mark.parametrize("kind", ["one", "flip", "range", "rho", "exponential", "permute_and_flip"])
def test_the_share_that_is_named_fits_and_the_next_larger_one_does_not(kind: str) -> None:
    """By the smaller call itself, where the budget is nearly used up."""
    ledger = new(":memory:", **MILLIONTH)

    def fits(share: Fraction) -> Any:
        return ledger.balance("a").fits(lambda there: call(there, share, kind))

    while fits(Fraction(1)):
        scope(ledger).pay(pure(guarantee=safeselect.BoundedRange("0.05")))
    with pytest.raises(BudgetError, match="does not allow this release") as caught:
        call(scope(ledger), Fraction(1), kind)
    first = next(filter(fits, SHARES))
    name = "rho" if kind == "rho" else "epsilon"
    name += f" or {first**2} of its rho" if kind != "rho" else ""
    assert str(caught.value).endswith(f"; with {first} of its {name}, it would fit")


@pytest.mark.parametrize("terms", [{"epsilon": "1/4"}, {**MILLIONTH, "own_delta": "1e-6"}])
def test_what_is_charged_by_its_parts_alone_is_refused_as_all_else(terms: dict[str, Any]) -> None:
    ledger = new(":memory:", **terms)
    for _ in range(ledger.balance("a").fits(lambda there: call(there, Fraction(2), "rho")) or 0):
        call(scope(ledger), Fraction(2), "rho")
    with pytest.raises(BudgetError, match=r"% is left$"):
        call(scope(ledger), Fraction(2), "rho")


def test_a_loss_is_told_for_one_person_with_its_chance() -> None:
    """Word by word; the numbers are those of Theorem 20.4, rounded up."""
    both = made(**MILLIONTH)
    balance = after(both, *[PureDP("1/100")] * 100)
    with mpmath.workdps(40):
        weights = zip(both.terms.moments.items(), both.terms.weights, strict=True)
        found = [
            (mp(balance.spent[name]) - mpmath.log(mp(weight * both.terms.rest))) / mp(excess)
            for (name, excess), weight in weights
        ]
        loss = -(-min(found) * 100 // 1) / 100
    assert loss < 1
    chance = "with probability at least 1 - 0.000001 over all noise since the opening, "
    assert balance.loss() == (
        f"For each individual person, {chance}the privacy loss never exceeded {float(loss):g}."
    )
    few = after(both, PureDP("1/10"), PureDP("0.0001"))
    assert few.loss().endswith(
        "over all noise since the opening, the privacy loss never exceeded 0.11."
    )
    # A release with a delta of its own: twice delta, and 0.7, which is above ln 2.
    own = charged(few, ApproximateDP("1/10", "1e-9"))
    assert own.loss() == (
        "For each individual person, with probability at least 1 - 0.000002 over all noise "
        "since the opening, the privacy loss never exceeded 0.91."
    )
    summed = after(made(**MILLIONTH, own_delta="1e-6"), PureDP("1/4"))
    assert summed.loss().endswith("since the opening, the privacy loss never exceeded 0.25.")


def test_the_loss_of_epsilon_alone_is_certain_and_of_rho_unknown() -> None:
    assert after(made(epsilon=1, unit="visit"), PureDP("1/3")).loss() == (
        "For each individual visit, the privacy loss never exceeded 0.34."
    )
    assert after(made(rho=1), PureDP("1/3")).loss() == ""
    assert after(made(epsilon=1, delta="1/2"), ApproximateDP("1/4", "1e-9")).loss() == ""
    assert after(made(rho=1, delta="1e-6"), PureDP("1/3")).loss() == ""


def test_the_loss_under_a_ceiling_is_told_at_the_ceilings_delta() -> None:
    """Whether it was raised depends on outcomes: raised or not, the chance is the ceiling's."""
    terms = {"epsilon": 1, "delta": "1e-6", "ceiling": {"epsilon": 2, "delta": "1e-5"}}
    low, high = made(**terms), made(epsilon=2, delta="1e-5")
    charges = [safeselect.BoundedRange("1/50")] * 90
    assert "at least 1 - 0.00001 over all" in after(low, *charges).loss()
    raised = low.at("epsilon", Fraction(2)).at("delta", Fraction(1, 10**5))
    assert after(low, *charges).loss() == after(high, *charges).loss()
    assert after(raised, *charges).loss() == after(high, *charges).loss()


def test_what_is_promised_is_one_sentence_with_its_condition() -> None:
    condition = (
        "This holds if every release that reads these people's rows is charged here, or if no "
        "choice made under this budget uses an answer of a release not charged here."
    )
    assert made(**MILLIONTH).statement() == (
        "For each individual person, all releases charged here are together (1, 0.000001) "
        f"differentially private, whatever is asked next. {condition}"
    )
    assert "are together rho 0.1 zCDP, whatever" in made(rho="0.1").statement()
    raised = made(**MILLIONTH, ceiling={"epsilon": 2}).statement()
    assert raised == (
        "For each individual person, until this is raised, including the decision to raise, "
        "(1, 0.000001) differentially private; all releases charged here are together "
        f"(2, 0.000001) differentially private, raised or not, whatever is asked next. {condition}"
    )
    blocks = made(epsilon=1, blocks=["north"]).statement()
    assert blocks.endswith("and each release is charged to every block that it reads.")
    months = made(**MONTHLY, blocks=["2026-01", "2026-02"]).statement()
    assert months.startswith("For each individual person and month, all releases")
    assert "Over T months the bound for a person is T times this, which has no" in months
    assert months.endswith("nothing is promised for a person over several months.")


# -------------------------------------------------------------------------------- blocks and months


@pytest.fixture
def wards() -> Ledger:
    budgets = {
        "wards": made(**MILLIONTH, blocks=["north", "south", "empty"]),
        "purpose": made(epsilon=1),
        "year": made(**MONTHLY, blocks=["2026-11", "2027-02"]),
    }
    return Ledger.create(":memory:", budgets)


def test_each_block_has_a_budget_of_its_own(wards: Ledger) -> None:
    assert [*wards.scopes()] == [
        *("wards/north", "wards/south", "wards/empty", "purpose"),
        *("year/2026-11", "year/2026-12", "year/2027-01", "year/2027-02"),
    ]
    north, south = scope(wards, "wards/north"), scope(wards, "wards/south")
    north.pay(pure(1))
    with pytest.raises(BudgetError, match="scope 'wards/north' does not allow"):
        north.pay(pure("1/9"))
    south.pay(pure("1/2"))
    for joined in (north & south, south & north):
        head = wards.head
        with pytest.raises(BudgetError, match="scope 'wards/north' does not allow"):
            joined.pay(pure("1/4"))
        assert wards.head == head
    (south & scope(wards, "wards/empty") & scope(wards, "purpose")).pay(pure("1/4"))
    spent = {name: each.spent["epsilon"] for name, each in wards.check().scopes.items()}
    assert [*spent.values()] == [1, Fraction(3, 4), Fraction(1, 4), Fraction(1, 4), 0, 0, 0, 0]


def test_what_reads_a_block_names_it(wards: Ledger) -> None:
    for name, such in (("wards", "wards/north"), ("year", "year/2026-11")):
        said = f"scope '{name}' has a budget for each block or month; .* such as '{such}', and join"
        for use in (
            lambda name=name: scope(wards, name),
            lambda name=name: wards.balance(name),
            lambda name=name: wards.reopen(name, reason="x"),
        ):
            with pytest.raises(ParameterError, match=said):
                use()
    for wrong in ("wards/east", "wards/", "ward", "year/2027-03", "year/2026-10"):
        with pytest.raises(ParameterError, match="has no scope"):
            scope(wards, wrong)
    for name, taken, blocks in (
        ("wards", "wards", ["east"]),
        ("wards", "wards", []),
        ("wards/south", "wards/south", []),
        ("wards/east", "wards", []),
        ("wards/east/x", "wards", ["y"]),
        ("purpose", "purpose", ["east"]),
    ):
        with pytest.raises(ParameterError, match=f"scope '{taken}' already exists"):
            wards.add_scope(name, made(epsilon=1, blocks=blocks))
    assert len(wards.scopes()) == 8
    month = wards.scope(
        "year/2026-12", unit="person and month", neighbours="add_remove", purpose="p"
    )
    month.pay(pure(1))
    with pytest.raises(ParameterError, match="has unit 'person and month'"):
        scope(wards, "year/2026-12")


# ------------------------------------------------------------------------------ records that lie


def opened(path: Path, **terms: Any) -> Ledger:
    ledger = new(path, **terms)
    scope(ledger).pay(pure("1/50"))
    return ledger


def set_(*keys: Any) -> Callable[[dict[str, Any]], None]:
    """Put the last into the place that the others name."""

    def change(record: dict[str, Any]) -> None:
        *path, name, value = keys
        for each in path:
            record = record[each]
        record[name] = value

    return change


def pop(*keys: Any) -> Callable[[dict[str, Any]], None]:
    def change(record: dict[str, Any]) -> None:
        for each in keys[:-1]:
            record = record[each]
        record.pop(keys[-1])

    return change


def more(name: str, by: Fraction) -> Callable[[dict[str, Any]], None]:
    """A cap that is larger by this share."""

    def change(record: dict[str, Any]) -> None:
        record["caps"] |= exact_texts({name: Fraction(record["caps"][name]) * (1 + by)})

    return change


NO_BUDGET, CAPS = ("has no valid budget", "record 1 states caps that differ from those")
LIES: list[tuple[Callable[[dict[str, Any]], None], str]] = [
    (set_("terms", "budget", "weights", ["4/5", "1/10", "1/5"]), NO_BUDGET),
    (set_("terms", "budget", "excesses", ["22", "22", "110"]), NO_BUDGET),
    (set_("terms", "budget", "own_delta", "2/1000000"), "not valid: a number is not in canonical"),
    (pop("terms", "budget", "own_delta"), NO_BUDGET),
    (set_("terms", "budget", "sigma", "1"), NO_BUDGET),
    (set_("terms", "budget", "epsilon", "one"), "a budget is not valid: a value is not a number"),
    (set_("terms", "budget", []), NO_BUDGET),
    (set_("terms", "budget", "ceiling", {"epsilon": "1/2"}), NO_BUDGET),
    (set_("terms", "budget", "ceiling", []), "a ceiling is not an object that maps names to"),
    (set_("terms", "blocks", ["a", "a"]), NO_BUDGET),
    (set_("terms", "blocks", "ab"), NO_BUDGET),
    (set_("terms", "per", "month"), NO_BUDGET),
    (set_("terms", "unit", ["person and month"]), NO_BUDGET),
    (set_("terms", "more", "x"), NO_BUDGET),
    (set_("caps", "not_pure", "1"), CAPS),
    (set_("caps", "rho", "1"), CAPS),
    (set_("caps", "moment_2", "0"), CAPS),
    (pop("caps", "not_pure"), CAPS),
    (more("moment_3", Fraction(1, 2**50)), CAPS),
]


MONTHS = {**MONTHLY, "blocks": ["2026-11", "2027-01"]}
LIES_OF_MONTHS = [
    (set_("terms", "unit", "person"), NO_BUDGET),
    (set_("terms", "blocks", ["2026-11", "2027-01"]), NO_BUDGET),
    (set_("terms", "blocks", ["2026-11", "2026-12", "2026-12"]), NO_BUDGET),
    (set_("terms", "blocks", []), NO_BUDGET),
    (set_("terms", "neighbours", "replace_one"), NO_BUDGET),
]


@pytest.mark.claim("C9")
@pytest.mark.parametrize(
    ("terms", "lie", "said"),
    [(MILLIONTH, *each) for each in LIES] + [(MONTHS, *each) for each in LIES_OF_MONTHS],
)
def test_a_scope_that_lies_is_damage(
    tmp_path: Path, terms: dict[str, Any], lie: Callable[[dict[str, Any]], None], said: str
) -> None:
    path = tmp_path / "l"
    Ledger.create(path, {"a": made(**terms)})
    forge(path, lie, 1)
    with pytest.raises(safeselect.LedgerDamaged, match=said):
        Ledger.open(path)


@pytest.mark.parametrize("name", ["wards", "wards/north", "wards/x", "other"])
def test_a_scope_with_the_name_of_blocks_is_damage(tmp_path: Path, name: str) -> None:
    path = tmp_path / "l"
    Ledger.create(path, {"wards": made(epsilon=1, blocks=["north"]), "b": made(epsilon=1)})

    def change(record: dict[str, Any]) -> None:
        if record.get("scope") == "b":
            record["scope"] = name

    forge(path, change)
    if name == "other":
        assert [*Ledger.open(path).scopes()] == ["wards/north", "other"]
    else:
        with pytest.raises(
            safeselect.LedgerDamaged, match="opens a scope whose name is already taken"
        ):
            Ledger.open(path)


def last_charge(change: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
    return lambda record: change(record["charges"][0])


@pytest.mark.claim("C9")
def test_a_sum_above_every_way_is_damage_and_above_all_but_one_is_none(tmp_path: Path) -> None:
    path = tmp_path / "l"
    opened(path, **MILLIONTH)
    whole, caps = path.read_bytes(), made(**MILLIONTH).caps
    names = [*caps]
    above = {name: cap + 1 for name, cap in caps.items()} | {"own_delta": Fraction(0)}

    def charge(**amounts: Fraction) -> Callable[[dict[str, Any]], None]:
        found = exact_texts(above | amounts)
        return last_charge(lambda each: each.update(charge=found, after=found))

    for amounts in (
        {},
        {"epsilon": caps["epsilon"]},  # and it is not pure
        {"not_pure": Fraction(0)},
        *({name: caps[name], "own_delta": Fraction(1)} for name in names if "moment" in name),
    ):
        path.write_bytes(whole)
        forge(path, charge(**amounts))
        with pytest.raises(
            safeselect.LedgerDamaged,
            match="record 2 is a charge that the budget of its scope does not allow",
        ):
            Ledger.open(path)
    for amounts in (
        {"epsilon": caps["epsilon"], "not_pure": Fraction(0)},
        *({name: caps[name]} for name in names if "moment" in name),
    ):
        path.write_bytes(whole)
        forge(path, charge(**amounts))
        assert Ledger.open(path).balance("a").spent == above | amounts


@pytest.mark.claim("C9")
def test_an_older_versions_caps_are_those_that_count(tmp_path: Path) -> None:
    """One unit lower, by another formula: accepted, and judged by; missing: its way is closed."""
    path = tmp_path / "l"
    opened(path, **MILLIONTH)
    budget = made(**MILLIONTH)
    cap = budget.caps["moment_2"]
    unit = Fraction(1, cap.denominator)
    forge(path, set_("caps", "moment_2", exact_texts({"moment_2": cap - unit})["moment_2"]), 1)
    balance = Ledger.open(path).balance("a")
    assert balance.budget.caps == {**budget.caps, "moment_2": cap - unit}
    full = {**dict.fromkeys(balance.spent, Fraction(10**6)), "own_delta": Fraction(0)}
    full["moment_2"] = cap - unit
    price = {name: amount - balance.spent[name] for name, amount in full.items()}
    assert balance.charge("a", price, PureDP(1), ())
    with pytest.raises(BudgetError, match="does not allow"):
        balance.charge("a", {**price, "moment_2": price["moment_2"] + unit}, PureDP(1), ())
    scope(Ledger.open(path)).pay(pure("1/50"))
    forge(path, pop("caps", "moment_2"), 1)
    assert "moment_2" not in Ledger.open(path).balance("a").left


@pytest.mark.claim("C9")
def test_a_price_above_this_versions_is_accepted(tmp_path: Path) -> None:
    """A sharper theorem, or another rounding, does not damage an old ledger."""
    path = tmp_path / "l"
    opened(path, **MILLIONTH)
    found = deepcopy(records_of(path)[-1]["charges"][0]["charge"])
    unit = Fraction(1, Fraction(found["moment_1"]).denominator)
    higher = found | exact_texts({"moment_1": Fraction(found["moment_1"]) + unit})
    forge(path, last_charge(lambda each: each.update(charge=higher, after=higher)))
    ledger = Ledger.open(path)
    assert ledger.balance("a").spent["moment_1"] == Fraction(found["moment_1"]) + unit
    scope(ledger).pay(pure("1/50"))
    assert ledger.check().scopes["a"] == ledger.balance("a")
