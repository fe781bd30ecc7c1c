"""How the laws of `tests/mission.json` are broken: the test of each row must then fail.

A law is broken as a whole, mostly by noise of an eighth of the width: so few releases show it.
`tools/break_laws.py` makes each break in a copy of the repository; `tests/test_mission.py` does so
for some.
"""

from __future__ import annotations

from breaks import BREAKS, Break

__all__ = ["BROKEN"]


def _broken(file: str, function: str, text: str, other: str) -> Break:
    return Break((), file, function, text, other)


def _known(file: str, function: str) -> Break:
    """The break of a claim."""
    (found,) = (each for each in BREAKS if (each.file, each.function) == (file, function))
    return found


BROKEN: dict[str, Break] = {
    "the rate of one draw": _broken(
        "mechanisms/table.py",
        "calibrate",
        "    rate = each / (wide * range_in_steps)\n",
        "    rate = 8 * each / (wide * range_in_steps)\n",
    ),
    "the rate of an unordered set": _broken(
        "accounting/cost.py",
        "unordered",
        "inside, across = size / delta, epsilon / (4 * range_)",
        "inside, across = size / delta, epsilon / range_",
    ),
    "the rate of answers": _broken(
        "mechanisms/sessions.py",
        "read_terms",
        "    decays = [NoiseRate(cost / spread) for _, _, cost in ways]\n",
        "    decays = [NoiseRate(16 * cost / spread) for _, _, cost in ways]\n",
    ),
    "the rate of a list": _broken(
        "mechanisms/unknown.py",
        "_rate",
        "        return self.epsilon / (1 << self.fineness)\n",
        "        return 8 * self.epsilon / (1 << self.fineness)\n",
    ),
    "the rate of counts in a list": _broken(
        "mechanisms/unknown.py",
        "plan_counts",
        "    return offset, NoiseRate(each), said",
        "    return offset, NoiseRate(2 * each), said",
    ),
    "the rows of keys": _broken(
        "mechanisms/keys.py",
        "_risen",
        "    return (growth * row >> bits) + delta\n",
        "    return (growth * row >> bits) + delta // 4\n",
    ),
    "the width of Laplace noise": _broken(
        "mechanisms/measure.py", "_read_law", "rate = own / sensitivity\n", "rate = 2 * own\n"
    ),
    "the width of discrete Gaussian noise": _broken(
        "mechanisms/measure.py",
        "_read_law",
        "        squared = covered[1] / (2 * concentrated.rho)\n",
        "        squared = covered[1] / (8 * concentrated.rho)\n",
    ),
    "the width of rounded Gaussian noise": _broken(
        "mechanisms/measure.py",
        "_read_law",
        "*covered, covered[1] / gaussian.mu_squared)\n",
        "*covered, covered[1] / (4 * gaussian.mu_squared))\n",
    ),
    "the rate of a quantile": _broken(
        "mechanisms/quantiles.py",
        "law_of",
        "Law(target, spent / moved, ",
        "Law(target, 4 * spent / moved, ",
    ),
    "the number of runs": _broken(
        "mechanisms/runs.py",
        "__init__",
        "        self._u, self._size = bits.take(digits), digits\n",
        "        self._u, self._size = bits.take(digits) >> 1, digits\n",
    ),
    "the range of a sensitivity": _broken(
        "scores/reading.py",
        "moves",
        "        return most, back if monotonic else most\n",
        "        return most, back\n",
    ),
    "the range of a range": _broken(
        "scores/reading.py", "range_of", "else spread + 1\n", "else spread\n"
    ),
    "the rounding of a base": _broken(
        "mechanisms/table.py",
        "dyadic_rate",
        "            return NoiseRate(Fraction(1), Fraction(high, 2**64))\n",
        "            return NoiseRate(Fraction(1), Fraction(low, 2**64))\n",
    ),
    "what a session is settled with": _known("ledger/pending.py", "settled"),
    "what hardening refuses": _known("randomness/source.py", "require_production"),
    "a uniform number": _known("spec/samplers.py", "uniform_attempt"),
    "a coin": _broken(
        "spec/samplers.py",
        "bernoulli",
        "    return uniform_below(bits, denominator) < numerator\n",
        "    return uniform_below(bits, denominator) <= numerator\n",
    ),
    "an exponential coin": _known("spec/samplers.py", "_bernoulli_exp_unit"),
    "an enclosed coin": _broken(
        "spec/samplers.py", "toss", "if word < low:\n", "if word <= low:\n"
    ),
    "a geometric number of coins": _known("spec/samplers.py", "geometric_exp"),
    "a geometric number of digits": _broken(
        "spec/samplers.py",
        "digit_chance",
        "    return one / (one + noise_rate.power(-numerator, level, precision))\n",
        "    return one / (one + noise_rate.power(-2 * numerator, level, precision))\n",
    ),
    "a signed number": _known("spec/samplers.py", "laplace_attempt"),
    "a cell of Gumbel noise": _known("spec/samplers.py", "_gumbel_cell"),
    "a discrete Gaussian number": _known("spec/samplers.py", "discrete_gaussian"),
    "an order": _known("spec/samplers.py", "permutation"),
}
"""By what is broken."""
