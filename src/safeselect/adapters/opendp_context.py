"""Our measurements by their names in OpenDP's Context API: importing this module registers them.

After `import safeselect.adapters.opendp_context` a query has the methods `permute_and_flip`,
`exponential_mechanism`, `safe_noisy_max`, `safe_top_k` and `safe_top_k_with_gaps`.  Each takes the
output measure and the arguments of the constructor in `safeselect.adapters.opendp`; the domain and
the metric come from the query.  The context finds the one argument that is left out, as a rule the
scale.  It searches among floats, and the scale is the decimal that the float shows.

Guarantee: that of the constructor.  Contexts of pure and of zero-concentrated privacy both work.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any, Literal

from safeselect.adapters.opendp import (
    make_exponential_mechanism,
    make_permute_and_flip,
    make_report_noisy_max,
    make_top_k,
    make_top_k_with_gaps,
)
from safeselect.exact.parameters import Number
from safeselect.randomness.source import Source

__all__ = ["NAMES"]


# The context supplies the first positional argument that is left out, so k stands behind scale.
def _make_top_k(
    input_domain: object,
    input_metric: object,
    output_measure: object,
    scale: Number,
    *,
    k: int,
    mechanism: Literal["exponential", "permute_and_flip", "one_shot_exponential"] | None = None,
    negate: bool = False,
    grid: Number | None = None,
    on_grid: bool = False,
    score_error: Number | None = None,
    source: Source | None = None,
) -> Any:
    space = input_domain, input_metric, output_measure
    reading: dict[str, Any] = {"grid": grid, "on_grid": on_grid, "score_error": score_error}
    more = {"negate": negate, "source": source, **reading}
    return make_top_k(*space, k, scale, mechanism=mechanism, **more)


def _make_top_k_with_gaps(
    input_domain: object,
    input_metric: object,
    output_measure: object,
    scale: Number,
    *,
    k: int,
    noise: Literal["exponential", "laplace"] = "exponential",
    gap_grid: Number | None = None,
    negate: bool = False,
    grid: Number | None = None,
    on_grid: bool = False,
    score_error: Number | None = None,
    source: Source | None = None,
) -> Any:
    space = input_domain, input_metric, output_measure
    reading: dict[str, Any] = {"grid": grid, "on_grid": on_grid, "score_error": score_error}
    more = {"negate": negate, "source": source, "gap_grid": gap_grid, **reading}
    return make_top_k_with_gaps(*space, k, scale, noise=noise, **more)


NAMES: dict[str, Callable[..., Any]] = {
    "permute_and_flip": make_permute_and_flip,
    "exponential_mechanism": make_exponential_mechanism,
    "safe_noisy_max": make_report_noisy_max,
    "safe_top_k": _make_top_k,
    "safe_top_k_with_gaps": _make_top_k_with_gaps,
}
"""The names of the methods, and the constructors behind them."""


def _register() -> None:
    with suppress(ImportError):  # without OpenDP there is no context to register with
        context = import_module("opendp.context")
        for name, constructor in NAMES.items():
            context.register(constructor, name)


_register()
