"""What people would use instead, each with the same scores, rate and k as ours.

Anything that can be prepared once and used again (an OpenDP measurement, diffprivlib's list) is
prepared outside the measured time.  Scores are an int64 NumPy array wherever one is accepted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from measure import Call, Unavailable
from work import Work, make_scores, make_weights

__all__ = ["COMPETITORS"]


def float_exponential(work: Work) -> Call:
    """Permute-and-flip by float exponential noise."""
    scores, rng, scale, n = make_scores(work.scores, work.n), _rng(), _scale(work), work.n
    return lambda: (scores + rng.exponential(scale, size=n)).argmax()


def float_gumbel(work: Work) -> Call:
    """The exponential mechanism by float Gumbel noise."""
    scores, rng, scale, n = make_scores(work.scores, work.n), _rng(), _scale(work), work.n
    return lambda: (scores + rng.gumbel(scale=scale, size=n)).argmax()


def float_softmax(work: Work) -> Call:
    """The exponential mechanism by float weights."""
    scores, rng, rate, n = make_scores(work.scores, work.n), _rng(), float(work.rate), work.n

    def call() -> object:
        weights = np.exp(rate * (scores - scores.max()))
        return rng.choice(n, p=weights / weights.sum())

    return call


def float_gumbel_top(work: Work) -> Call:
    """One-shot top-k by float Gumbel noise; not even sorted."""
    scores, rng, scale, n, k = (
        make_scores(work.scores, work.n),
        _rng(),
        _scale(work),
        work.n,
        work.k,
    )
    return lambda: np.argpartition(scores + rng.gumbel(scale=scale, size=n), -k)[-k:]


def float_weighted(work: Work) -> Call:
    """The exponential mechanism with weights, by float Gumbel noise."""
    scores, rng, scale, n = make_scores(work.scores, work.n), _rng(), _scale(work), work.n
    weights = make_weights(n)
    return lambda: (scores + np.log(weights) * scale + rng.gumbel(scale=scale, size=n)).argmax()


def float_copies(work: Work) -> Call:
    """Permute-and-flip of the longer list, by float exponential noise."""
    copies, rng, scale = make_weights(work.n), _rng(), _scale(work)
    longer = np.repeat(make_scores(work.scores, work.n), copies)
    return lambda: (longer + rng.exponential(scale, size=longer.size)).argmax()


def float_rows(work: Work) -> Call:
    """Many permute-and-flips by float exponential noise, in one array."""
    rows, rng, scale = _rows(work), _rng(), _scale(work)
    return lambda: (rows + rng.exponential(scale, size=rows.shape)).argmax(axis=1)


def float_top_rows(work: Work) -> Call:
    """Many one-shot top-k by float Gumbel noise; not even sorted."""
    rows, rng, scale, k = _rows(work), _rng(), _scale(work), work.k
    return lambda: np.argpartition(rows + rng.gumbel(scale=scale, size=rows.shape), -k)[:, -k:]


def float_runs(work: Work) -> Call:
    """The best of a geometric number of float permute-and-flips, two on average; many times."""
    scores, rng, scale, n = make_scores(work.scores, work.n), _rng(), _scale(work), work.n

    def call() -> None:
        for _ in range(work.batch):
            max(
                int((scores + rng.exponential(scale, size=n)).argmax())
                for _ in range(rng.geometric(0.5))
            )

    return call


def diffprivlib_quantile(work: Work) -> Call:
    """diffprivlib's median."""
    return _diffprivlib_quantile(work, 0.5)


def diffprivlib_seven(work: Work) -> Call:
    """diffprivlib's quantiles, each with a seventh of epsilon."""
    return _diffprivlib_quantile(work, [each / 8 for each in range(1, 8)])


def _diffprivlib_quantile(work: Work, asked: Any) -> Call:
    try:
        from diffprivlib import BudgetAccountant, tools
    except ImportError as error:
        raise Unavailable("diffprivlib is not installed") from error
    values, epsilon = make_scores(work.scores, work.n).astype(float), float(work.rate)
    # An accountant of each call's own: the default one keeps a list, and gets slower.
    return lambda: tools.quantile(
        values, asked, epsilon=epsilon, bounds=(0, 999), accountant=BudgetAccountant()
    )


def opendp_quantile(work: Work) -> Call:
    """OpenDP's median: scores of all points of the grid, then its noisy maximum."""
    dp, values = _opendp(), make_scores(work.scores, work.n).astype(np.int32)
    space = dp.vector_domain(dp.atom_domain(T="i32")), dp.symmetric_distance()
    scores = dp.t.make_quantile_score_candidates(*space, list(range(1000)), alpha=0.5)
    space = scores.output_domain, scores.output_metric
    noisy = dp.m.make_noisy_max(*space, dp.max_divergence(), scale=2 * _scale(work), negate=True)
    measurement = scores >> noisy
    return lambda: measurement(values)


def _rows(work: Work) -> Any:
    flat = make_scores(work.scores, work.n * work.batch)
    return np.reshape(flat, (work.batch, work.n))


