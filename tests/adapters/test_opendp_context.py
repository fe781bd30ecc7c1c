"""Our measurements in OpenDP's Context API: pure and zCDP, the scale found, the budget kept."""

from __future__ import annotations

from typing import Any

import pytest

dp: Any = pytest.importorskip("opendp.prelude", reason="OpenDP is not installed")

import safeselect.adapters.opendp_context as ours  # noqa: E402

AGES = [23, 31, 35, 38, 41, 44, 52] * 30
CANDIDATES = list(range(0, 100, 5))
WAYS = {
    "pure": lambda: (dp.loss_of(epsilon=1.0), dp.max_divergence()),
    "zCDP": lambda: (dp.loss_of(rho=0.5), dp.zero_concentrated_divergence()),
}
each_way = pytest.mark.parametrize("way", WAYS)


@pytest.fixture(autouse=True)
def features() -> None:
    dp.enable_features("contrib", "honest-but-curious")


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


def scores(made: Any) -> Any:
    return made.query().quantile_score_candidates(CANDIDATES, alpha=0.5)


@each_way
def test_one_choice_gets_its_share_and_no_more(way: str) -> None:
    made, measure = context(way, 2)
    names = ("permute_and_flip", "exponential_mechanism")
    for name in names:
        query = getattr(scores(made), name)(measure, negate=True)
        scale = query.param()
        share = 0.5 if way == "pure" else 0.25
        constructor = ours.NAMES[name]
        space = dp.vector_domain(dp.atom_domain(T="usize")), dp.linf_distance(T="usize")
        # quantile scores move by 2 alpha parts of a contribution: the chain says by how much.
        chain = query.resolve()
        assert chain.map(1) <= share
        assert chain.map(1) == pytest.approx(share, rel=1e-6)
        assert constructor(*space, measure, scale).map(1) > 0
        assert query.release() in range(20)
    with pytest.raises(ValueError, match="exhausted"):
        scores(made).permute_and_flip(measure, negate=True).release()


@each_way
def test_several_choices(way: str) -> None:
    made, measure = context(way, 3)
    top = scores(made).safe_top_k(measure, k=2, negate=True).release()
    assert len(set(top)) == 2
    pairs = scores(made).safe_top_k_with_gaps(measure, k=2, negate=True).release()
    assert all(gap >= 0 for _, gap in pairs)
    noisy = scores(made).safe_noisy_max(measure, noise="laplace", negate=True).release()
    assert noisy in range(20)


def test_a_scale_may_be_said() -> None:
    made, measure = context("pure", 1)
    assert scores(made).permute_and_flip(measure, 1000.0, negate=True).release() in range(20)
