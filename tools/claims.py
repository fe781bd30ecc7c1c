"""The code and the tests of every claim, written into docs/claims.md.

The code is that of `tests/support/breaks.py`, which also says how to break it; the tests are those
with marks.

`@pytest.mark.claim("C3")` makes a test evidence for a claim and has it named there;
`pytestmark = pytest.mark.claim("C3")` does so for all tests of a file, which is named as a whole.
`make claims` writes the last two tables of the page; `tests/test_claims.py` fails when they are not
what the breaks and the marks say.  `tools/execute_claims.py` makes the breaks.

It also writes the sentences of all claims into `tests/vectors/sentences.txt`, one a line: C1 to
C13, what is not claimed, known limits, and every Guarantee and Reveals of a docstring.  A
difference there is a changed claim: CHANGELOG.md names it, and says what the code does.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "claims.md"
LINE = "| claim | test, or file of tests |\n|---|---|\n"
CODE = "| claim | where it is kept |\n|---|---|\n"
SENTENCES = ROOT / "tests" / "vectors" / "sentences.txt"
_OF_SECURITY = re.compile(r"^(?:\| C\d+ \|.*|- .*(?:\n {2,}\S.*)*)", re.MULTILINE)
_OF_DOCSTRINGS = re.compile(r"^( *)(?:Guarantee|Reveals): .*(?:\n\1 +\S.*)*", re.MULTILINE)
sys.path.insert(0, str(ROOT / "tests" / "support"))


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


def evidence() -> list[tuple[str, str]]:
    """Pairs (claim, test or file of tests), by claim, then in the order of files and lines."""
    found = [
        (claim, f"{place}::{name}" if name else place)
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for place in [path.relative_to(ROOT).as_posix()]
        for claim, name in marked(path)
    ]
    return sorted(found, key=lambda pair: int(pair[0].removeprefix("C")))


def places() -> list[tuple[str, str]]:
    """Pairs (claim, file::function), by claim, then in the order of files."""
    from breaks import BREAKS

    found = {(claim, f"{each.path}::{each.function}") for each in BREAKS for claim in each.claims}
    return sorted(found, key=lambda pair: (int(pair[0].removeprefix("C")), pair[1]))


def written(page: str, found: list[tuple[str, str]]) -> str:
    """The page with a line for each place in the code, and for each piece of evidence."""
    kept, line, _ = page.partition(LINE)
    before, code, after = kept.partition(CODE)
    _, _, after = after.partition("\n\n")
    return f"{before}{code}{lines(places())}\n{after}{line}{lines(found)}"


def lines(pairs: list[tuple[str, str]]) -> str:
    """A line of a table for each pair."""
    return "".join(f"| {claim} | `{place}` |\n" for claim, place in pairs)


def sentences() -> str:
    """All sentences that claim something, one a line, each with its file."""
    places = [(ROOT / "SECURITY.md", _OF_SECURITY)]
    places += [(path, _OF_DOCSTRINGS) for path in sorted((ROOT / "src").rglob("*.py"))]
    found = (
        f"{path.relative_to(ROOT).as_posix()}: {' '.join(one[0].split())}\n"
        for path, form in places
        for one in form.finditer(path.read_text("utf-8"))
    )
    return "".join(found)


def main() -> int:
    """Write the page and the list of sentences."""
    PAGE.write_text(written(PAGE.read_text(), evidence()))
    SENTENCES.write_text(sentences(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