def float_laplace(work: Work) -> Call:
    """Continuous Laplace noise in floats."""
    rng, scale, n = _rng(), _scale(work), work.n
    return lambda: rng.laplace(scale=scale, size=n)


def float_geometric(work: Work) -> Call:
    """NumPy's geometric variables, whose success probability is a float."""
    rng, n, success = _rng(), work.n, -float(np.expm1(-float(work.rate)))
    return lambda: rng.geometric(success, size=n)


def opendp_permute_and_flip(work: Work) -> Call:
    """OpenDP's noisy max under pure DP, which is permute-and-flip."""
    dp, measure = _opendp(), "max_divergence"
    return _opendp_call(dp.m.make_noisy_max, measure, work, scale=_scale(work))


def opendp_exponential(work: Work) -> Call:
    """OpenDP's noisy max under zCDP, which is the exponential mechanism."""
    dp, measure = _opendp(), "zero_concentrated_divergence"
    return _opendp_call(dp.m.make_noisy_max, measure, work, scale=_scale(work))


def opendp_peeled_permute_and_flip(work: Work) -> Call:
    """OpenDP's noisy top-k under pure DP: permute-and-flip k times."""
    dp, measure = _opendp(), "max_divergence"
    return _opendp_call(dp.m.make_noisy_top_k, measure, work, k=work.k, scale=_scale(work))


def opendp_top(work: Work) -> Call:
    """OpenDP's noisy top-k under zCDP: the exponential mechanism k times; the law of one-shot."""
    dp, measure = _opendp(), "zero_concentrated_divergence"
    return _opendp_call(dp.m.make_noisy_top_k, measure, work, k=work.k, scale=_scale(work))


def opendp_laplace(work: Work) -> Call:
    """OpenDP's discrete Laplace noise on a vector of zeros."""
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    measurement = dp.m.make_laplace(*space, scale=_scale(work))
    zeros = np.zeros(work.n, dtype=np.int64)
    return lambda: measurement(zeros)


def diffprivlib_permute_and_flip(work: Work) -> Call:
    """diffprivlib's PermuteAndFlip, built and run for each release as its interface wants it."""
    return _diffprivlib_call("PermuteAndFlip", work)


def diffprivlib_exponential(work: Work) -> Call:
    """diffprivlib's Exponential, built and run for each release."""
    return _diffprivlib_call("Exponential", work)


def _rng() -> np.random.Generator:
    return np.random.default_rng()


def _scale(work: Work) -> float:
    return float(1 / work.rate)


def _opendp() -> Any:
    try:
        import opendp.prelude as dp
    except ImportError as error:
        raise Unavailable("OpenDP is not installed") from error
    dp.enable_features("contrib")
    return dp


def _opendp_call(make: Any, measure: str, work: Work, **parameters: Any) -> Call:
    dp, scores = _opendp(), make_scores(work.scores, work.n)
    space = (dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64", monotonic=True))
    measurement = make(*space, getattr(dp, measure)(), **parameters)
    return lambda: measurement(scores)


def _diffprivlib_call(name: str, work: Work) -> Call:
    try:
        from diffprivlib import mechanisms
    except ImportError as error:
        raise Unavailable("diffprivlib is not installed") from error
    build, utility = getattr(mechanisms, name), make_scores(work.scores, work.n).tolist()
    # Its exponential mechanism has the rate epsilon / sensitivity where monotonic, as ours has.
    epsilon = float(work.rate)
    return lambda: build(
        epsilon=epsilon, sensitivity=1.0, monotonic=True, utility=utility
    ).randomise()


COMPETITORS = {
    "argmax(scores + rng.exponential)": float_exponential,
    "argmax(scores + rng.gumbel)": float_gumbel,
    "softmax + rng.choice": float_softmax,
    "argpartition(scores + rng.gumbel)": float_gumbel_top,
    "argmax(scores + log(weights) / rate + rng.gumbel)": float_weighted,
    "argmax(repeat(scores, copies) + rng.exponential)": float_copies,
    "argmax(rows + rng.exponential)": float_rows,
    "argpartition(rows + rng.gumbel)": float_top_rows,
    "best of a geometric number of runs": float_runs,
    "diffprivlib quantile": diffprivlib_quantile,
    "diffprivlib quantile, seven": diffprivlib_seven,
    "OpenDP quantile scores + noisy max": opendp_quantile,
    "rng.laplace": float_laplace,
    "rng.geometric": float_geometric,
    "OpenDP noisy max (PF)": opendp_permute_and_flip,
    "OpenDP noisy max (EM)": opendp_exponential,
    "OpenDP noisy top-k (PF)": opendp_peeled_permute_and_flip,
    "OpenDP noisy top-k (EM)": opendp_top,
    "OpenDP make_laplace": opendp_laplace,
    "diffprivlib PermuteAndFlip": diffprivlib_permute_and_flip,
    "diffprivlib Exponential": diffprivlib_exponential,
}
