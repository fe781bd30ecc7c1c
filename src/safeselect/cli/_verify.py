"""`safeselect verify`: check the package on the machine where it runs."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from unittest.mock import patch

from safeselect.audit.certified import certificate, sealed
from safeselect.audit.code import running
from safeselect.cli._options import Command, declare
from safeselect.cli._output import write
from safeselect.cli._place import KEY, read_key
from safeselect.errors import InputError
from safeselect.known_answers import not_asked, verify
from safeselect.ledger.record import utc_now
from safeselect.release.page import shown


def _run(options: argparse.Namespace) -> int:
    """Compare, and say what was found.

    Raises:
        InputError: the certificate's file is there already, or cannot be written.
    """
    key = read_key(options.key, "certificate")
    try:
        place = options.certificate and Path(options.certificate)
        if place:
            place.touch(exist_ok=False)
    except OSError as error:
        raise InputError(f"cannot write a new certificate file: {error.strerror}") from None
    with patch.dict(os.environ):
        # Known bytes are fine: this process reads no data, and releases nothing but made-up scores.
        os.environ.pop("SAFESELECT_REQUIRE_PRODUCTION", None)
        answers = verify()
    content = certificate(running(), answers, not_asked(), utc_now("minute"))
    if place:
        kept = content if key is None else sealed(content, key)
        place.write_text(json.dumps(kept, indent=2, sort_keys=True) + "\n", "ascii")
    code, known = content["code"], content["known_answers"]
    for differing, said in (
        (code["differing"], f"check of {code['functions']} functions against their source"),
        (known["differing"], f"check of {known['count']} known answers"),
    ):
        write("".join(f"differs: {shown(name)}\n" for name in differing))
        write(f"{'FAILED' if differing else 'passed'}  {said}\n")
    return int(not content["passed"])


VERIFY = Command(
    "verify",
    "check the code of this installation, and run its known-answer tests",
    declare("--certificate FILE  write the results to a new certificate; --key signs it") + KEY,
    _run,
    """\
Compares the loaded code with its source files. Then runs the mechanisms on recorded bytes and
synthetic scores, and compares the outputs with recorded answers.

For example: safeselect verify --certificate certificate.json
""",
)
