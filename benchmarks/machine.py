"""What was measured on, and whether something else was running meanwhile."""

from __future__ import annotations

import os
import platform
import time
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

__all__ = ["Load", "describe_machine", "raise_mmap_threshold", "warning"]

_PACKAGES = ("safeselect", "numpy", "gmpy2", "opendp", "diffprivlib", "scikit-learn")
_BUSY = 0.1  # of one core


def describe_machine() -> dict[str, object]:
    """The machine, the interpreter, the versions and the date."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "versions": {name: _version(name) for name in _PACKAGES},
    }


class Load:
    """How busy the machine was with other things since this object was made."""

    def __init__(self) -> None:
        self.before = os.getloadavg()[0]
        self._start = time.monotonic()
        self._busy, self._own = _busy_seconds(), _own_seconds()

    def others(self) -> float | None:
        """Cores' worth of work done by other processes, or None where that cannot be known."""
        busy = _busy_seconds()
        if busy is None or self._busy is None:
            return None
        elapsed = max(time.monotonic() - self._start, 1e-9)
        return max(0.0, (busy - self._busy - _own_seconds() + self._own) / elapsed)


def warning(others: float | None, load: float) -> str:
    """A sentence if the figures should not be trusted, else nothing."""
    if others is not None and others > _BUSY:
        return f"not idle: other processes used {others:.0%} of a core, so take the times as rough"
    if others is None and load > 0.5:
        return f"PERHAPS NOT IDLE: the load average was {load:.2f} before the run"
    return ""


def raise_mmap_threshold() -> None:
    """Put the C allocator into the state of a process that has freed large blocks before.

    glibc maps large blocks anew each time and returns them to the system, which costs a page fault
    for every 4 KiB used; after a block of up to 32 MB was freed it keeps blocks of that size.
    """
    block = bytearray((32 << 20) - 8192)
    del block


def _busy_seconds() -> float | None:
    """Seconds that all cores have worked since boot; time stolen by the host counts as work."""
    try:
        fields = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()
    except OSError:
        return None
    user, nice, system, _idle, _wait, irq, softirq, steal = map(int, fields[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    return sum(os.times()[:4])


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
