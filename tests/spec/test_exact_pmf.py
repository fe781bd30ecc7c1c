"""The enumerators on samplers so small that their laws are known by hand."""

from fractions import Fraction
from itertools import count

from exact_pmf import Law, bit_tree, choice_tree, restarted

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


def test_an_endless_tree_has_what_is_left():
    law = bit_tree(tails, max_leaves=30)
    assert law.lower == {k: Fraction(1, 2 ** (k + 1)) for k in range(30)}
    assert law.unfinished == Fraction(1, 2**30)
    assert law.bounds(3) == (Fraction(1, 16), Fraction(1, 16) + law.unfinished)
    assert law.bounds("never") == (0, law.unfinished)


# ------------------------------------------------------------------------------ restarts
def test_a_restart_sums_the_series():
    attempt = bit_tree(lambda bits: (0, 1, 2, None)[bits.take(2)], max_leaves=10)
    assert restarted(attempt) == Law(dict.fromkeys(range(3), Fraction(1, 3)), Fraction(0))
    assert restarted(Law({"again": HALF, 1: HALF}, Fraction(0)), restart="again").lower == {1: 1}


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


# ------------------------------------------------------------------------------- choices


def test_an_enclosed_chance_leaves_the_gap_unfinished():
    law = choice_tree(lambda c: c.enclosed(Fraction(1, 3), Fraction(3, 8)), max_leaves=10)
    assert law.lower == {True: Fraction(1, 3), False: Fraction(5, 8)}
    assert law.unfinished == Fraction(1, 24)
