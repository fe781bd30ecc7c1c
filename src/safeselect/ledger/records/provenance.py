"""What records say about the code: its version and hash, and the versions of what it runs on."""

from __future__ import annotations

import platform
import sys
from functools import cache
from importlib import import_module

import gmpy2
import numpy as np

from safeselect.release.results import code


@cache
def library() -> dict[str, str]:
    """Return what records say about the code; computed once a process, at its first ledger."""
    version_, source_tree = code()
    return {
        "name": "safeselect",
        "version": version_,
        "source_tree_sha256": source_tree,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "numpy": np.__version__,
        "gmpy2": gmpy2.version(),
        "gmp": gmpy2.mp_version(),
        "openssl": _openssl(),
        "fips_mode": _fips_mode(),
        "platform": f"{sys.platform} {platform.machine()}",
    }


def _openssl() -> str:
    try:
        # Not imported at the top: the import takes milliseconds.
        return str(import_module("ssl").OPENSSL_VERSION)
    except ImportError:
        return "none"


def _fips_mode() -> str:
    """Return OpenSSL's FIPS state, for the record; no conformance is claimed."""
    try:
        return str(import_module("_hashlib").get_fips_mode())
    except (ImportError, AttributeError, ValueError):
        return "unknown"
