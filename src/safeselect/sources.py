"""Where random bytes come from: the public names of `safeselect.randomness`."""

from safeselect.randomness import (
    NONCE_BYTES,
    CallbackSource,
    CombinedSource,
    Observed,
    OpenSSLSource,
    Source,
    SystemSource,
    default_source,
    observed,
    require_production,
    resolve,
)

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
