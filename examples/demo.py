"""The demo: run the command on real data, then explain the release and its guarantee."""

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
The question
  334 264 flights left New York in 2013. To which ten destinations did the most planes fly?

The release
  The ten destinations above, in the order of their noisy counts. No count was released, true or
  noisy. If you run the demo again, it draws new noise, so destinations with close counts change
  places.

The guarantee
  Each plane (each tail number) is protected. If a plane had never flown, the list above would have
  been nearly as likely. With epsilon = 1, all flights of one plane together, however many, make any
  event at most e = 2.72 times as likely or as unlikely. Suppose that somebody knows everything
  about all other planes and considers it 50 % likely that this plane flew at all. This list raises
  that probability to at most 73 %, whatever else they know. A second run costs another epsilon.

Not covered
  Carriers and passengers are not protected, because --user names the column of planes. The running
  time is not covered. The list of candidates (examples/destinations.txt) was public already, like
  all timetables.
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
