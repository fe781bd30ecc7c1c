"""The demonstration: the shipped command on real data, then what it promised and to whom."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from safeselect.cli import main

HERE = Path(__file__).parent
COMMAND = (
    *("top-k", os.path.relpath(HERE / "flights.csv.gz")),
    *("--item", "destination", "--user", "plane", "-k", "10", "--epsilon", "1"),
    *("--candidates", os.path.relpath(HERE / "destinations.txt")),
)
EXPLANATION = """
What was asked
  334 264 flights left New York in 2013. To which ten destinations did most distinct planes fly?

What was released
  The ten destinations above, in the order of their noisy counts. No count, true or noisy, was
  released. Run it again: the noise is fresh each time, so destinations with close counts
  change places.

What was promised, and to whom
  To each plane (each tail number): had it never flown, any list above would have been nearly as
  likely. With epsilon = 1 no event becomes more than e = 2.72 times as likely, or as unlikely, by
  all of one plane's flights together, however many there were. Someone who thought it a toss-up
  whether a plane flew at all, and who knows everything about all other planes, ends up at most
  73 % sure. This holds whatever else is known, and once per release: a second run costs a second
  epsilon.

What was not promised
  The list of candidates (examples/destinations.txt) was public before: timetables are. Nothing is
  promised to a carrier or to a passenger: --user said plane. And the time that the run took is not
  covered.
"""


def run() -> int:
    """Show the command, run it, explain it; return its exit code."""
    print(f"$ safeselect {' '.join(COMMAND)}", file=sys.stderr, flush=True)
    code = main(COMMAND)
    if code == 0:
        print(EXPLANATION, file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(run())
