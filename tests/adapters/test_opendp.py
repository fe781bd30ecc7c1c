"""Our measurements inside the real OpenDP: maps, chains, composition, filters, failures, laws."""

from __future__ import annotations

import itertools
import math
import sys
import warnings
from fractions import Fraction
from functools import partial
from typing import Any

import pytest

import engine
import safeselect
from safeselect import BoundedRange, LaplaceDominated, ParameterError, compose
from safeselect.adapters import opendp as ours
from safeselect.adapters._numbers import at_least
from safeselect.exact.interval import NoiseRate

dp: Any = pytest.importorskip("opendp.prelude", reason="OpenDP is not installed")
dp.enable_features("contrib", "honest-but-curious")

SENTINEL = 987_654_321
PURE, ZCDP = dp.max_divergence(), dp.zero_concentrated_divergence()


def space(integers: str = "i32", *, monotonic: bool = False) -> tuple[Any, Any]:
    domain = dp.vector_domain(dp.atom_domain(T=integers))
    return domain, dp.linf_distance(T=integers, monotonic=monotonic)


# ------------------------------------------------------------------------------- privacy maps

_many, _max = ours.make_top_k, ours.make_report_noisy_max
_flip = partial(_max, noise="exponential")
_ONE_SHOT = {"k": 3, "mechanism": "one_shot_exponential"}
_PEELED = {"k": 3, "mechanism": "permute_and_flip"}
CONSTRUCTORS = {
    "noisy_max_exponential": (_max, {"noise": "exponential"}, LaplaceDominated, 1, 1),
    "noisy_max_laplace": (_max, {"noise": "laplace"}, LaplaceDominated, 1, 1),
    "noisy_max_gumbel": (_max, {"noise": "gumbel"}, BoundedRange, 1, 1),
    "top_3_exponential": (_many, {"k": 3, "mechanism": "exponential"}, BoundedRange, 3, 1),
    "top_3_permute_and_flip": (_many, _PEELED, LaplaceDominated, 3, 1),
    "top_3_one_shot": (_many, _ONE_SHOT, LaplaceDominated, 1, 3),
    "top_2_with_gaps": (ours.make_top_k_with_gaps, {"k": 2}, LaplaceDominated, 1, 2),
}


@pytest.mark.claim("C2")
@pytest.mark.parametrize("d_in", [0, 1, 2, 1000])
@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_the_privacy_map_is_the_guarantee_rounded_up(name: str, monotonic: bool, d_in: int) -> None:
    """`family`, `draws` and `weight` restate what the mechanisms' docstrings promise."""
    make, options, family, draws, weight = CONSTRUCTORS[name]
    scale, moved = Fraction(7, 3), d_in if monotonic else 2 * d_in
    each = family(weight * moved / scale)
    for measure, exact in (
        (PURE, compose([each.pure] * draws).guarantee.epsilon),  # type: ignore[union-attr]
        (ZCDP, draws * each.zcdp.rho),
    ):
        found = make(*space(monotonic=monotonic), measure, scale="7/3", **options).map(d_in)
        assert Fraction(found) >= exact
        assert found == 0 or Fraction(math.nextafter(found, 0)) < exact


@pytest.fixture
def rates(monkeypatch: pytest.MonkeyPatch) -> set[Fraction]:
    """The rates per grid step that are drawn with."""
    found: set[Fraction] = set()

    def recorded(noise_rate: NoiseRate) -> NoiseRate:
        found.add(noise_rate.rate)
        return noise_rate

    engine.change_decay(monkeypatch, recorded)
    return found


@pytest.mark.claim("C1")
@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_the_noise_has_the_scale_that_was_asked_for(rates: set[Fraction], name: str) -> None:
    make, options, family, draws, weight = CONSTRUCTORS[name]
    for measure in (PURE, ZCDP):
        make(*space(), measure, scale="7/3", **options)([3, 1, 2, 4])
    assert rates == {Fraction(3, 7)}
    rates.clear()
    grid = {"grid": "1/8", "on_grid": True, **options}
    made = make(*floats(), PURE, scale="7/3", **grid)
    with warnings.catch_warnings():
        warnings.simplefilter("error", safeselect.SafeSelectWarning)
        made([3.0, 1.125, 2.0, 4.0])
        # Noise far below the grid: still no total that anybody asked for.
        make(*floats(), PURE, scale="1/1000", **grid)([3.0, 1.0, 2.0, 4.0])
    assert rates == {Fraction(3, 56), Fraction(125)}
    assert made.map(1.0) == at_least(draws * family(weight * 2 / Fraction(7, 3)).epsilon)


