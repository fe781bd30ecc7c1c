"""What a commit says that a release of it is: names, files, metadata, pinned releases.

Read from the commit's files alone, so that a difference can be named without building anything.  A
key of pyproject.toml that is not read here is refused: nothing declared goes unchecked.
"""

from __future__ import annotations

import io
import subprocess
import tarfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from archives import File, Refused, digest, listed

KNOWN = {
    *("name", "version", "description", "readme", "requires-python", "license", "license-files"),
    *(
        "authors",
        "keywords",
        "classifiers",
        "dependencies",
        "optional-dependencies",
        "scripts",
        "urls",
    ),
}
ALWAYS = ("pyproject.toml", ".gitignore", "README.md", "LICENSE")
"""What hatchling puts into every source archive, beside what is declared."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit: its name, its files by their paths, and its pyproject.toml."""

    name: str
    files: dict[str, File]
    configuration: dict[str, Any]

    @property
    def project(self) -> dict[str, Any]:
        """The project of its pyproject.toml, with nothing that is not read here."""
        project: dict[str, Any] = self.configuration["project"]
        if strange := project.keys() - KNOWN:
            raise Refused(f"the commit declares {listed(strange)}, which this script does not read")
        if any(author.keys() != {"name"} for author in project["authors"]):
            raise Refused("the commit declares more of its authors than names")
        return project

    @property
    def stem(self) -> str:
        """How the names of its files begin."""
        return f"{self.project['name']}-{self.project['version']}"

    def text(self, path: str) -> str:
        """A file as text."""
        if path not in self.files:
            raise Refused(f"the commit has no {path}")
        return self.files[path].content.decode()


def read(checkout: Path, commit: str) -> Commit:
    """A commit of a clone."""
    git = ["git", "-C", str(checkout)]
    said = subprocess.run(
        [*git, "rev-parse", "--quiet", "--verify", "--end-of-options", commit + "^{commit}"],
        capture_output=True,
        text=True,
        check=False,
    )
    name = said.stdout.strip()
    archive = subprocess.run(
        [*git, "archive", "--format=tar", name or commit], capture_output=True, check=False
    )
    if said.returncode or archive.returncode:
        raise Refused(f"git cannot read commit {commit} of {checkout}")
    files = {}
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tree:
        for entry in tree:
            if entry.isfile():
                content = tree.extractfile(entry)
                files[entry.name] = File(content.read() if content else b"", entry.mode & 64 > 0)
            elif not entry.isdir():
                raise Refused(f"{entry.name} of the commit is not a plain file")
    if "pyproject.toml" not in files:
        raise Refused("the commit has no pyproject.toml")
    return Commit(name, files, tomllib.loads(files["pyproject.toml"].content.decode()))


# ------------------------------------------------------------------------------ its archives


def wheel_files(commit: Commit) -> dict[str, bytes]:
    """The files of the wheel, but for those that describe it."""
    project, info = commit.project, f"{commit.stem}.dist-info/"
    wheel = commit.configuration["tool"]["hatch"]["build"]["targets"]["wheel"]
    if wheel["packages"] != [f"src/{project['name']}"]:
        raise Refused("the commit declares other packages than its own")
    files = {
        name.removeprefix("src/"): file.content
        for name, file in commit.files.items()
        if name.startswith(f"src/{project['name']}/")
    }
    for name in project["license-files"]:
        files[f"{info}licenses/{name}"] = commit.text(name).encode()
    commands = (f"{name} = {place}\n" for name, place in sorted(project["scripts"].items()))
    files[f"{info}entry_points.txt"] = ("[console_scripts]\n" + "".join(commands)).encode()
    return files


def sdist_files(commit: Commit) -> dict[str, File]:
    """The files of the source archive, but for the one that describes it."""
    include = commit.configuration["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    if strange := [each for each in include if not each.startswith("/") or set(each) & set("*?[!")]:
        raise Refused(f"the commit includes {listed(strange)}, which this script does not read")
    places = tuple(each[1:] for each in include)
    return {
        f"{commit.stem}/{name}": file
        for name, file in commit.files.items()
        if name in (*ALWAYS, *places) or name.startswith(tuple(f"{each}/" for each in places))
    }


def record(files: dict[str, bytes], name: str) -> set[tuple[str, ...]]:
    """The rows of RECORD, the file of this name."""
    rows = {(n, digest(c), str(len(c))) for n, c in files.items() if n != name}
    return {*rows, (name, "", "")}


def wheel_fields(commit: Commit) -> dict[str, list[str]]:
    """The fields of WHEEL: pure Python, for every platform, from the locked build tool."""
    release, _ = pinned(commit.text("requirements/release.lock"))["hatchling"]
    return {
        "Wheel-Version": ["1.0"],
        "Generator": [f"hatchling {release}"],
        "Root-Is-Purelib": ["true"],
        "Tag": ["py3-none-any"],
    }


# ------------------------------------------------------------------------------ its metadata


def metadata(commit: Commit) -> dict[str, object]:
    """The fields of METADATA and PKG-INFO, as `packaging.metadata.parse_email` names them.

    Lists are in order of their texts, and requirements written as packaging writes them.
    """
    project = commit.project
    if not project["readme"].endswith(".md"):
        raise Refused("the commit has another readme than Markdown")
    return {
        "name": project["name"],
        "version": project["version"],
        "summary": project["description"],
        "author": ", ".join(author["name"] for author in project["authors"]),
        "license_expression": project["license"],
        "license_files": sorted(project["license-files"]),
        "keywords": sorted(project["keywords"]),
        "classifiers": sorted(project["classifiers"]),
        "requires_python": project["requires-python"],
        "requires_dist": sorted(requirements(project)),
        "provides_extra": sorted(map(canonicalize_name, project["optional-dependencies"])),
        "project_urls": project["urls"],
        "description_content_type": "text/markdown",
        "description": commit.text(project["readme"]),
    }


def requirements(project: dict[str, Any]) -> set[str]:
    """All that is required, with and without extras."""
    always = {str(Requirement(line)) for line in project["dependencies"]}
    return always | {
        behind(requirement, canonicalize_name(extra))
        for extra in project["optional-dependencies"]
        for requirement in of_extra(project, extra)
    }


def of_extra(project: dict[str, Any], extra: str) -> Iterator[Requirement]:
    """What an extra requires, with the extras of the project that it names."""
    for requirement in map(Requirement, project["optional-dependencies"][extra]):
        if canonicalize_name(requirement.name) == canonicalize_name(project["name"]):
            for other in sorted(requirement.extras):
                yield from of_extra(project, other)
        else:
            yield requirement


def behind(requirement: Requirement, extra: str) -> str:
    """The requirement, for those who ask for the extra."""
    marker = f"extra == '{extra}'"
    if requirement.marker:
        marker = f"({requirement.marker}) and {marker}"
    plain = str(requirement).partition(";")[0]
    return str(Requirement(f"{plain}; {marker}"))


# ---------------------------------------------------------------------------- pinned releases


def pinned(lock: str) -> dict[str, tuple[str, list[str]]]:
    """Name -> release and hashes, of what a lock file pins for the Python that runs this."""
    pins = {}
    for line in lock.replace("\\\n", "").splitlines():
        first, *hashes = line.split(" --hash=sha256:")
        requirement = Requirement(first)
        if requirement.marker is None or requirement.marker.evaluate():
            (release,) = requirement.specifier
            pins[requirement.name] = release.version, sorted(each.strip() for each in hashes)
    return pins
