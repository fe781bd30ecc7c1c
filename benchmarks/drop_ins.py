"""diffprivlib's forests and quantiles and PipelineDP's keys, their own and with ours, in turns.

    python benchmarks/drop_ins.py forests 20
    python benchmarks/drop_ins.py quantiles 400
    python benchmarks/drop_ins.py partitions 20

Forests and quantiles need diffprivlib: the share of the breast cancer table that a forest of ten
trees gets right; the error in ranks, as a share of all values, on columns of floats of that table
and on flights for each plane.  Partitions need PipelineDP: how many of the 104 airports of the
flights it selects.  All print means with standard errors, and processor time.
"""

from __future__ import annotations

import statistics
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from safeselect.adapters.diffprivlib import PermuteAndFlip, quantile
from safeselect.adapters.pipeline_dp import create_partition_selection_strategy

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from flights import by_plane, flights


def spread(values: list[float]) -> str:
    """Mean and standard error."""
    return f"{statistics.fmean(values):.4g} ± {statistics.stdev(values) / len(values) ** 0.5:.2g}"


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and its seconds."""
    started = time.process_time()
    return call(), time.process_time() - started


def error(ordered: Any, point: float, share: float) -> float:
    """How many ranks off, as a share of all."""
    wanted = share * len(ordered)
    below, up_to = (np.searchsorted(ordered, point, side) for side in ("left", "right"))
    return float(max(below - wanted, wanted - up_to, 0)) / len(ordered)


def forests(times: int) -> None:
    """Ten trees at an epsilon of 1, on twelve splits or more."""
    from diffprivlib import BudgetAccountant
    from diffprivlib.models import forest
    from sklearn.datasets import load_breast_cancer

    table = load_breast_cancer()
    bounds = table.data.min(axis=0), table.data.max(axis=0)  # for a trial; in earnest not the data
    each = {"own": forest.PermuteAndFlip, "ours": PermuteAndFlip}
    right: dict[str, list[float]] = {side: [] for side in each}
    whole: dict[str, list[float]] = {side: [] for side in each}
    inside: dict[str, list[float]] = {side: [] for side in each}
    for turn in range(times):
        order = np.random.default_rng(turn).permutation(len(table.data))
        train, rest = order[100:], order[:100]
        for side, mechanism in each.items():
            watch = [0.0]
            forest.PermuteAndFlip = partial(_Timed, mechanism, watch)
            model = forest.RandomForestClassifier(
                n_estimators=10,
                epsilon=1.0,
                bounds=bounds,
                classes=[0, 1],
                random_state=turn,
                accountant=BudgetAccountant(),
            )
            whole[side].append(timed(partial(model.fit, table.data[train], table.target[train]))[1])
            inside[side].append(watch[0])
            right[side].append(model.score(table.data[rest], table.target[rest]))
    for side in each:
        print(
            f"{side}: right {spread(right[side])}, {spread(inside[side])} s of "
            f"{spread(whole[side])} s"
        )


class _Timed:
    """A mechanism whose making and choice are timed."""

    def __init__(self, mechanism: Any, watch: list[float], **given: Any) -> None:
        self.watch = watch
        self.made, took = timed(partial(mechanism, **given))
        watch[0] += took

    def randomise(self) -> Any:
        found, took = timed(self.made.randomise)
        self.watch[0] += took
        return found


def quantiles(times: int) -> None:
    """Each column, quantile and epsilon."""
    from diffprivlib import BudgetAccountant, tools
    from sklearn.datasets import load_breast_cancer

    table = load_breast_cancer().data
    # Bounds that somebody would write without the data.
    columns = {
        "mean radius": (table[:, 0], (0, 50)),
        "mean area": (table[:, 3], (0, 5000)),
        "flights of a plane": (np.array([float(len(p)) for p in by_plane().values()]), (0, 2000)),
    }
    each = {
        "own": tools.quantile,
        "ours": quantile,
        "ours, add/remove": partial(quantile, neighbours="add_remove"),
    }
    for name, (values, bounds) in columns.items():
        ordered = np.sort(values)
        for share in (0.5, 0.9):
            for epsilon in (0.02, 0.1, 1.0):
                errors: dict[str, list[float]] = {side: [] for side in each}
                seconds: dict[str, list[float]] = {side: [] for side in each}
                for _ in range(times):
                    for side, function in each.items():
                        asked = partial(function, values, share, epsilon=epsilon, bounds=bounds)
                        # Its default accountant keeps a list that each call adds up.
                        found, took = timed(partial(asked, accountant=BudgetAccountant()))
                        errors[side].append(error(ordered, float(found), share))
                        seconds[side].append(took)
                told = "; ".join(
                    f"{side} {spread([100 * e for e in errors[side]])} %, "
                    f"{statistics.median(seconds[side]) * 1e3:.3g} ms"
                    for side in each
                )
                print(f"{name} ({len(values)} values), {share}, ε = {epsilon}: {told}", flush=True)


def partitions(times: int) -> None:
    """The airports that a whole pipeline of PipelineDP selects."""
    import pipeline_dp

    library = pipeline_dp.partition_selection
    own = library.create_partition_selection_strategy
    each = {"own": own, "ours": create_partition_selection_strategy}
    rows = list(flights())
    for epsilon, delta, most in ((1.0, 1e-6, 3), (0.2, 1e-9, 3), (1.0, 1e-6, 1)):
        kept: dict[str, list[float]] = {side: [] for side in each}
        whole: dict[str, list[float]] = {side: [] for side in each}
        inside: dict[str, list[float]] = {side: [] for side in each}
        for _ in range(times):
            for side, create in each.items():
                spent = 0.0

                def watched(*given: Any, create: Any = create) -> Any:
                    nonlocal spent
                    strategy, took = timed(partial(create, *given))
                    spent += took
                    return Watched(strategy)

                class Watched:
                    """A strategy that is timed."""

                    def __init__(self, strategy: Any) -> None:
                        self.strategy = strategy

                    def should_keep(self, users: int) -> bool:
                        nonlocal spent
                        keeps, took = timed(partial(self.strategy.should_keep, users))
                        spent += took
                        return bool(keeps)

                library.create_partition_selection_strategy = watched
                accountant = pipeline_dp.NaiveBudgetAccountant(
                    total_epsilon=epsilon, total_delta=delta
                )
                engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
                result = engine.select_partitions(
                    rows,
                    pipeline_dp.SelectPartitionsParams(max_partitions_contributed=most),
                    pipeline_dp.DataExtractors(
                        privacy_id_extractor=lambda flight: flight.plane,
                        partition_extractor=lambda flight: flight.destination,
                    ),
                )
                accountant.compute_budgets()
                found, took = timed(partial(list, result))
                kept[side].append(len(found))
                whole[side].append(took)
                inside[side].append(spent)
        library.create_partition_selection_strategy = own
        told = "; ".join(
            f"{side} {spread(kept[side])} airports, {statistics.median(inside[side]) * 1e3:.3g} ms "
            f"of {statistics.median(whole[side]) * 1e3:.3g} ms"
            for side in each
        )
        print(f"ε = {epsilon}, δ = {delta}, {most} airports a plane: {told}", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    commands = {"forests": forests, "quantiles": quantiles, "partitions": partitions}
    commands[sys.argv[1]](int(sys.argv[2]))
