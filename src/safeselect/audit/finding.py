"""What a check says when it finds something wrong."""

from __future__ import annotations

__all__ = ["Refuted"]


class Refuted(Exception):
    """A check found a counterexample: the code on this machine does not do what is claimed."""
