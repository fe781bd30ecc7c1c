"""`python -m safeselect`: the same as the command `safeselect`."""

from __future__ import annotations

import sys

from safeselect.cli import main

if __name__ == "__main__":
    sys.exit(main())
