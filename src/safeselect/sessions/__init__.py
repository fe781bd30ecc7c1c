"""Mechanisms that answer one query after another, on one budget."""

from safeselect.sessions._answers import Answer, Answers
from safeselect.sessions.adaptive_sparse_vector import AdaptiveSparseVector
from safeselect.sessions.pay_what_you_get import PayWhatYouGet
from safeselect.sessions.sparse_vector import SparseVector

__all__ = ["AdaptiveSparseVector", "Answer", "Answers", "PayWhatYouGet", "SparseVector"]
