"""The code that made a release against the certificate of `safeselect verify`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from safeselect.audit.code import Running
from safeselect.audit.line import Line, found
from safeselect.audit.report import certificate_json
from safeselect.audit.verify import FULL, QUICK, Finding, checks
from safeselect.release.results import code

_ARITHMETIC = ("python", "numpy", "gmpy2", "gmp")


def compare_code(written: str | None, library: Mapping[str, Any]) -> Iterator[Line]:
    """Compare a certificate with the library that a record names.

    Args:
        written: the certificate, JSON; None if there is none.
        library: as in the record of the charge.
    """
    what = "certificate"
    if written is None:
        yield Line(what, "none", "None was given (--certificate).")
        return
    try:
        content = json.loads(written)
        checked = content["library"]
        own = [f"{name} {checked[name]}" for name in ("version", "source_tree_sha256")]
    except (LookupError, RecursionError, TypeError, ValueError):
        yield found(what, "It is no certificate.", "")
        return
    ran = [f"{name} {library.get(name)}" for name in ("version", "source_tree_sha256")]
    readable = checked["source_tree_sha256"] != "unreadable"
    wrong = None if own == ran and readable else f"It is of {', '.join(own)}; {', '.join(ran)} ran."
    yield found("certified code", wrong, f"It is of the code that ran: {', '.join(own)}.")
    if checked["source_tree_sha256"] != code()[1]:
        said = "It is of another version than this command: audit with the version that it names."
        yield Line(what, "not compared", said)
        return
    if not _is_whole(written):
        yield found(what, "It is not whole: verify writes more checks, or other findings.", "")
        return
    failed = [each["name"] for each in content["checks"] if each["passed"] is not True]
    failed += content["code"]["differing"]
    wrong = f"It did not pass: {', '.join(failed)}." if failed else None
    said = f"All its {len(content['checks'])} checks passed, on {content['utc']}"
    yield found(what, wrong, f"{said}, {content['effort']}.")
    others = [name for name in _ARITHMETIC if checked.get(name) != library.get(name)]
    if others:
        said = f"It was made with another {', '.join(others)}: verify where releases are made."
        yield Line("libraries", "not compared", said)
    else:
        used = ", ".join(f"{name} {library.get(name)}" for name in _ARITHMETIC)
        yield found("libraries", None, f"It was made with the same {used}.")


@lru_cache(maxsize=4)
def _is_whole(written: str) -> bool:
    """Whether it has a finding of each check of its effort, and the rest is what follows."""
    content = json.loads(written)
    try:
        effort, loaded = {"quick": QUICK, "full": FULL}[content["effort"]], content["code"]
        asked = [each for each in checks() if effort == FULL or not each.only_full]
        made = [
            Finding(check, each["passed"], each["detail"])
            for check, each in zip(asked, content["checks"], strict=True)
        ]
        counted = loaded["functions"], loaded["generated_functions"]
        again = certificate_json(
            made,
            effort=effort,
            utc=content["utc"],
            library=content["library"],
            running=Running(loaded["modules"], *counted, tuple(loaded["differing"])),
            extensions=loaded["extension_modules"],
        )
    except (AttributeError, LookupError, TypeError, ValueError):
        return False
    return again == written
