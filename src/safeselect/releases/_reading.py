"""From JSON to the result that wrote it: what `to_json` writes of the result is the same again."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from safeselect.errors import ParameterError
from safeselect.exact.parameters import describe
from safeselect.mechanisms.groups import GroupedTopK
from safeselect.mechanisms.keys import SelectedPartitions, StatedStrategy
from safeselect.mechanisms.measure import Measurement
from safeselect.mechanisms.quantiles import Quantiles
from safeselect.mechanisms.runs import ChosenRun
from safeselect.mechanisms.sessions import Opened
from safeselect.mechanisms.unknown import DiscoveredTopK
from safeselect.promises.guarantees import ApproximateDP
from safeselect.release import results
from safeselect.releases._fields import Fields, count, exact, parse_json, refuse, text
from safeselect.releases._parts import (
    as_many,
    listed_draws,
    read_common,
    read_integers,
    read_labels,
)
from safeselect.releases._points import chosen_run, quantiles
from safeselect.releases._tables import grouped, measurement, selected_partitions, stated_strategy

Release = (
    results.Release
    | DiscoveredTopK
    | SelectedPartitions
    | StatedStrategy
    | Measurement
    | GroupedTopK
    | Quantiles
    | ChosenRun[Any]
    | Opened
)


def from_json(written: str) -> Any:
    """Read a release that `to_json` of a result wrote.

    The result is of the same class, with equal fields; its `to_json` writes the same line.  Labels
    that were neither texts nor integers come back as `OtherLabel`.  The text may come from anybody:
    nothing but these classes is made of it.  That it is a release of a ledger is another question,
    which `safeselect audit` answers.

    Args:
        written: one JSON object, of a schema that `docs/releases.md` lists.

    Returns:
        Selection, TopK, TopSet, Selections, TopAbove, DiscoveredTopK, SelectedPartitions,
        Measurement, GroupedTopK, Quantiles or ChosenRun (of an output or score that is neither a
        text nor an integer only its text, as `OtherLabel`); for what a ledger holds of a session,
        the statement of its opening or its end; for that of a strategy, its public terms.

    Raises:
        InputError: it is no such text.

    Example:
        >>> from safeselect import top_k
        >>> best = top_k({"tea": 3, "milk": 900, "rum": 2000}, k=2, epsilon=1, sensitivity=1)
        >>> from_json(best.to_json()) == best
        True
    """
    content = parse_json(written)
    if str(content.get("schema")) in [shape.schema for shape in results.SHAPES]:
        return results.from_json(written)
    fields = Fields(content, "the release")
    schema = fields.take("schema", text)
    reader = _READERS.get(schema)
    if reader is None:
        refuse(f"schema must be one of {', '.join(_READERS)}; got {describe(schema)}")
    result = reader(fields)
    fields.end()
    # Whatever a reader lets pass, such as a set in another order, is not what the library writes.
    try:
        again = json.loads(result.to_json())
    except ParameterError:
        refuse("its parameters allow no such numbers")
    if again != content:
        refuse("its fields do not fit each other")
    return result


def _discovered(fields: Fields) -> DiscoveredTopK:
    labels = read_labels(fields)
    if len(set(labels)) < len(labels):
        refuse("'labels' names an item twice")
    counts = as_many(labels, fields.maybe("counts", read_integers))
    fields.maybe("count_noise", lambda value, _: value)  # follows from the rest; compared at last
    common = read_common(fields)
    if counts is not None and not isinstance(common["guarantee"], ApproximateDP):
        refuse("'guarantee' has not the type that counts have")
    if counts is not None:
        parameters = dict(common["statement"].parameters)
        count(parameters.get("max_contributions", ""), "max_contributions")
    return DiscoveredTopK(
        labels=labels,
        counts=counts,
        k_bar=fields.take("k_bar", count),
        offset=fields.take("offset", exact),
        parts=fields.take("parts", listed_draws),
        **common,
    )


def _session(fields: Fields) -> Opened:
    def used(value: object, name: str) -> dict[str, int]:
        spent = Fields(value, name)
        return {each: spent.take(each, count) for each in spent.names()}

    return Opened(spent=fields.maybe("spent", used), **read_common(fields))


_READERS: dict[str, Callable[[Fields], Release]] = {
    "safeselect.discovered-top-k/2": _discovered,
    "safeselect.selected-partitions/1": selected_partitions,
    "safeselect.partition-strategy/1": stated_strategy,
    "safeselect.measurement/1": measurement,
    "safeselect.grouped-top-k/1": grouped,
    "safeselect.quantiles/1": quantiles,
    "safeselect.chosen-run/1": chosen_run,
    "safeselect.session/2": _session,
}
