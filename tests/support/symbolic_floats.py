"""A row of 64 bits that a kernel sees as floats or as integers, with any value; see `symbolic`.

Unlike a `Lane`, a view of a row is the same memory: the reader of float columns writes floats and
goes on with their bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import z3

_NEAREST, _DOWN, _FLOAT = z3.RNE(), z3.RTN(), z3.Float64()


class Row:
    """One element, as float64 ("f") or int64 ("i")."""

    def __init__(self, memory: list[Any], kind: str = "f") -> None:
        self.memory, self.kind = memory, kind

    def view(self, dtype: type) -> Row:
        return Row(self.memory, np.dtype(dtype).kind)

    @property
    def number(self) -> Any:
        value = self.memory[0]
        return value if z3.is_fp(value) else z3.fpBVToFP(value, _FLOAT)

    @property
    def bits(self) -> Any:
        value = self.memory[0]
        return z3.fpToIEEEBV(value) if z3.is_fp(value) else value


def _operation(
    floats: Callable[[Any, Any], Any], integers: Callable[[Any, Any], Any]
) -> Callable[..., Row]:
    def run(a: Any, b: Any, out: Row) -> Row:
        if out.kind == "f":
            x, y = (
                each.number if isinstance(each, Row) else z3.FPVal(float(each), _FLOAT)
                for each in (a, b)
            )
            out.memory[0] = z3.simplify(floats(x, y))
        else:
            x, y = (
                each.bits if isinstance(each, Row) else z3.BitVecVal(int(each), 64)
                for each in (a, b)
            )
            out.memory[0] = z3.simplify(integers(x, y))
        return out

    return run


class Floats:
    """The functions of NumPy that the reader calls; floats are rounded to the nearest."""

    int64, float64, ldexp = np.int64, np.float64, staticmethod(np.ldexp)
    add = staticmethod(_operation(lambda x, y: z3.fpAdd(_NEAREST, x, y), lambda x, y: x + y))
    subtract = staticmethod(_operation(lambda x, y: z3.fpSub(_NEAREST, x, y), lambda x, y: x - y))
    multiply = staticmethod(_operation(lambda x, y: z3.fpMul(_NEAREST, x, y), lambda x, y: x * y))
    left_shift = staticmethod(_operation(lambda x, y: None, lambda x, y: x << y))
    right_shift = staticmethod(_operation(lambda x, y: None, lambda x, y: x >> y))

    @staticmethod
    def floor(a: Row, out: Row) -> Row:
        out.memory[0] = z3.fpRoundToIntegral(_DOWN, a.number)
        return out


def proved_floats(claim: Any, *given: Any, seconds: int = 300) -> bool:
    """Whether z3 proves a claim about floats; False if it finds a float that refutes it.

    As a question about bits a true claim is proved sooner; a wrong one is not refuted there.
    """
    steps = ["simplify", "fpa2bv", "simplify", "solve-eqs", "simplify", "bit-blast", "aig", "sat"]
    for solver in (z3.Then(*steps).solver(), z3.Solver()):
        solver.set("timeout", 1000 * seconds)
        solver.add(*given, z3.Not(claim))
        found = solver.check()
        if found != z3.unknown:
            return found == z3.unsat
    raise TimeoutError("z3 did not come to an end")
