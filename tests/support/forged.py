"""Releases that are not what they say: how each is forged from a right one."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

from archives import digest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
STEM = f"{PROJECT['name']}-{PROJECT['version']}"
INFO = f"{STEM}.dist-info/"
WHEEL, SDIST, SBOM = f"{STEM}-py3-none-any.whl", f"{STEM}.tar.gz", f"{STEM}.cdx.json"
CODE = "safeselect/promises/guarantees.py"
MARKER = "extra == 'x' or python_version > '3'"

Forgery = Callable[[Path], object]


def sums(folder: Path) -> None:
    """SHA256SUMS for whatever is there: a forger writes it anew."""
    lines = [
        f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n"
        for name in (WHEEL, SDIST, SBOM)
        if (folder / name).exists()
    ]
    (folder / "SHA256SUMS").write_text("".join(lines))


# --------------------------------------------------------------------------------- the wheel

Entries = list[tuple[zipfile.ZipInfo, bytes]]


def wheel(change: Callable[[Entries], object], *, recorded: bool = True) -> Forgery:
    """A wheel with other entries; packed as before, with a RECORD that is right about them."""

    def forge(folder: Path) -> None:
        with zipfile.ZipFile(folder / WHEEL) as archive:
            entries = [(entry, archive.read(entry)) for entry in archive.infolist()]
        change(entries)
        if recorded:
            record(entries)
        with zipfile.ZipFile(folder / WHEEL, "w") as archive:
            for entry, content in entries:
                archive.writestr(entry, content, zipfile.ZIP_DEFLATED)

    return forge


def record(entries: Entries) -> None:
    rows = [
        f"{entry.filename},{digest(content)},{len(content)}\n"
        for entry, content in entries
        if entry.filename != f"{INFO}RECORD"
    ]
    replace(f"{INFO}RECORD", "".join([*rows, f"{INFO}RECORD,,\n"]).encode())(entries)


def replace(name: str, content: bytes) -> Callable[[Entries], object]:
    return edit(name, lambda _: content)


def edit(name: str, change: Callable[[bytes], bytes]) -> Callable[[Entries], object]:
    def at(entries: Entries) -> None:
        (place,) = (i for i, (entry, _) in enumerate(entries) if entry.filename == name)
        entry, old = entries[place]
        new = change(old)
        assert new != old or name.endswith("RECORD")
        entries[place] = entry, new

    return at


def swap(old: str, new: str) -> Callable[[bytes], bytes]:
    def change(content: bytes) -> bytes:
        assert content.count(old.encode()) >= 1
        return content.replace(old.encode(), new.encode(), 1)

    return change


def metadata(old: str, new: str) -> Forgery:
    """METADATA with another text."""
    return wheel(edit(f"{INFO}METADATA", swap(old, new)))


def field(line: str) -> Forgery:
    """METADATA with another field."""
    return metadata("Requires-Python:", f"{line}\nRequires-Python:")


def add(name: str, content: bytes = b"import os\n", **attributes: object) -> Forgery:
    """A wheel with another file."""

    def change(entries: Entries) -> None:
        entry = zipfile.ZipInfo(name, (2020, 2, 2, 0, 0, 0))
        entry.external_attr = 0o100644 << 16
        for attribute, value in attributes.items():
            setattr(entry, attribute, value)
        entries.append((entry, content))

    return wheel(change)


def remove(name: str, *, recorded: bool = True) -> Forgery:
    def change(entries: Entries) -> None:
        entries[:] = [each for each in entries if each[0].filename != name]

    return wheel(change, recorded=recorded)


def attribute(name: str, **attributes: object) -> Forgery:
    """A wheel that says more of a file."""

    def change(entries: Entries) -> None:
        (entry,) = (entry for entry, _ in entries if entry.filename == name)
        for key, value in attributes.items():
            setattr(entry, key, value)

    return wheel(change)


def comment(folder: Path) -> None:
    with zipfile.ZipFile(folder / WHEEL, "a") as archive:
        archive.comment = b"more"


def bytes_of(name: str, change: Callable[[bytes], bytes]) -> Forgery:
    return lambda folder: (folder / name).write_bytes(change((folder / name).read_bytes()))


# --------------------------------------------------------------------------------- the sdist

Members = list[tuple[tarfile.TarInfo, bytes]]


def sdist(change: Callable[[Members], object]) -> Forgery:
    """A source archive with other members."""

    def forge(folder: Path) -> None:
        with tarfile.open(folder / SDIST) as archive:
            members = [(each, archive.extractfile(each).read()) for each in archive]  # type: ignore[union-attr]
        change(members)
        plain = io.BytesIO()
        with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for each, content in members:
                each.size = len(content) if each.isreg() else 0
                archive.addfile(each, io.BytesIO(content))
        (folder / SDIST).write_bytes(gzip.compress(plain.getvalue(), mtime=0))

    return forge


def member(
    name: str, content: bytes = b"", kind: bytes = tarfile.REGTYPE, **more: object
) -> Forgery:
    """A source archive with another member."""

    def change(members: Members) -> None:
        each = tarfile.TarInfo(name)
        each.type, each.mode = kind, 0o644
        for attribute, value in more.items():
            setattr(each, attribute, value)
        members.append((each, content))

    return sdist(change)


def source(name: str, change: Callable[[bytes], bytes]) -> Forgery:
    """A source archive with another content of a file."""

    def at(members: Members) -> None:
        (place,) = (i for i, (each, _) in enumerate(members) if each.name == f"{STEM}/{name}")
        members[place] = members[place][0], change(members[place][1])

    return sdist(at)


def mode(name: str, bits: int) -> Forgery:
    def change(members: Members) -> None:
        (each,) = (each for each, _ in members if each.name == f"{STEM}/{name}")
        each.mode = bits

    return sdist(change)


# -------------------------------------------------------------------------------- the others


def sbom(change: Callable[[dict], object]) -> Forgery:
    """Another bill of materials."""

    def forge(folder: Path) -> None:
        bill = json.loads((folder / SBOM).read_bytes())
        change(bill)
        (folder / SBOM).write_text(json.dumps(bill, indent=2) + "\n")

    return forge


def component(name: str, key: str, value: object) -> Forgery:
    """A bill of materials that says something else of a component."""

    def change(bill: dict) -> None:
        (part,) = (each for each in bill["components"] if each["name"] == name)
        assert part[key] != value
        part[key] = value

    return sbom(change)


def lines(change: Callable[[list[str]], list[str]]) -> Forgery:
    """Another SHA256SUMS."""

    def forge(folder: Path) -> None:
        old = (folder / "SHA256SUMS").read_text().splitlines()
        (folder / "SHA256SUMS").write_text("\n".join(change(old)) + "\n")

    return forge


def lost(name: str) -> Forgery:
    return lambda folder: (folder / name).unlink()


def beside(name: str) -> Forgery:
    return lambda folder: (folder / name).write_bytes((folder / WHEEL).read_bytes())


def renamed(old: str, new: str) -> Forgery:
    return lambda folder: (folder / old).rename(folder / new)
