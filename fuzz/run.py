"""Fuzz every target for a while: python fuzz/run.py SECONDS [TARGET ...].

Atheris watches which branches of the package a run takes, and keeps input that takes new ones.
Each target runs in a process of its own, so that a crash ends that one alone; what was found stays
in `fuzz/found`, and the exit code says whether there was any.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
FOUND = HERE / "found"
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "support")]


def fuzz(name: str, seconds: int) -> None:
    """Fuzz one target in this process."""
    import atheris

    with atheris.instrument_imports(include=["safeselect"]):
        import targets

    with tempfile.TemporaryDirectory() as corpus:
        for number, seed in enumerate(targets.SEEDS[name]):
            Path(corpus, str(number)).write_bytes(seed)
        FOUND.mkdir(exist_ok=True)
        options = [
            *(f"-max_total_time={seconds}", "-timeout=20", "-rss_limit_mb=2048"),
            *("-max_len=16384", f"-artifact_prefix={FOUND / name}-", "-print_final_stats=1"),
        ]
        atheris.Setup([sys.argv[0], *options, corpus], targets.TARGETS[name])
        atheris.Fuzz()


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--one"]:
        fuzz(arguments[1], int(arguments[2]))
        return 0
    seconds, *names = arguments
    import targets

    bad = []
    for name in names or list(targets.TARGETS):
        command = [sys.executable, __file__, "--one", name, seconds]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = done.stderr.splitlines()
        runs = next((line.split()[-1] for line in lines if "number_of_executed" in line), "no")
        print(f"{name:12} {runs:>9} runs  {'nothing found' if not done.returncode else 'FOUND'}")
        if done.returncode:
            bad.append(name)
            print("\n".join(lines[-25:]))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
