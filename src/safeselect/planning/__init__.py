"""Planning: the cost and the expected error of a release, before any data is touched."""

from safeselect.planning.caps import CapError, cap_errors
from safeselect.planning.explain import (
    expected_error,
    explain,
)
from safeselect.planning.items import ItemPlan, ItemPlans, explain_items

__all__ = [
    "CapError",
    "ItemPlan",
    "ItemPlans",
    "cap_errors",
    "expected_error",
    "explain",
    "explain_items",
]
