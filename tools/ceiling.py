"""How many lines may be in the wheel: `make check` fails above the ceiling.

Lines of code, as `make reading` counts them, and every line of other text that is not empty, but
for the data of known answers.
"""

from __future__ import annotations

import sys
from pathlib import Path

from reading import PACKAGE, ROOT, code_lines

CEILING = 24_000


def held(package: Path) -> int:
    """The lines of a package that count."""
    found = [path for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    code = [path for path in found if path.suffix == ".py"]
    other = [path for path in found if path.suffix != ".py" and "known_answers" not in path.parts]
    texts = (path.read_text("utf-8", "ignore").splitlines() for path in other)
    return sum(map(code_lines, code)) + sum(bool(line.strip()) for text in texts for line in text)


def main() -> int:
    """Print the count; 1 if it is above the ceiling."""
    count = held(ROOT / PACKAGE)
    print(f"{count} lines in the wheel, of at most {CEILING}")
    return int(count > CEILING)


if __name__ == "__main__":
    sys.exit(main())
