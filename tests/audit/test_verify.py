"""Verification: the shipped code passes, and each broken copy is refuted by a check."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from safeselect.audit import noise, primitives, privacy, releases, verify
from safeselect.audit.certificate import Certificate, certify, neighbours
from safeselect.audit.finding import Refuted
from safeselect.audit.series import exp_minus
from safeselect.engine.laws import EXPONENTIAL, GUMBEL, LAPLACE
from safeselect.engine.rankings import certified_order
from safeselect.mechanisms.select import permute_and_flip
from safeselect.scores.reading import Sensitivity

LAWS = pytest.mark.parametrize("law", noise.LAWS, ids=lambda law: law.name)


@pytest.mark.slow("all of `safeselect verify`")
@pytest.mark.claim("C1")
def test_the_shipped_code_passes_every_check():
    findings = list(verify.run(verify.QUICK))
    assert [f"{f.check.name}: {f.detail}" for f in findings if not f.passed] == []
    kinds = {"code", "bits", "samplers", "noise", "privacy", "releases", "rules"}
    assert {finding.check.kind for finding in findings} == kinds


def test_an_error_in_a_check_is_a_finding_and_its_text_is_not_shown():
    def fails(effort):
        raise ValueError("sentinel")

    check = verify.Check("noise", "broken", "C1", fails)
    finding = verify.found(check, 1)
    assert not finding.passed
    assert finding.detail == "ended with ValueError"


# ---------------------------------------------------------------------------------- samplers


def refuted_primitive(name, run, every=1):
    (primitive,) = (each for each in primitives.primitives() if each.name == name)
    with pytest.raises(Refuted, match="outside the bounds"):
        primitives.check_primitive(replace(primitive, run=run), every)


def test_modulo_bias_is_refuted():
    refuted_primitive("uniform below 3", lambda bits: bits.take(2) % 3)


def test_a_coin_with_at_most_for_below_is_refuted():
    refuted_primitive("coin 1/2", lambda bits: bits.take(8) <= 128)


def test_a_floating_exponential_of_few_digits_is_refuted():
    refuted_primitive("coin exp(-1/2)", lambda bits: bits.take(6) < round(64 * 0.6065))


def test_a_doubled_rate_is_refuted():
    (twice,) = (p for p in primitives.primitives() if p.name == "geometric, rate 2")
    refuted_primitive("geometric, rate 1/2", twice.run)


def test_a_zero_drawn_twice_is_refuted():
    """The sign bit without its rejection of minus zero."""
    (shipped,) = (p for p in primitives.primitives() if p.name == "geometric, rate 2")

    def run(bits):
        magnitude = shipped.run(bits)
        return -magnitude if bits.coin() else magnitude

    refuted_primitive("discrete Laplace, rate 1", run)


# ------------------------------------------------------------------------------------- noise


def shifted(law, nats):
    """The law with all of its quantiles moved by a little."""

    def quantile(v, bits, precision):
        from gmpy2 import RoundDown, context

        return context(precision=precision, round=RoundDown).sub(
            law.quantile(v, bits, precision), nats
        )

    return replace(law, quantile=quantile)


@LAWS
def test_a_quantile_that_is_too_small_is_refuted(law):
    with pytest.raises(Refuted, match="too small"):
        noise.check_quantiles(shifted(law, Fraction(1, 2**60)), 8)


@LAWS
def test_a_quantile_that_is_too_large_is_refuted(law):
    with pytest.raises(Refuted, match="too large"):
        noise.check_quantiles(shifted(law, Fraction(-1, 2**60)), 8)


@LAWS
def test_a_threshold_off_by_one_is_refuted(law, monkeypatch):
    built = noise.bound_table(law)
    # Bounds one place too far: each word has that of a later one.
    broken = replace(built, word_bounds=np.append(built.word_bounds[8:], built.word_bounds[:8]))
    monkeypatch.setattr(noise, "bound_table", lambda law: broken)
    with pytest.raises(Refuted, match="a word's bound is too small"):
        noise.check_thresholds(law, 8)
    broken = replace(built, tail_bounds=np.append(built.tail_bounds[1:], np.uint64(0)))
    with pytest.raises(Refuted, match="a tail threshold is too small"):
        noise.check_thresholds(law, 8)


@LAWS
def test_a_fine_table_that_is_off_is_refuted(law, monkeypatch):
    built = noise.noise_table(law)
    # A 64th of a nat lower: far more than the table's error.
    monkeypatch.setattr(
        noise, "noise_table", lambda law: replace(built, values=built.values - (1 << 26))
    )
    with pytest.raises(Refuted, match="off by more"):
        noise.check_fine_table(law, 8)


@LAWS
def test_a_decision_without_waiting_is_refuted(law, monkeypatch):
    """Digits that leave the order open, filled up with zeros instead of drawn."""

    def hasty(candidates, scores, known, ceiling, plan, scale):
        more = [(v << 200, bits + 200) for v, bits in known]
        return certified_order(candidates, scores, more, ceiling, plan, scale)

    monkeypatch.setattr(noise, "certified_order", hasty)
    with pytest.raises(Refuted, match="too early"):
        noise.check_decision(law, 4)


# ----------------------------------------------------------------------------------- privacy


@pytest.mark.parametrize("law", [EXPONENTIAL, GUMBEL], ids=lambda law: law.name)
@pytest.mark.claim("C2")
def test_a_factor_of_two_dropped_is_refuted(law, monkeypatch):
    monkeypatch.setattr(Sensitivity, "range_in_steps", lambda self, reading: Fraction(1))
    with pytest.raises(Refuted, match="loses more than is claimed"):
        privacy.Instance(law, 1, False, False).examine(verify.QUICK)


def test_monotonic_where_it_is_not_is_refuted():
    broken = privacy.Instance(EXPONENTIAL, 1, True, True)
    law = broken.law(6)
    pairs = neighbours(2, 2, monotonic=False)
    assert certify(law, pairs, Fraction(1)).refuted


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        ("0.984", "0.99994", "privacy loss between 0.9840 and 0.9999 of ε"),
        ("0.984", "0.99999", "privacy loss between 0.9840 and 0.9999 of ε"),
        ("0.984", "1", "privacy loss between 0.9840 and 1.0000 of ε"),
        ("0.984", "1.00001", "1.0001 of ε (the upper end is above 1 because noise is enclosed"),
        ("0.984", "1.2", "1.2000 of ε: the bounds are too far apart to tell"),
        ("1.00001", "1.017", "1.0001 and 1.0170 of ε: some pair of neighbours loses more"),
    ],
)
def test_verdicts_are_sentences(low, high, said):
    """Rounded so that what is below 1 is not shown as 1, nor what is above it."""
    found = Certificate(Fraction(1), Fraction(low), Fraction(high), 9)
    assert said in privacy.verdict(found, Fraction(1, 15))
    twice = Certificate(Fraction(2), 2 * Fraction(low), 2 * Fraction(high), 9)
    assert privacy.verdict(twice, Fraction(1, 15)) == privacy.verdict(found, Fraction(1, 15))


# ---------------------------------------------------------------------------------- releases


def test_releases_of_another_law_are_refuted():
    half, full = (
        next(r for r in releases.releases() if r.name == f"permute_and_flip, {calibration}")
        for calibration in ("general", "monotonic")
    )
    with pytest.raises(Refuted, match="do not follow"):
        releases.check_releases(replace(half, call=full.call), verify.QUICK)


def test_an_impossible_outcome_is_refuted():
    (release,) = (r for r in releases.releases() if r.name == "base 2, weights 8, 2, 1")
    with pytest.raises(Refuted, match="does not have"):
        releases.check_releases(replace(release, call=lambda n: [(7,)] * n), verify.QUICK)


def test_the_gate_lets_the_claimed_law_pass_and_stops_a_tenth_more():
    law = {0: (Fraction(1, 2), Fraction(1, 2)), 1: (Fraction(1, 2), Fraction(1, 2))}
    releases.gate(Counter({0: 5050, 1: 4950}), 10_000, law)
    with pytest.raises(Refuted, match="do not follow"):
        releases.gate(Counter({0: 5500, 1: 4500}), 10_000, law)


def test_a_source_that_is_stuck_gives_no_release_and_a_finding(monkeypatch):
    from safeselect import CallbackSource

    stuck = CallbackSource(lambda n: bytes(n), exclusive=True, name="stuck")
    release = releases.Release(
        "stuck",
        lambda n: [
            (permute_and_flip([1, 0], epsilon=1, sensitivity=1, source=stuck).index,)
            for _ in range(n)
        ],
        dict,
    )
    finding = verify.found(
        verify.Check("releases", "stuck", "C5", lambda e: releases.check_releases(release, e)), 8
    )
    assert finding.detail == "ended with SourceError"


def test_the_series_agree_with_known_digits():
    low, high = exp_minus(Fraction(1))
    digits = Fraction("0.36787944117144232159552377016146086744581113103176")
    assert low <= digits + Fraction(1, 10**50)
    assert digits <= high
    assert high - low < Fraction(1, 10**60)
    low, high = exp_minus(Fraction(-1))
    assert low * exp_minus(Fraction(1))[0] <= 1 <= high * exp_minus(Fraction(1))[1]
    assert LAPLACE.name in {law.name for law in noise.LAWS}
