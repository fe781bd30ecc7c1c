"""What NumPy is asked to do, written down."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class Recorder:
    """Stands in for `np` and writes down every call with shapes and dtypes."""

    def __init__(self, log: list[Any]) -> None:
        self._log = log

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(np, name)
        if not callable(attribute) or isinstance(attribute, type):
            return attribute

        return self.recording(name, attribute)

    def recording(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            described = [*map(describe, args), *((k, describe(v)) for k, v in kwargs.items())]
            # The one exception: how many tail words there are, padded in the next statement.
            self._log.append((name, described, "?" if name == "flatnonzero" else describe(result)))
            return result

        return call


def describe(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return value.shape, value.dtype.str
    if isinstance(value, (tuple, list)):
        return [describe(v) for v in value]
    return value if isinstance(value, (str, slice)) else type(value).__name__
