"""What is in an archive, compared with what the commit declares."""

from __future__ import annotations

from collections.abc import Mapping
from email import message_from_bytes

from packaging.metadata import parse_email
from packaging.requirements import InvalidRequirement, Requirement

import declared
from archives import Refused, listed
from declared import Commit

VERSIONS_OF_METADATA = {"2.4", "2.5"}


def check_files(
    files: Mapping[str, object], right: Mapping[str, object], described: set[str]
) -> None:
    """The right files with the right contents, and beside them those that describe the archive."""
    if missing := (right.keys() | described) - files.keys():
        raise Refused(f"it lacks {listed(missing)}")
    if strange := files.keys() - right.keys() - described:
        raise Refused(f"it holds files that do not belong in it: {listed(strange)}")
    if wrong := {name for name, content in right.items() if files[name] != content}:
        raise Refused(f"not as committed: {listed(wrong)}")


def check_metadata(content: bytes, commit: Commit) -> None:
    """Every field of METADATA or PKG-INFO is what the commit declares, and there are no others."""
    try:
        fields, rest = parse_email(content)
        told: dict[str, object] = dict(fields)
        required = [str(Requirement(line)) for line in fields.get("requires_dist", [])]
    except (InvalidRequirement, UnicodeError, ValueError):
        raise Refused("its metadata cannot be read") from None
    right = declared.metadata(commit)
    if rest:
        raise Refused(f"its metadata has what cannot be read: {listed(rest)}")
    if told.pop("metadata_version", None) not in VERSIONS_OF_METADATA:
        raise Refused("its metadata is of another version than 2.4 or 2.5")
    if strange := told.keys() ^ right.keys():
        raise Refused(f"its metadata has other fields than declared: {listed(strange)}")
    allowed = declared.requirements(commit.project)
    if more := set(required) - allowed:
        raise Refused(f"it requires what the commit does not declare: {listed(more)}")
    if less := allowed - set(required):
        raise Refused(f"it does not require what the commit declares: {listed(less)}")
    told["requires_dist"] = required
    told = {name: sorted(v) if isinstance(v, list) else v for name, v in told.items()}
    if wrong := {name for name, value in right.items() if told[name] != value}:
        raise Refused(f"its metadata tells something else than the commit: {listed(wrong)}")


def check_fields(content: bytes, right: dict[str, list[str]]) -> None:
    """Every field of WHEEL is right."""
    message = message_from_bytes(content)
    told = {name: message.get_all(name) for name in message.keys()}  # noqa: SIM118 - not a dict
    if wrong := {name for name in told.keys() | right.keys() if told.get(name) != right.get(name)}:
        raise Refused(f"WHEEL is wrong about {listed(wrong)}")
    if message.get_payload():
        raise Refused("WHEEL holds more than fields")
