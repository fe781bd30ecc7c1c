"""The notebooks of `docs/notebooks`: executed when the site is built, as pages with outputs."""

from __future__ import annotations

import base64
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

_PICTURES = {"image/svg+xml": "svg", "image/png": "png"}


def write(folder: Path) -> None:
    """Execute each notebook and write its page and pictures beside it.

    A cell that raises fails the build. A page that is newer than its notebook and than every file
    of the package is left alone.
    """
    package = max(each.stat().st_mtime for each in (folder.parent / "src").rglob("*.py"))
    for path in sorted((folder / "notebooks").glob("*.ipynb")):
        page = path.with_suffix(".md")
        if not page.exists() or page.stat().st_mtime < max(path.stat().st_mtime, package):
            page.write_text(_page(path, _executed(path)), "utf-8")


def _executed(path: Path) -> Any:
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, 4)
    commands = str(Path(sys.executable).parent)
    os.environ["PATH"] = os.pathsep.join((commands, os.environ["PATH"]))
    with tempfile.TemporaryDirectory() as place:
        os.environ["IPYTHONDIR"] = place
        for name in ("examples", "docs"):
            Path(place, name).symlink_to(path.parents[2] / name)
        resources = {"metadata": {"path": place}}
        NotebookClient(notebook, timeout=60, kernel_name="python3", resources=resources).execute()
    return notebook


def _page(path: Path, notebook: Any) -> str:
    said = f"This page is a notebook, executed when the site was built: {{download}}`{path.name}`."
    parts: list[str] = []
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            if not number:
                parts.append(said)
            continue
        parts.append(f"```ipython3\n{cell.source}\n```")
        for place, output in enumerate(cell.outputs):
            parts.append(_output(path.with_name(f"{path.stem}-{number}-{place}"), output))
    return "\n\n".join(filter(None, parts)) + "\n"


def _output(picture: Path, output: Any) -> str:
    if output.output_type == "stream":
        return f"```text\n{output.text.rstrip()}\n```"
    data = output.get("data", {})
    for kind, ending in _PICTURES.items():
        if kind in data:
            file = picture.with_suffix(f".{ending}")
            content = data[kind]
            file.write_bytes(content.encode() if ending == "svg" else base64.b64decode(content))
            return f"![{_alternative(data)}]({file.name})"
    if "text/html" in data:
        return f"```{{raw}} html\n{data['text/html']}\n```"
    return f"```text\n{data['text/plain']}\n```" if "text/plain" in data else ""


def _alternative(data: Any) -> str:
    return json.dumps(data.get("text/plain", "A figure"))[1:-1].replace("<", "").replace(">", "")
