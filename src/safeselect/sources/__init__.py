"""Sources of random bytes: the `Source` protocol, and the classes that implement it."""

from safeselect.randomness.guard import NONCE_BYTES
from safeselect.randomness.source import (
    OpenSSLSource,
    Source,
    default_source,
    require_production,
    resolve,
)
from safeselect.sources.callback import CallbackSource
from safeselect.sources.combined import CombinedSource
from safeselect.sources.observed import Observed, observed
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
