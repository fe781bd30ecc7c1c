"""The gate that every source for tests passes when it is built and at every call."""

from __future__ import annotations

from safeselect.errors import ParameterError
from safeselect.randomness.source import require_production


def refuse_in_production(name: str) -> None:
    """Raise if the environment allows only sources for production.

    Raises:
        ParameterError: SAFESELECT_REQUIRE_PRODUCTION is set.
    """
    if require_production():
        raise ParameterError(f"{name} is for tests, and SAFESELECT_REQUIRE_PRODUCTION is set")
