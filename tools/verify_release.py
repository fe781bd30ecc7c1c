#!/usr/bin/env python3
"""Check a release of safeselect before it is installed: `python tools/verify_release.py dist`.

The folder holds the four files of a release and nothing else.  They are compared with a commit of
the checkout that this script is in, the one that is checked out unless `--commit` names another:

- folder: the four files are there, with the names that the commit's version gives them;
- sums: SHA256SUMS has one line for each of the others, with its hash, and no more;
- wheel: its files are those of the commit and those that describe it; every field of METADATA and
  WHEEL and the commands are what pyproject.toml says; RECORD lists all, rightly;
- sdist: its files are those that pyproject.toml includes, and its metadata the same;
- sbom: made again, the bill of materials has the same bytes;
- rebuild: built again, wheel and source archive have the same bytes.

It needs what requirements/release.lock of the commit names: `make verify` installs that first.  The
build runs what the commit says.  `--no-rebuild` leaves it out, where archives are packed otherwise
because Python has another compression library; the verdict then says what was not checked.

Hashes say that files are the same, not who made them: take the commit from where you trust it.
Exit code 0 if every check passed, 1 if not.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

try:
    import packaging  # noqa: F401 - declared needs it, and says so less clearly
except ImportError:
    sys.exit("verify_release: install requirements/release.lock first, as `make verify` does")

import bill
import declared
from archives import Refused, listed, of_sdist, of_wheel
from compared import check_fields, check_files, check_metadata
from declared import Commit

ROOT = Path(__file__).parents[1]
SUMS = "SHA256SUMS"
BUILD = "import sys, hatchling.build as b; b.build_sdist(sys.argv[1]); b.build_wheel(sys.argv[1])"
NOT_REBUILT = (
    "NOT CHECKED: whether building the commit gives these archives to the byte (how they are "
    "packed: order, times, compression); files and metadata in them were compared one by one"
)


def main(arguments: list[str] | None = None) -> int:
    """Print a line for each check; 0 if all passed."""
    words = argparse.ArgumentParser(
        description="Check a release of safeselect before it is installed.", allow_abbrev=False
    )
    words.add_argument("folder", type=Path, help="where the four files are")
    words.add_argument("--checkout", type=Path, default=ROOT, help="a clone (that of this script)")
    words.add_argument("--commit", default="HEAD", help="commit or tag of the clone (HEAD)")
    words.add_argument("--no-rebuild", action="store_true", help="do not build the commit")
    words.add_argument("--openssl", metavar="VERSION", help="which one the bill may name (ours)")
    options = words.parse_args(arguments)
    failed = False
    for name, check in checks(options):
        try:
            verdict = f"passed  {name:8} {check()}"
        except Refused as refused:
            verdict, failed = f"FAILED  {name:8} {refused}", True
        print(verdict)
    if options.no_rebuild:
        print(f"skipped {'rebuild':8} {NOT_REBUILT}")
    if failed:
        print("REFUSED: this is not the release of that commit")
    else:
        print("accepted, but for what was not checked" if options.no_rebuild else "accepted")
    return int(failed)


def checks(options: argparse.Namespace) -> Iterator[tuple[str, Callable[[], str]]]:
    """The checks, by their names; the first alone where the commit cannot be read."""
    try:
        commit = declared.read(options.checkout, options.commit)
        release = Release(options.folder, commit.stem)
    except Refused as refused:
        reason = str(refused)
        yield "commit", lambda: refuse(reason)
        return
    yield "folder", lambda: check_folder(release, commit)
    yield "sums", lambda: check_sums(release)
    yield "wheel", lambda: check_wheel(release, commit)
    yield "sdist", lambda: check_sdist(release, commit)
    yield "sbom", lambda: check_sbom(release, commit, options.openssl)
    if not options.no_rebuild:
        yield "rebuild", lambda: check_rebuild(release, commit)


def refuse(reason: str) -> str:
    """Never a verdict."""
    raise Refused(reason)


@dataclass(frozen=True, slots=True)
class Release:
    """The files of a release, by the names that a commit gives them."""

    folder: Path
    stem: str

    @property
    def wheel(self) -> str:
        """A wheel for every platform."""
        return f"{self.stem}-py3-none-any.whl"

    @property
    def sdist(self) -> str:
        """The source archive."""
        return f"{self.stem}.tar.gz"

    @property
    def sbom(self) -> str:
        """The bill of materials."""
        return f"{self.stem}.cdx.json"

    def read(self, name: str) -> bytes:
        """A file."""
        try:
            return (self.folder / name).read_bytes()
        except OSError:
            raise Refused(f"{name} is missing") from None


# ------------------------------------------------------------------------------------ checks


def check_folder(release: Release, commit: Commit) -> str:
    """Four files, with the names that they must have."""
    names = {release.wheel, release.sdist, release.sbom, SUMS}
    try:
        found = {path.name for path in release.folder.iterdir()}
    except OSError:
        raise Refused(f"{release.folder} is not a folder that can be read") from None
    if missing := names - found:
        raise Refused(f"{listed(missing)} is missing")
    if strange := found - names:
        raise Refused(f"it holds what is not of the release: {listed(strange)}")
    return f"the files of {commit.stem}, commit {commit.name}"


def check_sums(release: Release) -> str:
    """SHA256SUMS has each file once, with its hash, and nothing else."""
    # Of a line that ends in another way some programs take the end for a part of the name.
    *lines, rest = release.read(SUMS).decode(errors="replace").split("\n")
    names = (release.wheel, release.sdist, release.sbom)
    right = {name: f"{hashlib.sha256(release.read(name)).hexdigest()}  {name}" for name in names}
    for name, line in right.items():
        if line not in lines:
            told = any(each.endswith(name) for each in lines)
            raise Refused(f"{'another hash is' if told else 'no hash is'} listed for {name}")
    if rest or sorted(lines) != sorted(right.values()):
        raise Refused("it lists more than the files of the release")
    return f"{len(lines)} files as listed"


def check_wheel(release: Release, commit: Commit) -> str:
    """The wheel holds what the commit says, and what it says of itself is true."""
    files, info = of_wheel(release.read(release.wheel)), f"{commit.stem}.dist-info/"
    right = declared.wheel_files(commit)
    described = {info + name for name in ("METADATA", "WHEEL", "RECORD")}
    check_files(files, right, described)
    check_metadata(files[f"{info}METADATA"], commit)
    check_fields(files[f"{info}WHEEL"], declared.wheel_fields(commit))
    try:
        text = files[f"{info}RECORD"].decode()
        rows = [tuple(row) for row in csv.reader(io.StringIO(text), strict=True)]
    except (csv.Error, UnicodeDecodeError):
        raise Refused("RECORD cannot be read") from None
    recorded = declared.record(files, f"{info}RECORD")
    if len(rows) != len(recorded) or set(rows) != recorded:
        wrong = {row[0] if row else "an empty row" for row in set(rows) ^ recorded}
        raise Refused(f"RECORD is wrong about {listed(wrong) or 'a file that it lists twice'}")
    return f"{len(right)} files and the metadata as the commit declares them"


def check_sdist(release: Release, commit: Commit) -> str:
    """The source archive holds what the commit says."""
    files, right = of_sdist(release.read(release.sdist)), declared.sdist_files(commit)
    described = f"{commit.stem}/PKG-INFO"
    check_files(files, right, {described})
    check_metadata(files[described].content, commit)
    return f"{len(right)} files and the metadata as the commit declares them"


def check_sbom(release: Release, commit: Commit, openssl: str | None) -> str:
    """The bill of materials is the one that the commit and this Python give."""
    right = bill.bill(commit.project, commit.text("requirements/runtime.lock"), openssl)
    content = release.read(release.sbom)
    if content == right:
        return "the same bytes"
    try:
        differ = named(content) ^ named(right)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Refused("it cannot be read as CycloneDX") from None
    if differ and all(each.startswith("OpenSSL ") for each in differ):
        told = listed(named(content) - named(right))
        raise Refused(
            f"it names {told}, and this Python uses another OpenSSL; if that is known to be the "
            "one that the release was made with, say so with --openssl VERSION"
        )
    raise Refused(f"it differs in {listed(differ)}" if differ else "it tells something else")


def check_rebuild(release: Release, commit: Commit) -> str:
    """Building the commit gives the same bytes."""
    locked, _ = declared.pinned(commit.text("requirements/release.lock"))["hatchling"]
    try:
        installed = version("hatchling")
    except PackageNotFoundError:
        installed = "none"
    if installed != locked:
        raise Refused(f"it takes hatchling {locked}, but here is {installed}: use `make verify`")
    files = built(commit)
    if other := {name for name, content in files.items() if content != release.read(name)}:
        raise Refused(f"building the commit gives other bytes for {listed(other)}")
    return f"the same bytes for {listed(files)}"


def built(commit: Commit) -> dict[str, bytes]:
    """The wheel and the source archive of a commit."""
    # Without SOURCE_DATE_EPOCH hatchling gives every file one fixed date; its own variables could
    # add hooks or leave some out.
    environment = {
        name: value
        for name, value in os.environ.items()
        if name != "SOURCE_DATE_EPOCH" and not name.startswith("HATCH_")
    }
    with tempfile.TemporaryDirectory() as place:
        source, out = Path(place, "source"), Path(place, "out")
        for name, file in commit.files.items():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes(file.content)
            (source / name).chmod(0o755 if file.executable else 0o644)
        said = subprocess.run(
            [sys.executable, "-P", "-c", BUILD, str(out)],
            cwd=source,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if said.returncode:
            raise Refused(f"the commit cannot be built: {said.stderr.strip()[-200:]}")
        return {path.name: path.read_bytes() for path in out.iterdir()}


def named(content: bytes) -> set[str]:
    """The components of a bill of materials, and what it is about."""
    told = json.loads(content)
    parts = [told["metadata"]["component"], *told["components"]]
    return {f"{part['name']} {part['version']}" for part in parts}


if __name__ == "__main__":
    sys.exit(main())
