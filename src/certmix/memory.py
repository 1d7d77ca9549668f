"""How much memory a run may take, and whether it has.

The limit is on the resident memory of the process. It is looked at where a run decides whether to stop
(:func:`certmix.search.stopping.stop_reason`), where local methods look at the clock, and before anything large is
allocated (:func:`require`), so that a run ends with what it has and not by the system's killer.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from certmix.errors import InputError

SHARE = 0.8  # of what is free, by default
EVERY = 0.02  # seconds between two looks
EASY = 2**20  # bytes that are not worth a look
TRIM = 1.0  # seconds between two returns of free memory
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


class OutOfMemory(MemoryError):
    """A run would take more memory than it may; what it has found and proved until then counts."""


class _Account:
    def __init__(self) -> None:
        self.limits: list[int] = []  # of the runs going on; the smallest counts
        self.next_look = 0.0
        self.next_trim = 0.0
        self.over = False


_account = _Account()


def parsed(text: Any) -> int | None:
    """Bytes from a number or from a text like ``500M`` or ``4G`` (powers of 1024)."""
    if text is None:
        return None
    if isinstance(text, str):
        found = re.fullmatch(r"(\d+(?:\.\d*)?)\s*([KMGT]?)(?:i?B)?", text.strip(), flags=re.IGNORECASE)
        if found is not None and float(found[1]) > 0:
            return max(1, int(float(found[1]) * _UNITS[found[2].upper()]))
    elif isinstance(text, (int, float)) and not isinstance(text, bool) and 1 <= text < float("inf"):
        return int(text)
    raise InputError(f"the memory limit must be a number of bytes, or like 500M or 4G, not {text!r}")


def words(n_bytes: float) -> str:
    """1.5 GB, 300 MB."""
    return f"{n_bytes / 2**30:.3g} GB" if n_bytes >= 2**30 else f"{n_bytes / 2**20:.3g} MB"


@contextmanager
def limited(limit: int | None) -> Iterator[None]:
    """A run with a limit; by default a share of what is free now, beyond what the process has already."""
    used, free = resident(), available()
    if limit is None:
        limit = sys.maxsize if free is None else int((used or 0) + SHARE * free)
    elif used is not None and used >= limit:
        raise InputError(
            f"the memory limit of {words(limit)} is below what the process takes before any work, {words(used)}"
        )
    _account.limits.append(limit)
    _account.next_look, _account.over = 0.0, False  # another run's verdict is not this one's
    try:
        yield
    finally:
        _account.limits.remove(limit)


def reached() -> bool:
    """Whether the run has come to its limit; looks at most every few milliseconds."""
    now = time.monotonic()
    if now >= _account.next_look:
        _account.next_look = now + EVERY
        _account.over = room() <= 0
    return _account.over and bool(_account.limits)


def check() -> None:
    """Raise OutOfMemory if the run has come to its limit."""
    if reached():
        raise OutOfMemory(f"the run has come to its memory limit of {words(min(_account.limits))}")


def require(n_bytes: float, what: str) -> None:
    """Raise OutOfMemory unless there is room for so many bytes more."""
    if n_bytes > EASY and n_bytes > room():
        raise OutOfMemory(
            f"{what} would take {words(n_bytes)}, and {words(max(0.0, room()))} of the memory limit are left"
        )


def give_back() -> None:
    """Return what was freed to the system, where the C library keeps it otherwise (glibc), at most once a second.

    Matrices that come and go by the hundred leave holes that are not filled: a run would grow though it holds no more.
    """
    now = time.monotonic()
    if sys.platform != "linux" or now < _account.next_trim:
        return
    _account.next_trim = now + TRIM
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError):  # another C library
        _account.next_trim = float("inf")


def room() -> float:
    """Bytes that are left; infinite without a limit."""
    used = resident() if _account.limits else None
    return float("inf") if used is None else float(min(_account.limits) - used)


def resident() -> int | None:
    """Resident memory of this process in bytes, or its peak where only that is known."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        pass
    try:
        import psutil  # type: ignore[import-untyped, unused-ignore]

        return int(psutil.Process().memory_info().rss)
    except ImportError:
        pass
    try:
        import resource
    except ImportError:  # Windows without psutil: nobody knows
        return None
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * (1 if sys.platform == "darwin" else 1024)


def available() -> int | None:
    """Bytes that the machine, or the container, can still give; None where nobody knows."""
    known = [x for x in (_machine(), *_containers()) if x is not None]
    return max(0, min(known)) if known else None


def _machine() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        import psutil  # type: ignore[import-untyped, unused-ignore]

        return int(psutil.virtual_memory().available)
    except ImportError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None


def _containers(root: Path = Path("/sys/fs/cgroup"), mine: Path = Path("/proc/self/cgroup")) -> list[int]:
    """What the control groups of this process, and all above them, have left (versions 1 and 2)."""
    found = []
    try:
        entries = [line.split(":", 2) for line in mine.read_text().splitlines()]
    except OSError:
        return []
    for _, controllers, path in (e for e in entries if len(e) == 3):
        if controllers == "":
            top, most, used = root, "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            top, most, used = root / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        here = top / path.lstrip("/")
        # Inside a container the path is that of the host, and what is mounted at the top is ours.
        for folder in {here, *(p for p in here.parents if p.is_relative_to(top)), top}:
            left = _left(folder / most, folder / used, folder / "memory.stat")
            if left is not None:
                found.append(left)
    return found


def _left(most: Path, used: Path, stat: Path) -> int | None:
    """What a control group has left, files in the cache not counted: those can be dropped."""
    try:
        limit, taken = int(most.read_text()), int(used.read_text())
    except (OSError, ValueError):  # no such group, or the word "max"
        return None
    try:
        rows = dict(line.split() for line in stat.read_text().splitlines())
        taken -= int(rows.get("total_inactive_file", rows.get("inactive_file", 0)))
    except (OSError, ValueError):
        pass
    return limit - taken
