"""The tests of every claim, written into docs/claims.md from the marks of the tests.

`@pytest.mark.claim("C3")` makes a test evidence for a claim and has it named there;
`pytestmark = pytest.mark.claim("C3")` does so for all tests of a file, which is named as a whole.
`make claims` writes the last column of the table; `tests/test_claims.py` fails when it is not what
the marks say.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "claims.md"
ROW = re.compile(r"^\| (?P<claim>C\d+) \| (?P<rest>.*) \| (?P<tests>[^|]*) \|$", re.MULTILINE)


def marked(path: Path) -> Iterator[tuple[str, str]]:
    """The claims of a file of tests, each with the name of a test, or "" for all."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            for decorator in node.decorator_list:
                yield from ((claim, node.name) for claim in claims_in(decorator))
        elif is_pytestmark(node):
            yield from ((claim, "") for claim in claims_in(node))


def is_pytestmark(node: ast.stmt) -> bool:
    """Whether a statement marks all tests of its file."""
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"


def claims_in(node: ast.AST) -> Iterator[str]:
    """The claims that are named in an expression."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.mark.claim":
            yield ast.literal_eval(call.args[0])


def evidence() -> dict[str, str]:
    """Claim -> what the page says of its tests, in the order of files and lines."""
    tests: dict[str, list[str]] = defaultdict(list)
    files: dict[str, list[str]] = defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        place = path.relative_to(ROOT).as_posix()
        for claim, name in marked(path):
            if name:
                tests[claim].append(f"`{place}::{name}`")
            else:
                files[claim].append(f"`{place}`")
    whole = {claim: f"all of {', '.join(names)}" for claim, names in files.items()}
    return {
        claim: "; and ".join(
            [
                *([", ".join(tests[claim])] if claim in tests else []),
                *([whole[claim]] if claim in whole else []),
            ]
        )
        for claim in {**tests, **whole}
    }


def written(page: str, tests: dict[str, str]) -> str:
    """The page with the tests of each claim."""
    return ROW.sub(lambda row: f"| {row['claim']} | {row['rest']} | {tests[row['claim']]} |", page)


def main() -> int:
    """Write the page."""
    PAGE.write_text(written(PAGE.read_text(), evidence()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
