"""The entry points: laws against published vectors, peeling, arguments, statistics."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chances import fits
from hypothesis import given, settings
from hypothesis import strategies as st
from lattice_oracle import Tape

from engine import PEELED, TOPS
from safeselect.engine import Ranking
from safeselect.errors import ParameterError
from safeselect.exact.interval import NoiseRate

pytestmark = pytest.mark.claim("C1")

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "laws.json").read_text("utf-8"))
DRAWS = 6000


def padded(scores: list[str], extra: int) -> Any:
    """The scores, and many candidates so far below that they never win.

    They lie 2000 grid steps below at rates of 1/10 and more, so each has less than e**-150.
    """
    values = [3000 + int(s) for s in scores] + [1000 - i % 7 for i in range(extra)]
    return np.array(values, dtype=np.uint64)


def winners(
    rank: Callable[..., Ranking], steps: Any, noise_rate: NoiseRate, k: int
) -> Counter[Any]:
    tape = Tape(20)
    found: Counter[Any] = Counter()
    for _ in range(DRAWS if steps.size < 100 else DRAWS // 3):
        indices = rank(steps.copy(), k, noise_rate, tape).indices
        found[indices[0] if k == 1 else ",".join(map(str, indices))] += 1
    return found


LAWS = [
    (TOPS["exponential"], 1, "a_permute_and_flip_probs", "probs"),
    (TOPS["gumbel"], 1, "b_exponential_mechanism_probs", "probs"),
    (TOPS["gumbel"], 1, "b2_base2_exponential_mechanism", "probs"),
    (TOPS["gumbel"], 2, "c1_peeled_em_top2", "ordered_top2"),
    (PEELED["gumbel"], 2, "c1_peeled_em_top2", "ordered_top2"),
    (PEELED["exponential"], 2, "c2_peeled_pf_top2", "ordered_top2"),
    (TOPS["exponential"], 2, "c3_oneshot_exponential_top2", "ordered_top2"),
    (TOPS["laplace"], 1, "d_rnm_laplace_argmax", "probs"),
]


def cases() -> list[Any]:
    """The vectors of four candidates, at moderate rates."""
    chosen = []
    for rank, k, group, field in LAWS:
        for name, case in VECTORS[group]["cases"].items():
            scores = case.get("scores") or [str(u) for u in case["utilities_to_maximise"]]
            rate = Fraction(case.get("rate", 1))
            if len(scores) == 4 and all(s.isdigit() for s in scores) and rate <= 1:
                base = Fraction(case["base"]) if "base" in case else None
                law = case[field] if k == 2 else dict(enumerate(case[field]))
                chances = {outcome: float(p) for outcome, p in law.items()}
                label = f"{group}-{name}"
                chosen.append(
                    pytest.param(rank, k, scores, NoiseRate(rate, base), chances, id=label)
                )
    return chosen


@pytest.mark.claim("C1")
@pytest.mark.parametrize("extra", [0, 400])
@pytest.mark.parametrize(("rank", "k", "scores", "noise_rate", "law"), cases())
def test_law(
    rank: Callable[..., Ranking],
    k: int,
    scores: list[str],
    noise_rate: NoiseRate,
    law: Any,
    extra: int,
) -> None:
    """False alarm below 1e-9 a case, see `fits`; with `extra` the coarse path decides."""
    assert fits(winners(rank, padded(scores, extra), noise_rate, k), law)


def test_the_wrong_noise_is_noticed() -> None:
    """The mutant: one-shot exponential noise is not the exponential mechanism."""
    law = {0: 0.0321, 1: 0.0871, 2: 0.2369, 3: 0.6439}  # scores 0..3 at rate 1
    scores = ["0", "1", "2", "3"]
    assert fits(winners(TOPS["gumbel"], padded(scores, 0), NoiseRate(Fraction(1)), 1), law)
    assert not fits(winners(TOPS["exponential"], padded(scores, 0), NoiseRate(Fraction(1)), 1), law)


def test_every_law_has_vectors() -> None:
    assert {case.values[0] for case in cases()} == {rank for rank, *_ in LAWS}


@pytest.mark.parametrize("rank", TOPS.values())
@pytest.mark.parametrize("extra", [0, 400])
def test_all_equal_scores_are_uniform(rank: Callable[..., Ranking], extra: int) -> None:
    steps = np.full(4 + extra, 2**64 - 1, dtype=np.uint64)
    tape, found = Tape(3), Counter[int]()
    for _ in range(2000):
        found[rank(steps.copy(), 1, NoiseRate(Fraction(1, 100)), tape).indices[0] % 4] += 1
    assert fits(found, dict.fromkeys(range(4), 0.25))


@given(st.data())
@settings(max_examples=50, deadline=None)
def test_a_common_offset_changes_nothing(data: st.DataObject) -> None:
    n = data.draw(st.sampled_from([2, 9, 50, 500]))
    scores = np.array(
        data.draw(st.lists(st.integers(0, 2**62), min_size=n, max_size=n)), dtype=np.uint64
    )
    offset = np.uint64(data.draw(st.integers(0, 2**63)))
    noise_rate = NoiseRate(Fraction(1, data.draw(st.sampled_from([1, 10**3, 2**40]))))
    rank, seed = data.draw(st.sampled_from(list(TOPS.values()))), data.draw(st.integers(0, 10**6))
    results = {rank(s.copy(), 2, noise_rate, Tape(seed)).indices for s in (scores, scores + offset)}
    assert len(results) == 1


@given(st.data())
@settings(max_examples=50, deadline=None)
def test_scaling_scores_and_rate_together_changes_nothing(data: st.DataObject) -> None:
    n = data.draw(st.sampled_from([2, 9, 16]))
    scores = np.array(
        data.draw(st.lists(st.integers(0, 2**40), min_size=n, max_size=n)), dtype=np.uint64
    )
    rank, seed = data.draw(st.sampled_from(list(TOPS.values()))), data.draw(st.integers(0, 10**6))
    one = rank(scores.copy(), 1, NoiseRate(Fraction(5, 7)), Tape(seed)).indices
    same = rank(scores * np.uint64(1000), 1, NoiseRate(Fraction(1, 1400)), Tape(seed)).indices
    assert one == same


@pytest.mark.parametrize("n", [1, 2, 14, 15, 20, 60])
def test_peeling_all_candidates_gives_a_permutation(n: int) -> None:
    steps = np.arange(n, dtype=np.uint64)
    result = PEELED["exponential"](steps, n, NoiseRate(Fraction(1, 10)), Tape(n))
    assert sorted(result.indices) == list(range(n))
    assert result.gaps is None


@pytest.mark.parametrize("n", [1, 13, 40, 400])
@pytest.mark.parametrize("rank", TOPS.values())
def test_ranking_all_candidates_gives_a_permutation(rank: Callable[..., Ranking], n: int) -> None:
    result = rank(np.zeros(n, dtype=np.uint64), n, NoiseRate(Fraction(1)), Tape(n))
    assert sorted(result.indices) == list(range(n))


@pytest.mark.parametrize("n", [3, 30, 3000])
def test_a_strong_signal_is_found_in_order_with_its_gaps(n: int) -> None:
    steps = np.zeros(n, dtype=np.uint64)
    steps[:3] = [2**64 - 1, 2**64 - 1001, 2**63]
    result = TOPS["exponential"](steps, 2, NoiseRate(Fraction(2**20)), Tape(1), gaps=True)
    assert result.indices == (0, 1)
    assert result.gaps is not None
    assert abs(result.gaps[0] - 1000) <= 1
    assert abs(result.gaps[1] - (2**63 - 1001)) <= 1


@pytest.mark.parametrize(
    ("n", "k", "gaps"), [(3, 0, False), (3, 4, False), (3, 3, True), (0, 1, False)]
)
def test_impossible_k_is_refused(n: int, k: int, gaps: bool) -> None:
    tape = Tape(1)
    for rank in TOPS.values():
        with pytest.raises(ParameterError, match="and the number of candidates,"):
            rank(np.zeros(n, dtype=np.uint64), k, NoiseRate(Fraction(1)), tape, gaps=gaps)
    with pytest.raises(ParameterError, match="and the number of candidates,"):
        PEELED["exponential"](np.zeros(n, dtype=np.uint64), n + 1, NoiseRate(Fraction(1)), tape)
    assert tape.requests == []


def test_gaps_follow_their_law() -> None:
    """P(winner 1, gap >= g) = P(1 wins with g less): scores 0, 1 at rate 1 (vector e3)."""
    tape, found = Tape(9), Counter[Any]()
    for _ in range(DRAWS):
        steps = np.array([0, 1], dtype=np.uint64)
        result = TOPS["exponential"](steps, 1, NoiseRate(Fraction(1)), tape, gaps=True)
        assert result.gaps is not None
        found[result.indices[0], min(result.gaps[0], 2)] += 1
    survival = {
        0: [0.183939720585721, 0.0676676416183063, 0.024893534183931971, 0.0],
        1: [0.816060279414279, 0.5, 0.183939720585721161, 0.0],
    }
    law = {(w, g): s[g] - (s[g + 1] if g < 2 else 0) for w, s in survival.items() for g in range(3)}
    assert fits(found, law)


@pytest.mark.claim("C1")
@pytest.mark.parametrize("top", TOPS.values())
@pytest.mark.parametrize("n", [4097, 24575, 49151])
@pytest.mark.parametrize("share", [130, 200, 1000])
def test_many_are_ranked_whatever_the_blocks_are(
    top: Callable[..., Ranking], n: int, share: int
) -> None:
    order = np.random.default_rng(n).permutation(n)
    steps = np.empty(n, dtype=np.uint64)
    steps[order] = np.arange(n, dtype=np.uint64)[::-1]
    k = n // share
    # A step is worth 1000 nats, so the noise changes nothing.
    assert top(steps, k, NoiseRate(Fraction(1000)), Tape(1)).indices == tuple(order[:k].tolist())
