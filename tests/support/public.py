"""The public names that a caller meets, whichever module has them."""

from __future__ import annotations

from typing import Any

import safeselect
from safeselect import accounting, estimates, prepared, results, sources

NAMED = (accounting, estimates, prepared, results, sources)
"""The modules that hold what the package does not say at its top."""

_SOME = {
    "Composition": accounting,
    "PoissonRepeated": accounting,
    "Repeated": accounting,
    "estimate_from_gaps": estimates,
    "estimate_from_threshold": estimates,
    "expected_error": estimates,
    "gap_confidence_bound": estimates,
    "gap_p_value": estimates,
    "CallbackSource": sources,
    "CombinedSource": sources,
    "OpenSSLSource": sources,
    "Source": sources,
    "SystemSource": sources,
}

PUBLIC: dict[str, Any] = {name: getattr(module, name) for name, module in _SOME.items()} | {
    name: getattr(module, name)
    for module in (prepared, results, safeselect)
    for name in module.__all__
}
"""But for what works on public numbers alone and has tests of its own."""
