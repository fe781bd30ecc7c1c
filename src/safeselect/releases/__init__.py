"""Releases in JSON: reading them back, and their JSON Schemas.

Nothing here decides a release: it reads what `to_json` of a result wrote.
"""

from safeselect.releases._parts import OtherLabel
from safeselect.releases._reading import Release, from_json
from safeselect.releases._schemas import SCHEMAS, json_schema

__all__ = ["SCHEMAS", "OtherLabel", "Release", "from_json", "json_schema"]
