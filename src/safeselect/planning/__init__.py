"""Planning: the cost and the expected error of a release, before any data is touched."""

from safeselect.planning.by_group import GroupPlan, GroupPlans, explain_groups
from safeselect.planning.caps import CapError, cap_errors
from safeselect.planning.explain import expected_error, explain
from safeselect.planning.items import ItemPlan, ItemPlans, explain_items
from safeselect.planning.keys import KeyPlan, KeyPlans, explain_keys

__all__ = [
    "CapError",
    "GroupPlan",
    "GroupPlans",
    "ItemPlan",
    "ItemPlans",
    "KeyPlan",
    "KeyPlans",
    "cap_errors",
    "expected_error",
    "explain",
    "explain_groups",
    "explain_items",
    "explain_keys",
]
