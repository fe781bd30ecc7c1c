"""The arguments of `Ledger.create` and `Ledger.open`."""

from __future__ import annotations

import os
from collections.abc import Mapping

from safeselect.errors import ParameterError
from safeselect.exact.parameters import describe, integer
from safeselect.ledger.anchor import read_anchor, read_receiver
from safeselect.ledger.elsewhere import Elsewhere
from safeselect.ledger.events import OnEvent
from safeselect.ledger.pending import SALT_BYTES
from safeselect.ledger.records.budget import Budget
from safeselect.ledger.records.record import Clock, text
from safeselect.ledger.store import Store
from safeselect.ledger.stores.file import FileStore
from safeselect.ledger.stores.memory import MemoryStore

# Nothing finer: the time between two charges in a row may be private.
_CLOCKS: tuple[Clock, ...] = ("day", "hour", "minute")
# Mechanisms refuse what is not proved for replaced units, by this exact word.
_KNOWN = {
    **dict.fromkeys(("addremove", "addorremove"), "add_remove"),
    **dict.fromkeys(("replaceone", "replace"), "replace_one"),
}


def read_place(place: str | os.PathLike[str] | Store) -> Store:
    """Return the store of a place: a path, ":memory:" or a store.

    Raises:
        ParameterError: it is none of these.
    """
    if isinstance(place, Store) and not isinstance(place, type):
        return place
    if not isinstance(place, (str, os.PathLike)) or not isinstance(os.fspath(place), str):
        raise ParameterError(f"a ledger is at a path or in a Store, not {describe(place)}")
    return MemoryStore() if os.fspath(place) == ":memory:" else FileStore(place)


def read_elsewhere(anchor: object, ship: object) -> Elsewhere:
    """Check arguments `anchor=` and `ship=`.

    Raises:
        ParameterError: one lacks members of an Anchor, or of a Receiver.
    """
    return Elsewhere(read_anchor(anchor), read_receiver(ship))


def read_clock(clock: object) -> Clock:
    """Check an argument `clock=`.

    Raises:
        ParameterError: it is none of the words.
    """
    for known in _CLOCKS:
        if clock == known:
            return known
    raise ParameterError(f"clock must be one of {', '.join(_CLOCKS)}, got {describe(clock)}")


def read_entry(charge: object, salt: object, output: object) -> int:
    """Check an entry of an outbox; return the place of its charge.

    Raises:
        ParameterError: it is not what an outbox gets.
    """
    if not isinstance(output, str):
        raise ParameterError(f"output must be text, got {type(output).__name__}")
    if not isinstance(salt, bytes) or len(salt) != SALT_BYTES:
        raise ParameterError(f"salt must be the {SALT_BYTES} bytes that the outbox got")
    return integer(charge, "charge", minimum=0, maximum=2**63 - 1)


def read_hook(hook: object) -> OnEvent | None:
    """Check an argument `on_event=`.

    Raises:
        ParameterError: it is not a function.
    """
    if hook is not None and not callable(hook):
        raise ParameterError(f"on_event must be a function, got {describe(hook)}")
    return hook


def read_refusals(value: object, name: str) -> int:
    """Read a number of refusals, from 1 to 1000.

    Raises:
        ParameterError: it is something else.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1000:
        raise ParameterError(f"{name} must be a whole number from 1 to 1000, got {describe(value)}")
    return value


def read_terms(budgets: object, max_refusals: object) -> dict[str, tuple[Budget, int]]:
    """Check the scopes of a new ledger; return the budget and the limit of refusals of each.

    Raises:
        ParameterError: they are something else.
    """
    if not isinstance(budgets, Mapping):
        raise ParameterError(f"budgets must map names of scopes to Budget: {describe(budgets)}")
    for name, budget in budgets.items():
        check_budget(name, budget)
    limit = read_refusals(max_refusals, "max_refusals")
    return {name: (budget, limit) for name, budget in budgets.items()}


def check_budget(name: object, budget: object) -> None:
    """Check a new scope.

    Raises:
        ParameterError: its name is no line of text, its budget is no Budget, or its neighbours are
            nearly one of the two words that mechanisms know.
    """
    text(name, "the name of a scope")
    if not isinstance(budget, Budget):
        raise ParameterError(f"the budget of a scope must be a Budget, got {describe(budget)}")
    written = budget.neighbours
    meant = _KNOWN.get("".join(filter(str.isalpha, written.casefold())), written)
    if meant != written:
        raise ParameterError(
            f"neighbours={written!r} would be words of your own, whose meaning no mechanism knows; "
            f"write neighbours={meant!r}"
        )
