"""AIM and MST with their own selection and with ours, in turns, on the Adult table.

For each: the mean total variation over all pairs of columns between table and synthetic table; the
processor time of a run and of its selections; and rho: what the program claims, what its selections
cost on a ledger, and what its noise costs besides.

    python benchmarks/synthetic.py CHECKOUT mbi aim 10
    python benchmarks/synthetic.py CHECKOUT dpmm mst 10
    python benchmarks/synthetic.py CHECKOUT mbi mst 10 beside

With "beside" both sides take the program's own choices, from one seed, and so do the same work in
each run; one side asks our selection as well, each time, and drops its answer.  So the difference
is what our selection adds to the run, all that it does to caches included, and no chance of other
choices, which make models of other shapes, for which JAX compiles anew.  (dpmm also draws from
sources without a seed, so its runs differ.)

CHECKOUT is https://github.com/ryan112358/mbi, whose `mechanisms` are in no package and whose `data`
has the table.  `mbi` needs what the package mbi needs, and takes `src` of the checkout, which fits
its mechanisms; `dpmm` needs the package dpmm, in an environment of its own.
"""

from __future__ import annotations

import contextlib
import csv
import importlib
import io
import itertools
import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from machine import Load, describe_machine
from safeselect import Budget, Ledger, SafeSelectWarning
from safeselect.adapters.synthetic_data import exponential_mechanism

COLUMNS = [
    *("workclass", "education-num", "marital-status", "occupation"),
    *("relationship", "race", "sex", "income>50K"),
]
EPSILON, DELTA = 1.0, 1e-9
TERMS = {"unit": "row", "neighbours": "add_remove"}
ITERATIONS = {"aim": 100, "mst": 1000}
MODEL_SIZE = 1  # megabytes; AIM's authors recommend this for trials
ROUNDS = 16  # of AIM; 16 for each column by default

Table = dict[str, np.ndarray[Any, Any]]


class Watch:
    """What one run selects and adds as noise."""

    def __init__(self) -> None:
        self.selections, self.seconds, self.claimed, self.noise = 0, 0.0, 0.0, 0.0

    def selecting(self, mechanism: Callable[..., Any], place: int) -> Callable[..., Any]:
        """The mechanism, timed; epsilon is the argument at this place."""

        def timed(*given: Any, **more: Any) -> Any:
            started = time.process_time()
            try:
                return mechanism(*given, **more)
            finally:
                self.seconds += time.process_time() - started
                self.selections += 1
                self.claimed += float(given[place]) ** 2 / 8

        return timed

    def adding(self, noise: Callable[..., Any], name: str, place: int) -> Callable[..., Any]:
        """The noise, its rho added up; sigma is the argument of this name or at this place."""

        def counted(*given: Any, **more: Any) -> Any:
            sigma = more[name] if name in more else given[place]
            self.noise += 0.5 / float(sigma) ** 2
            return noise(*given, **more)

        return counted


def replaced(original: Any, ours: Any, watch: Watch, method: bool) -> Any:
    """What the program is to call: its own, ours, or its own with ours beside it."""
    if ours is None:
        return watch.selecting(original, 1 + method)
    if isinstance(ours, Beside):
        drop = ours.mechanism

        def both(*given: Any, **more: Any) -> Any:
            drop(*given[method:], **more)
            return original(*given, **more)

        return watch.selecting(both, 1 + method)
    timed = watch.selecting(ours, 1)
    return staticmethod(timed) if method else timed


class Beside:
    """A selection that is asked besides the program's own."""

    def __init__(self, mechanism: Callable[..., Any]) -> None:
        self.mechanism = mechanism


