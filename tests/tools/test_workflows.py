"""Public definitions of CI and `.ci/run` call the same targets; nothing unfinished is published."""

from __future__ import annotations

import re
from pathlib import Path

import placeholders

ROOT = Path(__file__).parents[2]
WORKFLOWS = {path.name: path.read_text("utf-8") for path in (ROOT / ".github").rglob("*.yml")}
STEPS = (ROOT / ".ci" / "run").read_text("utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


def listed(text: str) -> set[str]:
    """The targets of a job that has a row for each."""
    return {each for row in re.findall(r"target: \[(.*)\]", text) for each in row.split(", ")}


def test_the_jobs_that_are_required_are_the_steps_of_ci():
    called = {each.split()[-1] for each in re.findall(r"^ *make .*$", STEPS, re.MULTILINE)}
    assert (len(called), listed(WORKFLOWS["ci.yml"])) == (8, called)
    assert listed(WORKFLOWS["nightly.yml"]) < TARGETS


def test_actions_are_pinned_and_have_the_least_permissions():
    for name, text in WORKFLOWS.items():
        used = re.findall(r"uses: (.*)", text)
        assert used
        wrong = [each for each in used if not re.fullmatch(r"\S+@[0-9a-f]{40} # v[0-9.]+", each)]
        assert not wrong, name
        assert "\npermissions: {}\n" in text
        assert text.count("persist-credentials: false") == text.count("actions/checkout@")
        jobs = re.findall(r"^  [a-z]+:$", text.partition("\njobs:\n")[2], re.MULTILINE)
        assert text.count("    permissions:\n") == len(jobs), name
        assert text.count("timeout-minutes:") == len(jobs), name
        assert ("id-token: write" in text) is (name == "publish.yml")


def test_what_a_person_fills_in_is_found_until_it_is_done(tmp_path, monkeypatch, capsys):
    assert placeholders.main() == 1
    said = capsys.readouterr().out
    assert "pyproject.toml: an address that nobody owns" in said
    assert "CITATION.cff: an address that nobody owns" in said
    assert "docs/citing.md: an address that nobody owns" in said
    monkeypatch.setattr(placeholders, "ROOT", tmp_path)
    for name in placeholders.PLACES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("https://safeselect.example.org\n")
    assert placeholders.main() == 0
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## [Unreleased]\n")
    assert placeholders.main() == 1
    assert capsys.readouterr().out == "CHANGELOG.md: a change log without a version\n"


def test_a_citation_names_the_version_that_is_built():
    version = re.search(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text("utf-8"), re.M)
    assert version is not None
    assert f"\nversion: {version[1]}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"version = {{{version[1]}}}" in (ROOT / "docs" / "citing.md").read_text("utf-8")
