"""`safeselect ledger registry`: the schema and the program of the registry accept the entry."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from flown import flown
from ledgers import TERMS, new, pure, scope

import safeselect as s
from safeselect.cli._report import SCHEMA
from safeselect.ledger import Ledger

jsonschema = pytest.importorskip("jsonschema")

Run = Callable[..., tuple[int, str, str]]
COPIES = Path(__file__).parents[1] / "vectors" / "registry"
WHOLE = json.loads((COPIES / "deployments-schema.json").read_text("utf-8"))
PROGRAMS = [name for name in ("yaml", "requests") if importlib.util.find_spec(name) is None]
BUDGETS: list[dict[str, Any]] = [
    {"epsilon": "1/3"},
    {"epsilon": 2, "delta": "1e-6"},
    {"rho": "1/7"},
    {"rho": "1/7", "delta": "1e-9"},
    {"epsilon": 1, "delta": "1e-6", "ceiling": {"epsilon": "7/3"}},
]


def check(text: str) -> Any:
    content, form = json.loads(text), jsonschema.Draft7Validator.FORMAT_CHECKER
    assert list(jsonschema.Draft7Validator(WHOLE, format_checker=form).iter_errors(content)) == []
    return content["deployment"]


@pytest.mark.parametrize("budget", BUDGETS)
def test_an_entry_fits_the_schema_and_is_rounded_up(run: Run, budget: dict[str, Any]) -> None:
    ledger = new("l", **budget)
    assert run("registry", "l", "--scope", "a")[0] == 2  # no releases
    scope(ledger).pay(pure(guarantee=s.ZeroConcentratedDP("1/9") if "rho" in budget else None))
    code, text, said = run("registry", "l", "--scope", "a")
    assert code == 0
    made = check(text)
    promised = made["privacy_loss"]["privacy_parameters"]
    caps = {**budget, **budget.get("ceiling", {})}
    assert promised.keys() == caps.keys() - {"ceiling"}
    for name, value in promised.items():
        assert isinstance(value, str if name == "delta" else float)
        assert 0 <= Fraction(Decimal(str(value))) - Fraction(caps[name]) < Fraction(1, 10**4)
    assert made["privacy_loss"]["privacy_unit"] == TERMS["unit"]
    assert made["deployment_model"]["release_type"] == "One release"
    assert SCHEMA in made["administrative"]["notes"]
    assert ledger.head in made["administrative"]["notes"]
    assert f"{text.casefold().count('missing')} fields must be filled in" in said
    assert text.count("MISSING") >= 12
    assert run("registry", "l", "--scope", "b")[0] == 2


def test_what_another_library_made_has_no_theorem_of_ours(run: Run) -> None:
    scope(new("l", epsilon=2)).charge(s.PureDP(1), mechanism="quantile/mylib").released("4")
    said = check(run("registry", "l", "--scope", "a")[1])["implementation"]["mechanisms"]
    assert said.endswith("mylib: asserted by the caller; another library made the release.")


def test_the_schema_is_the_pinned_one() -> None:
    readme = (COPIES / "README.md").read_text("utf-8")
    repository, commit = SCHEMA.split("@")
    assert f"https://github.com/{repository}" in readme
    assert f"commit {commit}" in readme
    assert "MIT License" in (COPIES / "LICENSE").read_text("utf-8")
    yaml = pytest.importorskip("yaml")
    assert yaml.safe_load((COPIES / "deployments-schema.yaml").read_text("utf-8")) == WHOLE


@pytest.mark.skipif(bool(PROGRAMS), reason=f"not installed: {', '.join(PROGRAMS)}")
def test_the_registrys_own_program_accepts_the_entry(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    flown(tmp_path)
    code, text, _ = run("registry", str(tmp_path / "flights.ledger"), "--scope", "flights 2013")
    assert code == 0
    assert "top_k_exponential/1" in check(text)["implementation"]["mechanisms"]
    folder = tmp_path / "registry"
    (folder / "scripts").mkdir(parents=True)
    (folder / "schemas").mkdir()
    shutil.copy(COPIES / "check.txt", folder / "scripts" / "check.py")
    shutil.copy(COPIES / "deployments-schema.yaml", folder / "schemas")
    (folder / "known_bad_urls.txt").write_text("")
    (folder / "entry.yaml").write_text(text, "utf-8")
    program = [sys.executable, str(folder / "scripts" / "check.py")]
    ran = subprocess.run(
        [*program, "--yaml_paths", str(folder / "entry.yaml")], capture_output=True, text=True
    )
    assert (ran.returncode, ran.stdout.splitlines()[-1]) == (0, "No errors!"), ran.stdout


def test_odd_names_stay_text(run: Run) -> None:
    name = 'a: "b" # \\ é 😀'
    terms = {**TERMS, "unit": "person: 'x' #1"}
    ledger = Ledger.create("l", {name: s.Budget(**terms, epsilon=1)})
    ledger.scope(name, **terms, purpose="x").pay(pure())
    assert check(run("registry", "l", "--scope", name)[1])["privacy_loss"]["privacy_unit"] == (
        "person: 'x' #1"
    )
