#!/usr/bin/env python3
"""Check a wheel of safeselect before it is installed.  Needs Python 3.11 and nothing else.

    python3 tools/verify_release.py dist/safeselect-0.1.0-py3-none-any.whl
        --sums dist/SHA256SUMS --sbom dist/safeselect-0.1.0.cdx.json --checkout . --rebuild

What is checked, each part only if it is asked for but the first:

- wheel: the archive holds the files that its RECORD lists, with these hashes, and nothing else; all
  belong to the package or to its metadata, so that installing it puts no file elsewhere;
- sums: SHA256SUMS lists the wheel, and the bill of materials if given, with the right hashes;
- sbom: the bill of materials is about this version and lists what the wheel requires;
- checkout: every file of the package is that of a commit, byte for byte, and none is missing;
  version, requirements and commands are those of its pyproject.toml;
- rebuild: building that commit again gives the same bytes.  It takes hatchling, in the release that
  requirements/release.lock of that commit names, in the Python that runs this script.

The hashes say that files are the same, not who made them: take SHA256SUMS, or the commit, from
where you trust it.  Exit code 0 if all that was asked for passed, 1 if not.
"""

from __future__ import annotations

import argparse
import base64
import configparser
import csv
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
import zlib
from collections.abc import Callable, Iterator
from email import message_from_bytes
from email.message import Message
from pathlib import Path

PACKAGE = "safeselect"
METADATA = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
BUILD = "import sys, hatchling.build; print(hatchling.build.build_wheel(sys.argv[1]))"


