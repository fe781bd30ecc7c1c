"""Where random bytes come from: the `Source` protocol, and the sources that keep it."""

from safeselect.randomness.foreign import require_production, resolve
from safeselect.randomness.guard import NONCE_BYTES
from safeselect.randomness.source import (
    Observed,
    OpenSSLSource,
    Source,
    default_source,
    observed,
)
from safeselect.sources.callback import CallbackSource
from safeselect.sources.combined import CombinedSource
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
