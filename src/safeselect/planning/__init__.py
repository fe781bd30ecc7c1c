"""Planning: the cost and the expected error of a release, before any data is touched."""

from safeselect.planning.caps import CapError, cap_errors
from safeselect.planning.explain import (
    expected_error,
    explain,
)

__all__ = [
    "CapError",
    "cap_errors",
    "expected_error",
    "explain",
]
