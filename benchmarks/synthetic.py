"""AIM and MST with their own selection and with ours, in turns, on the Adult table.

For each: the mean total variation over all pairs of columns between table and synthetic table; the
processor time of a run and of its selections; and rho: what the program claims, what its selections
cost on a ledger, and what its noise costs besides.

    python benchmarks/synthetic.py CHECKOUT mbi aim 10
    python benchmarks/synthetic.py CHECKOUT dpmm mst 10

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
            chosen = original if ours is None else ours
            timed = watch.selecting(chosen, 2 if ours is None else 1)
            home.exponential_mechanism = timed if ours is None else staticmethod(timed)
            base.gaussian_noise = watch.adding(noise, "sigma", 1)
            mechanism = code.AIM(
                EPSILON,
                DELTA,
                rounds=ROUNDS,
                max_model_size=MODEL_SIZE,
                max_iters=ITERATIONS[name],
            )
            pairs = [(pair, 1.0) for pair in itertools.combinations(COLUMNS, 2)]
            _, made = mechanism.run(whole, pairs)
        else:
            home.exponential_mechanism = watch.selecting(original if ours is None else ours, 1)
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
        timed = watch.selecting(original if ours is None else ours, 2 if ours is None else 1)
        home.exponential_mechanism = timed if ours is None else staticmethod(timed)
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
    warnings.simplefilter("ignore", SafeSelectWarning)
    data, sizes = table(checkout)
    run = (
        mbi_runs(checkout, name, data, sizes) if program == "mbi" else dpmm_runs(name, data, sizes)
    )
    load = Load()
    errors: dict[str, list[float]] = {"own": [], "ours": []}
    whole: dict[str, list[float]] = {"own": [], "ours": []}
    inside: dict[str, list[float]] = {"own": [], "ours": []}
    for turn in range(-1, times):  # the first round is to warm up
        for side in ("own", "ours") if turn % 2 else ("ours", "own"):
            ledger = Ledger.create(":memory:", {"rows": Budget(**TERMS, rho=1)})
            scope = ledger.scope("rows", **TERMS, purpose="synthetic data")
            ours = partial(exponential_mechanism, ledger=scope) if side == "ours" else None
            watch, started = Watch(), time.process_time()
            with contextlib.redirect_stdout(io.StringIO()):
                made, rho = run(ours, watch, turn + 1)
            seconds = time.process_time() - started
            charged = 1 - float(ledger.balance("rows").left["rho"])
            total = watch.noise + (charged if ours else watch.claimed)
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
    for side in ("own", "ours"):
        print(
            f"{side}: error {spread(errors[side])}, seconds {spread(whole[side])}, "
            f"selecting {spread(inside[side])}"
        )
    more = statistics.fmean(inside["ours"]) - statistics.fmean(inside["own"])
    print(f"whole run: {statistics.fmean(whole['ours']) / statistics.fmean(whole['own']):.4f} x")
    print(f"what selections add: {more / statistics.fmean(whole['own']):.3%} of a run")


if __name__ == "__main__":
    main()
