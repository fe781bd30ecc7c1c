"""Draw passages that a reader marks: what a native technical writer would change.

    python tools/passages.py           # of the last commit
    python tools/passages.py COMMIT    # of another one, which must be checked out

The seed is the hash of the commit. Each kind has its share. A page is drawn first, then a paragraph
of it. Evidence, decisions and the change log are left out. Draws, marks and rewrites are published
in `docs/words.md`.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/safeselect"
SHARES = {"page": 12, "docstring": 8, "message": 5, "help": 5}
"""How many passages of each kind are drawn."""
PLAIN = re.compile(r"(?<!\S)[A-Za-z]+(?=[.,;:]?(?:\s|$))")
"""A word of a sentence: no part of a pattern, name of a field, option or number."""
Passage = tuple[str, str]
"""Where it is, and its words."""


def paragraphs(page: Path) -> list[Passage]:
    """Return the paragraphs and list items of a page: no code, tables, figures or headings."""
    text = re.sub(r"^(```|~~~).*?^\1", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    blocks = re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", text)
    kept = (" ".join(block.split()) for block in blocks if not re.match(r"\s*[|#$(<:!]", block))
    return [(str(page.relative_to(ROOT)), words) for words in kept if len(words.split()) > 7]


def pages() -> Iterator[list[Passage]]:
    """Yield the paragraphs of the README and of each page of the sidebar."""
    yield paragraphs(ROOT / "README.md")
    yield paragraphs(ROOT / "docs/index.md")
    captions = re.findall(r":caption: (\w[\w-]*)\n\n(.*?)```", _index(), re.DOTALL)
    kept = [listed for caption, listed in captions if caption not in ("Evidence", "Decisions")]
    names = " ".join(kept).split()
    every = [page for name in names for page in sorted((ROOT / "docs").glob(f"{name}.md"))]
    for page in dict.fromkeys(every):  # a name and a pattern may both list a page
        if page.stem not in ("changelog", "renamed") and (found := paragraphs(page)):
            yield found


def _index() -> str:
    return (ROOT / "docs/index.md").read_text("utf-8")


def docstrings() -> Iterator[Passage]:
    """Yield the first paragraph of each object of the interface, and of its methods."""
    module = ""
    interface = (ROOT / "docs/interface.md").read_text("utf-8")
    for word, name in re.findall(r"^\.\. (\w+):: ([\w.]+)", interface, re.MULTILINE):
        if word == "currentmodule":
            module = name
        elif word.startswith("auto"):
            found: object = importlib.import_module(name if word == "automodule" else module)
            for part in () if word == "automodule" else name.split("."):
                found = getattr(found, part)
            own = vars(found).items() if inspect.isclass(found) else ()
            methods = {f"{name}.{key}": value for key, value in own if not key.startswith("_")}
            for place, value in {name: found, **methods}.items():
                text = inspect.getdoc(value) if callable(value) or value is found else None
                if text:
                    yield f"{module}.{place}", " ".join(text.split("\n\n")[0].split())


def strings(where: Path) -> Iterator[tuple[str, str, bool]]:
    """Yield each text of the code but docstrings, and whether it is raised."""
    for path in sorted(where.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr | ast.Expr)
                 for part in ast.walk(node) if part is not node}  # fmt: skip
        raised = {id(part) for node in ast.walk(tree) if isinstance(node, ast.Raise)
                  for part in ast.walk(node)}  # fmt: skip
        for node in ast.walk(tree):
            if not isinstance(node, ast.expr):
                continue
            is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
            if id(node) not in inner and (is_text or isinstance(node, ast.JoinedStr)):
                yield f"{path.relative_to(ROOT)}:{node.lineno}", _words(node), id(node) in raised


def _words(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(_words(part) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return f"{{{ast.unparse(node.value)}}}"
    return str(getattr(node, "value", ""))


def helps(words: str) -> list[str]:
    """Return the paragraphs of a text of the command, or the helps and titles of its options."""
    words = re.sub(r"\n +", " ", words)
    option = re.compile(r"^(?:\| )?(?:-\S+|[A-Z]+)(?: \S+)*?  +", re.MULTILINE)
    lines = option.sub("", words).split("\n") if option.search(words) else words.split("\n\n")
    return [" ".join(line.split()) for line in lines]


def drawn(seed: str) -> Iterator[tuple[str, Passage]]:
    """Yield the passages of a seed, with their kinds."""
    chance = random.Random(seed)  # noqa: S311 - a draw that anybody repeats
    texts = [*strings(SOURCE)]
    messages = [(at, words) for at, words, raised in texts if raised and len(words.split()) > 3]
    lines = [
        (at, line)
        for at, words, raised in texts
        if "/cli/" in at and "/_page.py" not in at and not raised
        for line in helps(words)
        if len(line.split()) > 3 and len(PLAIN.findall(line)) > 1 and line[0] != "-"
    ]
    every = [*pages()]
    pools = {"docstring": [*docstrings()], "message": messages, "help": lines}
    for kind, count in SHARES.items():
        found = (
            [chance.choice(page) for page in chance.sample(every, count)]
            if kind == "page"
            else chance.sample(pools[kind], count)
        )
        yield from ((kind, passage) for passage in found)


def main() -> int:
    """Print a draw as a list to mark."""
    asked = ["git", "-C", str(ROOT), "rev-parse", *(sys.argv[1:2] or ["HEAD"])]
    seed = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    print(f"Seed: {seed}\n")
    for number, (kind, (place, words)) in enumerate(drawn(seed), 1):
        print(f"{number}. *{kind}*, {place}: {words}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
