"""What a scope of a ledger states, and where it stands: its budget, its sums and its refusals."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from decimal import ROUND_FLOOR
from fractions import Fraction
from typing import Any, cast

from safeselect.accounting.cost import rounded_text
from safeselect.accounting.repetition import AnyGuarantee
from safeselect.errors import BudgetError, InputError, LedgerDamaged, ParameterError
from safeselect.exact.parameters import Number, describe, exact_text, rational
from safeselect.ledger import budget as decision
from safeselect.ledger.budget import BITS, Amounts, Terms, View, add, allows, ways
from safeselect.ledger.quote import quoted
from safeselect.ledger.record import Fields, read_numbers, text
from safeselect.promises.guarantees import (
    BoundedRange,
    Content,
    LaplaceDominated,
    PureDP,
    ZeroConcentratedDP,
)
from safeselect.release.codec import read_part
from safeselect.release.display import with_places

_SHARES = [Fraction(9, 10), *(Fraction(quarters, 4) for quarters in (3, 2, 1)), Fraction(1, 10)]
"""Of a release that does not fit, the parts of its epsilon that are tried."""

COVERED = (
    "This holds if every release that reads these people's rows is charged here, or if no choice "
    "made under this budget uses an answer of a release not charged here."
)
BLOCKS = (
    "It holds for all blocks together, if a person's block is public or was fixed before the first "
    "release, and each release is charged to every block that it reads."
)
MONTHS = (
    "Over T months the bound for a person is T times this, which has no upper limit, if each "
    "guarantee is for all rows of a person that the release reads, and is charged to each month "
    "that it reads; otherwise nothing is promised for a person over several months."
)

_SPLITS = [Fraction(tenths, 20) for tenths in (0, 2, 5, 10, 15, 20)]
"""Of delta, the shares for own deltas that are compared."""

_MONTH = " and month"
_MONTH_FORM = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])", re.ASCII)
_MOST_BLOCKS = 10_000


@dataclass(frozen=True, slots=True, init=False)
class Budget:
    """A limit on the total cost of all releases that are charged to one scope of a ledger.

    - With `epsilon`, the epsilons of pure guarantees add up.
    - With `epsilon` and `delta`, every kind of release is allowed, and (epsilon, delta) holds for
      all of them together. This budget allows more releases than sums of epsilon and delta do,
      because moments of the privacy loss are added up, too.
    - With `rho`, the zCDP parameters add up. With `rho` and `delta`, the deltas of releases add up,
      too.

    In each form the next release may depend on all earlier answers. Irrational prices are rounded
    up, and irrational caps down (`docs/budgets.md`).

    Args:
        unit: unit of privacy, such as "person".
        neighbours: relation of neighbouring data sets: "add_remove", "replace_one" or your own
            words.
        epsilon, delta, rho: positive fractions of integers of at most 1024 bits.
        own_delta: part of delta that is reserved for releases with a delta of their own, such as
            lists of an unknown domain (default: a quarter). With 0, such releases are refused. With
            all of delta, epsilons and deltas are simply added.
        ceiling: largest epsilon, delta or rho to which approvers may raise this budget later. The
            promise of the scope is the ceiling, whether or not the budget is raised. Without a
            ceiling, no limit can be raised.
        blocks: names of all blocks of people, which must be disjoint. Each block gets this budget,
            as the scope `name/block`. The block of a person is public, or fixed before the first
            release.
        per: "month" gives each month this budget, for a unit such as "person and month". `blocks`
            are then the first and the last month, such as ("2026-01", "2026-12").

    Raises:
        ParameterError: the combination of arguments is not supported, or a value is wrong.

    Source: `docs/mathematics.md`, Theorem 20.2.

    Example:
        >>> from safeselect import Budget
        >>> Budget("person", "add_remove", epsilon=1, delta="1e-6").terms.own_delta
        Fraction(1, 4000000)
    """

    unit: str
    neighbours: str
    terms: Terms
    ceiling: Amounts = field(default_factory=dict)
    blocks: tuple[str, ...] = ()
    per: str = ""
    _caps: Amounts = field(init=False, repr=False, compare=False)

    def __init__(  # the fields are exact; what is handed over may be any exact number
        self,
        unit: str,
        neighbours: str,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        own_delta: Number | None = None,
        *,
        ceiling: Mapping[str, Number] | None = None,
        blocks: Sequence[str] = (),
        per: str = "",
    ) -> None:
        named = {"epsilon": epsilon, "delta": delta, "rho": rho}
        limits = {name: _read(value, name) for name, value in named.items() if value is not None}
        if " ".join(limits) not in ("epsilon", "rho", "epsilon delta", "delta rho"):
            raise ParameterError(
                "a budget must have either epsilon or rho, each with or without delta; got "
                f"{', '.join(sorted(limits)) or 'none'}"
            )
        highest = _read_ceiling(ceiling, limits)
        made = _terms(limits | highest, _read_share(own_delta, limits)).at(limits)
        found = _read_blocks(blocks, per, text(unit, "unit"))
        stated = {"terms": made, "ceiling": highest, "blocks": found, "per": per}
        self._set(unit, neighbours, **stated, _caps=decision.caps(made))

    def _set(self, unit: str, neighbours: str, **rest: object) -> None:
        text(unit, "unit")
        text(neighbours, "neighbours")
        if rest["blocks"] and neighbours != "add_remove":
            raise ParameterError(
                "disjoint blocks require neighbours='add_remove', because a unit whose data are "
                "replaced can move to another block"
            )
        for name, value in {"unit": unit, "neighbours": neighbours, **rest}.items():
            object.__setattr__(self, name, value)

    def _copy(self, terms: Terms, caps: Amounts) -> Budget:
        made: Budget = object.__new__(Budget)
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        made._set(**{**values, "terms": terms, "_caps": caps})
        return made

    @property
    def caps(self) -> Amounts:
        """A dict that maps the name of each limited amount to the cap on its total.

        Amounts without a cap are not used.
        """
        return dict(self._caps)

    def at(self, limit: str, value: Fraction) -> Budget:
        """Return a copy of the budget in which one limit is raised, at most to its ceiling.

        Raises:
            ParameterError: the budget has no such limit, the value does not raise it, or it exceeds
                the ceiling.
        """
        if value <= self.terms.limits.get(limit, value):
            raise ParameterError(f"this budget has no {limit}, or its {limit} is not below {value}")
        if value > self.ceiling.get(limit, Fraction(0)):
            said = exact_text(self.ceiling[limit]) if limit in self.ceiling else "it has none"
            raise ParameterError(
                f"{limit} cannot be raised above the ceiling of this scope ({said}); open "
                "another scope"
            )
        terms = self.terms.at({limit: value})
        return self._copy(terms, decision.caps(terms))

    def stating(self, caps: object, where: str) -> Budget:
        """Return a copy of the budget with the caps that a record states.

        These caps apply to the charges of the scope.

        Another version may round a logarithm differently.

        Raises:
            LedgerDamaged: a cap certainly exceeds the cap that the terms allow.
        """
        stated = read_numbers(caps, where)
        if decision.overstated(self.terms, stated):
            raise LedgerDamaged(f"{where} states caps that differ from those of its budget")
        return self._copy(self.terms, stated)

    def price(
        self, guarantee: AnyGuarantee, parts: Iterable[tuple[AnyGuarantee, int]] = ()
    ) -> Amounts:
        """Return the amounts, rounded up, that a release adds to the totals of the budget.

        The price is fixed before the draw and depends only on public facts: the guarantee of the
        release and those of its parts. For each amount, the smaller of the two bounds is used.

        Raises:
            ParameterError: the guarantee does not bound the amounts of this budget, so it never
                fits.
        """
        found = decision.price(self.terms, guarantee, tuple(parts))
        has_moments = any(name in self._caps for name in self.terms.moments)
        if found is not None and (has_moments or not found.get("not_pure")):
            return dict(found)
        rest = "and with own_delta below delta " if self.terms.delta and not self.terms.rho else ""
        takes = "rho and delta" if self.terms.rho else f"epsilon and delta {rest}".strip()
        raise ParameterError(
            f"{type(guarantee).__name__} cannot be charged to this budget, which limits "
            f"{' and '.join(self.terms.limits)}; use a budget with {takes}"
        )

    def refusal(
        self, scope: str, total: Amounts, guarantee: AnyGuarantee, parts: View
    ) -> BudgetError:
        """Return the error for a release that does not fit into the budget.

        The message quotes only public numbers: caps, totals and prices.
        """
        asked = self.price(guarantee, parts)
        left = {name: max(Fraction(0), cap - total[name]) for name, cap in self._caps.items()}
        own, said = asked.get("own_delta", Fraction(0)), f"scope {scope!r} does not allow this"
        said = f"the budget {self.numbers()} of {said} release: it "
        if own > left.get("own_delta", own):
            cap = self._caps["own_delta"]
            room = f"{rounded_text(left['own_delta'], ROUND_FLOOR)} of {rounded_text(cap)} is left"
            rest = f"{room}; give the release a smaller delta" if cap else "none is reserved"
            said += f"has its own delta of {rounded_text(own)}, but {rest}"
        else:
            said += self._short(total, asked, left)
            smaller = (share for share in _SHARES if self._fits(total, guarantee, parts, share))
            if (share := next(smaller, None)) is not None:
                laws = BoundedRange, LaplaceDominated  # a call that states rho may have these
                number = "rho" if isinstance(guarantee, ZeroConcentratedDP) else "epsilon"
                also = f" or {share**2} of its rho" if isinstance(guarantee, laws) else ""
                said += f"; with {share} of its {number}{also}, it would fit"
        shown = {name: asked[name] for name in left}
        return BudgetError(said, scope=scope, asked=shown, left=left)

    def _short(self, total: Amounts, asked: Amounts, left: Amounts) -> str:
        """What is missing on the way of which most is left, in percent of its cap."""
        open_ = [
            name
            for name in ways(self._caps, total)
            if asked[name] and not (name == "epsilon" and asked.get("not_pure"))
        ]
        if not open_:
            return "has a cost, and nothing of the budget is left"
        best = max(open_, key=lambda name: left[name] / asked[name])
        need, rest = asked[best] / self._caps[best], left[best] / self._caps[best]
        return f"needs {percent(need)} of the budget, and {percent(rest, down=True)} is left"

    def _fits(self, total: Amounts, guarantee: AnyGuarantee, parts: View, share: Fraction) -> bool:
        # The epsilons of draws go down with the whole; of rho the whole alone is known to.
        smaller = _smaller(guarantee, share)
        view = () if isinstance(guarantee, ZeroConcentratedDP) else parts
        listed = [(found, count) for each, count in view if (found := _smaller(each, share))]
        if smaller is None or len(listed) < len(view):
            return False
        price = decision.price(self.terms, smaller, tuple(listed))
        return price is not None and allows(self._caps, price, add(total, price))

    def numbers(self) -> str:
        """Return the limits of the budget as text, such as "(1, 0.000001)" or "rho 0.1"."""
        limits = self.terms.limits
        if "epsilon" in limits and "delta" in limits:
            return f"({', '.join(map(rounded_text, limits.values()))})"
        return ", ".join(f"{name} {rounded_text(value)}" for name, value in limits.items())

    def statement(self) -> str:
        """Return, in words, what the budget promises for all releases of a scope together.

        The text includes the conditions of the promise.
        """
        promise = f"all releases charged here are together {self._promised()}"
        if self.ceiling:
            now = f"until this is raised, including the decision to raise, {self._promised()}"
            highest = self._copy(self.terms.at(self.ceiling), {})._promised()
            promise = f"{now}; {promise.replace(self._promised(), highest)}, raised or not"
        said = [f"For each individual {self.unit}, {promise}, whatever is asked next. {COVERED}"]
        if self.per:
            said.append(MONTHS)
        elif self.blocks:
            said.append(BLOCKS)
        return " ".join(said)

    def _promised(self) -> str:
        kind = "zCDP" if self.terms.rho else "differentially private"
        return f"{self.numbers()} {kind}"

    def as_record(self) -> dict[str, Content]:
        """Return the budget in the form in which a ledger records it."""
        terms = self.terms
        stated: dict[str, Content] = {
            **exact_texts(terms.limits),
            "own_delta": exact_text(terms.own_delta),
            "excesses": [exact_text(each) for each in terms.excesses],
            "weights": [exact_text(each) for each in terms.weights],
            "ceiling": exact_texts(self.ceiling),
        }
        return {
            "unit": self.unit,
            "neighbours": self.neighbours,
            "budget": stated,
            "blocks": list(self.blocks),
            "per": self.per,
        }

    @classmethod
    def of(cls, content: object) -> Budget:
        """Return the budget that is described by a result of `as_record`.

        The orders and weights of the budget are read, not chosen again.

        Raises:
            LedgerDamaged: the content is something else.
        """
        made: Budget = object.__new__(cls)
        try:
            made._set(**_read_record(content))
        except (LookupError, TypeError, ValueError, ParameterError):
            raise LedgerDamaged("the record of a scope has no valid budget") from None
        if made.as_record() != content:
            raise LedgerDamaged("the record of a scope has no valid budget")
        return made


def _read_record(content: object) -> dict[str, Any]:
    """The fields of a budget; what has another form is found when it is written again."""
    here = cast("dict[str, Any]", content)
    stated = dict(here["budget"])
    excesses, weights = (
        tuple(read_numbers(dict(enumerate(stated.pop(name))), name).values())
        for name in ("excesses", "weights")
    )
    ceiling = read_numbers(stated.pop("ceiling"), "a ceiling")
    terms = Terms(**read_numbers(stated, "a budget"), excesses=excesses, weights=weights)
    highest = terms.at(ceiling).limits
    if any(highest[name] < value for name, value in terms.limits.items()):
        raise ParameterError("the ceiling is below the budget")
    blocks = here["blocks"]
    ends = (blocks[0], blocks[-1]) if here["per"] else blocks
    found = _read_blocks(ends, here["per"], text(here["unit"], "unit"))
    named = {name: here[name] for name in ("unit", "neighbours", "per")}
    read = {"terms": terms, "ceiling": ceiling, "blocks": found}
    return {**named, **read, "_caps": decision.caps(terms)}


def _terms(limits: Amounts, share: Fraction | None) -> Terms:
    """The default terms at these limits.

    Args:
        share: of delta, for own deltas.
    """
    delta = limits.get("delta", Fraction(0))
    if "rho" in limits:
        return Terms(rho=limits["rho"], delta=delta, own_delta=delta)
    return Terms.of(limits["epsilon"], delta, None if share is None else share * delta)


def _read_share(own_delta: object, limits: Amounts) -> Fraction | None:
    if own_delta is None:
        return None
    own, delta = _read(own_delta, "own_delta", zero=True), limits.get("delta")
    if delta is None or own > delta or ("rho" in limits and own < delta):
        raise ParameterError(
            "own_delta requires delta and must be at most delta; with rho, it must equal delta"
        )
    return own / delta


def _smaller(guarantee: AnyGuarantee, share: Fraction) -> AnyGuarantee | None:
    """The guarantee of the same release at a part of its epsilon or rho, where that is known."""
    if isinstance(guarantee, ZeroConcentratedDP):
        return ZeroConcentratedDP(guarantee.rho * share)
    if isinstance(guarantee, (PureDP, LaplaceDominated, BoundedRange)):
        return type(guarantee)(guarantee.epsilon * share)
    return None


def percent(share: Fraction, *, down: bool = False) -> str:
    """A share in percent with one digit after the point, rounded up, or down."""
    if share > 10:  # a guarantee's epsilon may have thousands of digits
        return "more than 1000 %"
    return f"{with_places(100 * share, 1, down=down)} %"


def _read_ceiling(ceiling: object, limits: Amounts) -> Amounts:
    if ceiling is None:
        return {}
    if not isinstance(ceiling, Mapping) or not ceiling or ceiling.keys() - limits.keys():
        raise ParameterError(
            f"ceiling must map {' or '.join(limits)} to a number, such as {{'{max(limits)}': 2}}, "
            f"got {describe(ceiling)}"
        )
    found = {name: _read(ceiling[name], name) for name in limits if name in ceiling}
    for name, value in found.items():
        if value <= limits[name]:
            raise ParameterError(f"the ceiling of {name} must be above {limits[name]}")
    return found


def _read_blocks(blocks: object, per: object, unit: str) -> tuple[str, ...]:
    if isinstance(blocks, str) or not isinstance(blocks, Sequence):
        raise ParameterError(f"blocks must be a list of names, got {describe(blocks)}")
    names = tuple(text(each, "a block") for each in blocks)
    if type(per) is str and per == "month":
        return _months(names, unit)
    if per != "":
        raise ParameterError(f"per must be 'month', got {describe(per)}")
    if len(set(names)) != len(names) or len(names) > _MOST_BLOCKS or any("/" in x for x in names):
        raise ParameterError(f"blocks must list at most {_MOST_BLOCKS} distinct names without '/'")
    return names


def _months(ends: tuple[str, ...], unit: str) -> tuple[str, ...]:
    """All months from the first to the last."""
    if not unit.endswith(_MONTH):
        raise ParameterError(
            "per='month' requires a unit that ends in 'and month', for example "
            f"unit='person{_MONTH}'; otherwise, omit per"
        )
    if len(ends) != 2 or not all(map(_MONTH_FORM.fullmatch, ends)):
        raise ParameterError("per='month' requires two months, as in blocks=('2026-01', '2026-12')")
    first, last = (int(each[:4]) * 12 + int(each[5:]) - 1 for each in ends)
    if not 0 <= last - first < _MOST_BLOCKS:
        raise ParameterError(f"the months must be in order and span at most {_MOST_BLOCKS} months")
    return tuple(f"{each // 12:04}-{each % 12 + 1:02}" for each in range(first, last + 1))


def exact_texts(values: Mapping[str, Fraction]) -> dict[str, Content]:
    """Exact numbers as strings, such as "1/3"."""
    return {name: exact_text(value) for name, value in values.items()}


def _read(value: object, name: str, *, zero: bool = False) -> Fraction:
    number = rational(value, name, below=1 if "delta" in name else None, zero=zero)
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > BITS:
        raise ParameterError(f"{name} must be a ratio of integers with at most {BITS} bits each")
    return number


MAX_REFUSALS = 10
"""The default number of refusals of private input at which a scope closes."""

_LARGEST = 10**6


@dataclass(frozen=True, slots=True)
class Balance:
    """The balance of a scope.

    Attributes:
        budget: the budget of the scope.
        spent: the amounts charged in total.
        refusals: the number of calls that were charged and then refused for their private input.
        max_refusals: the number of refusals at which the scope is closed.
    """

    budget: Budget
    spent: Amounts
    refusals: int = 0
    max_refusals: int = MAX_REFUSALS

    @classmethod
    def fresh(cls, budget: Budget, max_refusals: int = MAX_REFUSALS) -> Balance:
        """Return the balance of a scope when it is opened."""
        return cls(budget, dict.fromkeys(budget.terms.names, Fraction(0)), 0, max_refusals)

    @property
    def left(self) -> Amounts:
        """What may still be added to each amount that has a cap; 0 where its way is used up."""
        caps = self.budget.caps.items()
        return {name: max(Fraction(0), cap - self.spent[name]) for name, cap in caps}

    @property
    def used(self) -> Fraction:
        """The share of the budget that is used: the least of the ways that are still open."""
        return decision.used(self.budget.caps, self.spent)

    def __str__(self) -> str:
        said = f"{self.budget.numbers()}: {percent(self.used)} used"
        if cap := self.budget.terms.own_delta:
            said += f"; own delta {percent(self.spent['own_delta'] / cap)} used"
        return said

    def _repr_html_(self) -> str:
        from safeselect.release.page import Section, as_part

        whose = {"unit": self.budget.unit, "neighbours": self.budget.neighbours}
        return as_part(Section(str(self), whose | {"so far": self.loss()}, {})).text

    def loss(self) -> str:
        """Return what is known of the privacy loss so far, in one sentence; "" if nothing is.

        It depends on outcomes, so it is no guarantee to be quoted in advance
        (`docs/mathematics.md`, Theorem 20.4).
        """
        # A raise may depend on outcomes: the ceiling holds, whether it was raised or not.
        terms = self.budget.terms.at(self.budget.ceiling)
        loss = decision.largest_loss(terms, self.spent)
        chance, own = "", self.spent.get("own_delta")
        delta = terms.delta * (2 if own else 1)
        if loss is None or delta >= 1:
            return ""
        if delta:
            shown = rounded_text(delta)
            chance = f"with probability at least 1 - {shown} over all noise since the opening, "
        if own:  # ln 2 below 0.7 is what the loss that others see may be above that of Theorem 20.4
            loss += _SEEN
        return (
            f"For each individual {self.budget.unit}, {chance}the privacy loss never exceeded "
            f"{with_places(loss, 2)}."
        )

    def fits(self, asked: object) -> int | None:
        """Return how many more releases of one kind fit, or None if any number fits.

        Args:
            asked: a guarantee, something that has one, such as a release, or a function that makes
                the call with the scope that it gets: `lambda scope: top_k(..., ledger=scope)`.
                Nothing is charged, read or drawn.

        Raises:
            ParameterError: it is something else, or this budget never takes it.
        """
        return self._more(*quoted(asked, self.budget.unit, self.budget.neighbours))[0]

    def _more(self, guarantee: AnyGuarantee, parts: View) -> tuple[int | None, str]:
        price = self.budget.price(guarantee, parts)
        return decision.fits(self.budget.caps, self.spent, price)

    def forecast(self, asked: object) -> str:
        """Return in words how many more releases of one kind fit, and what stops them.

        Args:
            asked: as for `fits`.

        Raises:
            ParameterError: as `fits`.
        """
        guarantee, parts = quoted(asked, self.budget.unit, self.budget.neighbours)
        times, stop = self._more(guarantee, parts)
        if times is None:
            return "fits any number of times"
        said = f"fits {_often(times)}, limited by {stop.replace('_', ' ')}"
        return said if any(self.spent.values()) else said + self._split(guarantee, parts, times)

    def _split(self, guarantee: AnyGuarantee, parts: View, times: int) -> str:
        """The own delta with which the most of these would fit, if they are more; else nothing."""
        highest, limits = self.budget.terms.at(self.budget.ceiling), self.budget.terms.limits
        if not highest.delta or highest.rho:
            return ""
        found = [(times, Fraction(0))]
        for share in _SPLITS:
            terms = _terms(highest.limits, share).at(limits)
            budget = self.budget._copy(terms, decision.caps(terms))
            with suppress(ParameterError):
                count, _ = Balance.fresh(budget)._more(guarantee, parts)
                found.append((count or 0, terms.own_delta))
        more, own = max(found)
        shown = exact_text(own) if "about" in (said := rounded_text(own)) else said
        opened = f"; with own_delta={shown} when the scope is opened: {_often(more)}"
        return opened if more > times else ""

    @property
    def is_closed(self) -> bool:
        """Whether the refusals reached their limit, so that every answer is refused.

        Which calls were refused depends on private values; no budget bounds what that reveals.
        """
        return self.refusals >= self.max_refusals

    def closed(self, scope: str) -> BudgetError | None:
        """Return the error of every answer of a closed scope; None for one that is open."""
        if not self.is_closed:
            return None
        return BudgetError(
            f"scope {scope!r} is closed, because charged calls were refused for reasons that "
            "depend on private data, and the number of such refusals is not differentially "
            "private; the owner of the ledger can reopen it: safeselect ledger reopen",
            scope=scope,
        )

    def check_open(self, scope: str) -> None:
        """Refuse every answer of a closed scope, with one sentence.

        Raises:
            BudgetError: the scope is closed.
        """
        if (error := self.closed(scope)) is not None:
            raise error

    def charge(
        self, scope: str, price: Amounts, guarantee: AnyGuarantee, parts: View
    ) -> dict[str, Content]:
        """Return what a record states of a release with this price, or refuse it.

        Raises:
            BudgetError: the scope is closed, or the release does not fit.
        """
        self.check_open(scope)
        after = add(self.spent, price)
        if not allows(self.budget.caps, price, after):
            raise self.budget.refusal(scope, self.spent, guarantee, parts)
        return {"scope": scope, "charge": exact_texts(price), "after": exact_texts(after)}


def opened(record: Fields, where: str) -> dict[str, Balance]:
    """Return the balances that a record of a new scope opens: one, or one for each block.

    Raises:
        LedgerDamaged: its caps are above those of its terms, or its limit is not valid.
    """
    budget = Budget.of(record["terms"]).stating(record["caps"], where)
    limit = read_limit(record["max_refusals"], where)
    return {name: Balance.fresh(budget, limit) for name in names_of(record["scope"], budget)}


def names_of(scope: str, budget: Budget) -> list[str]:
    """Return the names that charges give to a scope: its own, or one for each block."""
    return [f"{scope}/{block}" for block in budget.blocks] or [scope]


def charged(balance: Balance | None, charge: Fields, where: str) -> Balance:
    """Return the balance after a charge, whose sum and cap are checked.

    Raises:
        LedgerDamaged: it does not continue the scope's total, does not add up, is not positive or
            exceeds a cap, or the scope was closed.
    """
    if balance is None:
        raise LedgerDamaged(f"{where} charges a scope that does not exist")
    cost = read_numbers(charge["charge"], where)
    if cost.keys() != balance.spent.keys():
        raise LedgerDamaged(f"{where} does not charge exactly the amounts that its scope limits")
    after = add(balance.spent, cost)
    # An exact number has one spelling, so texts differ exactly where numbers do.
    if charge["after"] != exact_texts(after):
        raise LedgerDamaged(f"{where} states a total that is not the sum of the charges")
    if not allows(balance.budget.caps, cost, after):
        raise LedgerDamaged(f"{where} is a charge that the budget of its scope does not allow")
    if balance.is_closed:
        raise LedgerDamaged(f"{where} charges a closed scope")
    return Balance(balance.budget, after, balance.refusals, balance.max_refusals)


def check_prices(records: Iterable[tuple[Fields, Mapping[str, Budget]]]) -> None:
    """Compare what charges added to their scopes with what their guarantees surely cost.

    Replaying does not: a version whose prices were wrong must not close the ledgers that it wrote.

    Args:
        records: of any kind, each with the budgets of the scopes that it changes, by name.

    Raises:
        LedgerDamaged: some paid too little, or state no guarantee; the message names all of these.
    """
    if wrong := [said for each in records if (said := _underpaid(*each))]:
        raise LedgerDamaged("; ".join(wrong))


def _underpaid(record: Fields, budgets: Mapping[str, Budget]) -> str | None:
    """What is wrong with the price of a charge; None of another kind of record."""
    if record["kind"] != "charged":
        return None
    where = f"record {record['seq']}"
    try:
        guarantee, _ = read_part({"count": "1", "each": record["guarantee"]})
        parts = tuple(map(read_part, record["parts"]))
    except InputError:
        return f"{where} does not state a valid guarantee"
    for each in record["charges"]:
        scope, paid = each["scope"], read_numbers(each["charge"], where)
        if short := decision.understated(budgets[scope].terms, paid, guarantee, parts):
            return f"{where} charges scope {scope!r} less {short[0]} than the guarantee costs"
    return None


def refused(balance: Balance) -> Balance:
    """Return the balance after one more call was refused for its private input."""
    return replace(balance, refusals=balance.refusals + 1)


def raised(
    scopes: Mapping[str, Balance], record: Fields, where: str, *, is_approved: bool
) -> dict[str, Balance]:
    """Return the balance after a limit was raised.

    Args:
        is_approved: whether approvers signed it; without them only the limit of refusals is raised.

    Raises:
        LedgerDamaged: the limit cannot be raised, or not by this record.
    """
    balance, limit = scopes.get(record["scope"]), record["limit"]
    if balance is None:
        raise LedgerDamaged(f"{where} raises a limit of a scope that does not exist")
    if limit == "max_refusals":
        after = read_limit(record["after"], where)
        is_raised = record["before"] == str(balance.max_refusals) and not record["caps"]
        if not is_raised or after <= balance.max_refusals:
            raise LedgerDamaged(f"{where} has caps, or does not raise the current max_refusals")
        return {record["scope"]: replace(balance, max_refusals=after)}
    terms = balance.budget.terms.limits
    if not is_approved or limit not in terms:
        raise LedgerDamaged(f"{where} is not approved, or raises a limit that its scope lacks")
    new = read_numbers({limit: record["after"]}, where)[limit]
    if record["before"] != exact_text(terms[limit]):
        raise LedgerDamaged(f"{where} does not raise the limit from its current value")
    try:
        budget = balance.budget.at(limit, new).stating(record["caps"], where)
    except ParameterError:
        raise LedgerDamaged(f"{where} raises a limit to a value that is not allowed") from None
    return {record["scope"]: replace(balance, budget=budget)}


def read_limit(written: object, where: str) -> int:
    """Read a count in the spelling of records.

    Raises:
        LedgerDamaged: it is not a count, or is out of bounds.
    """
    count = read_numbers({"count": written}, where)["count"]
    if count.denominator != 1 or not 1 <= count <= _LARGEST:
        raise LedgerDamaged(f"{where} has a count that is not an integer from 1 to {_LARGEST}")
    return int(exact_text(count))


_SEEN = Fraction(7, 10)


def _often(count: int | None) -> str:
    return "1 time" if count == 1 else f"{count} times"
