"""The shipped array kernels on symbolic words: one 64-bit word, any value, in place of an array.

`Words` stands in the place of `np` in a module of the package.  What the kernel then does to its
words is a formula that z3 proves or refutes for all values at once.  An array is one element, so
this says what happens to each element; that every element is treated alike is NumPy's matter.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
import z3


class Lane:
    """An array of one symbolic element of so many bits."""

    def __init__(self, value: Any, signed: bool = False) -> None:
        self.value, self.signed = value, signed

    @property
    def bits(self) -> int:
        return int(self.value.size())

    @property
    def size(self) -> int:
        return 1

    def __getitem__(self, key: object) -> Lane:
        return self

    def view(self, dtype: type) -> Lane:
        """The same bits; writing to the view is not followed."""
        return Lane(self.value, np.dtype(dtype).kind == "i")

    def astype(self, dtype: type) -> Lane:
        return Lane(_sized(self, np.dtype(dtype).itemsize * 8), np.dtype(dtype).kind == "i")


def _sized(lane: Lane, bits: int) -> Any:
    more = bits - lane.bits
    if more == 0:
        return lane.value
    if more < 0:
        return z3.Extract(bits - 1, 0, lane.value)
    return (z3.SignExt if lane.signed else z3.ZeroExt)(more, lane.value)


def _lane(value: Any) -> Lane:
    if isinstance(value, Lane):
        return value
    if isinstance(value, (np.generic, np.ndarray)):  # constants, also of no dimension
        bits = 8 * value.dtype.itemsize
        return Lane(z3.BitVecVal(int(value), bits), value.dtype.kind == "i")
    return Lane(z3.BitVecVal(value, 64))


def _operation(work: Callable[[Any, Any, bool], Any]) -> Callable[..., Lane]:
    def run(a: Any, b: Any, out: Lane | None = None) -> Lane:
        x, y = _lane(a), _lane(b)
        signed = (x if isinstance(a, Lane) else y).signed
        if out is not None:
            signed = out.signed
        bits = max(x.bits, y.bits)
        result = Lane(work(_sized(x, bits), _sized(y, bits), signed), signed)
        return result if out is None else _into(out, result)

    return run


def _product(a: Any, b: Any, signed: bool) -> Any:
    """With a number that is known; of two unknown words some number that follows from them."""
    if z3.is_bv_value(a) or z3.is_bv_value(b):
        return a * b
    return PRODUCT(a, b)


PRODUCT = z3.Function("product", *[z3.BitVecSort(64)] * 3)


def _comparison(work: Callable[[Any, Any], Any]) -> Callable[..., Lane]:
    def run(a: Any, b: Any) -> Lane:
        x, y = _lane(a), _lane(b)
        bits = max(x.bits, y.bits)
        yes, no = z3.BitVecVal(1, 8), z3.BitVecVal(0, 8)
        return Lane(z3.If(work(_sized(x, bits), _sized(y, bits)), yes, no))

    return run


def _into(out: Lane, result: Lane) -> Lane:
    out.value = _sized(result, out.bits)
    return out


def _negative(a: Any, out: Lane | None = None) -> Lane:
    result = Lane(-_lane(a).value, _lane(a).signed)
    return result if out is None else _into(out, result)


class Words:
    """The functions of NumPy that the kernels call; `take` is told what a table is."""

    uint8, uint16, uint64, int16, int64 = np.uint8, np.uint16, np.uint64, np.int16, np.int64

    def __init__(self, take: Callable[[Any, Lane], Lane] | None = None, **more: Any) -> None:
        self._take = take
        self.bitwise_xor = _operation(lambda a, b, _: a ^ b)
        self.bitwise_and = _operation(lambda a, b, _: a & b)
        self.bitwise_or = _operation(lambda a, b, _: a | b)
        self.add = _operation(lambda a, b, _: a + b)
        self.subtract = _operation(lambda a, b, _: a - b)
        self.multiply = _operation(_product)
        # NumPy gives 0 for a shift by 64 or more, as z3 does.
        self.left_shift = _operation(lambda a, b, _: a << b)
        self.right_shift = _operation(lambda a, b, s: a >> b if s else z3.LShR(a, b))
        self.minimum = _operation(lambda a, b, _: z3.If(z3.ULE(a, b), a, b))
        self.maximum = _operation(lambda a, b, _: z3.If(z3.ULE(a, b), b, a))
        self.less = _comparison(z3.ULT)
        self.equal = _comparison(lambda a, b: a == b)
        self.logical_and = _comparison(lambda a, b: z3.And(a != 0, b != 0))
        self.negative = _negative
        self.__dict__.update(more)

    def clip(self, value: Any, low: Any, high: Any, out: Lane) -> Lane:
        return self.minimum(self.maximum(value, low), high, out=out)

    def take(self, table: Any, where: Lane) -> Lane:
        if self._take is None:
            raise NotImplementedError("this kernel takes from no table")
        return self._take(table, where)


def symbolic(kernel: Any, words: Words, **others: Any) -> Any:
    """A function of the package with `words` in the place of its module's `np`."""
    function = kernel if isinstance(kernel, FunctionType) else kernel.__func__
    space = {**function.__globals__, "np": words, **others}
    return FunctionType(function.__code__, space, function.__name__, function.__defaults__)


def broken(kernel: FunctionType, old: str, new: str) -> FunctionType:
    """The function with one piece of its source changed, which must be there once."""
    source = textwrap.dedent(inspect.getsource(kernel))
    assert source.count(old) == 1, f"{old!r} is not in the kernel once"
    source = "from __future__ import annotations\n" + source.replace(old, new)
    space = dict(kernel.__globals__)
    exec(compile(source, "<broken>", "exec"), space)  # noqa: S102  # our own source
    return space[kernel.__name__]


def holds(claim: Any, *given: Any, seconds: int = 60) -> bool:
    """Whether z3 proves the claim for all values; False if it finds values that refute it."""
    solver = z3.Solver()
    solver.set("timeout", 1000 * seconds)
    solver.add(*given, z3.Not(claim))
    found = solver.check()
    assert found != z3.unknown, "z3 did not come to an end"
    return found == z3.unsat


def table(**arrays: Any) -> Any:
    """An object with such attributes, where the package has a table."""
    return SimpleNamespace(**arrays)
