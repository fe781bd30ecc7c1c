"""Every exception and every warning that safeselect raises on purpose.

One class for each decision that a caller can take.  Messages quote parameters, types and
positions in public lists; they never quote a score, a count, a random byte or a cell of a table,
because whoever reads the log is not whoever may read the data.
"""

from __future__ import annotations

__all__ = [
    "BudgetError",
    "InputError",
    "LedgerError",
    "ParameterError",
    "SafeSelectError",
    "SafeSelectWarning",
    "ScoreError",
    "SourceError",
]


class SafeSelectError(Exception):
    """The base of all of them; never raised itself."""


class SafeSelectWarning(UserWarning):
    """A parameter is legal and almost surely a mistake, such as an epsilon above 10."""


class ParameterError(SafeSelectError, ValueError):
    """A public parameter (epsilon, k, a label, a source ...) is wrong: change the call."""


class ScoreError(SafeSelectError, ValueError):
    """The scores have the wrong type or form: change how they are handed over."""


class InputError(SafeSelectError, ValueError):
    """A file or a table cannot be read as asked: change the file or the column names."""


class BudgetError(SafeSelectError, RuntimeError):
    """The privacy budget does not allow this release: nothing was drawn and nothing released."""


class LedgerError(BudgetError):
    """The ledger cannot be used (locked, full, damaged, of another kind): repair it, then retry."""


class SourceError(SafeSelectError, RuntimeError):
    """The source of random bytes failed; there is no output, and what was charged stays charged."""
