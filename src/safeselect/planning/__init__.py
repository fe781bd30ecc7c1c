"""What a release would cost and how good it would be, before any data is touched."""

from safeselect.planning.explain import (
    expected_error,
    explain,
)

__all__ = [
    "expected_error",
    "explain",
]
