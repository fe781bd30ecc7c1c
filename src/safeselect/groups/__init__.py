"""The best items of each group of a public list, from the counts of all groups, in one release."""

from safeselect.groups.plans import ALL, Plan, Tables, plan_known, plan_unknown
from safeselect.groups.release import release_by_group
from safeselect.groups.results import GroupedTopK

__all__ = ["ALL", "GroupedTopK", "Plan", "Tables", "plan_known", "plan_unknown", "release_by_group"]
