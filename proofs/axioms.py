"""Say which axioms each theorem rests on, and fail if one is not allowed.

Every theorem that counts is followed by `Print Assumptions` in its file; here the question and what
Coq answered are put side by side.  Allowed are the axioms of the standard library's real numbers, in
the files that speak of exp.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
CLOSED = "Closed under the global context"
REALS = {
    "ClassicalDedekindReals.sig_not_dec",
    "ClassicalDedekindReals.sig_forall_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
}
MAY_USE_REALS = {"ExpReals"}


def main(build: Path, names: list[str]) -> int:
    wrong = 0
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
        for theorem, answer in zip(asked, answers, strict=False):
            used = set(re.findall(r"^(\S+)\s*:", answer, re.MULTILINE)) - {"Axioms"}
            allowed = REALS if name in MAY_USE_REALS else set()
            wrong += bool(used - allowed)
            verdict = "no axioms" if not used else ", ".join(sorted(used))
            print(f"{name + '.' + theorem:40} {verdict}{' NOT ALLOWED' if used - allowed else ''}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
