"""The certificate of `safeselect verify`: what was loaded, on what machine, and how it answered."""

from __future__ import annotations

import json
import platform
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import gmpy2

from safeselect.audit.code import Running
from safeselect.audit.line import Line, found
from safeselect.ledger.record import library
from safeselect.ledger.signing import Signer, is_signed, signed_message
from safeselect.release.codec import once
from safeselect.release.results import code

SCHEMA = "safeselect.certificate/1"
USED = "small", "written"
"""The files of known answers that run on a user's machine."""

_SIGNED: Literal["certificate"] = "certificate"
_TYPE = "application/vnd.safeselect.certificate"
_ARITHMETIC = ("python", "numpy", "gmpy2", "gmp")
_DECIDES = ("version", "deciding_sha256")
_KEYS = {"schema", "utc", "library", "machine", "code", "known_answers", "passed"}


def certificate(
    loaded: Running, answers: Mapping[str, bool], not_asked: list[str], utc: str
) -> dict[str, Any]:
    """What `safeselect verify` found.

    Args:
        loaded: the code that runs.
        answers: each known answer, and whether this machine gives it.
        not_asked: parameters whose effect no known answer shows.
        utc: the time, to the minute, ISO 8601.
    """
    content: dict[str, Any] = {
        "schema": SCHEMA,
        "utc": utc,
        "library": dict(library()),
        "machine": machine(),
        "code": {
            "loaded_sha256": loaded.digest,
            "functions": loaded.functions,
            "modules": dict(loaded.modules),
            "differing": list(loaded.differing),
        },
        "known_answers": {
            "sha256": digest(),
            "count": len(answers),
            "differing": [name for name, same in answers.items() if not same],
            "not_asked": not_asked,
        },
    }
    return content | {"passed": _passed(content)}


def digest() -> str:
    """SHA-256 of the files of known answers."""
    place = files("safeselect") / "known_answers"
    return sha256(b"".join((place / f"{each}.json").read_bytes() for each in USED)).hexdigest()


def machine() -> dict[str, Any]:
    """What no package's version tells: the host, its system and CPU, and MPFR."""
    names = Path("/proc/cpuinfo")
    model = re.search(r"model name\s*: (.*)", names.read_text()) if names.exists() else None
    return {
        "host": platform.node(),
        "os": platform.platform(),
        "cpu": model[1] if model else platform.processor() or platform.machine(),
        "mpfr": gmpy2.mpfr_version(),
    }


def _passed(content: Mapping[str, Any]) -> bool:
    """Whether the code is its source's and all answers are the known ones."""
    answers = content["known_answers"]
    return not content["code"]["differing"] and not answers["differing"] and answers["count"] > 0


def sealed(content: Mapping[str, Any], signer: Signer) -> dict[str, Any]:
    """Return a certificate in an envelope of DSSE, signed; `keyid` is the public key."""
    body = json.dumps(content, sort_keys=True)
    signature = {
        "keyid": signer.public_key.hex(),
        "sig": b64encode(signer.sign(signed_message(_SIGNED, body))).decode(),
    }
    payload = b64encode(body.encode()).decode()
    return {"payloadType": _TYPE, "payload": payload, "signatures": [signature]}


def _unsealed(written: str, key: bytes | None) -> tuple[str, Line | None]:
    """Return the certificate in an envelope, and what is found of its signature.

    A certificate that nobody signed has no line, unless a key was given.
    """
    what, body, wrong, public = "certificate's key", "", None, ""
    try:
        envelope = json.loads(written, object_pairs_hook=once)
        if "payloadType" not in envelope:
            said = "A key was given, but the certificate is not signed."
            return written, None if key is None else found(what, said, "")
        body = b64decode(envelope["payload"], validate=True).decode("ascii")
        (signature,) = envelope["signatures"]
        public, made = signature["keyid"], b64decode(signature["sig"], validate=True).hex()
        message = signed_message(_SIGNED, body)
        if envelope["payloadType"] != _TYPE or not is_signed(public, message, made):
            wrong = "Its signature is wrong."
    except (LookupError, RecursionError, TypeError, ValueError):
        wrong = "It is not an envelope with one signature."
    if wrong is None and key is None:
        said = f"It is signed with ed25519 key {public}; give --certificate-key."
        return body, Line(what, "not compared", said)
    if wrong is None and key is not None and key.hex() != public:
        wrong = f"It is signed with a different key, {public}."
    return body, found(what, wrong, f"It is signed with ed25519 key {public}, as given.")


def compare_code(
    written: str | None, ran: Mapping[str, Any], key: bytes | None = None
) -> Iterator[Line]:
    """Compare a certificate with the library that a record names.

    Args:
        written: the certificate, JSON, or an envelope with it; None if there is none.
        ran: the library, as in the record of the charge.
        key: that signed it.
    """
    what = "certificate"
    if written is None:
        yield Line(what, "none", "No certificate was given (--certificate).")
        return
    written, by = _unsealed(written, key)
    if by is not None:
        yield by
        if by.word == "DOES NOT HOLD":
            return
    try:
        content = json.loads(written, object_pairs_hook=once)
        checked = content["library"]
        own = [f"{name} {checked[name]}" for name in _DECIDES]
        tree = checked["source_tree_sha256"]
    except (LookupError, RecursionError, TypeError, ValueError):
        yield found(what, "It is not a certificate.", "")
        return
    used = [f"{name} {ran.get(name)}" for name in _DECIDES]
    covers = own == used and checked["deciding_sha256"] != "unreadable"
    wrong = None if covers else f"It covers {', '.join(own)}; {', '.join(used)} ran."
    yield found("certified code", wrong, f"It covers the code that ran: {', '.join(own)}.")
    if tree != code().source_tree_sha256:
        said = "It is for another version; audit with the version that it names."
        yield Line(what, "not compared", said)
        return
    if not _is_whole(content):
        yield found(what, "It is incomplete: verify writes different answers or findings.", "")
        return
    failed = content["code"]["differing"] + content["known_answers"]["differing"]
    wrong = f"It did not pass: {', '.join(failed)}." if failed else None
    count, host = content["known_answers"]["count"], f" on {content['machine']['host']}"
    yield found(what, wrong, f"All {count} known answers matched on {content['utc']}{host}.")
    others = [name for name in _ARITHMETIC if checked.get(name) != ran.get(name)]
    if others:
        said = f"It was made with another {', '.join(others)}; verify where releases are made."
        yield Line("libraries", "not compared", said)
    else:
        names = ", ".join(f"{name} {ran.get(name)}" for name in _ARITHMETIC)
        yield found("libraries", None, f"It was made with the same {names}.")


def _is_whole(content: Any) -> bool:
    """Whether it is of the known answers of this version, and its parts follow from each other."""
    try:
        loaded, answers = content["code"], content["known_answers"]
        made = Running(loaded["modules"], loaded["functions"], tuple(loaded["differing"]))
        lists = [loaded["differing"], answers["differing"], answers["not_asked"]]
        return (
            content.keys() == _KEYS
            and content["schema"] == SCHEMA
            and type(content["machine"]["host"]) is str
            and loaded["loaded_sha256"] == made.digest
            and answers["sha256"] == digest()
            and all(type(each) is list and all(type(x) is str for x in each) for each in lists)
            and content["passed"] is _passed(content)
        )
    except (AttributeError, LookupError, TypeError, ValueError):
        return False