class Refused(Exception):
    """The release is not what it should be."""


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for, print a line for each check; 0 if all passed."""
    options = parser().parse_args(arguments)
    failed = False
    for name, check in asked(options):
        try:
            verdict = f"passed  {name:9} {check()}"
        except Refused as refused:
            verdict, failed = f"FAILED  {name:9} {refused}", True
        print(verdict)
    return int(failed)


def parser() -> argparse.ArgumentParser:
    """What can be asked for."""
    words = argparse.ArgumentParser(
        description="Check a wheel of safeselect before it is installed.", allow_abbrev=False
    )
    words.add_argument("wheel", type=Path)
    words.add_argument("--sums", type=Path, help="a file of hashes, as sha256sum writes it")
    words.add_argument("--sbom", type=Path, help="the bill of materials, CycloneDX JSON")
    words.add_argument("--checkout", type=Path, help="a clone of the repository")
    words.add_argument("--commit", default="HEAD", help="commit or tag of the clone (HEAD)")
    words.add_argument("--rebuild", action="store_true", help="build the commit and compare")
    return words


def asked(options: argparse.Namespace) -> Iterator[tuple[str, Callable[[], str]]]:
    """The checks that were asked for."""
    wheel, sums, sbom = options.wheel, options.sums, options.sbom
    yield "wheel", lambda: check_wheel(wheel)
    if sums:
        yield "sums", lambda: check_sums(sums, [wheel, *([sbom] if sbom else [])])
    if sbom:
        yield "sbom", lambda: check_sbom(wheel, sbom)
    if options.checkout:
        yield "checkout", lambda: check_checkout(wheel, options.checkout, options.commit)
    if options.rebuild:
        yield "rebuild", lambda: check_rebuild(wheel, options.checkout, options.commit)


# ------------------------------------------------------------------------------------ checks


def check_wheel(wheel: Path) -> str:
    """The archive is what its RECORD says, and stays in its place."""
    files, info, version = contents(wheel), info_of(wheel), version_of(wheel)
    if missing := {info + name for name in METADATA} - files.keys():
        raise Refused(f"it lacks {listed(missing)}")
    strange = {
        name
        for name in files
        if not name.startswith(f"{PACKAGE}/")
        and not (name.startswith(info) and name.removeprefix(info) in METADATA)
    }
    if strange:
        raise Refused(f"it holds files that do not belong in it: {listed(strange)}")
    recorded = record(files, f"{info}RECORD")
    if recorded.keys() != files.keys():
        raise Refused(f"RECORD lists other files: {listed(recorded.keys() ^ files.keys())}")
    wrong = {
        name
        for name, content in files.items()
        if recorded[name] != ("" if name == f"{info}RECORD" else digest(content))
    }
    if wrong:
        raise Refused(f"RECORD has another hash for {listed(wrong)}")
    if metadata(wheel)["Version"] != version:
        raise Refused("its metadata names another version than its file name")
    return f"version {version}, {len(files)} files as recorded"


def check_sums(sums: Path, files: list[Path]) -> str:
    """SHA256SUMS has each file once, with its hash."""
    lines = [line.split(maxsplit=1) for line in sums.read_text().splitlines() if line.strip()]
    for file in files:
        hashes = [line[0] for line in lines if line[1:] and line[1].lstrip("*") == file.name]
        if not hashes:
            raise Refused(f"{file.name} is not listed")
        if hashes != [hashlib.sha256(file.read_bytes()).hexdigest()]:
            raise Refused(f"another hash is listed for {file.name}")
    return f"{len(files)} files as listed"


def check_sbom(wheel: Path, sbom: Path) -> str:
    """The bill of materials is about this version and lists what it requires."""
    try:
        bill = json.loads(sbom.read_bytes())
        root = bill["metadata"]["component"]
        about = bill["bomFormat"], root["name"], root["version"]
        listed_names = {component["name"].lower() for component in bill["components"]}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Refused("it cannot be read as CycloneDX") from None
    if about != ("CycloneDX", PACKAGE, version_of(wheel)):
        raise Refused(f"it is about {' '.join(map(str, about))}")
    missing = {re.split(r"[^\w.-]", line)[0].lower() for line in requirements(wheel)} - listed_names
    if missing:
        raise Refused(f"it does not list {listed(missing)}")
    return f"lists {len(listed_names)} packages, among them all that are required"


def check_checkout(wheel: Path, checkout: Path, commit: str) -> str:
    """The package in the wheel is the package in the commit."""
    tree = committed(checkout, commit)
    source = {
        name.removeprefix("src/"): content
        for name, content in tree.items()
        if name.startswith(f"src/{PACKAGE}/")
    }
    files, info = contents(wheel), info_of(wheel)
    shipped = {name: content for name, content in files.items() if name.startswith(f"{PACKAGE}/")}
    if source.keys() != shipped.keys():
        raise Refused(f"not in both of commit and wheel: {listed(source.keys() ^ shipped.keys())}")
    wrong = {name for name, content in shipped.items() if content != source[name]}
    if files[f"{info}licenses/LICENSE"] != tree["LICENSE"]:
        wrong.add("LICENSE")
    if wrong:
        raise Refused(f"not as committed: {listed(wrong)}")
    project = tomllib.loads(tree["pyproject.toml"].decode())["project"]
    scripts = configparser.ConfigParser(interpolation=None)
    scripts.read_string(files[f"{info}entry_points.txt"].decode())
    told = (
        metadata(wheel)["Version"],
        requirements(wheel),
        {section: dict(scripts[section]) for section in scripts.sections()},
    )
    if told != (
        project["version"],
        set(project["dependencies"]),
        {"console_scripts": project["scripts"]},
    ):
        raise Refused("its version, requirements or commands are not those of pyproject.toml")
    return f"{len(shipped)} files of the package as committed"


def check_rebuild(wheel: Path, checkout: Path | None, commit: str) -> str:
    """Building the commit gives the same bytes."""
    if checkout is None:
        raise Refused("a rebuild needs --checkout")
    with tempfile.TemporaryDirectory() as place:
        source, out = Path(place, "source"), Path(place, "out")
        for name, content in committed(checkout, commit).items():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes(content)
        # Without SOURCE_DATE_EPOCH hatchling gives every file one fixed date.
        clean = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
        built = subprocess.run(
            [sys.executable, "-P", "-c", BUILD, str(out)],
            cwd=source,
            env=clean,
            capture_output=True,
            text=True,
            check=False,
        )
        if built.returncode:
            raise Refused(f"the commit cannot be built: {built.stderr.strip()[-200:]}")
        (other,) = out.glob("*.whl")
        if other.read_bytes() == wheel.read_bytes():
            return "the same bytes"
        files, rebuilt = contents(wheel), contents(other)
        differ = {name for name in files | rebuilt if files.get(name) != rebuilt.get(name)}
        raise Refused(
            f"other files: {listed(differ)}" if differ else "the archive is packed otherwise"
        )


# ----------------------------------------------------------------------------------- reading


def contents(wheel: Path) -> dict[str, bytes]:
    """The files of a wheel; plain files with plain names, each once."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            entries = archive.infolist()
            files = {entry.filename: archive.read(entry) for entry in entries}
    except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError, zlib.error):
        raise Refused(f"{wheel.name} cannot be read as an archive") from None
    if len(files) != len(entries):
        raise Refused("the archive holds two files of one name")
    for entry in entries:
        parts = entry.filename.split("/")
        if "\\" in entry.filename or not all(parts) or {".", ".."} & set(parts):
            raise Refused("the archive holds a file whose name leads elsewhere")
        if entry.external_attr >> 16 & 0o170000 not in (0, 0o100000):
            raise Refused("the archive holds something that is not a plain file")
    return files


