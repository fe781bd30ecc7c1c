"""Which contenders meet at which work."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from work import FAMILIES, REAL, Work

__all__ = ["Case", "Entry", "bar_cases", "grid_cases"]

RATES = (Fraction(1, 4), Fraction(1, 1000), Fraction(1, 10**6))
SCALES = (1, 10, 1000, 10**6)
MILLION = 10**6

PF, EM, EM2 = "permute_and_flip", "exponential_mechanism", "exponential_mechanism_base2"
TOP, SHOT, PEEL = "top_k exponential", "top_k one_shot_exponential", "top_k permute_and_flip"
PF_GAP, EM_GAP = "permute_and_flip_with_gap", "exponential_mechanism_with_gap"
LAPLACE, LAPLACE_GAP = "report_noisy_max laplace", "report_noisy_max_with_gap laplace"
SHOT_GAPS = "top_k_with_gaps"
FLOATS = {1024: f"{PF}, floats on 1/1024", 1000: f"{PF}, floats on 1/1000"}
LIST = f"{PF}, a list"
READY = {PF: "PermuteAndFlip, prepared", EM: "ExponentialMechanism, prepared"}
RHO, FRESH_RHO = f"{EM}, rho", f"{EM}, fresh rho"
GAPS = {PF_GAP: PF, EM_GAP: EM, LAPLACE_GAP: LAPLACE}
FLOAT_PF, FLOAT_EM = "argmax(scores + rng.exponential)", "argmax(scores + rng.gumbel)"
FLOAT_TOP = "argpartition(scores + rng.gumbel)"
DP_PF, DP_EM, DP_TOP = "OpenDP noisy max (PF)", "OpenDP noisy max (EM)", "OpenDP noisy top-k (EM)"
DP_PEEL, DP_LAPLACE = "OpenDP noisy top-k (PF)", "OpenDP make_laplace"
WEIGHTED, COPIES = f"{EM}, weights", f"{PF}, copies"
FLOAT_WEIGHTED = "argmax(scores + log(weights) / rate + rng.gumbel)"
FLOAT_COPIES = "argmax(repeat(scores, copies) + rng.exponential)"
QUANTILE, SEVEN = "quantile", "quantiles, seven"
OTHER_QUANTILE, DP_QUANTILE = "diffprivlib quantile", "OpenDP quantile scores + noisy max"
OTHER_SEVEN = "diffprivlib quantile, seven"
RUNS, FLOAT_RUNS = "best_of", "best of a geometric number of runs"
ROWS, FLOAT_ROWS = "select_many", "argmax(rows + rng.exponential)"
TOP_ROWS, FLOAT_TOP_ROWS = "top_k_many", "argpartition(rows + rng.gumbel)"


@dataclass(frozen=True, slots=True)
class Entry:
    """A contender with its work; `label` tells entries of one case apart."""

    contender: str
    work: Work
    label: str

    @classmethod
    def of(cls, contender: str, work: Work, suffix: str = "") -> Entry:
        """An entry named after the contender."""
        return cls(contender, work, f"{contender}{suffix}")


@dataclass(frozen=True, slots=True)
class Case:
    """Entries that are measured in turns, in a process of their own.

    Args:
        name, title: short, and in words.
        entries: who takes part.
        bar: a bar looks at it, so it is measured for longer.
    """

    name: str
    title: str
    entries: tuple[Entry, ...]
    bar: bool


def _case(name: str, title: str, names: Iterable[str], work: Work, *, bar: bool = True) -> Case:
    return Case(name, title, tuple(Entry.of(contender, work) for contender in names), bar)


def bar_cases() -> list[Case]:
    """The cases that the bars look at, and a few that are reported beside them."""
    cases = []
    for rate in RATES:
        work = Work(MILLION, rate=rate)
        cases += [
            _case(f"pf-1e6-rate-{rate}", "permute-and-flip", [PF, FLOAT_PF], work),
            _case(
                f"pf-1e5-rate-{rate}", "permute-and-flip", [PF, FLOAT_PF], replace(work, n=10**5)
            ),
            _case(f"em-1e6-rate-{rate}", "exponential mechanism", [EM, EM2, FLOAT_EM], work),
        ]
    for family in ("uniform", "zipf"):
        for rate in RATES[:2]:
            name, work = f"pf-opendp-{family}-rate-{rate}", Work(10**5, family, rate)
            cases.append(_case(name, "permute-and-flip against OpenDP", [PF, DP_PF], work))
    cases.append(_top_case())
    for power in (5, 6):
        work, name = Work(10**power, "zipf", k=10), f"top-opendp-zipf-1e{power}"
        cases.append(_case(name, "one-shot top 10 against OpenDP", [TOP, DP_TOP], work))
    work = Work(10**5, "zipf", k=10)
    cases.append(_case("peeled-zipf", "peeled permute-and-flip, k = 10", [PEEL, DP_PEEL], work))
    cases += _gap_cases() + _noise_cases() + _small_cases() + _door_cases() + _extension_cases()
    entries = [
        Entry.of(contender, Work(10**power), f", n = 10^{power}")
        for contender in (PF, EM, FLOAT_PF, FLOAT_EM)
        for power in (5, 7)
    ]
    cases.append(Case("growth", "growth with n", tuple(entries), True))
    return cases


def _top_case() -> Case:
    entries = [
        Entry.of(contender, Work(MILLION, k=k), f", k = {k}")
        for contender in (TOP, SHOT, FLOAT_TOP)
        for k in (1, 10, 100)
    ]
    return Case("top-1e6", "one-shot top-k", tuple(entries), True)


def _gap_cases() -> list[Case]:
    """Each release with its gap beside the same release without."""
    cases = [
        _case(
            f"gap-1e6-rate-{rate}",
            "gaps",
            [*GAPS.values(), *GAPS, FLOAT_PF, FLOAT_EM],
            Work(MILLION, rate=rate),
        )
        for rate in RATES
    ]
    names = [SHOT, SHOT_GAPS, FLOAT_TOP]
    cases += [
        _case(f"gaps-1e6-top-{k}", "gaps of one-shot top-k", names, Work(MILLION, k=k))
        for k in (10, 100)
    ]
    return cases


def _door_cases() -> list[Case]:
    """The same numbers as a column of integers, as a list, and floats on a grid."""
    return [
        _case("floats-1e5", "columns of floats", [PF, *FLOATS.values(), FLOAT_PF], Work(10**5)),
        _case("list-1000", "a list of integers", [PF, LIST, FLOAT_PF], Work(1000)),
        _case("list-1e5", "a list of integers", [PF, LIST, FLOAT_PF], Work(10**5)),
    ]


def _extension_cases() -> list[Case]:
    """Weights, quantiles and private runs."""
    cases = []
    for n in (1000, 10**5):
        names = [EM, WEIGHTED, FLOAT_EM, FLOAT_WEIGHTED, COPIES, FLOAT_COPIES]
        cases.append(_case(f"weights-{n}", "public weights", names, Work(n)))
        names = [QUANTILE, OTHER_QUANTILE, DP_QUANTILE, SEVEN, OTHER_SEVEN]
        work = Work(n, rate=Fraction(1))
        cases.append(_case(f"quantiles-{n}", "quantiles of n values of 0 .. 999", names, work))
    work = Work(10, rate=Fraction(1, 10), batch=50)
    cases.append(_case("runs-10", "50 choices among private runs", [RUNS, FLOAT_RUNS], work))
    return cases


def _noise_cases() -> list[Case]:
    cases = []
    for scale in SCALES:
        work = Work(MILLION, rate=Fraction(1, scale))
        names = ["engine.discrete_laplace", "rng.laplace", DP_LAPLACE]
        cases.append(_case(f"laplace-{scale}", "discrete Laplace noise", names, work))
        names = ["engine.geometric", "rng.geometric"]
        cases.append(_case(f"geometric-{scale}", "geometric noise", names, work))
    return cases


def _small_cases() -> list[Case]:
    ten = Work(10, rate=Fraction(1, 10))
    thousand = Work(1000, rate=Fraction(1, 10), k=10)
    batch = Work(20, rate=Fraction(1, 10), batch=10_000)
    cold = [PF, f"{PF}, cold rate", EM, f"{EM}, cold rate", FLOAT_PF, FLOAT_EM]
    ready = [*READY, *READY.values(), DP_PF, DP_EM]
    return [
        _case("pf-10", "whole call, permute-and-flip", [PF, DP_PF, FLOAT_PF], ten),
        _case("em-10", "whole call, exponential mechanism", [EM, EM2, DP_EM, FLOAT_EM], ten),
        _case("n-1000", "whole calls", [PF, EM, TOP, FLOAT_PF, FLOAT_EM, FLOAT_TOP], thousand),
        _case("prepared-10", "prepared and not", ready, ten),
        _case("prepared-1000", "prepared and not", ready, thousand),
        _case("rho-10", "a rho not used before", [RHO, FRESH_RHO, DP_EM], ten),
        _case("rho-1000", "a rho not used before", [RHO, FRESH_RHO, DP_EM], thousand),
        _case("cold-10", "a rate not used before", cold, ten),
        _case("cold-1e5", "a rate not used before", cold, Work(10**5)),
        _case(
            "batch-20",
            "10 000 selections in one call",
            ["select_many permute_and_flip", "select_many exponential", FLOAT_ROWS],
            batch,
        ),
        _case(
            "batch-top",
            "1 000 top-10 selections in one call",
            ["top_k_many exponential", FLOAT_TOP_ROWS],
            Work(1000, rate=Fraction(1, 10), k=10, batch=1000),
        ),
    ]


GRID = {
    "grid-pf": (PF, FLOAT_PF, DP_PF, "diffprivlib PermuteAndFlip"),
    "grid-em": (EM, EM2, FLOAT_EM, "softmax + rng.choice", DP_EM, "diffprivlib Exponential"),
    "grid-top10": (TOP, SHOT, PEEL, FLOAT_TOP, DP_TOP),
}


def grid_cases(*, quick: bool) -> list[Case]:
    """Mechanisms x score families x n, at rate 1/1000; n rises within a family."""
    sizes = {10: FAMILIES, 10**3: FAMILIES, 10**5: FAMILIES, MILLION: FAMILIES}
    sizes[10**7] = ("uniform", "zipf")
    if quick:
        sizes = {10: ("uniform",), 10**3: ("uniform", "zipf"), 10**5: ("uniform", "zipf")}
    places = [(family, n) for n, families in sizes.items() for family in families]
    if not quick:
        places += [(name, n) for name, (_, n) in REAL.items()]
    return [
        _case(f"{group}-{family}-{n}", group, names, Work(n, family, k=k), bar=False)
        for group, names in GRID.items()
        for family, n in places
        for k in ((min(10, n // 2),) if group == "grid-top10" else (1,))
    ]
