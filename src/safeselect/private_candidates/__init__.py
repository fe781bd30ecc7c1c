"""Choosing among runs that are private themselves, such as a model for each hyper-parameter.

Read the files in this order: `_stopping`, `_cover`, `_results`, `_ending`, `best_of`.
"""

from safeselect.private_candidates._cover import CoveredScope
from safeselect.private_candidates._results import ChosenRun
from safeselect.private_candidates.best_of import best_of, first_above

__all__ = ["ChosenRun", "CoveredScope", "best_of", "first_above"]