def record(files: dict[str, bytes], name: str) -> dict[str, str]:
    """RECORD: the hash that is listed for each file."""
    rows = [row for row in csv.reader(io.StringIO(files[name].decode(errors="replace"))) if row]
    listed_once = {row[0]: row[1] for row in rows if len(row) == 3}
    if len(listed_once) != len(rows):
        raise Refused("RECORD cannot be read, or lists a file twice")
    return listed_once


def version_of(wheel: Path) -> str:
    """The version in the name of a wheel for every platform."""
    name = re.fullmatch(rf"{PACKAGE}-([0-9][\w.+!]*)-py3-none-any\.whl", wheel.name)
    if name is None:
        raise Refused(f"{wheel.name} is not the name of a wheel of {PACKAGE}")
    return name[1]


def info_of(wheel: Path) -> str:
    """The folder of the wheel's metadata."""
    return f"{PACKAGE}-{version_of(wheel)}.dist-info/"


def metadata(wheel: Path) -> Message:
    """The wheel's METADATA."""
    return message_from_bytes(contents(wheel).get(f"{info_of(wheel)}METADATA", b""))


def requirements(wheel: Path) -> set[str]:
    """What the wheel requires, without extras."""
    lines = metadata(wheel).get_all("Requires-Dist", [])
    return {line for line in lines if "extra ==" not in line}


def committed(checkout: Path, commit: str) -> dict[str, bytes]:
    """All plain files of a commit."""
    command = ["git", "-C", str(checkout), "archive", "--format=tar", "--end-of-options", commit]
    answer = subprocess.run(command, capture_output=True, check=False)
    if answer.returncode:
        raise Refused(f"git cannot read commit {commit} of the checkout")
    with tarfile.open(fileobj=io.BytesIO(answer.stdout)) as archive:
        return {
            entry.name: archive.extractfile(entry).read()  # type: ignore[union-attr]
            for entry in archive
            if entry.isfile()
        }


def digest(content: bytes) -> str:
    """A hash as RECORD writes it."""
    raw = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
    return f"sha256={raw.decode().rstrip('=')}"


def listed(names: object) -> str:
    """A few names, for a message."""
    ordered = sorted(names)  # type: ignore[call-overload]
    return ", ".join(ordered[:3]) + (f" and {len(ordered) - 3} more" if ordered[3:] else "")


if __name__ == "__main__":
    sys.exit(main())
