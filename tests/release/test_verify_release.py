"""A release can be built again to the byte, and each forged one is refused by a named check."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import forged
import pytest
from forged import (
    CODE,
    INFO,
    MARKER,
    PROJECT,
    SBOM,
    SDIST,
    STEM,
    WHEEL,
    add,
    attribute,
    beside,
    bytes_of,
    component,
    edit,
    field,
    lines,
    lost,
    member,
    metadata,
    renamed,
    source,
    swap,
)

import bill
import declared
import verify_release
from archives import Refused

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.claim("C13"),
    pytest.mark.slow("builds releases, and forges each in every way"),
]
VERSION = PROJECT["version"]
ELSEWHERE = "the archive holds a file whose name leads elsewhere"
STRANGE = "it holds files that do not belong in it: "
UNDECLARED = "it requires what the commit does not declare: "
OTHER = "its metadata tells something else than the commit: "
FIELDS = "its metadata has other fields than declared: "


def checkout(place: Path, *, mask: int, seconds: int) -> Path:
    """The files that decide a release, written with these modes and at that time."""
    kept = os.umask(mask)
    try:
        tools = [path.relative_to(ROOT) for path in (ROOT / "tools").glob("*.py")]
        locks = [path.relative_to(ROOT) for path in (ROOT / "requirements").glob("*.lock")]
        for file in ("pyproject.toml", "README.md", "LICENSE", ".gitignore", *tools, *locks):
            (place / file).parent.mkdir(parents=True, exist_ok=True)
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


def build(place: Path, out: Path, **environment: str) -> tuple[bytes, bytes]:
    subprocess.run(
        [sys.executable, "-P", "-c", verify_release.BUILD, str(out)],
        cwd=place,
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
    )
    return (out / WHEEL).read_bytes(), (out / SDIST).read_bytes()


def commit_all(place: Path) -> None:
    git = ["git", "-C", str(place), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "-m", "all"]):
        subprocess.run([*git, *command], check=True, capture_output=True)


@pytest.fixture(scope="module")
def clone(tmp_path_factory) -> Path:
    """A clone without a release."""
    place = checkout(tmp_path_factory.mktemp("clone"), mask=0o022, seconds=1_600_000_000)
    commit_all(place)
    return place


@pytest.fixture(scope="module")
def release(clone, tmp_path_factory) -> Path:
    """Its release, as `make release` leaves it."""
    place = tmp_path_factory.mktemp("release")
    build(clone, place)
    lock = (clone / "requirements" / "runtime.lock").read_text()
    (place / SBOM).write_bytes(bill.bill(PROJECT, lock))
    forged.sums(place)
    return place


@pytest.fixture
def folder(release, tmp_path) -> Path:
    """A copy of the release, to be forged."""
    return shutil.copytree(release, tmp_path / "dist")


@pytest.fixture(scope="module")
def rebuilt(clone) -> dict[str, bytes]:
    """What building the commit gives; once, since most tests ask for the same."""
    return verify_release.built(declared.read(clone, "HEAD"))


@pytest.fixture(scope="module")
def commit(clone) -> declared.Commit:
    """What the commit declares; it is read once, since no test changes it."""
    return declared.read(clone, "HEAD")


@pytest.fixture
def verdicts(clone, commit, rebuilt, capsys, monkeypatch):
    """The verdict of each check about a folder."""
    monkeypatch.setattr(verify_release, "built", lambda _: rebuilt)
    read = declared.read

    def once(place: Path, name: str) -> declared.Commit:
        return commit if (place, name) == (clone, "HEAD") else read(place, name)

    monkeypatch.setattr(declared, "read", once)

    def ask(folder: Path, *more: str) -> dict[str, str]:
        code = verify_release.main([str(folder), "--checkout", str(clone), *more])
        *checks, last = capsys.readouterr().out.splitlines()
        found = {line.split()[1]: line for line in checks}
        assert code == any(line.startswith("FAILED") for line in checks)
        assert last.startswith("REFUSED" if code else "accepted")
        return found

    return ask


def test_two_builds_are_the_same_to_the_byte(tmp_path):
    """Other folders, modes, times, orders of creation, time zones, languages and hash seeds."""
    one = checkout(tmp_path / "one", mask=0o077, seconds=1_500_000_000)
    two = checkout(tmp_path / "another", mask=0, seconds=1_700_000_000)
    first = build(one, tmp_path / "a", TZ="UTC", LC_ALL="C", PYTHONHASHSEED="1")
    second = build(two, tmp_path / "b", TZ="Asia/Tokyo", LC_ALL="C.UTF-8", PYTHONHASHSEED="2")
    assert first == second
    # The comparison can fail: a byte of the source is a byte of either archive.
    (two / "src" / CODE).write_bytes((two / "src" / CODE).read_bytes() + b"\n")
    third = build(two, tmp_path / "c")
    assert third[0] != first[0]
    assert third[1] != first[1]


def documented() -> list[str]:
    """The command that docs/releases.md gives."""
    page = (ROOT / "docs" / "releases.md").read_text()
    (command,) = re.findall(r"^\$ \S+/python (tools/verify_release\.py .*)$", page, re.MULTILINE)
    return command.split()


def typed(clone: Path, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The documented command, in a clone whose `dist` is this folder."""
    shutil.rmtree(clone / "dist", ignore_errors=True)
    shutil.copytree(folder, clone / "dist")
    return subprocess.run(
        [sys.executable, *documented()],
        cwd=clone,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_documented_command_accepts_a_right_release(clone, folder):
    """A time for builds, and hooks of another project, do not reach the build."""
    said = typed(clone, folder, SOURCE_DATE_EPOCH="1700000000", HATCH_BUILD_NO_HOOKS="true")
    assert said.stderr == ""
    passed = [line.split()[:2] for line in said.stdout.splitlines()]
    names = ("folder", "sums", "wheel", "sdist", "sbom", "rebuild")
    assert passed == [*(["passed", name] for name in names), ["accepted"]]
    assert said.returncode == 0


DOCUMENTED = {
    "a dependency behind a marker that is always true": (
        field(f"Requires-Dist: evil ; {MARKER}"),
        "wheel    " + UNDECLARED + 'evil; extra == "x" or python_version > "3"',
    ),
    "another Requires-Python": (
        metadata("Requires-Python: >=3.11", "Requires-Python: >=3.8"),
        f"wheel    {OTHER}requires_python",
    ),
    "another summary": (metadata("Summary: Exact", "Summary: Fast"), f"wheel    {OTHER}summary"),
    "another tag": (
        forged.wheel(edit(f"{INFO}WHEEL", swap("py3-none-any", "py2-none-any"))),
        "wheel    WHEEL is wrong about Tag",
    ),
    "another bill of materials": (
        component("numpy", "version", "1.0"),
        "sbom     it differs in numpy 1.0, numpy ",
    ),
    "another source archive": (
        source(f"src/{CODE}", lambda old: old + b"\n"),
        f"sdist    not as committed: {STEM}/src/{CODE}",
    ),
}


@pytest.mark.parametrize("name", DOCUMENTED)
def test_the_documented_command_refuses(name, clone, folder):
    forge, sentence = DOCUMENTED[name]
    forge(folder)
    forged.sums(folder)
    said = typed(clone, folder)
    assert f"FAILED  {sentence}" in said.stdout
    assert said.stdout.splitlines()[-1].startswith("REFUSED")
    assert said.returncode == 1


def nested(name: str) -> bytes:
    """A file that an extra field names otherwise: Info-ZIP's Unicode path."""
    path = name.encode()
    return b"up" + (len(path) + 5).to_bytes(2, "little") + b"\1\0\0\0\0" + path


# What is forged, and what the check of the wheel says to it, in that order, when RECORD and
# SHA256SUMS are written anew.
FORGED_WHEELS = {
    **{
        name: (forge, sentence.removeprefix("wheel    "))
        for name, (forge, sentence) in DOCUMENTED.items()
        if sentence.startswith("wheel")
    },
    "code changed": (
        forged.wheel(edit(CODE, lambda old: old + b"\n")),
        f"not as committed: {CODE}",
    ),
    "code changed, not recorded": (
        forged.wheel(edit(CODE, lambda old: old + b"\n"), recorded=False),
        f"not as committed: {CODE}",
    ),
    "code added": (add("safeselect/extra.py"), f"{STRANGE}safeselect/extra.py"),
    "code removed": (forged.remove(CODE), f"it lacks {CODE}"),
    "code that runs at start": (add("start.pth"), f"{STRANGE}start.pth"),
    "a script": (add(f"{STEM}.data/scripts/ls"), f"{STRANGE}{STEM}.data/scripts/ls"),
    "a file of the system": (add(f"{STEM}.data/data/bin/ls"), f"{STRANGE}{STEM}.data/data/bin/ls"),
    "another package": (add("numpy/__init__.py"), f"{STRANGE}numpy/__init__.py"),
    "compiled code": (
        add(f"{CODE[:-3].replace('guarantees', '__pycache__/guarantees')}.cpython-311.pyc"),
        f"{STRANGE}safeselect/promises/__pycache__/guarantees.cpython-311.pyc",
    ),
    "a second description": (
        add("evil-1.0.dist-info/METADATA", b"Name: evil\n"),
        f"{STRANGE}evil-1.0.dist-info/METADATA",
    ),
    "a description in other letters": (
        add(f"{INFO.title()}METADATA", b"Name: evil\n"),
        f"{STRANGE}{INFO.title()}METADATA",
    ),
    "a name in other letters": (add(CODE.title()), f"{STRANGE}{CODE.title()}"),
    "a name in other signs": (
        add(CODE.replace("guar", "\N{FULLWIDTH LATIN SMALL LETTER G}uar")),
        f"{STRANGE}safeselect/promises/\N{FULLWIDTH LATIN SMALL LETTER G}uarantees.py",
    ),
    "a name with a sign that is not seen": (
        add(CODE.replace("guar", "guar\N{ZERO WIDTH SPACE}")),
        ELSEWHERE,
    ),
    "an older description": (add(f"{INFO}requires.txt", b"evil\n"), f"{STRANGE}{INFO}requires.txt"),
    "what is installed from elsewhere": (
        add(f"{INFO}direct_url.json", b"{}"),
        f"{STRANGE}{INFO}direct_url.json",
    ),
    "a name that leads elsewhere": (add("safeselect/../numpy.py"), ELSEWHERE),
    "a name from the root": (add("/etc/passwd"), ELSEWHERE),
    "a name of another system": (add("safeselect\\evil.py"), ELSEWHERE),
    "a folder": (add("safeselect/evil/", b""), ELSEWHERE),
    "a name that goes on": (forged.behind_null, "the archive says more about .* than its name"),
    "a name in an extra field": (
        attribute(CODE, extra=nested("evil.pth")),
        f"the archive says more about {CODE} than its name",
    ),
    "a comment on a file": (
        attribute(CODE, comment=b"more"),
        f"the archive says more about {CODE} than its name",
    ),
    "a comment": (forged.comment, "the archive has a comment"),
    "a link": (attribute(CODE, external_attr=0o120777 << 16), f"{CODE} is not a plain file"),
    "a program": (attribute(CODE, external_attr=0o104755 << 16), f"{CODE} is not a plain file"),
    "half an archive": (bytes_of(WHEEL, lambda old: old[:1000]), "it cannot be read as an archive"),
    "no metadata": (forged.remove(f"{INFO}METADATA"), f"it lacks {INFO}METADATA"),
    "no RECORD": (forged.remove(f"{INFO}RECORD", recorded=False), f"it lacks {INFO}RECORD"),
    "another licence": (
        forged.wheel(edit(f"{INFO}licenses/LICENSE", lambda old: old + b"\n")),
        f"not as committed: {INFO}licenses/LICENSE",
    ),
    "another command": (
        forged.wheel(edit(f"{INFO}entry_points.txt", lambda old: old + b"ls = os:abort\n")),
        f"not as committed: {INFO}entry_points.txt",
    ),
    "a command in other letters": (
        forged.wheel(edit(f"{INFO}entry_points.txt", lambda old: old + b"SafeSelect = os:abort\n")),
        f"not as committed: {INFO}entry_points.txt",
    ),
    "a plugin": (
        forged.wheel(
            edit(f"{INFO}entry_points.txt", lambda old: old + b"\n[pytest11]\nevil = evil\n")
        ),
        f"not as committed: {INFO}entry_points.txt",
    ),
    "another requirement": (field("Requires-Dist: evil"), f"{UNDECLARED}evil"),
    "another name of one": (field("Requires-Dist: num.py>=1.26"), f"{UNDECLARED}num.py>=1.26"),
    "a name of one in other letters": (
        metadata("Requires-Dist: numpy>=", "Requires-Dist: NumPy>="),
        f"{UNDECLARED}NumPy>=1.26",
    ),
    "a name of one in other signs": (
        field("Requires-Dist: nump\N{CYRILLIC SMALL LETTER U}>=1.26"),
        "its metadata cannot be read",
    ),
    "a requirement from elsewhere": (
        metadata("Requires-Dist: numpy>=1.26", "Requires-Dist: numpy @ https://example.org/n.whl"),
        f"{UNDECLARED}numpy @ https://example.org/n.whl",
    ),
    "another bound": (metadata("numpy>=1.26", "numpy==1.26"), f"{UNDECLARED}numpy==1.26"),
    "an extra of one": (metadata("numpy>=1.26", "numpy[evil]>=1.26"), f"{UNDECLARED}numpy[evil]"),
    "a requirement without its extra": (
        metadata(
            "Requires-Dist: matplotlib>=3.8; extra == 'plots'", "Requires-Dist: matplotlib>=3.8"
        ),
        f"{UNDECLARED}matplotlib>=3.8",
    ),
    "a requirement behind another marker": (
        metadata("extra == 'plots'", "extra != 'plots'"),
        f'{UNDECLARED}matplotlib>=3.8; extra != "plots"',
    ),
    "a requirement less": (
        metadata("Requires-Dist: gmpy2>=2.3\n", ""),
        "it does not require what the commit declares: gmpy2>=2.3",
    ),
    "a requirement twice": (field("Requires-Dist: numpy>=1.26"), f"{OTHER}requires_dist"),
    "a requirement of another system": (field("Requires-External: evil"), FIELDS),
    "an older kind of requirement": (field("Requires: evil"), FIELDS),
    "a claim to another name": (field("Provides-Dist: numpy"), FIELDS),
    "a claim to replace another": (field("Obsoletes-Dist: numpy"), FIELDS),
    "a field of its own": (field("Evil: yes"), "its metadata has what cannot be read: evil"),
    "a name twice": (field("Name: evil"), "its metadata has what cannot be read: name"),
    "another name": (metadata("Name: safeselect", "Name: safe-select"), f"{OTHER}name"),
    "another version": (metadata(f"Version: {VERSION}", "Version: 9.9"), f"{OTHER}version"),
    "an extra": (field("Provides-Extra: evil"), f"{OTHER}provides_extra"),
    "a classifier": (field("Classifier: Topic :: Games"), f"{OTHER}classifiers"),
    "a classifier less": (metadata("Classifier: Typing :: Typed\n", ""), f"{OTHER}classifiers"),
    "a licence by name": (
        metadata("License-Expression: Apache-2.0", "License-Expression: MIT"),
        f"{OTHER}license_expression",
    ),
    "a licence file": (field("License-File: EVIL"), f"{OTHER}license_files"),
    "another author": (metadata("Author: The", "Author: Not the"), f"{OTHER}author"),
    "an address": (field("Home-page: https://example.org"), FIELDS),
    "another project's address": (field("Project-URL: Source, https://example.org"), FIELDS),
    "other keywords": (metadata("Keywords: ", "Keywords: evil,"), f"{OTHER}keywords"),
    "another description": (
        forged.wheel(edit(f"{INFO}METADATA", lambda old: old + b"\n")),
        f"{OTHER}description",
    ),
    "another kind of description": (
        metadata("Content-Type: text/markdown", "Content-Type: text/html"),
        f"{OTHER}description_content_type",
    ),
    "another version of metadata": (
        metadata("Metadata-Version: 2.5", "Metadata-Version: 1.0"),
        "its metadata is of another version than 2.4 or 2.5",
    ),
    "a tag more": (
        forged.wheel(edit(f"{INFO}WHEEL", lambda old: old + b"Tag: cp311-none-any\n")),
        "WHEEL is wrong about Tag",
    ),
    "installed where programs are": (
        forged.wheel(edit(f"{INFO}WHEEL", swap("Purelib: true", "Purelib: false"))),
        "WHEEL is wrong about Root-Is-Purelib",
    ),
    "another build tool": (
        forged.wheel(edit(f"{INFO}WHEEL", swap("hatchling", "flit"))),
        "WHEEL is wrong about Generator",
    ),
    "a build number": (
        forged.wheel(edit(f"{INFO}WHEEL", lambda old: old + b"Build: 1\n")),
        "WHEEL is wrong about Build",
    ),
    "text behind WHEEL": (
        forged.wheel(edit(f"{INFO}WHEEL", lambda old: old + b"\nmore\n")),
        "WHEEL holds more than fields",
    ),
    "a hash in RECORD": (
        forged.wheel(edit(f"{INFO}RECORD", swap("sha256=", "sha256=A")), recorded=False),
        "RECORD is wrong about ",
    ),
    "a file less in RECORD": (
        forged.wheel(edit(f"{INFO}RECORD", lambda old: old.partition(b"\n")[2]), recorded=False),
        "RECORD is wrong about ",
    ),
    "a file more in RECORD": (
        forged.wheel(edit(f"{INFO}RECORD", lambda old: old + b"../ls,,\n"), recorded=False),
        "RECORD is wrong about ../ls",
    ),
    "a file twice in RECORD": (
        forged.wheel(
            edit(f"{INFO}RECORD", lambda old: old.partition(b"\n")[0] + b"\n" + old), recorded=False
        ),
        "RECORD is wrong about a file that it lists twice",
    ),
}


def sentence_of(verdict: str) -> str:
    word, _, sentence = verdict.split(maxsplit=2)
    assert word == "FAILED"
    return sentence


@pytest.mark.parametrize("name", FORGED_WHEELS)
def test_a_forged_wheel_is_refused(name, folder, verdicts):
    """By its own check, with the sentence; by the rebuild; and, unless rewritten, by the sums."""
    forge, sentence = FORGED_WHEELS[name]
    forge(folder)
    with pytest.raises(Refused, match=f"^another hash is listed for {re.escape(WHEEL)}$"):
        verify_release.check_sums(verify_release.Release(folder, STEM))
    forged.sums(folder)
    found = verdicts(folder)
    pattern = sentence if ".*" in sentence else re.escape(sentence)
    assert re.match(pattern, sentence_of(found["wheel"]))
    assert re.match("building the commit gives other bytes", sentence_of(found["rebuild"]))
    assert [check for check, line in found.items() if line.startswith("FAILED")] == [
        "wheel",
        "rebuild",
    ]


def test_a_file_that_is_packed_twice_is_refused(folder, verdicts):
    with (
        zipfile.ZipFile(folder / WHEEL, "a") as archive,
        pytest.warns(UserWarning, match="Duplicate name"),
    ):
        archive.writestr(CODE, "other")
    forged.sums(folder)
    assert sentence_of(verdicts(folder)["wheel"]) == "the archive holds two files of one name"


def tarred(name: str) -> bytes:
    """A source archive in itself: what a second stream behind the first holds."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo(name), io.BytesIO())
    return plain.getvalue()


NOT_PLAIN = f"{STEM}/evil is not a plain file"
FORGED_SDISTS = {
    "code changed": (
        DOCUMENTED["another source archive"][0],
        f"not as committed: {STEM}/src/{CODE}",
    ),
    "code added": (member(f"{STEM}/src/safeselect/evil.py"), f"{STRANGE}{STEM}/src/"),
    "code removed": (forged.unsourced(f"src/{CODE}"), f"it lacks {STEM}/src/{CODE}"),
    "a build script": (member(f"{STEM}/setup.py"), f"{STRANGE}{STEM}/setup.py"),
    "a build hook": (member(f"{STEM}/hatch_build.py"), f"{STRANGE}{STEM}/hatch_build.py"),
    "another build": (
        source("pyproject.toml", swap('"hatchling.build"', '"evil.build"')),
        f"not as committed: {STEM}/pyproject.toml",
    ),
    "another folder": (member("numpy/__init__.py"), f"{STRANGE}numpy/__init__.py"),
    "a name that leads elsewhere": (member(f"{STEM}/../numpy.py"), ELSEWHERE),
    "a name from the root": (member("/etc/passwd"), ELSEWHERE),
    "a link": (member(f"{STEM}/evil", kind=tarfile.SYMTYPE, linkname="/etc"), NOT_PLAIN),
    "a hard link": (member(f"{STEM}/evil", kind=tarfile.LNKTYPE, linkname="LICENSE"), NOT_PLAIN),
    "a folder": (member(f"{STEM}/evil", kind=tarfile.DIRTYPE), NOT_PLAIN),
    "a device": (member(f"{STEM}/evil", kind=tarfile.CHRTYPE), NOT_PLAIN),
    "a pipe": (member(f"{STEM}/evil", kind=tarfile.FIFOTYPE), NOT_PLAIN),
    "a mode for others": (forged.mode("LICENSE", 0o4755), f"{STEM}/LICENSE is not a plain file"),
    "a program": (forged.mode("LICENSE", 0o755), f"not as committed: {STEM}/LICENSE"),
    "a file twice": (member(f"{STEM}/LICENSE"), "the archive holds two files of one name"),
    "a file twice, long name": (
        member(f"{STEM}/x", pax_headers={"path": f"{STEM}/LICENSE"}),
        "the archive holds two files of one name",
    ),
    "a name in other letters": (member(f"{STEM}/license"), f"{STRANGE}{STEM}/license"),
    "a requirement": (
        source(
            "PKG-INFO", swap("Requires-Python:", f"Requires-Dist: e; {MARKER}\nRequires-Python:")
        ),
        UNDECLARED,
    ),
    "another summary": (source("PKG-INFO", swap("Summary: Exact", "Summary: Fast")), OTHER),
    "no metadata": (forged.unsourced("PKG-INFO"), f"it lacks {STEM}/PKG-INFO"),
    "half an archive": (bytes_of(SDIST, lambda old: old[:1000]), "it cannot be read as an archive"),
    "no archive": (bytes_of(SDIST, lambda _: b"PK\3\4"), "it cannot be read as an archive"),
}


@pytest.mark.parametrize("name", FORGED_SDISTS)
def test_a_forged_source_archive_is_refused(name, folder, verdicts):
    forge, sentence = FORGED_SDISTS[name]
    forge(folder)
    assert sentence_of(verdicts(folder)["sums"]) == f"another hash is listed for {SDIST}"
    forged.sums(folder)
    found = verdicts(folder)
    assert re.match(re.escape(sentence), sentence_of(found["sdist"]))
    assert re.match("building the commit gives other bytes", sentence_of(found["rebuild"]))


@pytest.mark.parametrize("name", [WHEEL, SDIST])
def test_the_same_files_in_another_archive_are_refused_by_the_rebuild(name, folder, verdicts):
    """And without it, the verdict says that this was not checked."""
    (forged.wheel if name == WHEEL else forged.sdist)(lambda entries: entries.reverse())(folder)
    forged.sums(folder)
    found = verdicts(folder)
    assert [check for check, line in found.items() if line.startswith("FAILED")] == ["rebuild"]
    assert sentence_of(found["rebuild"]) == f"building the commit gives other bytes for {name}"
    found = verdicts(folder, "--no-rebuild")
    assert "NOT CHECKED: whether building the commit gives these archives" in found["rebuild"]
    assert found["rebuild"].startswith("skipped")


@pytest.mark.parametrize("more", [b"\0", tarred("evil")], ids=["a zero", "an archive"])
def test_what_is_behind_an_archive_is_refused(more, folder, verdicts):
    for name in (WHEEL, SDIST):
        (folder / name).write_bytes((folder / name).read_bytes() + more)
    forged.sums(folder)
    assert sentence_of(verdicts(folder)["rebuild"]).endswith(f"{WHEEL}, {SDIST}")


def with_more(data: bytes, change) -> bytes:
    """A wheel whose bytes before the list of files were changed; the list says where they are."""
    start = zipfile.ZipFile(io.BytesIO(data)).start_dir
    changed, rest = change(data[:start]), data[start:]
    end = struct.pack("<L", len(changed))
    return changed + rest[:-6] + end + rest[-2:]


def local_file(data: bytes) -> bytes:
    """A file that is packed as the others are, and that the list does not name."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("evil.py", "import os")
    return data + packed.getvalue()[: archive.start_dir]


def tail_of_a_stream(data: bytes) -> bytes:
    """Bytes behind a compressed file, inside the length that is stated for it."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        last = archive.infolist()[-1]
        start = archive.start_dir
    header, listed = bytearray(data[:start]), bytearray(data[start:])
    size = struct.pack("<L", last.compress_size + 4)
    header[last.header_offset + 18 : last.header_offset + 22] = size
    entry = listed.rfind(b"PK\1\2")
    listed[entry + 20 : entry + 24] = size
    return bytes(header) + b"evil" + bytes(listed[:-6]) + struct.pack("<LH", start + 4, 0)


def untarred(change):
    """A source archive whose plain bytes were changed."""
    return bytes_of(SDIST, lambda old: gzip.compress(change(gzip.decompress(old)), mtime=0))


def in_padding(plain: bytes) -> bytes:
    with tarfile.open(fileobj=io.BytesIO(plain)) as archive:
        entry = next(entry for entry in archive if entry.size % 512)
    end = entry.offset_data + entry.size
    return plain[:end] + b"x" + plain[end + 1 :]


def in_a_header(plain: bytes) -> bytes:
    """Behind the end of a name, where a reader stops."""
    name = plain[:100].rstrip(b"\0")
    changed = (name + b"\0evil").ljust(100, b"\0") + plain[100:]
    block = bytearray(changed[:512])
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + changed[512:]


BYTES = "the archive holds bytes that belong to no file of its list"
SMUGGLED = {
    "a file that the list does not name": (
        bytes_of(WHEEL, lambda old: with_more(old, local_file)),
        "wheel",
        BYTES,
    ),
    "bytes before the list": (
        bytes_of(WHEEL, lambda old: with_more(old, lambda files: files + b"x")),
        "wheel",
        BYTES,
    ),
    "bytes in front of the archive": (bytes_of(WHEEL, lambda old: b"#!x\n" + old), "wheel", BYTES),
    "an archive in front": (bytes_of(WHEEL, lambda old: old + old), "wheel", BYTES),
    "bytes behind the archive": (bytes_of(WHEEL, lambda old: old + b"x"), "wheel", BYTES),
    "bytes behind a compressed file": (bytes_of(WHEEL, tail_of_a_stream), "wheel", BYTES),
    "another number of files": (
        bytes_of(WHEEL, lambda old: old[:-14] + b"\1\0" + old[-12:]),
        "wheel",
        BYTES,
    ),
    "a second member": (bytes_of(SDIST, lambda old: old + gzip.compress(b"x")), "sdist", BYTES),
    "an empty member": (bytes_of(SDIST, lambda old: old + gzip.compress(b"")), "sdist", BYTES),
    "bytes behind the member": (bytes_of(SDIST, lambda old: old + b"x"), "sdist", BYTES),
    "a name of the member": (
        bytes_of(SDIST, lambda old: old[:3] + b"\x08" + old[4:10] + b"evil\0" + old[10:]),
        "sdist",
        BYTES,
    ),
    "a file behind the end": (untarred(lambda old: old + old), "sdist", BYTES),
    "bytes behind the end": (untarred(lambda old: old[:-1] + b"x"), "sdist", BYTES),
    "zeros behind the end": (untarred(lambda old: old + bytes(10240)), "sdist", BYTES),
    "bytes behind a file": (untarred(in_padding), "sdist", BYTES),
    "bytes behind a name": (untarred(in_a_header), "sdist", BYTES),
    "no end": (bytes_of(SDIST, lambda old: old[:-8]), "sdist", "it cannot be read as an archive"),
    "lines that end as on Windows": (
        bytes_of("SHA256SUMS", lambda old: old.replace(b"\n", b"\r\n")),
        "sums",
        "no hash is listed for ",
    ),
    "a line that ends in a form feed": (
        bytes_of("SHA256SUMS", lambda old: old.replace(b"\n", b"\f\n", 1)),
        "sums",
        "no hash is listed for ",
    ),
    "a last line without an end": (
        bytes_of("SHA256SUMS", lambda old: old[:-1]),
        "sums",
        "no hash is listed for |it lists more than",
    ),
    "an empty line": (
        bytes_of("SHA256SUMS", lambda old: old + b"\n"),
        "sums",
        "it lists more than",
    ),
}


@pytest.mark.parametrize("name", SMUGGLED)
def test_what_is_smuggled_is_refused_without_a_rebuild(name, folder, verdicts):
    forge, check, sentence = SMUGGLED[name]
    if check != "sums":
        forge(folder)
        forged.sums(folder)
    else:
        forged.sums(folder)
        forge(folder)
    found = verdicts(folder, "--no-rebuild")
    assert [each for each, line in found.items() if line.startswith("FAILED")] == [check]
    assert re.match(sentence, sentence_of(found[check]))


def test_an_archive_that_unpacks_to_far_more_is_refused(folder, verdicts, monkeypatch):
    monkeypatch.setattr("archives.LIMIT", 10_000)
    found = verdicts(folder)
    assert sentence_of(found["wheel"]) == "the archive is too large"
    assert sentence_of(found["sdist"]) == "the archive is too large"


def gone(name):
    return forged.sbom(
        lambda told: told.update(components=[c for c in told["components"] if c["name"] != name])
    )


FORGED_BILLS = {
    **{
        f"another version of {name}": (component(name, "version", "0"), f"it differs in {name} 0, ")
        for name in ("numpy", "gmpy2", "GMP", "MPFR", "MPC", "OpenBLAS")
    },
    **{
        f"without {name}": (gone(name), f"it differs in {name} ")
        for name in ("numpy", "gmpy2", "GMP", "MPFR", "MPC", "OpenBLAS")
    },
    "another OpenSSL": (
        component("OpenSSL", "version", "9.9"),
        "it names OpenSSL 9.9, and this Python uses another OpenSSL",
    ),
    "another hash": (forged.hash_of("numpy"), "it tells something else"),
    "another place": (component("numpy", "purl", "pkg:pypi/evil@1"), "it tells something else"),
    "another subject": (
        forged.sbom(lambda told: told["metadata"]["component"].update(version="9.9")),
        f"it differs in safeselect {VERSION}, safeselect 9.9",
    ),
    "more": (
        forged.sbom(lambda told: told["components"].append({"name": "evil", "version": "1"})),
        "it differs in evil 1",
    ),
    "no bill": (bytes_of(SBOM, lambda _: b"{}"), "it cannot be read as CycloneDX"),
    "no text": (bytes_of(SBOM, lambda _: b"\xff\xfe"), "it cannot be read as CycloneDX"),
    "deep": (bytes_of(SBOM, lambda _: b"[" * 10**6), "it cannot be read as CycloneDX"),
    "a bill that is missing": (lost(SBOM), f"{SBOM} is missing"),
}


@pytest.mark.parametrize("name", FORGED_BILLS)
def test_a_forged_bill_of_materials_is_refused(name, folder, verdicts):
    forge, sentence = FORGED_BILLS[name]
    forge(folder)
    forged.sums(folder)
    assert re.match(re.escape(sentence), sentence_of(verdicts(folder)["sbom"]))


def test_another_openssl_is_accepted_if_it_is_named(folder, verdicts):
    """And nothing but its version: the bill is made anew with it."""
    content = json.loads((folder / SBOM).read_bytes())
    (old,) = (part for part in content["components"] if part["name"] == "OpenSSL")
    text = (folder / SBOM).read_text().replace(f"openssl@{old['version']}", "openssl@9.9")
    text = text.replace(f'"version": "{old["version"]}"', '"version": "9.9"')
    (folder / SBOM).write_text(text)
    forged.sums(folder)
    assert sentence_of(verdicts(folder)["sbom"]).startswith("it names OpenSSL 9.9")
    assert verdicts(folder, "--openssl", "9.9")["sbom"].startswith("passed")
    assert sentence_of(verdicts(folder, "--openssl", "9.8")["sbom"]).startswith("it names")


def test_the_bill_names_what_is_in_use(release):
    """As the libraries themselves say it, not by way of the script."""
    import ssl

    import gmpy2
    import numpy as np

    told = json.loads((release / SBOM).read_bytes())
    versions = {part["name"]: part["version"] for part in told["components"]}
    assert set(versions) == {"numpy", "gmpy2", "GMP", "MPFR", "MPC", "OpenBLAS", "OpenSSL"}
    assert versions["numpy"] == np.__version__
    assert versions["gmpy2"] == gmpy2.version()
    assert f"OpenSSL {versions['OpenSSL']} " in ssl.OPENSSL_VERSION
    assert gmpy2.mp_version() == f"GMP {versions['GMP']}"
    assert gmpy2.mpfr_version() == f"MPFR {versions['MPFR']}"
    assert gmpy2.mpc_version() == f"MPC {versions['MPC']}"
    configuration = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    assert configuration["openblas configuration"].startswith(f"OpenBLAS {versions['OpenBLAS']} ")


def test_a_bill_is_not_made_of_other_releases_than_the_locked(monkeypatch):
    lock = (ROOT / "requirements" / "runtime.lock").read_text()
    with pytest.raises(verify_release.Refused, match=r"gmpy2 2\.2 is pinned, but 2\.3"):
        bill.bill(PROJECT, re.sub(r"gmpy2==\S+", "gmpy2==2.2", lock))
    with pytest.raises(verify_release.Refused, match="evil 1 is pinned, but none is installed"):
        bill.bill(PROJECT, lock + "evil==1\n")


FORGED_SUMS = {
    **{
        f"a line less: {name}": (
            lines(lambda old, name=name: [line for line in old if name not in line]),
            f"no hash is listed for {name}",
        )
        for name in (WHEEL, SDIST, SBOM)
    },
    "a line twice": (lines(lambda old: [*old, old[0]]), "it lists more than the files"),
    "another file": (lines(lambda old: [*old, f"{'0' * 64}  evil.whl"]), "it lists more than"),
    "another hash too": (lines(lambda old: [f"{'0' * 64}  {WHEEL}", *old]), "it lists more than"),
    "another hash": (
        lines(lambda old: ["0" * 64 + old[0][64:], *old[1:]]),
        f"another hash is listed for {WHEEL}",
    ),
    "another folder": (
        lines(lambda old: [line.replace("  ", "  evil/") for line in old]),
        f"another hash is listed for {WHEEL}",
    ),
    "nothing": (lines(lambda _: []), f"no hash is listed for {WHEEL}"),
    "no text": (bytes_of("SHA256SUMS", lambda _: b"\xff\0"), f"no hash is listed for {WHEEL}"),
    "no list": (lost("SHA256SUMS"), "SHA256SUMS is missing"),
}


@pytest.mark.parametrize("name", FORGED_SUMS)
def test_a_forged_list_of_hashes_is_refused(name, folder, verdicts):
    forge, sentence = FORGED_SUMS[name]
    forge(folder)
    assert re.match(re.escape(sentence), sentence_of(verdicts(folder)["sums"]))


OTHER_FOLDERS = {
    "no wheel": (lost(WHEEL), f"{WHEEL} is missing"),
    "no source archive": (lost(SDIST), f"{SDIST} is missing"),
    "no bill": (lost(SBOM), f"{SBOM} is missing"),
    "no hashes": (lost("SHA256SUMS"), "SHA256SUMS is missing"),
    "another tag": (renamed(WHEEL, f"{STEM}-py2-none-any.whl"), f"{WHEEL} is missing"),
    "a build number": (renamed(WHEEL, f"{STEM}-1-py3-none-any.whl"), f"{WHEEL} is missing"),
    "another version": (renamed(SDIST, "safeselect-9.9.tar.gz"), f"{SDIST} is missing"),
    "a name in other letters": (renamed(WHEEL, WHEEL.title()), f"{WHEEL} is missing"),
    "a wheel more": (beside(f"{STEM}-cp311-none-any.whl"), "it holds what is not of the release: "),
    "a file more": (beside("pip.conf"), "it holds what is not of the release: pip.conf"),
}


@pytest.mark.parametrize("name", OTHER_FOLDERS)
def test_another_folder_is_refused(name, folder, verdicts):
    forge, sentence = OTHER_FOLDERS[name]
    forge(folder)
    assert re.match(re.escape(sentence), sentence_of(verdicts(folder)["folder"]))


def test_the_wrong_commit_and_no_commit_are_refused(clone, folder, verdicts, tmp_path, capsys):
    found = verdicts(folder, "--commit", "v0")
    assert re.match("git cannot read commit v0 of ", sentence_of(found["commit"]))
    found = verdicts(folder, "--commit=--output=evil")
    assert re.match("git cannot read commit --output=evil of ", sentence_of(found["commit"]))
    found = verdicts(folder, "--checkout", str(tmp_path))
    assert re.match("git cannot read commit HEAD of ", sentence_of(found["commit"]))
    found = verdicts(tmp_path / "nowhere")
    assert re.match(".* is not a folder that can be read", sentence_of(found["folder"]))


def test_another_build_tool_than_the_locked_does_not_build(folder, verdicts, monkeypatch):
    monkeypatch.setattr(verify_release, "version", lambda _: "1.0")
    sentence = sentence_of(verdicts(folder)["rebuild"])
    assert re.match(r"it takes hatchling \S+, but here is 1.0: use `make verify`", sentence)


def test_a_commit_that_declares_what_is_not_read_is_refused(clone):
    """Otherwise a new key of pyproject.toml would go unchecked."""
    right = declared.read(clone, "HEAD")
    for key in ("urls", "gui-scripts", "dynamic", "entry-points"):
        project = {**right.project, key: {}}
        other = declared.Commit("x", right.files, {**right.configuration, "project": project})
        with pytest.raises(verify_release.Refused, match=f"declares {key}, which this script"):
            _ = other.project
