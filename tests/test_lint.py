"""What the source of safeselect may not contain: read from its syntax trees.

The core is everything below `audit | adapters | tables`: from the bits to the release.  No float
may appear on the way, so the rules forbid what makes one: literals, float types and functions.
Division, which is exact between rationals, needs types to judge: `test_lint_division.py` asks
mypy.  An exception is one line of `ALLOWED`, with its reason.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import safeselect

PACKAGE = Path(safeselect.__file__).parent
FILES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
OUTSIDE_CORE = ("audit/", "known_answers/", "adapters/", "tables/", "cli/", "__main__.py")
CORE = [name for name in FILES if not name.startswith(OUTSIDE_CORE)]
FLOORS = (
    *("errors.py", "exact/", "promises/", "randomness/", "engine/", "accounting/", "scores/"),
    *("spec/", "ledger/", "mechanisms/", "estimates/", "sources.py"),
)

ALLOWED = {
    ("randomness/source.py", "float literal"): "OpenSSL takes its entropy estimate, 0, as a float",
    ("exact/parameters.py", "float("): "columns for people; what was released is exact beside them",
    ("testing/experiments.py", "float type"): "chances for people, rounded once from enclosures",
    ("ledger/stores/turn.py", "float literal"): "seconds to wait for a lock",
    ("exact/parameters.py", "float type"): "names the float types that are read",
    ("scores/reals.py", "float("): "prints a double, to read its decimal",
    ("scores/candidates.py", "float type"): "the same, for columns",
    ("scores/floats.py", "float type"): "reads columns of floats, by exact operations",
    ("scores/floats.py", "float("): "the same: constants, exact or near enough",
    (
        "accounting/optimum/curve.py",
        "float type",
    ): "nonnegative terms, each rounded away from the truth",
    ("accounting/optimum/curve.py", "float("): "its constants, from intervals",
    ("accounting/optimum/bracket.py", "float type"): "turns those floats into integers",
    ("engine/draws.py", "float type"): "the leading digits of public weights, with a stated error",
    (
        "mechanisms/weights.py",
        "float type",
    ): "columns of public weights, each the decimal it prints",
    ("mechanisms/weights.py", "np.divide"): "the same: by powers of ten that are floats",
    ("mechanisms/items.py", "float type"): "recognises floats, that equal integers or not",
    ("adapters/_numbers.py", "array of a guessed type"): "one number without dimensions",
    ("known_answers/__init__.py", "array of a guessed type"): "made-up scores, none private",
    ("engine/rows.py", "array of a guessed type"): "an array of ours in another order",
}
RANDOM_MODULES = {"random", "secrets"}
EXACT_MATH = {"ceil", "comb", "factorial", "floor", "gcd", "isqrt", "lcm", "perm", "prod"}
FLOAT_MODULES = {"cmath", "statistics", "scipy"}
FLOAT_TYPES = re.compile(r"(float(ing|_|\d+)?|double|longdouble|half|single|complex\w*|c?[fdg]\d*)")
FLOAT_DTYPE_TEXT = re.compile(r"[<>=|]?(float\d*|double|half|single|complex\d*|[fc](2|4|8|16))")
FLOAT_FUNCTIONS = re.compile(
    r"(exp2?|expm1|log(2|10|1p|addexp2?)?|sqrt|cbrt|(true_)?divide|power|float_power|mean|average"
    r"|std|var|median|quantile|percentile|linspace|logspace|geomspace|sin|cos|tan|hypot|random)"
)
MAKERS = {"array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "require"}
GMPY2_CONTEXT = re.compile(r"(get_context|set_context|local_context|exp\w*|log\w*|sqrt|div)")


def problems(source: str, name: str) -> list[str]:
    """All that is forbidden in a file of this name: `line: rule: what was found`."""
    tree = ast.parse(source)
    found = [*_anywhere(tree, name)]
    if not name.startswith(OUTSIDE_CORE):
        found += [*_no_float(tree), *_no_randomness(tree)]
    return [f"{line}: {rule}" for line, rule in sorted(set(found)) if (name, rule) not in ALLOWED]


def _anywhere(tree: ast.AST, name: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            yield node.lineno, "assert"  # gone under python -O
        if _called(node) == "print" and not name.startswith("cli/"):
            yield node.lineno, "print"
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from ((node.lineno, f"import {m}") for m in _modules(node) if m == "random")
    if not name.startswith("audit/"):
        yield from ((line, "array of a guessed type") for line in _guessed(tree))


def _guessed(tree: ast.AST) -> Iterator[int]:
    """Lines in which NumPy chooses the type of an array: of [2**53 + 1, 0.5] it makes floats."""
    typed = {
        node.func
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for given in [*node.args[1:2], *(w.value for w in node.keywords if w.arg == "dtype")]
        if not (isinstance(given, ast.Constant) and given.value is None)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            is_maker = node.value.id in {"np", "numpy"} and node.attr in MAKERS
            if is_maker and node not in typed:  # also where it is handed on, as to map()
                yield node.lineno
        names = node.names if isinstance(node, ast.ImportFrom) and node.module == "numpy" else []
        if any(alias.name in MAKERS for alias in names):
            yield node.lineno


def _no_float(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Constant) and isinstance(node.value, (float, complex)):
            yield line, "float literal"
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and FLOAT_DTYPE_TEXT.fullmatch(text):
            yield line, "float type"
        if _called(node) in {"float", "complex"}:
            yield line, f"{_called(node)}("
        if isinstance(node, ast.Call) and _called(node) == "mpfr":
            is_constant = len(node.args) == 1 and isinstance(node.args[0], ast.Constant)
            if len(node.args) < 3 and not is_constant:
                yield line, "mpfr without a context"
        exponent = node.right if isinstance(node, ast.BinOp) else None
        if isinstance(exponent, ast.UnaryOp) and isinstance(node.op, ast.Pow):
            yield line, "negative power"  # 2 ** -n is a float
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield from ((line, rule) for rule in _attribute(node.value.id, node.attr))
        if isinstance(node, ast.ImportFrom) and node.module in {"math", "numpy", "gmpy2"}:
            module = {"numpy": "np"}.get(node.module, node.module)
            for alias in node.names:
                yield from ((line, rule) for rule in _attribute(module, alias.name))
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from ((line, f"import {m}") for m in _modules(node) if m in FLOAT_MODULES)


def _attribute(module: str, name: str) -> Iterator[str]:
    if module == "math" and name not in EXACT_MATH:
        yield f"math.{name}"
    if module in {"np", "numpy"} and FLOAT_TYPES.fullmatch(name):
        yield "float type"
    if module in {"np", "numpy"} and FLOAT_FUNCTIONS.fullmatch(name):
        yield f"np.{name}"
    if name in {"truediv", "__truediv__"}:
        yield f"{module}.{name}"
    if module == "gmpy2" and GMPY2_CONTEXT.fullmatch(name):
        yield f"gmpy2.{name}"  # rounds in the thread's context; ours is explicit


def _no_randomness(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for module in _modules(node):
                if module in RANDOM_MODULES or module.startswith("numpy.random"):
                    yield node.lineno, f"import {module}"


def _called(node: ast.AST) -> str:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        owner = node.func.value
        return node.func.attr if isinstance(owner, ast.Name) and owner.id == "gmpy2" else ""
    return ""


def _modules(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""] + [f"{node.module}.{alias.name}" for alias in node.names]
    return [alias.name for alias in node.names]


@pytest.mark.claim("C3")
def test_every_file_keeps_the_rules() -> None:
    found = {name: problems((PACKAGE / name).read_text("utf-8"), name) for name in FILES}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_the_core_is_where_it_should_be() -> None:
    # A renamed folder must not slip out of the rules.
    assert len(CORE) > 30
    for floor in (*FLOORS, "estimates/"):
        assert any(name.startswith(floor) for name in CORE), floor


CAUGHT = [
    ("x = 0.5", "float literal"),
    ("x = float(y)", "float("),
    ("x = complex(y)", "complex("),
    ("x = 2 ** -n", "negative power"),
    ("x = math.exp(1)", "math.exp"),
    ("x = math.inf", "math.inf"),
    ("from math import log1p", "math.log1p"),
    ("from statistics import mean", "import statistics"),
    ("x = np.exp(y)", "np.exp"),
    ("x = np.true_divide(a, b)", "np.true_divide"),
    ("x = np.random.default_rng()", "np.random"),
    ("from numpy import random", "np.random"),
    ("import numpy.random", "import numpy.random"),
    ("from numpy.random import default_rng", "import numpy.random"),
    ("import random", "import random"),
    ("from random import shuffle", "import random"),
    ("x = np.float64(y)", "float type"),
    ("x = a.astype('<f8')", "float type"),
    ("x = gmpy2.exp(y)", "gmpy2.exp"),
    ("x = gmpy2.get_context()", "gmpy2.get_context"),
    ("from gmpy2 import log", "gmpy2.log"),
    ("x = operator.truediv(a, b)", "operator.truediv"),
    ("x = mpfr(y)", "mpfr without a context"),
    ("x = gmpy2.mpfr(y, 53)", "mpfr without a context"),
    ("x = np.asarray(y)", "array of a guessed type"),
    ("x = np.array(y, dtype=None)", "array of a guessed type"),
    ("x = np.asarray(y, None)", "array of a guessed type"),
    ("x = list(map(np.asarray, y))", "array of a guessed type"),
    ("from numpy import asarray", "array of a guessed type"),
    ("assert x > 0", "assert"),
    ("print(x)", "print"),
]

LEFT_ALONE = [
    "x = a // b",
    "x = mpfr(y, 0, context) + mpfr('inf')",
    "x = math.gcd(a, b) + math.isqrt(c)",
    "from math import lcm",
    "x = np.array(a, dtype=np.uint64)",
    "x = np.asarray(a, kind)",
    "x = isinstance(y, float)",
    "x = 2 ** (n + 1)",
    "'a float in a text is no float'",
    "from gmpy2 import mpq, mpz",
    "x = interval.exp()",
]


def test_the_lint_catches_what_is_forbidden_and_no_more() -> None:
    missed = [
        (snippet, rule)
        for snippet, rule in CAUGHT
        if not any(rule in found for found in problems(snippet, "spec/planted.py"))
    ]
    assert (missed, [each for each in LEFT_ALONE if problems(each, "spec/planted.py")]) == ([], [])


def test_each_exception_is_still_needed() -> None:
    for name, rule in ALLOWED:
        tree = ast.parse((PACKAGE / name).read_text("utf-8"))
        rules = {found for _, found in (*_no_float(tree), *_anywhere(tree, name))}
        assert rule in rules, f"{name} no longer needs its exception from {rule!r}"


def test_the_rules_know_their_floors() -> None:
    assert problems("print(x)", "cli/_main.py") == []
    assert problems("assert x", "cli/_main.py") != []
    assert problems("x = np.asarray(y)", "tables/files.py") != []
    assert problems("x = 0.5", "tables/sql.py") == []
    assert problems("import random", "tables/sql.py") != []
