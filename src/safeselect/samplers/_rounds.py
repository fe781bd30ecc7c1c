"""How often a loop that draws bits may go round: never without end, whatever the source gives.

With independent fair bits a call reaches a bound with probability below 2**-100; docs/mathematics.md,
section 17, derives it loop by loop.  So the law is exactly the documented one, given that there is
no error.  A source that is stuck reaches a bound soon.
"""

from __future__ import annotations

from safeselect.errors import SourceError

__all__ = ["REFINEMENTS", "ROUNDS", "exhausted"]

ROUNDS = 256
"""Most rounds of a loop that draws for one number, and goes on with probability 0.73 or less."""

REFINEMENTS = 16
"""Most rounds of a loop that draws 64 further digits for each of several candidates."""


def exhausted() -> SourceError:
    """The error of a loop that would go on beyond its bound."""
    return SourceError(
        "the source does not give independent random bits: with such bits a loop takes so many "
        "rounds with probability below 2**-100"
    )
