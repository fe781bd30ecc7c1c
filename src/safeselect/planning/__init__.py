"""Planning: the cost and the expected error of a release, before any data is touched."""

from safeselect.planning.explain import (
    expected_error,
    explain,
)

__all__ = [
    "expected_error",
    "explain",
]
