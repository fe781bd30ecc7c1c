"""The output of `safeselect verify`: a table to read, and JSON for the file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from safeselect.audit.verify import FULL, Finding

__all__ = ["certificate_json", "line", "summary"]


def line(finding: Finding) -> str:
    """Return one line of the table."""
    verdict = "passed" if finding.passed else "FAILED"
    check = finding.check
    return f"{verdict}  {check.claim}  {check.kind:9} {check.name:36} {finding.detail}"


def summary(findings: Iterable[Finding]) -> str:
    """Return the last line of the table."""
    verdicts = [finding.passed for finding in findings]
    failed = verdicts.count(False)
    if failed:
        return f"{failed} of {len(verdicts)} checks FAILED: do not release anything with this copy"
    return f"all {len(verdicts)} checks passed"


def certificate_json(
    findings: Iterable[Finding], *, effort: int, utc: str, library: Mapping[str, str]
) -> str:
    """Return the findings as JSON, schema "safeselect.certificate/1": sorted keys, two spaces.

    Args:
        findings: in the order in which they were made.
        effort: QUICK or FULL.
        utc: the time, to the second, ISO 8601.
        library: version and source hash, and the versions of the libraries used.
    """
    made = list(findings)
    content = {
        "schema": "safeselect.certificate/1",
        "utc": utc,
        "effort": "full" if effort == FULL else "quick",
        "library": dict(library),
        "passed": all(finding.passed for finding in made),
        "checks": [
            {
                "kind": finding.check.kind,
                "name": finding.check.name,
                "claim": finding.check.claim,
                "passed": finding.passed,
                "detail": finding.detail,
            }
            for finding in made
        ],
    }
    return json.dumps(content, indent=2, sort_keys=True, ensure_ascii=True) + "\n"