def test_the_default_of_top_k_follows_the_measure() -> None:
    one_shot, peeled = LaplaceDominated(2).zcdp.rho, 2 * BoundedRange(1).zcdp.rho
    made = ours.make_top_k(*space(monotonic=True), ZCDP, k=2, scale=1)
    assert made.map(1) == at_least(peeled) < at_least(one_shot)
    assert ours.make_top_k(*space(monotonic=True), PURE, k=2, scale=1).map(1) == 2


@pytest.mark.parametrize("integers", ["i32", "i64", "u32", "u64", "usize"])
def test_every_integer_type_with_its_extremes(integers: str) -> None:
    bits = 32 if "32" in integers else 64
    low = -(2 ** (bits - 1)) if integers.startswith("i") else 0
    extremes = [low, low + 2**bits - 1, low + 1, low + 2**bits - 2]
    for make in (_flip, partial(_max, noise="gumbel")):
        assert make(*space(integers), PURE, scale="1/1000")(extremes) == 1
        assert make(*space(integers), PURE, scale="1/1000", negate=True)(extremes) == 0
    for negate, wanted in ((False, [1, 3, 2, 0]), (True, [0, 2, 3, 1])):
        best = ours.make_top_k(*space(integers), PURE, "1/1000", k=4, negate=negate)
        assert best(extremes) == wanted


# ------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("domain", None), "input_domain must be vector_domain.* got None"),
        (("domain", "bool"), "got VectorDomain"),
        (("metric", None), r"input_metric must be linf_distance\(T='i32'\), got None"),
        (("metric", "l1"), "got L1Distance"),
        (("measure", None), r"output_measure must be max_divergence\(\) or .*, got None"),
        (("measure", "approximate"), r"got Approximate\(MaxDivergence\)"),
        (("scale", 0), "scale must be greater than zero"),
        (("scale", 2.0**50), r"scale must be between 2\*\*-20 and 2\*\*40 grid steps, got 1125"),
        (("negate", 1), "negate must be True or False, got 1"),
        (("source", 7), "source"),
    ],
)
def test_bad_parameters_are_refused_when_a_measurement_is_made(
    arguments: tuple[str, Any], message: str
) -> None:
    name, value = arguments
    special = {
        "bool": dp.vector_domain(dp.atom_domain(T=bool)),
        "l1": dp.l1_distance(T="i32"),
        "approximate": dp.approximate(PURE),
    }
    domain, metric = space()
    given: dict[str, Any] = {"domain": domain, "metric": metric, "measure": PURE, "scale": 1}
    given[name] = special.get(value, value)
    first = [given.pop(each) for each in ("domain", "metric", "measure", "scale")]
    with pytest.raises(ParameterError, match=message):
        _flip(*first, **given)


def test_names_and_numbers_are_refused() -> None:
    args = *space(), PURE
    with pytest.raises(ParameterError, match="noise must be"):
        ours.make_report_noisy_max(*args, 1, noise="gauss")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="noise must be"):
        ours.make_top_k_with_gaps(*args, 1, k=1, noise="gumbel")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="mechanism must be"):
        ours.make_top_k(*args, 1, k=1, mechanism="laplace")  # type: ignore[arg-type]
    for k in (0, -1, True, 1.0):
        with pytest.raises(ParameterError, match="k must be"):
            ours.make_top_k(*args, 1, k=k)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="gap_grid must be greater than zero"):
        ours.make_top_k_with_gaps(*args, 1, k=1, gap_grid=0)
    made = _flip(*args, 1)
    with pytest.raises(dp.OpenDPException, match="d_in must be at least zero"):
        made.map(-1)


def test_without_the_library_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(ParameterError, match=r"opendp is required; run .*\[opendp\]"):
        _flip(*space(), PURE, 1)


# ------------------------------------------------------------------------------- what failures say


def told(made: Any, capfd: pytest.CaptureFixture[str]) -> str:
    """All that a failed release lets out."""
    with pytest.raises(dp.OpenDPException) as caught:
        made([SENTINEL, SENTINEL - 1, 0])
    error = caught.value
    assert error.__cause__ is None
    assert error.__context__ is None
    return "\n".join([str(error), repr(error), str(vars(error)), *capfd.readouterr()])


