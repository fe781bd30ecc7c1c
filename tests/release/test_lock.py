"""The lock files name all that pyproject.toml asks for, by hash and without a place."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = {"runtime": None, "dev": "dev", "release": "release", "laws": "laws", "oldest": "laws"}
PIN = re.compile(
    r"^([a-z0-9-]+)(?:\[[a-z,]+\])?==([\w.]+)(?: ; .+)?((?: --hash=sha256:[0-9a-f]{64})+)$"
)


def pins(text: str) -> dict[str, set[Version]]:
    """The releases that a lock file names; more than one where Python's version decides."""
    found: dict[str, set[Version]] = {}
    for line in re.sub(r" *\\\n *", " ", text).splitlines():
        pin = PIN.match(line)
        assert pin, f"not a pin with hashes: {line[:80]}"
        found.setdefault(pin[1], set()).add(Version(pin[2]))
    return found


def asked(extra: str | None) -> list[Requirement]:
    """What an extra asks for, with the extras of the package that it names in turn."""
    lines = PROJECT["dependencies"] if extra is None else PROJECT["optional-dependencies"][extra]
    found: list[Requirement] = []
    for requirement in map(Requirement, lines):
        if requirement.name == PROJECT["name"]:
            found += [each for more in sorted(requirement.extras) for each in asked(more)]
        else:
            found.append(requirement)
    return found if extra is None else [*asked(None), *found]


def lock(name: str) -> str:
    return (ROOT / "requirements" / f"{name}.lock").read_text()


@pytest.mark.parametrize("name", EXTRAS)
def test_a_lock_names_what_is_asked_for(name):
    named = pins(lock(name))
    for requirement in asked(EXTRAS[name]):
        assert named[canonicalize_name(requirement.name)] <= {
            *requirement.specifier.filter(named[canonicalize_name(requirement.name)])
        }, requirement


def test_the_oldest_releases_are_the_lower_bounds():
    """What `make oldest` tests with: each requirement at its bound."""
    named = pins(lock("oldest"))
    for requirement in asked(None):
        (bound,) = requirement.specifier
        assert (bound.operator, named[requirement.name]) == (">=", {Version(bound.version)})


def test_the_build_uses_the_release_that_is_locked():
    """What `make release` builds with; another release of it may pack the same files otherwise."""
    assert len(pins(lock("release"))["hatchling"]) == 1
    assert pins(lock("release"))["hatchling"] == pins(lock("dev"))["hatchling"]
