"""The code that made a release: version and hash of the source, and versions of libraries."""

from __future__ import annotations

import hashlib
import platform
import sys
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import gmpy2
import numpy as np

__all__ = ["code", "library"]


@cache
def code() -> tuple[str, str]:
    """Return version and hash of the source; computed once a process, at its first release."""
    return _version(), _source_tree()


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


def _version() -> str:
    try:
        return version("safeselect")
    except PackageNotFoundError:
        return "not installed"


def _source_tree() -> str:
    """Return SHA-256 over the path, length and bytes of each of the package's Python files."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256(b"safeselect/source-tree/1\x00")
    try:
        for path in sorted(root.rglob("*.py"), key=lambda path: path.relative_to(root).as_posix()):
            name, content = path.relative_to(root).as_posix().encode(), path.read_bytes()
            digest.update(b"%d %d\x00" % (len(name), len(content)))
            digest.update(name + content)
    except OSError:
        return "unreadable"
    return digest.hexdigest()


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