def failing(error: BaseException) -> Any:
    def mechanism(scores: list[int], **_: Any) -> Any:
        try:
            raise ValueError(f"a score is {scores}")
        except ValueError as cause:
            raise error from cause

    return mechanism


@pytest.mark.claim("C10")
@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (safeselect.SourceError("the source failed"), "SourceError: the source failed"),
        (RuntimeError(f"cell {SENTINEL}"), "RuntimeError: the release failed; there is no output"),
        (KeyboardInterrupt(f"{SENTINEL}"), "RuntimeError: the release failed"),
    ],
)
def test_a_failed_release_says_one_sentence_without_data(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    error: BaseException,
    sentence: str,
) -> None:
    monkeypatch.setattr(ours, "report_noisy_max", failing(error))
    text = told(_flip(*space(), PURE, 1), capfd)
    assert sentence in text
    assert str(SENTINEL) not in text


# ------------------------------------------------------------------------------- floats on a grid

STEP = Fraction(1, 4)
READINGS: list[tuple[dict[str, Any], Fraction]] = [
    ({"grid": STEP, "score_error": 0}, Fraction(0)),
    ({"grid": STEP}, STEP / 2),
    ({"grid": STEP, "score_error": "1/10"}, Fraction(1, 10)),
]


def floats(kind: str = "f64", *, monotonic: bool = False) -> tuple[Any, Any]:
    domain = dp.vector_domain(dp.atom_domain(T=kind, nan=False))
    return domain, dp.linf_distance(T=kind, monotonic=monotonic)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The steps that measurements made from now on hand to the mechanism."""
    found: list[list[int]] = []
    real = safeselect.report_noisy_max

    def spy(steps: Any, **given: Any) -> Any:
        found.append([int(step) for step in steps])
        return real(steps, **given)

    monkeypatch.setattr(ours, "report_noisy_max", spy)
    return found


def law(steps: list[int], rate: Fraction) -> list[float]:
    """The exponential mechanism, restated."""
    weights = [math.exp(rate * (step - max(steps))) for step in steps]
    return [weight / sum(weights) for weight in weights]


@pytest.mark.claim("C2")
@pytest.mark.parametrize("kind", ["f64", "f32"])
@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize(("reading", "error"), READINGS, ids=str)
def test_the_loss_of_float_scores_is_at_most_what_the_map_says(
    seen: list[list[int]], kind: str, monotonic: bool, reading: dict[str, Any], error: Fraction
) -> None:
    """All moves of three scores by d_in and the error, over eighths and sixteenths of a step."""
    scale, d_in = Fraction(1, 2), Fraction(3, 16)
    made = _max(*floats(kind, monotonic=monotonic), PURE, scale, noise="gumbel", **reading)
    rate, allowed = STEP / scale, made.map(float(d_in))
    # On a binary grid finer than the step, rounded inwards: nothing moves further than declared.
    inside = Fraction(int(error * 64), 64)
    true = [Fraction(0) if monotonic else -d_in, Fraction(0), d_in]
    moves = sorted({move + 2 * sign * inside for move in true for sign in (-1, 0, 1)})
    worst = 0.0
    for start in ([0.0, 0.125, 0.375], [0.0625, 0.1875, 0.5], [0.12, 0.13, 0.37]):
        made(start)
        first = law(seen[-1], rate)
        for move in itertools.product(moves, repeat=3):
            end = [score + float(by) for score, by in zip(start, move, strict=True)]
            rounded = [math.floor(Fraction(score) / STEP + Fraction(1, 2)) for score in end]
            second = law(rounded, rate)
            worst = max(worst, *(abs(math.log(a / b)) for a, b in zip(first, second, strict=True)))
    assert worst <= allowed * (1 + 1e-12)
    assert worst > allowed / 4  # the bound is not idle


@pytest.mark.claim("C2")
def test_the_map_adds_what_reading_adds() -> None:
    def epsilon(d_in: float, *, monotonic: bool = False, **reading: Any) -> Fraction:
        made = _flip(*floats(monotonic=monotonic), PURE, 1, grid=STEP, **reading)
        return Fraction(made.map(d_in)) / STEP

    assert epsilon(1.0, score_error=0) == 8
    assert (epsilon(1.0, score_error=0, monotonic=True), epsilon(1.0)) == (4, 10)
    assert (epsilon(1.0, monotonic=True), epsilon(1.1, score_error=0)) == (6, 10)
    assert (epsilon(1.0, on_grid=True), epsilon(1.2, on_grid=True, monotonic=True)) == (8, 5)
    assert (epsilon(0.2, on_grid=True), epsilon(0.0, on_grid=True)) == (2, 0)
    assert epsilon(0.0) == 2  # the numbers handed over may differ, though the scores do not
    # 0.3 as a float is less than three tenths: whichever is larger counts.
    tenths = _flip(*floats(monotonic=True), PURE, 1, grid="0.1", on_grid=True)
    assert Fraction(tenths.map(0.3)) >= Fraction(3, 10)
    # And 0.1 as a float is more than a tenth.
    exact = _flip(*floats(monotonic=True), PURE, 1, grid="0.1", score_error=0)
    assert exact.map(0.1) == at_least(Fraction(2, 10))


@pytest.mark.parametrize("kind", ["f64", "f32"])
def test_floats_that_nothing_covers_are_refused(
    kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    domain, metric = floats(kind)
    with pytest.raises(ParameterError, match="an input_domain of floats requires grid="):
        _flip(domain, metric, PURE, 1)
    for lax in (
        dp.vector_domain(dp.atom_domain(T=kind)),
        dp.vector_domain(dp.atom_domain(T=kind, nan=True), size=3),
    ):
        with pytest.raises(ParameterError, match=r"must be vector_domain.*nan=False.* got Vector"):
            _flip(lax, metric, PURE, 1, grid=1)
    bounded = dp.vector_domain(dp.atom_domain(bounds=(0.0, 1.0), T=kind, nan=False), size=2)
    assert _flip(bounded, metric, PURE, "1/1000", grid=1)([0.0, 1.0]) == 1
    with pytest.raises(ParameterError, match="on_grid=True requires grid="):
        _flip(*space(), PURE, 1, on_grid=True)
    made = _flip(domain, metric, PURE, 1, grid=1)
    for odd in (math.inf, math.nan):
        with pytest.raises(dp.OpenDPException, match="ScoreError: scores must be finite"):
            made([float(SENTINEL), odd])
        assert str(SENTINEL) not in "".join(capfd.readouterr())


# ------------------------------------------------------------------------------- contexts

AGES = [23, 31, 35, 38, 41, 44, 52] * 30
CANDIDATES = list(range(0, 100, 5))
ours.name_in_context()
ours.name_in_context()  # once more is nothing new
WAYS = {
    "pure": lambda: (dp.loss_of(epsilon=1.0), dp.max_divergence()),
    "zCDP": lambda: (dp.loss_of(rho=0.5), dp.zero_concentrated_divergence()),
}
each_way = pytest.mark.parametrize("way", WAYS)


def context(way: str, parts: int) -> tuple[Any, Any]:
    loss, measure = WAYS[way]()
    made = dp.Context.compositor(
        data=AGES,
        domain=dp.vector_domain(dp.atom_domain(T=int)),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=loss,
        split_evenly_over=parts,
    )
    return made, measure


def quantile_scores(made: Any) -> Any:
    return made.query().quantile_score_candidates(CANDIDATES, alpha=0.5)


@each_way
def test_one_choice_gets_its_share_and_no_more(way: str) -> None:
    made, measure = context(way, 2)
    for noise in ("exponential", "gumbel"):
        query = quantile_scores(made).safe_noisy_max(measure, noise=noise, negate=True)
        scale = query.param()
        share = 0.5 if way == "pure" else 0.25
        space = dp.vector_domain(dp.atom_domain(T="usize")), dp.linf_distance(T="usize")
        # quantile scores move by 2 alpha parts of a contribution: the chain says by how much.
        chain = query.resolve()
        assert chain.map(1) <= share
        assert chain.map(1) == pytest.approx(share, rel=1e-6)
        assert _max(*space, measure, scale, noise=noise).map(1) > 0
        assert query.release() in range(20)
    with pytest.raises(ValueError, match="exhausted"):
        quantile_scores(made).safe_noisy_max(measure, noise="gumbel", negate=True).release()
