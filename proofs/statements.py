"""What each theorem says, as Coq prints it after all sections are closed: written, or compared.

A proof can pass although its theorem says nothing: a premise that never holds, a definition that
was emptied.  So `statements.txt` holds what `About` prints of each theorem that counts, and what
`Print` prints of each definition.  Whoever changes one changes that file, and a reader sees it.

    python statements.py BUILD NAME...            compare; 1 if they differ
    python statements.py BUILD NAME... --write    write the file anew
"""

from __future__ import annotations

import re
import subprocess
import sys
from difflib import unified_diff
from pathlib import Path

HERE = Path(__file__).parent
PINNED = HERE / "statements.txt"
COMMENT = re.compile(r"\(\*.*?\*\)", re.DOTALL)
DEFINED = re.compile(
    r"^\s*(?:Local )?(?:Definition|Fixpoint|Record|Inductive|Variant)\s+(\w+)", re.M
)
COUNTS = re.compile(r"^Print Assumptions (\w+)\.$", re.MULTILINE)


def questions(name: str) -> list[str]:
    """What is asked about one file: its definitions, in order, and its theorems that count."""
    source = COMMENT.sub("", (HERE / f"{name}.v").read_text())
    return [f"Print {name}.{each}." for each in DEFINED.findall(source)] + [
        f"About {name}.{each}." for each in COUNTS.findall(source)
    ]


def printed(build: Path, names: list[str]) -> str:
    """The questions, and what Coq answers to them; lines are joined, since their ends vary."""
    asked = [each for name in names for each in questions(name)]
    text = "From mathcomp Require Import all_ssreflect all_algebra.\n"
    text += f"Require {' '.join(names)}.\n"
    text += "".join(f"Eval cbv in tt.\n{question}\n" for question in asked)
    (build / "Statements.v").write_text(text)
    command = ["coqc", "-q", "-w", "-notation-overridden,-ambiguous-paths", "Statements.v"]
    done = subprocess.run(  # noqa: S603 - the words above
        command, cwd=build, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"statements: {done.stdout}{done.stderr}")
    _, *answers = re.split(r"^ *= tt\s*: unit$", done.stdout, flags=re.MULTILINE)
    pairs = zip(asked, answers, strict=True)
    return "\n".join(f"{question}\n    {' '.join(answer.split())}\n" for question, answer in pairs)


def main(build: Path, names: list[str], *, write: bool) -> int:
    """Write the file, or say how what Coq prints differs from it."""
    now = printed(build, names)
    if write:
        PINNED.write_text(now)
        return 0
    lines = PINNED.read_text().splitlines(), now.splitlines()
    differences = list(
        unified_diff(*lines, "statements.txt", "as Coq prints them", lineterm="", n=1)
    )
    print("\n".join(differences) or f"{now.count('About ')} theorems say what statements.txt says")
    return 1 if differences else 0


if __name__ == "__main__":
    given = [each for each in sys.argv[1:] if each != "--write"]
    sys.exit(main(Path(given[0]), given[1:], write="--write" in sys.argv))
