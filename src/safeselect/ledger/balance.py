"""What a scope of a ledger states, and where it stands: its budget, its sums and its refusals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache

from safeselect.accounting.cost import rounded_text
from safeselect.accounting.repetition import AnyGuarantee
from safeselect.errors import BudgetError, LedgerDamaged, ParameterError
from safeselect.exact.interval import Interval, log_order_constant, rounded_down
from safeselect.exact.parameters import Number, exact_text, rational
from safeselect.ledger.record import Fields, read_numbers, text
from safeselect.ledger.sums import BITS, Amounts, Parts, add, allows, exceeded, price
from safeselect.promises.guarantees import Content


@dataclass(frozen=True, slots=True, init=False)
class Budget:
    """The cap on all releases of one scope together, in exactly one of four forms.

    - `epsilon`: the epsilons of pure guarantees add up.
    - `rho`: the zCDP parameters add up.
    - `epsilon` and `delta`: both add up.
    - `epsilon`, `delta` and `order` > 1: ln M at this Rényi order adds up, to the cap that gives
      (epsilon, delta) by Canonne, Kamath and Steinke (2020), Proposition 12.

    In each form the releases may be fully adaptive.  Irrational prices are rounded up; the cap of
    the last form is rounded down.

    Args:
        unit: whose privacy it is, such as "person".
        neighbours: how neighbouring data sets differ by one unit: "add_remove", "replace_one" or
            your own words.
        epsilon, delta, rho, order: positive rationals of at most 1024 bits above and below.

    Raises:
        ParameterError: the arguments are not one of the four forms, or a value is wrong.
    """

    unit: str
    neighbours: str
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None
    order: Fraction | None = None
    _caps: Amounts = field(init=False, repr=False, compare=False)
    _record: dict[str, Content] = field(init=False, repr=False, compare=False)

    def __init__(  # the fields are exact; what is handed over may be any exact number
        self,
        unit: str,
        neighbours: str,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        order: Number | None = None,
    ) -> None:
        object.__setattr__(self, "unit", text(unit, "unit"))
        object.__setattr__(self, "neighbours", text(neighbours, "neighbours"))
        numbers = {"epsilon": epsilon, "delta": delta, "rho": rho, "order": order}
        for name, value in numbers.items():
            object.__setattr__(self, name, None if value is None else _read(value, name))
        given, forms = self.terms, ("epsilon", "rho", "epsilon delta", "epsilon delta order")
        if " ".join(given) not in forms:
            raise ParameterError(
                "a budget is epsilon, or rho, or epsilon and delta, or epsilon, delta and order; "
                f"got {', '.join(sorted(given)) or 'none'}"
            )
        if self.order is not None and self.order <= 1:
            raise ParameterError(f"order must be greater than 1, got {self.order}")
        # This refuses a cap that allows nothing.
        object.__setattr__(self, "_caps", self._worked_out())
        record: dict[str, Content] = {"unit": self.unit, "neighbours": self.neighbours}
        object.__setattr__(
            self, "_record", record | {"budget": exact_texts(dict(sorted(given.items())))}
        )

    @property
    def caps(self) -> Amounts:
        """The largest sums allowed."""
        return dict(self._caps)

    @property
    def terms(self) -> Amounts:
        """The numbers with which the budget was made, by name."""
        named = ((name, getattr(self, name)) for name in ("epsilon", "delta", "rho", "order"))
        return {name: value for name, value in named if value is not None}

    def with_limit(self, name: str, value: Fraction) -> Budget:
        """Return the budget with another epsilon, delta or rho."""
        return Budget(self.unit, self.neighbours, **{**self.terms, name: value})

    def _worked_out(self) -> Amounts:
        if self.epsilon is not None and self.delta is not None and self.order is not None:
            return {"log_moment": _moment_cap(self.epsilon, self.delta, self.order - 1)}
        return self.terms

    def in_epsilon(self, amounts: Amounts) -> Amounts:
        """Return amounts in readable form: ln M at one order becomes epsilon at the delta.

        ln M <= ln delta + (order - 1) epsilon - c gives (epsilon, delta), so adding x to ln M adds
        exactly x / (order - 1) to epsilon.
        """
        if self.order is None:
            return dict(amounts)
        return {"epsilon": amounts["log_moment"] / (self.order - 1)}

    def price(
        self, guarantee: AnyGuarantee, parts: Iterable[tuple[AnyGuarantee, int]] = ()
    ) -> Amounts:
        """Return the price of a release, rounded up: of the whole or of its parts, if less.

        Raises:
            ParameterError: the guarantee does not bound the amounts that this budget adds up.
        """
        found = _price(self, guarantee, tuple(parts))
        if found is not None:
            return dict(found)
        if "epsilon" not in self._caps:
            raise ParameterError(
                "this budget adds up moments (rho, or one Rényi order), which a release with delta "
                "does not bound; give rho instead, or epsilon alone"
            )
        adds = "epsilon alone" if self.delta is None else "epsilon and delta"
        raise ParameterError(
            f"this budget adds up {adds}, which {type(guarantee).__name__} does not bound by "
            "itself; calibrate the release in the budget's terms"
        )

    def refusal(self, scope: str, total: Amounts, price: Amounts, after: Amounts) -> BudgetError:
        """Return the error of a price that would exceed a cap.

        Its message quotes public numbers: totals, caps, prices.
        """
        short = exceeded(self._caps, after)
        left = self.in_epsilon({name: cap - total[name] for name, cap in self._caps.items()})
        asked, allowed = self.in_epsilon(price), self.in_epsilon(self.caps)
        name = short[0] if short[0] in asked else "epsilon"
        of = f"{rounded_text(left[name])} of {rounded_text(allowed[name])} is left"
        if self.order is not None and self.delta is not None:
            # The first charge leaves less than epsilon minus its price: at an order, delta has a
            # price.
            of = f"{rounded_text(left[name])} is left at delta {rounded_text(self.delta)}"
        return BudgetError(
            f"the budget of scope {scope!r} does not allow this release: it costs {name} "
            f"{rounded_text(asked[name])}, and {of}",
            scope=scope,
            asked=asked,
            left=left,
        )

    def as_record(self) -> dict[str, Content]:
        """Return the content for records."""
        return self._record

    @classmethod
    def of(cls, content: object) -> Budget:
        """Read what `as_record` wrote.

        Raises:
            LedgerDamaged: the content is something else.
        """
        if not isinstance(content, dict) or content.keys() != {"unit", "neighbours", "budget"}:
            raise LedgerDamaged("the record of a scope holds no budget")
        terms = read_numbers(content["budget"], "the budget of a scope")
        try:
            unit = text(content["unit"], "unit")
            if not terms.keys() <= {"epsilon", "delta", "rho", "order"}:
                raise ParameterError("a term of the budget is unknown")
            return cls(unit, text(content["neighbours"], "neighbours"), **terms)
        except ParameterError:
            raise LedgerDamaged("the record of a scope holds no budget to be kept") from None


@lru_cache(maxsize=256)
def _price(budget: Budget, guarantee: AnyGuarantee, parts: Parts) -> Amounts | None:
    excess = Fraction(0) if budget.order is None else budget.order - 1
    return price(budget.caps, guarantee, parts, excess)


def exact_texts(values: Mapping[str, Fraction]) -> dict[str, Content]:
    """Exact numbers as strings, such as "1/3"."""
    return {name: exact_text(value) for name, value in values.items()}


@lru_cache(maxsize=64)
def _moment_cap(epsilon: Fraction, delta: Fraction, excess: Fraction) -> Fraction:
    """Return the largest ln M at order 1 + excess that gives (epsilon, delta), rounded down."""
    cap = rounded_down(
        lambda precision: (
            Interval.of(delta, precision).log()
            + Interval.of(excess * epsilon, precision)
            - log_order_constant(excess, precision)
        )
    )
    if cap <= 0:
        raise ParameterError("at this order, epsilon and delta allow nothing: take another")
    return cap


def _read(value: object, name: str) -> Fraction:
    number = rational(value, name, below=1 if name == "delta" else None)
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > BITS:
        raise ParameterError(f"{name} must have at most {BITS} bits above and below the line")
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

    @property
    def left(self) -> Amounts:
        """The amounts that may still be charged."""
        return {name: cap - self.spent[name] for name, cap in self.budget.caps.items()}

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
            f"scope {scope!r} is closed: calls that were charged were refused for what the data "
            "hold, and how often is not differentially private; the owner of the ledger opens it "
            "again with: safeselect ledger reopen",
            scope=scope,
        )

    def check_open(self, scope: str) -> None:
        """Refuse every answer of a closed scope, with one sentence.

        Raises:
            BudgetError: the scope is closed.
        """
        error = self.closed(scope)
        if error is not None:
            raise error

    def charge(self, scope: str, price: Amounts) -> dict[str, Content]:
        """Return what a record states of a charge to this scope, or refuse it.

        Raises:
            BudgetError: the scope is closed, or the price would exceed a cap.
        """
        self.check_open(scope)
        after = add(self.spent, price)
        if exceeded(self.budget.caps, after):
            raise self.budget.refusal(scope, self.spent, price, after)
        return {"scope": scope, "charge": exact_texts(price), "after": exact_texts(after)}

    @classmethod
    def opened(cls, record: Fields, where: str) -> Balance:
        """Return the balance that a record of a new scope states.

        Raises:
            LedgerDamaged: its caps do not match its budget, or its limit is not valid.
        """
        budget = Budget.of(record["terms"])
        nothing = dict.fromkeys(budget.caps, Fraction(0))
        if record["caps"] != exact_texts(budget.caps):
            raise LedgerDamaged(f"{where} states other caps than those of its budget")
        return cls(budget, nothing, 0, read_limit(record["max_refusals"], where))


def charged(balance: Balance | None, charge: Fields, where: str) -> Balance:
    """Return the balance after a charge, whose sum and cap are checked.

    Raises:
        LedgerDamaged: it does not continue the scope's total, does not add up, is not positive or
            exceeds a cap, or the scope was closed.
    """
    if balance is None:
        raise LedgerDamaged(f"{where} charges a scope that there is not")
    cost, caps = read_numbers(charge["charge"], where), balance.budget.caps
    if cost.keys() != caps.keys():
        raise LedgerDamaged(f"{where} does not add up")
    after = add(balance.spent, cost)
    # An exact number has one spelling, so texts differ exactly where numbers do.
    if charge["after"] != exact_texts(after):
        raise LedgerDamaged(f"{where} does not add up")
    if not allows(caps, cost, after):
        raise LedgerDamaged(f"{where} is no charge that its budget allows")
    if balance.is_closed:
        raise LedgerDamaged(f"{where} charges a scope that was closed")
    return Balance(balance.budget, after, balance.refusals, balance.max_refusals)


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
        raise LedgerDamaged(f"{where} raises something that cannot be raised")
    if limit == "max_refusals":
        after = read_limit(record["after"], where)
        if record["before"] != str(balance.max_refusals) or after <= balance.max_refusals:
            raise LedgerDamaged(f"{where} does not raise the limit that there was")
        return {record["scope"]: replace(balance, max_refusals=after)}
    terms = balance.budget.terms
    if not is_approved or limit not in terms or limit == "order":
        raise LedgerDamaged(f"{where} raises something that cannot be raised")
    new = read_numbers({limit: record["after"]}, where)[limit]
    if record["before"] != exact_text(terms[limit]) or new <= terms[limit]:
        raise LedgerDamaged(f"{where} does not raise the limit that there was")
    try:
        budget = balance.budget.with_limit(limit, new)
    except ParameterError:
        raise LedgerDamaged(f"{where} raises a limit to what is none") from None
    return {record["scope"]: replace(balance, budget=budget)}


def read_limit(written: object, where: str) -> int:
    """Read a count in the spelling of records.

    Raises:
        LedgerDamaged: it is not a count, or is out of bounds.
    """
    count = read_numbers({"count": written}, where)["count"]
    if count.denominator != 1 or not 1 <= count <= _LARGEST:
        raise LedgerDamaged(f"{where} holds a count that is out of bounds")
    return int(exact_text(count))
