"""The exception of a check that finds something wrong."""

from __future__ import annotations


class Refuted(Exception):
    """A check found a counterexample: the code on this machine does not do what is claimed."""
