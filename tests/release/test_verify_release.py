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
from effort import LONG
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
BYTES = "the archive holds bytes that belong to no file of its list"


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


def nested(name: str) -> bytes:
    """A file that an extra field names otherwise: Info-ZIP's Unicode path."""
    path = name.encode()
    return b"up" + (len(path) + 5).to_bytes(2, "little") + b"\1\0\0\0\0" + path


def described(name: str, change, **more) -> forged.Forgery:
    """A wheel with another file of its description."""
    return forged.wheel(edit(f"{INFO}{name}", change), **more)


def with_more(data: bytes, change) -> bytes:
    """A wheel whose bytes before the list of files were changed; the list says where they are."""
    start = zipfile.ZipFile(io.BytesIO(data)).start_dir
    changed, rest = change(data[:start]), data[start:]
    return changed + rest[:-6] + struct.pack("<L", len(changed)) + rest[-2:]


def untarred(change):
    """A source archive whose plain bytes were changed."""
    return bytes_of(SDIST, lambda old: gzip.compress(change(gzip.decompress(old)), mtime=0))


def in_padding(plain: bytes) -> bytes:
    with tarfile.open(fileobj=io.BytesIO(plain)) as archive:
        entry = next(entry for entry in archive if entry.size % 512)
    end = entry.offset_data + entry.size
    return plain[:end] + b"x" + plain[end + 1 :]


# What is forged, and what the check says to it, when RECORD and SHA256SUMS are written anew: one
# of each way in which the check refuses.
FORGED_WHEELS = {
    "code changed": (forged.wheel(edit(CODE, lambda old: old + b"\n")), f"as committed: {CODE}"),
    "code removed": (forged.remove(CODE), f"it lacks {CODE}"),
    "code that runs at start": (add("start.pth"), f"{STRANGE}start.pth"),
    "an unseen sign": (add(CODE.replace("guar", "guar\N{ZERO WIDTH SPACE}")), ELSEWHERE),
    "a name that leads elsewhere": (add("safeselect/../numpy.py"), ELSEWHERE),
    "a name in an extra field": (
        attribute(CODE, extra=nested("evil.pth")),
        f"says more about {CODE}",
    ),
    "a file twice": (
        forged.wheel(lambda entries: entries.append(entries[0]), recorded=False),
        "two files of one name",
    ),
    "a comment": (forged.comment, "the archive has a comment"),
    "a link": (attribute(CODE, external_attr=0o120777 << 16), f"{CODE} is not a plain file"),
    "half an archive": (bytes_of(WHEEL, lambda old: old[:1000]), "it cannot be read as an archive"),
    "a requirement from elsewhere": (
        metadata("Requires-Dist: numpy>=1.26", "Requires-Dist: numpy @ https://example.org/n.whl"),
        f"{UNDECLARED}numpy @ https://example.org/n.whl",
    ),
    "a requirement without its extra": (
        metadata(
            "Requires-Dist: matplotlib>=3.8; extra == 'plots'", "Requires-Dist: matplotlib>=3.8"
        ),
        f"{UNDECLARED}matplotlib>=3.8",
    ),
    "a requirement less": (metadata("Requires-Dist: gmpy2>=2.3\n", ""), "declares: gmpy2>=2.3"),
    "a field of its own": (field("Evil: yes"), "its metadata has what cannot be read: evil"),
    "another version": (metadata(f"Version: {VERSION}", "Version: 9.9"), f"{OTHER}version"),
    "another version of metadata": (
        metadata("Metadata-Version: 2.5", "Metadata-Version: 1.0"),
        "its metadata is of another version than 2.4 or 2.5",
    ),
    "a tag more": (
        described("WHEEL", lambda old: old + b"Tag: cp311-none-any\n"),
        "WHEEL is wrong about Tag",
    ),
    "a hash in RECORD": (
        described("RECORD", swap("sha256=", "sha256=A"), recorded=False),
        "RECORD is wrong about ",
    ),
    "more bytes": (bytes_of(WHEEL, lambda old: with_more(old, lambda files: files + b"x")), BYTES),
}
NOT_PLAIN = f"{STEM}/evil is not a plain file"
FORGED_SDISTS = {
    "a build script": (member(f"{STEM}/setup.py"), f"{STRANGE}{STEM}/setup.py"),
    "a link": (member(f"{STEM}/evil", kind=tarfile.SYMTYPE, linkname="/etc"), NOT_PLAIN),
    "a program": (forged.mode("LICENSE", 0o755), f"not as committed: {STEM}/LICENSE"),
    "a file twice, long name": (
        member(f"{STEM}/x", pax_headers={"path": f"{STEM}/LICENSE"}),
        "two files of one name",
    ),
    "a requirement": (
        source(
            "PKG-INFO", swap("Requires-Python:", f"Requires-Dist: e; {MARKER}\nRequires-Python:")
        ),
        UNDECLARED,
    ),
    "half an archive": (bytes_of(SDIST, lambda old: old[:1000]), "it cannot be read as an archive"),
    "a second member": (bytes_of(SDIST, lambda old: old + gzip.compress(b"x")), BYTES),
    "bytes behind a file": (untarred(in_padding), BYTES),
}
FORGED_BILLS = {
    "another version": (component("numpy", "version", "0"), "it differs in numpy 0, "),
    "another OpenSSL": (component("OpenSSL", "version", "9.9"), "it names OpenSSL 9.9, and this"),
    "no bill": (bytes_of(SBOM, lambda _: b"{}"), "it cannot be read as CycloneDX"),
}
FORGED_SUMS = {
    "a line less": (lines(lambda old: old[1:]), f"no hash is listed for {WHEEL}"),
    "a line twice": (lines(lambda old: [*old, old[0]]), "it lists more than the files"),
    "another hash": (
        lines(lambda old: ["0" * 64 + old[0][64:], *old[1:]]),
        f"another hash is listed for {WHEEL}",
    ),
    "no list": (lost("SHA256SUMS"), "SHA256SUMS is missing"),
}
OTHER_FOLDERS = {
    "no wheel": (lost(WHEEL), f"{WHEEL} is missing"),
    "another version": (renamed(SDIST, "safeselect-9.9.tar.gz"), f"{SDIST} is missing"),
    "a file more": (beside("pip.conf"), "it holds what is not of the release: pip.conf"),
}
FORGED = {
    "wheel": FORGED_WHEELS,
    "sdist": FORGED_SDISTS,
    "sbom": FORGED_BILLS,
    "sums": FORGED_SUMS,
    "folder": OTHER_FOLDERS,
}


