"""How often a loop that draws bits may go round: never without end, whatever the source gives.

With independent fair bits a call reaches a bound with probability below 2**-100; section 17 of
docs/mathematics.md derives it loop by loop.  So the law is exactly the documented one, given that
there is no error.  A source that is stuck reaches a bound soon.
"""

from __future__ import annotations

from safeselect.errors import SourceError

__all__ = ["REFINEMENTS", "exhausted", "rounds"]

_ROUNDS = 4096

REFINEMENTS = 16
"""Most rounds of a loop that draws 64 further digits for each of several candidates."""


def rounds(digits: int = 1) -> range:
    """The rounds of a loop for one number, of which each may end it.

    Args:
        digits: how many binary digits a round draws, where they refine the same number: 4096 in
            all; 1 where each round starts afresh.
    """
    return range(-(-_ROUNDS // digits))


def exhausted() -> SourceError:
    """The error of a loop that would go on beyond its bound."""
    return SourceError(
        "the source does not give independent random bits: with such bits a loop takes so many "
        "rounds with probability below 2**-100"
    )