def table(checkout: Path) -> tuple[Table, dict[str, int]]:
    """Some columns of Adult, and how many values each may have."""
    sizes = json.loads((checkout / "data" / "adult-domain.json").read_text("utf-8"))
    with (checkout / "data" / "adult.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    columns = {name: np.array([int(row[name]) for row in rows]) for name in COLUMNS}
    return columns, {name: sizes[name] for name in COLUMNS}


def error(data: Table, made: Table, sizes: dict[str, int]) -> float:
    """The mean total variation over all pairs of columns."""
    found = []
    for one, two in itertools.combinations(COLUMNS, 2):
        cells = sizes[one] * sizes[two]
        law, other = (
            np.bincount(each[one] * sizes[two] + each[two], minlength=cells) / len(each[one])
            for each in (data, made)
        )
        found.append(np.abs(law - other).sum() / 2)
    return float(np.mean(found))


Run = Callable[[Any, Watch, int], tuple[Table, float]]


def mbi_runs(checkout: Path, name: str, data: Table, sizes: dict[str, int]) -> Run:
    """The mechanisms of private-pgm.  A run returns the synthetic table, and rho as it claims."""
    sys.path[:0] = [str(checkout / "mechanisms"), str(checkout / "src")]
    mbi, code = importlib.import_module("mbi"), importlib.import_module(name)
    domain = mbi.Domain.fromdict(sizes)
    whole = mbi.Dataset({column: values.tolist() for column, values in data.items()}, domain)
    rho = importlib.import_module("cdp2adp").cdp_rho(EPSILON, DELTA)
    base = importlib.import_module("mechanism").Mechanism
    home = base if name == "aim" else code
    original, noise = home.exponential_mechanism, base.gaussian_noise
    measure = getattr(code, "measure", None)

    def run(ours: Any, watch: Watch, seed: int) -> tuple[Table, float]:
        np.random.seed(seed)  # noqa: NPY002 - what the program draws from
        if name == "aim":
            home.exponential_mechanism = replaced(original, ours, watch, True)
            base.gaussian_noise = watch.adding(noise, "sigma", 1)
            mechanism = code.AIM(
                EPSILON, DELTA, rounds=ROUNDS, max_model_size=MODEL_SIZE, max_iters=ITERATIONS[name]
            )
            pairs = [(pair, 1.0) for pair in itertools.combinations(COLUMNS, 2)]
            _, made = mechanism.run(whole, pairs)
        else:
            home.exponential_mechanism = replaced(original, ours, watch, False)
            code.measure = watch.adding(measure, "sigma", 2)
            made = code.MST(whole, EPSILON, DELTA)
        columns = made.to_dict()
        return {column: np.asarray(columns[column]) for column in COLUMNS}, rho

    return run


def dpmm_runs(name: str, data: Table, sizes: dict[str, int]) -> Run:
    """The mechanisms of dpmm."""
    import pandas as pd

    code = importlib.import_module(f"dpmm.models.{name}")
    home, frame = getattr(code, name.upper()), pd.DataFrame(data)
    original = home.exponential_mechanism
    shared = importlib.import_module("dpmm.models.base.mechanisms.mechanism")
    noises = [(each, each.gaussian_noise) for each in (code, shared)]

    def run(ours: Any, watch: Watch, seed: int) -> tuple[Table, float]:
        home.exponential_mechanism = replaced(original, ours, watch, True)
        for module, noise in noises:
            module.gaussian_noise = watch.adding(noise, "sigma", 0)
        more = {"rounds": ROUNDS, "max_model_size": MODEL_SIZE} if name == "aim" else {}
        model = home(
            epsilon=EPSILON,
            delta=DELTA,
            prng=np.random.RandomState(seed),
            n_iters=ITERATIONS[name],
            compress=False,
            domain=sizes,
            n_jobs=1,
            **more,
        )
        model.fit(frame)
        made = model.generate(len(frame))
        return {column: made[column].to_numpy().astype(np.int64) for column in COLUMNS}, model.rho

    return run


def spread(values: list[float]) -> str:
    """Mean and standard error."""
    deviation = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return f"{statistics.fmean(values):.4g} ± {deviation:.2g}"


def main() -> None:
    """Run the command."""
    checkout, program, name, times = Path(sys.argv[1]), *sys.argv[2:4], int(sys.argv[4])
    side_of_ours = "beside" if sys.argv[5:] == ["beside"] else "ours"
    sides = "own", side_of_ours
    warnings.simplefilter("ignore", SafeSelectWarning)
    data, sizes = table(checkout)
    run = (
        mbi_runs(checkout, name, data, sizes) if program == "mbi" else dpmm_runs(name, data, sizes)
    )
    load = Load()
    errors: dict[str, list[float]] = {side: [] for side in sides}
    whole: dict[str, list[float]] = {side: [] for side in sides}
    inside: dict[str, list[float]] = {side: [] for side in sides}
    for turn in range(-1, times):  # the first round is to warm up
        for side in sides if turn % 2 else sides[::-1]:
            ledger = Ledger.create(":memory:", {"rows": Budget(**TERMS, rho=1)})
            scope = ledger.scope("rows", **TERMS, purpose="synthetic data")
            ours: Any = None if side == "own" else partial(exponential_mechanism, ledger=scope)
            if side == "beside":
                ours = Beside(ours)
            watch, started = Watch(), time.process_time()
            with contextlib.redirect_stdout(io.StringIO()):
                made, rho = run(ours, watch, 0 if side_of_ours == "beside" else turn + 1)
            seconds = time.process_time() - started
            charged = 1 - float(ledger.balance("rows").left["rho"])
            total = watch.noise + (charged if side == "ours" else watch.claimed)
            line = {
                "side": side,
                "turn": turn,
                "error": error(data, made, sizes),
                "seconds": seconds,
                "selections": watch.selections,
                "selecting": watch.seconds,
                "rho claimed": rho,
                "rho of selections, claimed": watch.claimed,
                "rho of selections, on the ledger": charged if ours else None,
                "rho in all": total,
            }
            print(json.dumps(line), flush=True)
            if total > rho * (1 + 1e-9):
                sys.exit("the run costs more than it claims")
            if turn >= 0:
                errors[side].append(line["error"])
                whole[side].append(seconds)
                inside[side].append(watch.seconds)
    machine = describe_machine()
    print(f"{program} {name}, {times} runs each, {machine['cpu']}, others {load.others()}")
    for side in sides:
        print(
            f"{side}: error {spread(errors[side])}, seconds {spread(whole[side])}, "
            f"selecting {spread(inside[side])}"
        )
    own, other = whole.values()
    pairs = [b / a for a, b in zip(own, other, strict=True)]
    print(f"whole run, turn by turn: {spread(pairs)} x, median {statistics.median(pairs):.4f} x")
    before, after = inside.values()
    more = [100 * (b - a) / c for a, b, c in zip(before, after, own, strict=True)]
    print(f"what selections add: {spread(more)} % of a run")


if __name__ == "__main__":
    main()
