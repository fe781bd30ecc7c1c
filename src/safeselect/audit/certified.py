"""The code that made a release against the certificate of `safeselect verify`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from safeselect.audit.line import Line

_SCHEMA = "safeselect.certificate/2"
_KEYS = {
    *("schema", "utc", "effort", "library", "code", "passed", "mechanisms", "not_cleared"),
    *("aspects", "not_looked_at", "checks"),
}
_CHECK = {"kind", "name", "claim", "aspect", "passed", "detail"}
_TREE = re.compile("[0-9a-f]{64}", re.ASCII)
_ARITHMETIC = ("python", "numpy", "gmpy2", "gmp")


def compare_code(written: str, library: Mapping[str, Any], mechanism: str) -> Iterator[Line]:
    """Compare a certificate with the library and the mechanism that a record names.

    Args:
        written: the certificate, JSON.
        library, mechanism: as in the record of the charge.
    """
    content = _read(written)
    if content is None:
        yield Line("certificate", False, f"It is no whole certificate of schema {_SCHEMA}.")
        return
    checks = content["checks"]
    failed = [each["name"] for each in checks if each["passed"] is not True]
    if failed or content["passed"] is not True:
        named = ", ".join(failed) or "it says so, and names none"
        yield Line("certificate", False, f"A check of the certificate failed: {named}.")
    else:
        yield Line(
            "certificate",
            True,
            f"All its {len(checks)} checks passed, on {content['utc']}, {content['effort']}.",
        )
    yield _looked_at(content, mechanism)
    differing = content["code"]["differing"]
    if differing:
        sentence = f"The code that was loaded differs from its source: {', '.join(differing)}."
        yield Line("loaded code", False, sentence)
    else:
        yield Line("loaded code", True, "The code that was loaded was what its source compiles to.")
    checked, ran = content["library"], library
    tree = str(checked.get("source_tree_sha256"))
    if not _TREE.fullmatch(tree) or tree != ran.get("source_tree_sha256"):
        yield Line(
            "certified code",
            False,
            f"The certificate is of source {tree}, and source {ran.get('source_tree_sha256')} ran.",
        )
    else:
        yield Line("certified code", True, f"The certificate is of the source that ran: {tree}.")
    others = [name for name in _ARITHMETIC if checked.get(name) != ran.get(name)]
    if others:
        yield Line(
            "libraries",
            None,
            f"The certificate was made with another {', '.join(others)} than the release: run "
            "safeselect verify where releases are made.",
        )
    else:
        used = ", ".join(f"{name} {ran.get(name)}" for name in _ARITHMETIC)
        yield Line("libraries", True, f"The certificate was made with the same {used}.")


def _looked_at(content: Mapping[str, Any], mechanism: str) -> Line:
    row = content["mechanisms"].get(mechanism)
    if row is None:
        return Line("certified law", None, f"The certificate does not look at {mechanism}.")
    if mechanism in content["not_cleared"] or "FAILED" in row.values():
        return Line("certified law", False, f"The certificate does not clear {mechanism}.")
    seen = [aspect for aspect, verdict in row.items() if verdict == "passed"]
    if not seen:
        return Line("certified law", None, f"The certificate says nothing of {mechanism}.")
    return Line("certified law", True, f"It looked at {mechanism}: {', '.join(seen)}.")


def _read(written: str) -> dict[str, Any] | None:
    """Read a certificate; None if a field is missing, of another type, doubled or too much."""
    try:
        content = json.loads(written, object_pairs_hook=_once, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    if not isinstance(content, dict) or content.keys() != _KEYS or content["schema"] != _SCHEMA:
        return None
    checks, library, code = content["checks"], content["library"], content["code"]
    texts = [content["utc"], content["effort"]]
    if not isinstance(library, dict) or not isinstance(checks, list) or not checks:
        return None
    table, doubtful = content["mechanisms"], content["not_cleared"]
    if not isinstance(table, dict) or not isinstance(doubtful, list) or not isinstance(code, dict):
        return None
    if not isinstance(code.get("differing"), list):
        return None
    for row in table.values():
        if not isinstance(row, dict):
            return None
        texts += row.values()
    texts += [*doubtful, *code["differing"]]
    for each in checks:
        if not isinstance(each, dict) or each.keys() != _CHECK:
            return None
        if not isinstance(each["passed"], bool):
            return None
        texts += [value for name, value in each.items() if name != "passed"]
    texts += library.values()
    if not all(isinstance(text, str) for text in texts) or not isinstance(content["passed"], bool):
        return None
    return content


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _refuse(_: str) -> None:
    raise ValueError
