"""A release can be built again to the byte, and each broken one is refused by a named check."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import verify_release
from verify_release import BUILD, PACKAGE, digest

ROOT = Path(__file__).parents[2]
VERSION = verify_release.tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
NAME = f"{PACKAGE}-{VERSION}"
INFO = f"{NAME}.dist-info/"
CODE = f"{PACKAGE}/guarantees/pure.py"


def checkout(place: Path, *, mask: int, seconds: int) -> Path:
    """The files that decide a wheel, written with these modes and at that time."""
    kept = os.umask(mask)
    try:
        for file in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
            place.mkdir(exist_ok=True)
            (place / file).write_bytes((ROOT / file).read_bytes())
        for path in sorted((ROOT / "src").rglob("*"), reverse=mask == 0):
            if path.is_file() and "__pycache__" not in path.parts:
                copy = place / path.relative_to(ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(path.read_bytes())
                os.utime(copy, (seconds, seconds))
    finally:
        os.umask(kept)
    return place


def build(place: Path, out: Path, **environment: str) -> Path:
    subprocess.run(
        [sys.executable, "-P", "-c", BUILD, str(out)],
        cwd=place,
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
    )
    return out / f"{NAME}-py3-none-any.whl"


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Path:
    """A release as `make release` leaves it, but with a bill of materials made by hand."""
    place = tmp_path_factory.mktemp("release")
    source = checkout(place / "source", mask=0o022, seconds=1_600_000_000)
    git = ["git", "-C", str(source), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "-m", "all"]):
        subprocess.run([*git, *command], check=True, capture_output=True)
    build(source, place)
    write_sbom(place)
    write_sums(place)
    return place


def write_sbom(place: Path, *, version: str = VERSION, names: tuple[str, ...] = ("gmpy2", "numpy")):
    bill = {
        "bomFormat": "CycloneDX",
        "metadata": {"component": {"name": PACKAGE, "version": version}},
        "components": [{"name": name} for name in names],
    }
    (place / "sbom.json").write_text(json.dumps(bill))


def write_sums(place: Path) -> None:
    files = (place / f"{NAME}-py3-none-any.whl", place / "sbom.json")
    lines = [
        f"{verify_release.hashlib.sha256(f.read_bytes()).hexdigest()}  {f.name}" for f in files
    ]
    (place / "SHA256SUMS").write_text("\n".join(lines) + "\n")


def failing(place: Path, source: Path, capsys) -> list[str]:
    """The checks that a release fails, all of them asked for."""
    code = verify_release.main(
        [
            str(place / f"{NAME}-py3-none-any.whl"),
            *("--sums", str(place / "SHA256SUMS"), "--sbom", str(place / "sbom.json")),
            *("--checkout", str(source), "--rebuild"),
        ]
    )
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[1] for line in lines] == ["wheel", "sums", "sbom", "checkout", "rebuild"]
    failed = [line[1] for line in lines if line[0] == "FAILED"]
    assert code == bool(failed)
    return failed


@pytest.mark.claim("C13")
def test_two_builds_are_the_same_to_the_byte(tmp_path):
    """Other folders, modes, times, orders of creation, time zones, languages and hash seeds."""
    one = checkout(tmp_path / "one", mask=0o077, seconds=1_500_000_000)
    two = checkout(tmp_path / "another", mask=0, seconds=1_700_000_000)
    first = build(one, tmp_path / "a", TZ="UTC", LC_ALL="C", PYTHONHASHSEED="1")
    second = build(two, tmp_path / "b", TZ="Asia/Tokyo", LC_ALL="C.UTF-8", PYTHONHASHSEED="2")
    assert first.read_bytes() == second.read_bytes()
    # The comparison can fail: a byte of the source is a byte of the wheel.
    (two / "src" / CODE).write_bytes((two / "src" / CODE).read_bytes() + b"\n")
    assert build(two, tmp_path / "c").read_bytes() != first.read_bytes()


@pytest.mark.claim("C13")
def test_a_right_release_passes_every_check(release, capsys, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")  # does not reach the build
    assert failing(release, release / "source", capsys) == []


# --------------------------------------------------------------------------- broken releases


def appended(text: bytes):
    return lambda files, name: files.update({name: files[name] + text})


def replaced(old: bytes, new: bytes):
    def change(files, name):
        assert old in files[name]
        files[name] = files[name].replace(old, new)

    return change


def added(files, name):
    files[name] = b"import os\n"


def removed(files, name):
    del files[name]


# What is done to which file, whether RECORD is written anew, and the check that refuses it when
# sums are written anew as well.
BROKEN = {
    "code changed": (appended(b"\n"), CODE, False, "wheel"),
    "code changed, and recorded": (appended(b"\n"), CODE, True, "checkout"),
    "code added": (added, f"{PACKAGE}/extra.py", False, "wheel"),
    "code added, and recorded": (added, f"{PACKAGE}/extra.py", True, "checkout"),
    "code removed": (removed, CODE, False, "wheel"),
    "code removed, and recorded": (removed, CODE, True, "checkout"),
    "code that runs at start": (added, "start.pth", True, "wheel"),
    "another package": (added, "numpy/__init__.py", True, "wheel"),
    "a file of the system": (added, f"{NAME}.data/data/bin/ls", True, "wheel"),
    "a name that leads elsewhere": (added, f"{PACKAGE}/../numpy.py", True, "wheel"),
    "another version": (replaced(VERSION.encode(), b"9.9"), f"{INFO}METADATA", True, "wheel"),
    "no metadata": (removed, f"{INFO}METADATA", True, "wheel"),
    "another requirement": (
        replaced(b"Requires-Dist: numpy>=", b"Requires-Dist: nunpy\nRequires-Dist: numpy>="),
        f"{INFO}METADATA",
        True,
        "checkout",
    ),
    "another command": (appended(b"ls = os:abort\n"), f"{INFO}entry_points.txt", True, "checkout"),
    "another licence": (appended(b"\n"), f"{INFO}licenses/LICENSE", True, "checkout"),
    "another description": (appended(b"\n"), f"{INFO}METADATA", True, "rebuild"),
}


def pack(wheel: Path, files: dict[str, bytes], *, recorded: bool) -> None:
    if recorded:
        rows = [f"{n},{digest(c)},{len(c)}\n" for n, c in files.items() if n != f"{INFO}RECORD"]
        files[f"{INFO}RECORD"] = "".join([*rows, f"{INFO}RECORD,,\n"]).encode()
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)


@pytest.fixture
def copy(release, tmp_path) -> Path:
    for file in release.glob("*.*"):
        shutil.copy(file, tmp_path)
    shutil.copy(release / "SHA256SUMS", tmp_path)
    return tmp_path


@pytest.mark.claim("C13")
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_wheel_is_refused(name, release, copy, capsys):
    change, file, recorded, check = BROKEN[name]
    wheel = copy / f"{NAME}-py3-none-any.whl"
    files = verify_release.contents(wheel)
    change(files, file)
    pack(wheel, files, recorded=recorded)
    assert "sums" in failing(copy, release / "source", capsys)
    write_sums(copy)
    failed = failing(copy, release / "source", capsys)
    assert check in failed
    assert "rebuild" in failed


@pytest.mark.claim("C13")
def test_the_same_files_in_another_archive_are_refused(release, copy, capsys):
    """Nothing but a byte behind the archive, or a file that is packed twice, or as a link."""
    wheel = copy / f"{NAME}-py3-none-any.whl"
    right = wheel.read_bytes()
    wheel.write_bytes(right + b"\0")
    assert "sums" in failing(copy, release / "source", capsys)
    wheel.write_bytes(right)
    with (
        zipfile.ZipFile(wheel, "a") as archive,
        pytest.warns(UserWarning, match="Duplicate name"),
    ):
        archive.writestr(CODE, "other")
    assert "wheel" in failing(copy, release / "source", capsys)
    files = dict(verify_release.contents(release / wheel.name))
    link = zipfile.ZipInfo(CODE)
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content in files.items():
            archive.writestr(link if name == CODE else name, content)
    assert "wheel" in failing(copy, release / "source", capsys)
    wheel.write_bytes(right[:1000])
    assert {"wheel", "sums", "checkout", "rebuild"} <= set(
        failing(copy, release / "source", capsys)
    )


@pytest.mark.claim("C13")
def test_a_wrong_bill_of_materials_or_list_of_hashes_is_refused(release, copy, capsys):
    source = release / "source"
    write_sbom(copy, version="9.9")
    assert failing(copy, source, capsys) == ["sums", "sbom"]
    write_sbom(copy, names=("numpy",))
    write_sums(copy)
    assert failing(copy, source, capsys) == ["sbom"]
    (copy / "sbom.json").write_text("{}")
    write_sums(copy)
    assert failing(copy, source, capsys) == ["sbom"]
    write_sbom(copy)
    write_sums(copy)
    sums = copy / "SHA256SUMS"
    lines = sums.read_text().splitlines()
    for broken in (lines[1:], [lines[0], *lines], [f"{'0' * 64}  {lines[0].split()[1]}", lines[1]]):
        sums.write_text("\n".join(broken))
        assert failing(copy, source, capsys) == ["sums"]


def test_a_commit_that_is_not_there_and_a_rebuild_of_nothing_are_refused(release, capsys):
    wheel = str(release / f"{NAME}-py3-none-any.whl")
    assert verify_release.main([wheel, "--checkout", str(release), "--commit", "v0"]) == 1
    assert verify_release.main([wheel, "--rebuild"]) == 1
    assert capsys.readouterr().out.count("FAILED") == 2
