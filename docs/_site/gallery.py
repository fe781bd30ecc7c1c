"""The gallery of `examples/`: each program is run when the site is built, and shows what it did.

Beside its text stands the last release that it made, drawn by `release.plot()`, or the figure that
it draws for a page.  A program that fails, fails the build.
"""

from __future__ import annotations

import ast
import runpy
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ARGUMENTS = {"gap_ranks": ["5"], "clinic_export": ["export.csv", "8"]}
"""What a program is given here: fewer runs than its page asks for."""

FIGURES = {"budgets": "budgets", "choosing": "choosing", "composing": "accounting"}
FIGURES |= {"gap_errors": "gaps"}
"""The figures of `docs/` that a program draws; its first lines say by which command."""

SHOWN = {
    "search": ("examples/search.md", "One run printed", "needs scikit-learn"),
    "gap_table": ("measured.md", "gap_table.py", "takes minutes"),
}
"""What takes too much for a build: the page that has the output, in the paragraph after this."""

NOT_RUN = {
    "flights": "reads the flights for the others, and shows nothing",
    "pipeline_keys": "needs PipelineDP; `make pipeline-dp` runs it",
}
_LINES = 16


def page(folder: Path) -> str:
    """The gallery as a section; pictures are written into `folder`/examples/gallery."""
    pictures = folder / "examples" / "gallery"
    pictures.mkdir(exist_ok=True)
    programs = sorted((folder.parent / "examples").glob("*.py"))
    ready = [path for path in programs if path.stem not in NOT_RUN | FIGURES | SHOWN]
    with ThreadPoolExecutor(2) as pool:
        texts = dict(zip(ready, pool.map(lambda path: _ran(path, pictures), ready), strict=True))
    parts = ["## Gallery", "Each program was run when this site was built; draws are fresh ones."]
    for path in programs:
        parts += [f"### {path.stem}.py", _said(path, folder)]
        picture = pictures / f"{path.stem}.svg"
        if path.stem in NOT_RUN:
            parts.append(f"It {NOT_RUN[path.stem]}.")
        elif path.stem in SHOWN:
            name, where, why = SHOWN[path.stem]
            after = (folder / name).read_text("utf-8").partition(where)[2]
            parts += [
                f"It {why}. An earlier run, of [its page](../{name}):",
                after.split("\n\n")[1],
            ]
        elif path.stem in FIGURES:
            parts.append(f"![The figure of {path.stem}](../{FIGURES[path.stem]}.svg)")
        else:
            is_table = texts[path].startswith("|")
            parts.append(texts[path] if is_table else f"```text\n{texts[path]}\n```")
            if picture.exists():
                parts.append(f"![The last release of {path.stem}](gallery/{picture.name})")
    return "\n\n".join(["", *parts, ""])


def _said(path: Path, folder: Path) -> str:
    """The first paragraph of a program's docstring, and the page that shows the program."""
    said = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    words = " ".join(said.partition("\n\n")[0].split())
    own = folder / "examples" / f"{path.stem}.md"
    return f"{words} [The program and its proof]({own.name})." if own.exists() else words


def _ran(path: Path, pictures: Path) -> str:
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, "-W", "ignore", __file__, path, pictures / f"{path.stem}.svg"]
        command += ARGUMENTS.get(path.stem, [])
        ran = subprocess.run(  # noqa: S603 - our own program
            command, cwd=place, capture_output=True, text=True, check=False
        )
        written = [each.read_text("cp1252") for each in Path(place).glob("*.csv")]
    if ran.returncode:
        raise RuntimeError(f"{path.name} failed: {ran.stderr}")
    lines = "".join([ran.stdout, *written]).rstrip().splitlines()
    return "\n".join([*lines[:_LINES], *(["..."] if len(lines) > _LINES else [])])


def _run(program: str, picture: str) -> None:
    """Run a program, and draw the last release that it made."""
    import matplotlib

    from safeselect.release.call import Call

    made: list[Any] = []
    commit = Call.commit

    def kept(self: Any, result: Any) -> Any:
        made.append(commit(self, result))
        return made[-1]

    Call.commit = kept  # type: ignore[method-assign]
    sys.path.insert(0, str(Path(program).parent))
    try:
        runpy.run_path(program, run_name="__main__")
    except SystemExit as ended:
        if ended.code:
            raise
    if made and "NOT PRIVATE" not in made[-1].source:  # one of an experiment's many says little
        matplotlib.rcParams.update({"svg.fonttype": "path", "svg.hashsalt": "safeselect"})
        made[-1].plot().savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    _, ran, drawn, *sys.argv[1:] = sys.argv
    _run(ran, drawn)
