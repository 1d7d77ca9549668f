"""Compilation with a cache that knows what a kernel is made of.

Numba's cache on disk notices when the file of a function changes, but not when a function that it calls, in another
file, does: it would go on running the old code. A stale bound is a wrong bound, so the cache of every module here
lives in a directory named after the text of the module and of all kernels that it imports; and after the module's
date, because Numba's index goes by that: two installations of different dates that shared a directory would write over
each other's code while it is in use.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import config as _numba_config

config: Any = _numba_config  # its settings are made at run time
_HERE = Path(__file__).parent
_IMPORT = re.compile(r"^from certmix\.kernels\.(\w+) import", re.MULTILINE)


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """``numba.njit(cache=True, nogil=True, **options)`` with the cache described above.

    No kernel holds the interpreter's lock: signals, the clock and the log are heard while it works.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        before = config.CACHE_DIR
        config.CACHE_DIR = _directory(function.__module__.rpartition(".")[2]) or before
        try:
            return numba.njit(cache=True, **{"nogil": True, **options})(function)
        finally:
            config.CACHE_DIR = before

    return decorate


@cache
def _directory(module: str) -> str:
    """Where a module's compiled functions are kept; empty (numba's own choice) when it cannot be made."""
    date = (_HERE / f"{module}.py").stat().st_mtime_ns
    digest = hashlib.sha256(f"{numba.__version__} {date}".encode())
    for name in sorted(_ingredients(module)):
        digest.update(name.encode() + (_HERE / f"{name}.py").read_bytes())
    base = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    place = Path(base) / "certmix" / f"{module}-{digest.hexdigest()[:16]}"
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError:
        return ""
    return str(place)


def _ingredients(module: str) -> set[str]:
    """A kernel module and all kernel modules that it imports, directly or not."""
    found, waiting = set(), [module]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _IMPORT.findall((_HERE / f"{name}.py").read_text(encoding="utf-8"))
    return found
