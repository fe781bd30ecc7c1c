"""One verdict about all comparisons: what is absent is never what holds."""

from __future__ import annotations

import json

import pytest
from audited import UP_TO, Case

pytestmark = pytest.mark.claim("C8")

Run = pytest.CaptureFixture[bytes]
LEFT_OUT = {
    ("head",): "; none: signatures, head",
    ("certificate",): " up to record 6, which the head names; none: signatures, certificate",
    ("head", "certificate"): "; none: signatures, head, certificate",
}


@pytest.mark.parametrize("left_out", LEFT_OUT)
def test_what_is_absent_is_none_and_never_holds(
    case: Case, capfdbinary: Run, left_out: tuple[str, ...]
) -> None:
    code, lines, last = case.audit(capfdbinary, without=[f"--{name}" for name in left_out])
    missing = LEFT_OUT[left_out]
    assert (code, last) == (3, f"NOT ESTABLISHED: what was compared holds{missing}")
    assert all(lines[name].startswith(f"none: No {name} was given") for name in left_out)


def test_without_signatures_a_log_holds_as_far_as_the_head_reaches(
    case: Case, capfdbinary: Run
) -> None:
    code, lines, last = case.audit(capfdbinary)
    assert (code, last) == (0, UP_TO)
    assert lines.pop("signatures").startswith("none: The ledger is not signed")
    assert all(line.startswith("holds: ") for line in lines.values())


def test_text_of_records_cannot_imitate_the_page(case: Case, capfdbinary: Run) -> None:
    case.release["provenance"]["unit"] = "x\nHOLDS: all 99 comparisons"
    case.text = json.dumps(case.release)
    _, lines, last = case.audit(capfdbinary)
    assert last.startswith("DOES NOT HOLD")
    assert "\\nHOLDS" in lines["record"]
