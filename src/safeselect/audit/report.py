"""The output of `safeselect verify`: a table to read, and JSON for the file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from safeselect.audit.code import Running
from safeselect.audit.coverage import ASPECTS, NEVER, coverage, not_cleared
from safeselect.audit.verify import FULL, Finding


def line(finding: Finding) -> str:
    """Return one line of the table."""
    verdict = "passed" if finding.passed else "FAILED"
    check = finding.check
    return f"{verdict}  {check.claim}  {check.kind:9} {check.name:50} {finding.detail}"


def summary(findings: Iterable[Finding]) -> str:
    """Return the last lines: how many checks failed, and which mechanisms are not cleared."""
    made = list(findings)
    failed = sum(not finding.passed for finding in made)
    table = coverage(made)
    if not failed:
        skipped = [name for name, row in table.items() if _skipped(row)]
        left = "" if not skipped else "; --full looks at more candidates and larger instances"
        return f"all {len(made)} checks passed, on {len(table)} mechanisms{left}"
    doubtful = not_cleared(made)
    return "\n".join(
        [
            f"not cleared: {len(doubtful)} of {len(table)} mechanisms",
            *(f"  {name}: {', '.join(_failed(table[name]))}" for name in doubtful),
            f"{failed} of {len(made)} checks FAILED: do not release anything with this copy",
        ]
    )


def certificate_json(
    findings: Iterable[Finding],
    *,
    effort: int,
    utc: str,
    library: Mapping[str, str],
    running: Running,
    extensions: Mapping[str, str],
) -> str:
    """Return the findings as JSON, schema "safeselect.certificate/2": sorted keys, two spaces.

    Args:
        findings: in the order in which they were made.
        effort: QUICK or FULL.
        utc: the time, to the second, ISO 8601.
        library: version and source hash, and the versions of the libraries used.
        running: the code that is loaded.
        extensions: the hash of each extension module that is loaded.
    """
    made = list(findings)
    content: dict[str, Any] = {
        "schema": "safeselect.certificate/2",
        "utc": utc,
        "effort": "full" if effort == FULL else "quick",
        "library": dict(library),
        "code": {
            "loaded_sha256": running.digest,
            "functions": running.functions,
            "generated_functions": running.generated,
            "modules": dict(running.modules),
            "differing": list(running.differing),
            "extension_modules": dict(extensions),
        },
        "passed": all(finding.passed for finding in made) and not running.differing,
        "mechanisms": coverage(made),
        "not_cleared": not_cleared(made),
        "aspects": dict(ASPECTS),
        "not_looked_at": list(NEVER),
        "checks": [
            {
                "kind": finding.check.kind,
                "name": finding.check.name,
                "claim": finding.check.claim,
                "aspect": finding.check.aspect,
                "passed": finding.passed,
                "detail": finding.detail,
            }
            for finding in made
        ],
    }
    return json.dumps(content, indent=2, sort_keys=True, ensure_ascii=True) + "\n"


def _failed(row: Mapping[str, str]) -> Sequence[str]:
    return [aspect for aspect, verdict in row.items() if verdict == "FAILED"]


def _skipped(row: Mapping[str, str]) -> bool:
    return any(verdict.endswith("--full does") for verdict in row.values())
