"""The mechanisms of keys and measurements, with a call for each name, as in `mechanisms`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from safeselect.mechanisms.keys import partition_strategy, select_partitions
from safeselect.mechanisms.measure import measure


@dataclass(frozen=True, slots=True)
class KeyCase:
    """A selection of keys.

    Args:
        name: what its results carry as `mechanism`.
        with_counts: whether noisy counts are released.
        make: (counts, arguments) -> a result.
        ways: from a result and the counts to what is released of each key: None if it is not kept,
            otherwise its count, or True.
    """

    name: str
    with_counts: bool
    make: Callable[..., Any]
    ways: tuple[Callable[[Any, Mapping[int, int]], list[Any]], ...]

    def run(self, counts: Mapping[int, int], **more: Any) -> Any:
        """Make a release, or a strategy."""
        given = {**KEY_COST, "max_partitions": 1, "with_counts": self.with_counts, **more}
        return self.make(counts, **given)

    def ask(self, counts: Mapping[int, int], way: int = 0, **more: Any) -> tuple[Any, list[Any]]:
        """Make a release; it, and what is released of each key."""
        made = self.run(counts, **more)
        return made, self.ways[way](made, counts)


@dataclass(frozen=True, slots=True)
class MeasureCase:
    """A measurement: `name` as above, the name of its noise, and what it costs.

    Args:
        arguments: the cost and the sensitivity, in this order.
        parameter: of the noise at this cost: its rate, or sigma squared.
    """

    name: str
    noise: str
    arguments: Mapping[str, Any]
    parameter: float
    call: Callable[..., Any] = measure

    def run(self, values: Any, **more: Any) -> Any:
        """Measure these values."""
        return self.call(values, **{**self.arguments, **more})


KEY_COST: Mapping[str, Any] = {"epsilon": 1, "delta": "1/100"}


def _kept(result: Any, counts: Mapping[int, int]) -> list[Any]:
    found = dict(zip(result.labels, result.counts or (True,) * len(result.labels), strict=True))
    return [found.get(str(key)) for key in counts]


def _strategy(_: Mapping[int, int], **given: Any) -> Any:
    return partition_strategy(**given)


def _by_column(strategy: Any, counts: Mapping[int, int]) -> list[Any]:
    return [True if kept else None for kept in strategy.keep_column(list(counts.values())).tolist()]


def _by_key(strategy: Any, counts: Mapping[int, int]) -> list[Any]:
    return [strategy.keep_keyed(key, users) or None for key, users in counts.items()]


def _one_by_one(strategy: Any, counts: Mapping[int, int]) -> list[Any]:
    return [strategy.should_keep(users) or None for users in counts.values()]


def _count_by_key(strategy: Any, counts: Mapping[int, int]) -> list[Any]:
    return [strategy.noisy_count_keyed(key, users) for key, users in counts.items()]


def _count_one_by_one(strategy: Any, counts: Mapping[int, int]) -> list[Any]:
    return [strategy.noisy_count_if_kept(users) for users in counts.values()]


KEYS: Mapping[str, KeyCase] = {
    case.name: case
    for case in (
        KeyCase("select_partitions/1", False, select_partitions, (_kept,)),
        KeyCase("select_partitions_with_counts/1", True, select_partitions, (_kept,)),
        KeyCase("partition_strategy/1", False, _strategy, (_by_column, _by_key, _one_by_one)),
        KeyCase(
            "partition_strategy_with_counts/1", True, _strategy, (_count_by_key, _count_one_by_one)
        ),
    )
}
"""By name."""

MEASURES: Mapping[str, MeasureCase] = {
    f"measure_{noise.replace(' ', '_').lower()}/1": MeasureCase(
        f"measure_{noise.replace(' ', '_').lower()}/1", noise, given, parameter
    )
    for noise, given, parameter in (
        ("discrete Laplace", {"epsilon": 1, "sensitivity_l1": 1}, 1.0),
        ("discrete Gaussian", {"rho": "1/8", "sensitivity_l2_squared": 1}, 4.0),
        ("rounded Gaussian", {"mu": "1/2", "sensitivity_l2_squared": 1}, 4.0),
    )
}
"""By name."""
