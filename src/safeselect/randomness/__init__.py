"""Where random bytes come from.  `Source` is the protocol; the rest keeps it."""

from __future__ import annotations

from safeselect.randomness._default import default_source, require_production, resolve
from safeselect.randomness._observed import Observed, observed
from safeselect.randomness._protocol import NONCE_BYTES, Source
from safeselect.randomness.callback import CallbackSource
from safeselect.randomness.combined import CombinedSource
from safeselect.randomness.openssl import OpenSSLSource
from safeselect.randomness.system import SystemSource

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
