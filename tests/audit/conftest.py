"""A release with its ledger, and what an audit says of it once it was forged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from audited import Case, Forgery, certificate
from written import EVERY, RHO

Refuse = Callable[..., None]


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path, certificate())


@pytest.fixture
def refuse(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> Refuse:
    """Forge a release, of a kind if one is named, and see which line refuses it, and why."""

    def look(what: str, forge: Forgery, said: str, kind: str = "", of_rho: bool = False) -> None:
        call = EVERY[kind] if kind else None
        case = Case(tmp_path, certificate(), call=call, of_rho=of_rho or kind in RHO)
        forge(case)
        code, lines, last = case.audit(capfdbinary)
        assert code == 3
        assert said in lines[what], lines
        assert not lines[what].startswith("holds")
        assert what in last

    return look
