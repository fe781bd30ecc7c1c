"""Where random bytes come from.  `Source` is the protocol; the rest keeps it."""

from __future__ import annotations

from safeselect.sources._default import default_source, require_production, resolve
from safeselect.sources._observed import Observed, observed
from safeselect.sources._protocol import NONCE_BYTES, Source
from safeselect.sources.callback import CallbackSource
from safeselect.sources.combined import CombinedSource
from safeselect.sources.openssl import OpenSSLSource
from safeselect.sources.system import SystemSource

__all__ = [
    "NONCE_BYTES",
    "CallbackSource",
    "CombinedSource",
    "Observed",
    "OpenSSLSource",
    "Source",
    "SystemSource",
    "default_source",
    "observed",
    "require_production",
    "resolve",
]
