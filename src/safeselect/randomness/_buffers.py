"""Buffers that random bytes are written to: which ones are taken, and how they are wiped.

Only buffers that the library or its caller owns can be wiped.  The `bytes` and `int` objects that
Python makes on the way cannot be; that is a stated limitation of every program in Python.
"""

from __future__ import annotations

from safeselect.errors import ParameterError

__all__ = ["byte_view", "wipe"]


def byte_view(buffer: object) -> memoryview:
    """Return a flat view of a writable, C-contiguous buffer of bytes.

    Raises:
        ParameterError: anything but a bytearray or a memoryview of that kind.
    """
    # Exact types: a subclass could answer differently each time it is asked for its length.
    if type(buffer) is not bytearray and type(buffer) is not memoryview:
        raise ParameterError(
            "the buffer to fill must be a bytearray or a memoryview, "
            f"got an object of type {type(buffer).__name__}"
        )
    try:
        view = memoryview(buffer)
    except ValueError:
        raise ParameterError("the buffer to fill is a memoryview that was released") from None
    if view.readonly or not view.c_contiguous or view.format != "B":
        raise ParameterError(
            "the buffer to fill must be writable, C-contiguous and of bytes (format 'B'): "
            f"got readonly={view.readonly}, c_contiguous={view.c_contiguous}, "
            f"format={view.format!r}"
        )
    if view.ndim == 1:
        return view
    # A view with a zero in its shape cannot be cast, and has nothing to fill.
    return view.cast("B") if view.nbytes else memoryview(bytearray())


def wipe(buffer: bytearray | memoryview) -> None:
    """Overwrite a buffer of bytes with zeros."""
    buffer[:] = bytes(len(buffer))
