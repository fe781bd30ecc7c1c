"""Small changes of the source of a module, for `mutate.py` and `mirrored.py`.

Another operator or number, a condition turned round, a check that never fails, a call or an
argument with a name left out, the other of `min` and `max`.  Left alone are the texts of errors,
annotations, decorators, `strict=` of zip and `stacklevel=` of a warning.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

_PAIRS = (
    *((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot)),
    *((ast.In, ast.NotIn), (ast.Add, ast.Sub), (ast.Mult, ast.FloorDiv), (ast.And, ast.Or)),
    *((ast.LShift, ast.RShift), (ast.BitOr, ast.BitAnd)),
)
_OTHER = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])}
_OTHER |= {ast.Div: ast.Mult, ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult}
_OTHER_NAME = {"min": "max", "max": "min", "any": "all", "all": "any"}
_KEPT = ("strict", "stacklevel")
_BODIES = ("body", "orelse", "finalbody", "handlers", "cases")


@dataclass(frozen=True)
class Change:
    """A part of a source and what is put in its place.

    Attributes:
        function: the function or method that has it; none where it runs at import.
        first, last: the lines of the part, from 1.
        start, end: the part, in bytes.
        said: the statement before and after, each in one line.
    """

    function: str
    first: int
    last: int
    start: int
    end: int
    other: str
    said: str

    def made(self, source: str) -> str:
        """The source with this change, in which no other line moves."""
        text = source.encode()
        return (text[: self.start] + self.other.encode() + text[self.end :]).decode()


def changes(source: str) -> Iterator[Change]:
    """All changes of a source, in the order of its lines."""
    starts = [0, *accumulate(len(line.encode()) for line in source.splitlines(keepends=True))]
    for function, statement, node, place, other in _of_body(ast.parse(source).body, ""):
        before = _line(statement)
        _put(place, other)
        after = _line(statement)
        _put(place, node)
        moved = "\n" * (node.end_lineno - node.lineno)
        text = ast.unparse(other)
        yield Change(
            function,
            node.lineno,
            node.end_lineno,
            starts[node.lineno - 1] + node.col_offset,
            starts[node.end_lineno - 1] + node.end_col_offset,
            text + moved if isinstance(other, ast.stmt) else f"({text}{moved})",
            f"{before} -> {after}",
        )


Place = tuple[Any, Any]  # a node and its field, or a list and an index


def _put(place: Place, node: ast.AST) -> None:
    parent, name = place
    if isinstance(parent, list):
        parent[name] = node
    else:
        setattr(parent, name, node)


def _line(statement: list[ast.stmt]) -> str:
    """A statement without those inside it."""
    head = copy(statement[0])
    for name in _BODIES:
        if hasattr(head, name):
            setattr(head, name, [ast.Pass()] if name == "body" else [])
    return " ".join(ast.unparse(head).removesuffix("\n    pass").split())


Found = tuple[str, list[ast.stmt], Any, Place, Any]


def _of_body(body: list[ast.stmt], function: str) -> Iterator[Found]:
    for statement in body:
        held = [statement]  # where a statement as a whole is changed
        for node, place, other in _of_statement(statement, held):
            yield function, held, node, place, other
        inside = function
        if isinstance(statement, ast.FunctionDef):
            inside = function or statement.name
        for name in _BODIES:
            below = getattr(statement, name, [])
            if name == "cases":
                for case in below:
                    if case.guard is not None:
                        asked = ast.If(case.guard, [ast.Pass()], [])
                        for node, place, other in _of(case.guard, (asked, "test")):
                            yield function, [asked], node, place, other
            for part in below if name in ("handlers", "cases") else [None]:
                yield from _of_body(below if part is None else part.body, inside)


def _of_statement(statement: ast.stmt, held: list[ast.stmt]) -> Iterator[tuple[Any, Place, Any]]:
    match statement:
        case ast.Raise() | ast.Import() | ast.ImportFrom() | ast.Expr(ast.Constant()):
            return
        case ast.FunctionDef(args=arguments):
            for defaults in (arguments.defaults, arguments.kw_defaults):
                for index, node in enumerate(defaults):
                    yield from _of(node, (defaults, index))
            return
        case ast.ClassDef():
            return
        case ast.AnnAssign(value=value):
            yield from _of(value, (statement, "value"))
            return
        case ast.Expr(ast.Call()):
            yield statement, (held, 0), ast.Pass()
        case ast.AugAssign(target, op, value) if type(op) in _OTHER:
            yield statement, (held, 0), ast.AugAssign(target, _OTHER[type(op)](), value)
        case ast.Break():
            yield statement, (held, 0), ast.Continue()
        case ast.Continue():
            yield statement, (held, 0), ast.Break()
        case ast.If(test, [*_, ast.Raise()], []):
            yield test, (statement, "test"), ast.Constant(False)
        case ast.If(test) | ast.While(test):
            if isinstance(test, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
                yield test, (statement, "test"), ast.UnaryOp(ast.Not(), test)
    for name, value in ast.iter_fields(statement):
        if name not in _BODIES:
            yield from _of_field(statement, name, value)


def _of_field(parent: ast.AST, name: str, value: Any) -> Iterator[tuple[Any, Place, Any]]:
    if isinstance(value, list):
        for index, node in enumerate(value):
            yield from _of(node, (value, index))
    else:
        yield from _of(value, (parent, name))


def _of(node: Any, place: Place) -> Iterator[tuple[Any, Place, Any]]:
    """The changes of an expression and of those inside it."""
    if not isinstance(node, ast.AST) or isinstance(node, ast.JoinedStr):
        return
    if isinstance(node, ast.keyword) and node.arg in _KEPT:
        return
    for other in _others(node):
        yield node, place, other
    for name, value in ast.iter_fields(node):
        if not (isinstance(node, ast.Lambda) and name == "args"):
            yield from _of_field(node, name, value)


def _others(node: ast.AST) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(left, ops, rights):
            for index, op in enumerate(ops):
                if type(op) in _OTHER:
                    changed = [*ops[:index], _OTHER[type(op)](), *ops[index + 1 :]]
                    yield ast.Compare(left, changed, rights)
        case ast.BinOp(left, op, right) if type(op) in _OTHER:
            yield ast.BinOp(left, _OTHER[type(op)](), right)
        case ast.BoolOp(op, values):
            yield ast.BoolOp(_OTHER[type(op)](), values)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield operand
        case ast.Constant(bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(int(value)):
            yield ast.Constant(value + 1)
        case ast.Call(function, arguments, keywords):
            for index, keyword in enumerate(keywords):
                if keyword.arg and keyword.arg not in _KEPT:
                    kept = [*keywords[:index], *keywords[index + 1 :]]
                    yield ast.Call(function, arguments, kept)
            if isinstance(function, ast.Name) and function.id in _OTHER_NAME:
                yield ast.Call(ast.Name(_OTHER_NAME[function.id]), arguments, keywords)
