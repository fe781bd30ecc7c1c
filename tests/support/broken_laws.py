"""How the laws of `tests/mission.json` are broken: the test of each row must then fail.

A law is broken as a whole, mostly by noise of an eighth of the width: so few releases show it.
`tools/break_laws.py` makes each break in a copy of the repository; `tests/test_mission.py` does so
for some.
"""

from __future__ import annotations

from mutants import Break

BROKEN: dict[str, Break] = {
    "the rate of one draw": Break(
        "mechanisms/table.py:calibrate", "    rate = each", "    rate = 8 * each"
    ),
    "the rate of an unordered set": Break("accounting/cost.py:unordered", "(4 * range_)", "range_"),
    "the rate of answers": Break(
        "mechanisms/sessions.py:read_terms", "[NoiseRate(", "[NoiseRate(16 * "
    ),
    "the rate of a list": Break("mechanisms/unknown.py:noise_rate", "Rate(self", "Rate(8 * self"),
    "the rate of counts in a list": Break(
        "mechanisms/unknown.py:plan_counts", "NoiseRate(", "NoiseRate(2 * "
    ),
    "the width of counts of a list": Break(
        "mechanisms/unknown.py:plan_with_counts", "DP(rho), moved)", "DP(rho), moved / 64)"
    ),
    "the rows of keys": Break("mechanisms/keys.py:_risen", ") + delta", ") + delta // 4"),
    "the width of noise on weights": Break(
        "mechanisms/weighted_keys.py:decided", "sums + noise", "sums + noise // 4"
    ),
    "the width of Laplace noise": Break(
        "mechanisms/measure.py:of", "guarantee.epsilon / size", "2 * guarantee.epsilon"
    ),
    "the width of discrete Gaussian noise": Break(
        "mechanisms/measure.py:of", "size / (2", "size / (8"
    ),
    "the width of rounded Gaussian noise": Break(
        "mechanisms/measure.py:of", "guarantee.mu_squared", "(4 * guarantee.mu_squared)"
    ),
    "the rate of a quantile": Break(
        "mechanisms/quantiles.py:law_of", "Law(target, ", "Law(target, 4 * "
    ),
    "the number of runs": Break("mechanisms/runs.py:__init__", "take(digits)", "take(digits) >> 1"),
    "the range of a sensitivity": Break("scores/reading.py:moves", " if monotonic else most", ""),
    "the range of a range": Break("scores/reading.py:range_of", "spread + 1", "spread"),
    "the rounding of a base": Break(
        "mechanisms/table.py:dyadic_rate", "Fraction(high", "Fraction(low"
    ),
    "what a session is settled with": Break(
        "ledger/scope.py:settled",
        "{name: str(n) for name, n in spent.items()}",
        "dict.fromkeys(spent, '0')",
    ),
    "what hardening refuses": Break(
        "randomness/source.py:require_production", 'os.environ.get(_VARIABLE, "") != ""', "False"
    ),
    "a uniform number": Break("samplers.py:uniform_attempt", "if value < n else None", "% n"),
    "a coin": Break("samplers.py:bernoulli", "denominator) <", "denominator) <="),
    "an exponential coin": Break("samplers.py:_bernoulli_exp_unit", "k % 2 == 0", "k % 2 == 1"),
    "an enclosed coin": Break("samplers.py:_thresholds", "scaled(drawn)", "scaled(drawn - 1)"),
    "a geometric number of coins": Break(
        "samplers.py:geometric_exp", "return (remainder", "return 1 + (remainder"
    ),
    "a geometric number of digits": Break(
        "samplers.py:digit_chance", "noise_rate.power(-", "noise_rate.power(-2 * "
    ),
    "a signed number": Break("samplers.py:laplace_attempt", "negative and value == 0", "False"),
    "a cell of Gumbel noise": Break("samplers.py:_gumbel_cell", ").log() /", ").log() *"),
    "a discrete Gaussian number": Break(
        "samplers.py:discrete_gaussian", "bits, sigma_squared))", "bits, sigma_squared)) + 1"
    ),
    "an order": Break("samplers.py:permutation", "return order", "return sorted(order)"),
}
"""By what is broken."""