def sentence_of(verdict: str) -> str:
    word, _, sentence = verdict.split(maxsplit=2)
    assert word == "FAILED"
    return sentence


def failed(found: dict[str, str]) -> list[str]:
    return [check for check, line in found.items() if line.startswith("FAILED")]


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("check", "name"), [(check, name) for check, names in FORGED.items() for name in names]
)
def test_a_forged_release_is_refused(check, name, folder, verdicts):
    """By its own check, with the sentence, without a rebuild; unless rewritten, by the sums."""
    forge, sentence = FORGED[check][name]
    forge(folder)
    if check in ("wheel", "sdist", "sbom"):
        if LONG or name == next(iter(FORGED[check])):
            assert "sums" in failed(verdicts(folder, "--no-rebuild"))
        forged.sums(folder)
        found = verdicts(folder, "--no-rebuild")
        assert failed(found) == [check]
    else:
        found = verdicts(folder, "--no-rebuild")
    assert sentence in sentence_of(found[check])


@pytest.mark.parametrize("name", [WHEEL, SDIST])
def test_the_same_files_in_another_archive_are_refused_by_the_rebuild(name, folder, verdicts):
    """And without it, the verdict says that this was not checked."""
    (forged.wheel if name == WHEEL else forged.sdist)(lambda entries: entries.reverse())(folder)
    forged.sums(folder)
    found = verdicts(folder)
    assert failed(found) == ["rebuild"]
    assert sentence_of(found["rebuild"]) == f"building the commit gives other bytes for {name}"
    found = verdicts(folder, "--no-rebuild")
    assert "NOT CHECKED: whether building the commit gives these archives" in found["rebuild"]
    assert found["rebuild"].startswith("skipped")


def test_an_archive_that_unpacks_to_far_more_is_refused(folder, verdicts, monkeypatch):
    monkeypatch.setattr("archives.LIMIT", 10_000)
    found = verdicts(folder)
    assert sentence_of(found["wheel"]) == "the archive is too large"
    assert sentence_of(found["sdist"]) == "the archive is too large"


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
    for key in ("maintainers", "gui-scripts", "dynamic", "entry-points"):
        project = {**right.project, key: {}}
        other = declared.Commit("x", right.files, {**right.configuration, "project": project})
        with pytest.raises(verify_release.Refused, match=f"declares {key}, which this script"):
            _ = other.project
