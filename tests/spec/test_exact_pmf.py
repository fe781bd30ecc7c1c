"""The enumerators on samplers so small that their laws are known by hand."""

from fractions import Fraction
from itertools import count

import pytest
from exact_pmf import Law, bit_tree, choice_tree, combined, restarted

from safeselect.errors import ParameterError, SourceError

HALF = Fraction(1, 2)


def tails(bits):
    """Heads before the first tail: 2**-(k + 1) for k."""
    return next(k for k in count() if bits.coin())


def test_a_finite_tree_is_walked_completely():
    law = bit_tree(lambda bits: bits.take(2) + bits.coin(), max_leaves=100)
    assert law.unfinished == 0
    assert law.lower == {
        0: Fraction(1, 8),
        1: HALF / 2,
        2: HALF / 2,
        3: HALF / 2,
        4: Fraction(1, 8),
    }
    assert sum(law.lower.values()) == 1


def test_a_run_without_bits_is_certain():
    law = bit_tree(lambda bits: "always", max_leaves=1)
    assert law == Law({"always": Fraction(1)}, Fraction(0))


def test_an_endless_tree_has_what_is_left():
    law = bit_tree(tails, max_leaves=30)
    assert law.lower == {k: Fraction(1, 2 ** (k + 1)) for k in range(30)}
    assert law.unfinished == Fraction(1, 2**30)
    assert law.bounds(3) == (Fraction(1, 16), Fraction(1, 16) + law.unfinished)
    assert law.bounds("never") == (0, law.unfinished)


def test_more_leaves_never_know_less():
    unfinished = [bit_tree(tails, max_leaves=n).unfinished for n in range(1, 20)]
    assert unfinished == sorted(unfinished, reverse=True)


def test_light_prefixes_stay_closed():
    law = bit_tree(tails, max_leaves=1000, min_weight=Fraction(1, 64))
    assert law.unfinished == Fraction(1, 128)
    assert sum(law.lower.values()) + law.unfinished == 1


def test_an_endless_run_is_abandoned_and_keeps_its_mass():
    def stuck(bits):
        if bits.coin():
            while True:
                bits.coin()
        return "done"

    law = bit_tree(stuck, max_leaves=50, max_bits=128)
    assert law.lower == {"done": HALF}
    assert law.unfinished == HALF

    def greedy(bits):
        return bits.take(500)

    law = bit_tree(greedy, max_leaves=5, max_bits=128)
    assert (law.lower, law.unfinished) == ({}, 1)


def test_takes_that_straddle_a_piece():
    def parity(bits):
        bits.take(0)
        first = bits.take(3)
        return first + bits.take(2)

    law = bit_tree(parity, max_leaves=100)
    assert law.unfinished == 0
    assert law.lower[0] == Fraction(1, 32)

    def long(bits):
        return 1 if bits.coin() else bits.take(150) & 3

    law = bit_tree(long, max_leaves=400)
    assert law.lower[1] >= HALF
    assert sum(law.lower.values()) + law.unfinished == 1
    assert law.unfinished == HALF - Fraction(399, 2**151)


def test_a_run_that_does_not_follow_its_bits_is_found_out():
    calls = iter([8, 1, 1, 1, 1])
    with pytest.raises(RuntimeError, match="not a function of its bits"):
        bit_tree(lambda bits: bits.take(next(calls)), max_leaves=5)


def test_errors_of_the_run_pass_through():
    def broken(bits):
        raise SourceError("its own")

    with pytest.raises(SourceError, match="its own"):
        bit_tree(broken, max_leaves=5)


@pytest.mark.parametrize(("leaves", "size"), [(0, 128), (1, 0), (1, 100), (1, -128)])
def test_arguments_are_checked(leaves, size):
    with pytest.raises(ParameterError, match="must be positive"):
        bit_tree(tails, max_leaves=leaves, max_bits=size)


# ------------------------------------------------------------------------------ restarts
def test_a_restart_sums_the_series():
    attempt = bit_tree(lambda bits: (0, 1, 2, None)[bits.take(2)], max_leaves=10)
    assert restarted(attempt) == Law(dict.fromkeys(range(3), Fraction(1, 3)), Fraction(0))
    renamed = Law({"again": HALF, 1: HALF}, Fraction(0))
    assert restarted(renamed, restart="again").lower == {1: 1}


def test_a_restart_of_an_unfinished_law_stays_sound():
    true = {1: Fraction(3, 10), 2: Fraction(2, 10), None: HALF}
    for hidden in true:  # move some mass of one outcome to what is unfinished
        lower = {o: p - Fraction(1, 10) * (o == hidden) for o, p in true.items()}
        law = restarted(Law(lower, Fraction(1, 10)))
        assert sum(law.lower.values()) + law.unfinished == 1
        for outcome in (1, 2):
            low, high = law.bounds(outcome)
            assert low <= true[outcome] / (1 - true[None]) <= high
    assert restarted(Law({1: HALF}, HALF)) == Law({1: HALF}, HALF)  # nothing was restarted


def test_a_loop_that_was_never_seen_to_end_is_refused():
    with pytest.raises(ParameterError, match="never seen to end"):
        restarted(Law({None: HALF}, HALF))


def test_independent_laws_combine():
    die = Law(dict.fromkeys(range(1, 7), Fraction(1, 6)), Fraction(0))
    two = combined(die, die, lambda x, y: x + y)
    assert two.lower[7] == Fraction(1, 6)
    assert two.unfinished == 0
    part = Law({0: Fraction(3, 4)}, Fraction(1, 4))
    assert combined(part, part, max) == Law({0: Fraction(9, 16)}, Fraction(7, 16))


# ------------------------------------------------------------------------------- choices
def test_choices_of_all_kinds():
    law = choice_tree(lambda c: (c.below(3), c.coin(), c.flip(Fraction(1, 5))), max_leaves=100)
    assert law.unfinished == 0
    assert len(law.lower) == 12
    assert law.lower[2, 1, True] == Fraction(1, 30)
    assert law.lower[0, 0, False] == Fraction(4, 30)
    assert choice_tree(
        lambda c: (c.flip(Fraction(0)), c.flip(Fraction(1)), c.below(1)), max_leaves=2
    ).lower == {(False, True, 0): 1}


def test_a_choice_of_weight_zero_is_never_made():
    weights = (Fraction(0), Fraction(1, 3), Fraction(0), Fraction(2, 3))
    law = choice_tree(lambda c: c.choose(weights), max_leaves=10)
    assert law == Law({1: Fraction(1, 3), 3: Fraction(2, 3)}, Fraction(0))


def test_an_enclosed_chance_leaves_the_gap_unfinished():
    law = choice_tree(lambda c: c.enclosed(Fraction(1, 3), Fraction(3, 8)), max_leaves=10)
    assert law.lower == {True: Fraction(1, 3), False: Fraction(5, 8)}
    assert law.unfinished == Fraction(1, 24)


def test_choices_in_a_loop():
    def run(choices):
        return next(k for k in count() if choices.flip(Fraction(2, 3)))

    law = choice_tree(run, max_leaves=20)
    assert law.lower == {k: Fraction(2, 3 ** (k + 1)) for k in range(20)}
    assert law.unfinished == Fraction(1, 3**20)


def test_endless_choices_are_abandoned():
    def run(choices):
        while True:
            choices.coin()

    law = choice_tree(run, max_leaves=20, max_choices=10)
    assert (law.lower, law.unfinished) == ({}, 1)
