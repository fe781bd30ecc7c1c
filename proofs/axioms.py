"""Say which axioms each theorem rests on, and fail if one is not allowed.

For every theorem that counts there is a `Print Assumptions` in its file; here the question and what
Coq answered are put side by side.  No axiom is allowed, and nothing may be left unproved.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
CLOSED = "Closed under the global context"


def main(build: Path, names: list[str]) -> int:
    wrong = theorems = 0
    for name in names:
        source = (HERE / f"{name}.v").read_text()
        asked = re.findall(r"^Print Assumptions (\w+)\.$", source, re.MULTILINE)
        told = (build / f"{name}.out").read_text()
        answers = re.findall(rf"{CLOSED}|Axioms:\n(?:.+\n?)+?(?={CLOSED}|Axioms:|\Z)", told)
        for banned in re.findall(r"\b(?:Admitted|admit|Axiom|Parameter|Conjecture)\b", source):
            wrong += 1
            print(f"{name}: {banned} is not allowed")
        if len(asked) != len(answers):
            wrong += 1
            print(f"{name}: {len(asked)} theorems, {len(answers)} answers")
        theorems += len(asked)
        for theorem, answer in zip(asked, answers, strict=False):
            used = set(re.findall(r"^(\S+)\s*:", answer, re.MULTILINE)) - {"Axioms"}
            wrong += answer != CLOSED
            verdict = "no axioms" if answer == CLOSED else f"NOT ALLOWED: {', '.join(sorted(used))}"
            print(f"{name + '.' + theorem:40} {verdict}")
    if not wrong:
        print(f"{theorems} theorems, no axioms")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
