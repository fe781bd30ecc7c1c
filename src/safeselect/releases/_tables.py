"""From JSON to the results that are made of tables: keys, measurements and groups."""

from __future__ import annotations

from typing import Any

from safeselect.mechanisms.groups import GroupedTopK
from safeselect.mechanisms.keys import SelectedPartitions, StatedStrategy
from safeselect.mechanisms.measure import Measurement
from safeselect.promises.guarantees import ApproximateDP, PureDP
from safeselect.releases._fields import Fields, any_guarantee, count, exact, refuse, text
from safeselect.releases._parts import (
    MOST_DRAWS,
    OtherLabel,
    approximate,
    as_many,
    draws,
    listed,
    listed_draws,
    read_common,
    read_integers,
    read_labels,
)


def selected_partitions(fields: Fields) -> SelectedPartitions:
    """Read the keys of a table that may be shown."""
    labels = read_labels(fields)
    if any(isinstance(each, OtherLabel) for each in labels):
        refuse("a key is neither a text nor an integer")
    ordered = sorted(set(labels), key=lambda each: (isinstance(each, str), each))
    if list(labels) != ordered:
        refuse("keys are not in the order of their labels, each once")
    counts = as_many(labels, fields.maybe("counts", read_integers))
    mean, noise = fields.maybe("mean_noise", exact), fields.maybe("count_noise", Fields)
    if len({each is None for each in (counts, mean, noise)}) > 1:
        refuse("'mean_noise' and 'count_noise' go with counts")
    return SelectedPartitions(
        labels=labels,
        counts=counts,
        mean_noise=mean,
        # What else it says follows from the rest, and is compared at last.
        standard_deviation=None if noise is None else noise.take("standard_deviation", exact),
        noise_95=None if noise is None else _noise_95(noise),
        max_partitions=fields.take("max_partitions", count),
        pre_threshold=fields.take("pre_threshold", count),
        parts=_decisions(fields),
        **read_common(fields, approximate),
    )


def _noise_95(noise: Fields) -> tuple[int, int]:
    low, high = (read_integers([noise.take(name, text)], name)[0] for name in ("low_95", "high_95"))
    if low > high:
        refuse("'low_95' is above 'high_95'")
    return low, high


def stated_strategy(fields: Fields) -> StatedStrategy:
    """Read what a ledger commits to of a strategy."""
    return StatedStrategy(parts=_decisions(fields), **read_common(fields, approximate))


def _decisions(fields: Fields) -> Any:
    parts = draws(fields.object("parts"), MOST_DRAWS)
    if not isinstance(parts[0], ApproximateDP):
        refuse("'parts' has not the type that decisions about keys have")
    return parts


def measurement(fields: Fields) -> Measurement:
    """Read numbers with noise."""
    values = fields.take("values", read_integers)
    labels = read_labels(fields) if "labels" in fields.names() else None
    common = read_common(fields, any_guarantee)
    fields.take("noise", lambda value, _: value)  # follows from the rest; compared at last
    pure = isinstance(common["guarantee"], PureDP)
    return Measurement(
        values=values,
        labels=as_many(values, labels),
        rate=fields.take("rate", exact) if pure else None,
        sigma_squared=None if pure else fields.take("sigma_squared", exact),
        parts=(common["guarantee"],),
        **common,
    )


def grouped(fields: Fields) -> GroupedTopK:
    """Read the best items of each group."""
    groups = _texts(fields.take("groups", listed), "groups")
    if not groups or len(set(groups)) < len(groups):
        refuse("'groups' must be different groups, one at least")
    rows = tuple(_texts(row, "labels") for row in fields.take("labels", listed))
    counts = fields.maybe("counts", _counts)
    if len(rows) != len(groups) or (counts is not None and len(counts) != len(groups)):
        refuse("a list has not as many entries as there are groups")
    for row, each in zip(rows, counts or (), strict=False):
        as_many(row, each)
    fields.maybe("count_noise", lambda value, _: value)  # follows from the rest; compared at last
    common = read_common(fields)
    if counts is not None:
        parameters = dict(common["statement"].parameters)
        count(parameters.get("max_contributions", ""), "max_contributions")
    k_bar, offset = fields.maybe("k_bar", count), fields.maybe("offset", exact)
    if (k_bar is None) is not (offset is None) or (counts is not None and k_bar is None):
        refuse("'k_bar' and 'offset' go with an unknown domain, which counts have")
    return GroupedTopK(
        groups=groups,
        labels=rows,
        counts=counts,
        max_groups=fields.take("max_groups", count),
        noise_rate=fields.take("noise_rate", exact),
        k_bar=k_bar,
        offset=offset,
        parts=fields.take("parts", listed_draws),
        **common,
    )


def _texts(value: object, name: str) -> tuple[str, ...]:
    return tuple(text(each, name) for each in listed(value, name))


def _counts(value: object, name: str) -> tuple[tuple[int, ...], ...]:
    return tuple(read_integers(each, name) for each in listed(value, name))
