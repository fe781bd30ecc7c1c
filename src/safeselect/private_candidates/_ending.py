"""What ends a run that is paid for: it is counted, and none of its words goes on.

Classes are asked by `type`, and an error is asked nothing: its own methods may say anything.
"""

from __future__ import annotations

import sys

from safeselect.errors import ScoreError

_FAILED = (
    "a run failed: it raised, or returned no (score, output), or released more than base covers; "
    "which of these may depend on private values.  What was charged stays charged, and the ledger "
    "records it as aborted: input.  Try the same call without a ledger on made-up data: there the "
    "run's own error is raised"
)
"""The one sentence for all faults of runs, after a charge."""


class Ended(ScoreError):
    """What ended the runs; a ledger counts it, as it counts scores that cannot be read.

    Attributes:
        instead: what the call ends with.
    """

    def __init__(self, error: BaseException) -> None:
        super().__init__(_FAILED)
        self.instead = empty(error)


def empty(error: BaseException) -> BaseException:
    """What goes on instead of an error that a run may have written: made of its class alone."""
    # Where nobody has loaded asyncio no run can raise its error.
    cancelled = getattr(sys.modules.get("asyncio.exceptions"), "CancelledError", GeneratorExit)
    for kind in (KeyboardInterrupt, GeneratorExit, cancelled):
        if issubclass(type(error), kind):
            return kind()
    return SystemExit(1) if issubclass(type(error), SystemExit) else ScoreError(_FAILED)
