"""What `import safeselect` may not do: write, draw, start threads or load other libraries."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

# What numpy and gmpy2 do at import is theirs: they come first, and only the difference is judged.
WATCH = """
import os, sys, _thread, threading
import numpy, gmpy2
before = set(sys.modules)
seen = []

def watch(event, arguments):
    if event == "open" and (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        seen.append("opened a file for writing")
    if event.startswith(("socket.", "subprocess.", "os.system", "os.fork")):
        seen.append(event)

def start(*arguments):
    seen.append("started a thread")

def draw(*arguments):
    seen.append("drew randomness")
    return bytes(arguments[0])

sys.addaudithook(watch)
real, os.urandom = os.urandom, draw
_thread.start_new_thread = threading._start_new_thread = start
threading.Thread.start = threading.Timer.start = start
{first}
import safeselect
os.urandom = real
new = set(sys.modules) - before
for name in ("ssl", "sqlite3", "duckdb", "pandas", "polars", "pyarrow", "argparse", "random",
             "opendp", "dp_accounting", "scipy", "cryptography", "psycopg",
             "safeselect.cli", "safeselect.adapters", "safeselect.tables", "safeselect.audit",
             "safeselect.testing"):
    if name in new:
        seen.append("imported " + name)
print("; ".join(seen) or "nothing")
"""


# Whatever is not listed is as if it were not installed.
ALONE = """
import pkgutil, sys

class Bare:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names | {allowed}:
            raise ModuleNotFoundError("no module named " + top, name=name)

sys.meta_path.insert(0, Bare())
import safeselect
for module in pkgutil.walk_packages(safeselect.__path__, "safeselect."):
    __import__(module.name)
print(safeselect.permute_and_flip([0, 10**6], epsilon=10, sensitivity=1).index)
"""


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    # -B: writing byte code into __pycache__ is Python's doing, not ours.
    command = [sys.executable, "-B", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_import_has_no_side_effects() -> None:
    found = _python("-c", WATCH.format(first=""))
    assert (found.stdout, found.stderr) == ("nothing\n", "")


def test_the_watch_can_see() -> None:
    seen = {
        "os.urandom(1)": "drew randomness",
        "threading.Thread(target=int).start()": "started a thread",
        "open(os.devnull, 'w').close()": "opened a file for writing",
        "import sqlite3": "imported sqlite3",
    }
    found = _python("-c", WATCH.format(first="\n".join(seen))).stdout
    assert all(complaint in found for complaint in seen.values())


def test_every_module_imports_with_numpy_and_gmpy2_alone() -> None:
    """The adapters too: they look for their library when they are used."""
    found = _python("-c", ALONE.format(allowed={"safeselect", "numpy", "gmpy2"}))
    assert (found.stdout, found.stderr) == ("1\n", "")


def test_a_missing_library_would_be_seen() -> None:
    found = _python("-c", ALONE.format(allowed={"safeselect", "numpy"}))
    assert "no module named gmpy2" in found.stderr


def test_the_package_says_that_it_is_typed() -> None:
    import safeselect

    assert Path(safeselect.__file__).with_name("py.typed").is_file()
