"""Chromium without a window, driven by its DevTools protocol over two pipes: no library needed.

`SAFESELECT_CHROMIUM` names the program where it is not on the path.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

Json = dict[str, Any]
CHROMIUM = os.environ.get("SAFESELECT_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")


class Tab:
    """A page, and all that it asked for and said."""

    def __init__(self, writes: int, reads: int) -> None:
        self._writes, self._reads, self._rest, self._number = writes, reads, b"", 0
        self._session: Json = {}
        self.events: list[Json] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = {"sessionId": attached["sessionId"]}
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **given: Any) -> Json:
        self._number += 1
        sent = {"id": self._number, "method": method, "params": given, **self._session}
        os.write(self._writes, json.dumps(sent).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            self.events.append(answer)
        assert "error" not in answer, answer
        return dict(answer["result"])

    def _next(self) -> Json:
        while b"\0" not in self._rest:
            part = os.read(self._reads, 1 << 20)
            assert part, "Chromium is gone"
            self._rest += part
        one, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(one))

    def open(self, file: Path) -> None:
        self.events.clear()
        self.call("Page.navigate", url=file.as_uri())
        while not any(each["method"] == "Page.loadEventFired" for each in self.events):
            self.events.append(self._next())

    def of(self, *methods: str) -> list[Json]:
        return [each["params"] for each in self.events if each.get("method") in methods]

    def value(self, expression: str) -> Any:
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        return found["result"].get("value")

    def size(self, width: int, height: int) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **metrics)

    def colours(self, scheme: str) -> None:
        media = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=media)

    def paper(self) -> bytes:
        """The page as a PDF, on A4."""
        return base64.b64decode(
            self.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)["data"]
        )


@contextmanager
def browser(folder: Path) -> Iterator[Tab]:
    """A browser that runs until the block ends."""
    reads, theirs = os.pipe()
    ours, writes = os.pipe()

    def place() -> None:  # Chromium reads from 3 and writes to 4
        one, other = os.dup(ours), os.dup(theirs)
        os.dup2(one, 3)
        os.dup2(other, 4)

    process = subprocess.Popen(
        [
            *(str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
            *("--disable-dev-shm-usage", f"--user-data-dir={folder / 'profile'}"),
            *("--remote-debugging-pipe", "--disable-background-networking"),
        ],
        preexec_fn=place,
        close_fds=False,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        os.close(ours)
        os.close(theirs)
        yield Tab(writes, reads)
    finally:
        process.kill()
        process.wait()
        os.close(writes)
        os.close(reads)
