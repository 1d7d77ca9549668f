"""Compilation with a cache that knows what a kernel is made of.

Numba's cache on disk notices when the file of a function changes, but not when a function that it calls, in another
file, does: it would go on running the old code. A stale bound is a wrong bound, so the cache of every module here
lives in a directory named after the text of the module and of all kernels that it imports; and after the module's
date, because Numba's index goes by that: two installations of different dates that shared a directory would write over
each other's code while it is in use.

A kernel that other kernels call and one that Python calls are compiled differently (:class:`Kernel`): the first needs
no way in from Python and no file, which is a quarter of the time that compiling takes.
"""

from __future__ import annotations

import gc
import hashlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numba
from llvmlite.binding import get_host_cpu_features, get_host_cpu_name
from numba.core import config as _numba_config
from numba.core.types import unliteral

from certmix.compiling import compilation_begins, compilation_ends
from certmix.stopping import end_if_left, left_alone

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # two processes may then compile the same kernel, which costs time only
    flock = None  # type: ignore[assignment]

config: Any = _numba_config  # its settings are made at run time
_HERE = Path(__file__).parent
_IMPORT = re.compile(r"^from certmix\.kernels\.(\w+) import", re.MULTILINE)


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """``numba.njit(cache=True, nogil=True, **options)`` with the cache described above.

    No kernel holds the interpreter's lock: signals, the clock and the log are heard while it works.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        if config.DISABLE_JIT:
            return function
        return _cached(function, options) if "inline" in options else Kernel(function, options)

    return decorate


class Kernel:
    """A compiled function: called from Python it comes from the cache, called from a kernel it is part of that."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.py_func = function
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self.entry = _cached(function, {**options, "no_cfunc_wrapper": True})
        # All alike but for fastmath: Numba compiles its own functions again for other options.
        inner: dict[str, Any] = {name: value for name, value in options.items() if name != "nogil"}
        inner |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        self._inner = numba.njit(**inner)(function)
        template = self._inner.get_call_template
        # A constant among the arguments is no reason to compile a kernel again.
        self._inner.get_call_template = lambda args, kws: template(
            tuple(map(unliteral, args)), {name: unliteral(kind) for name, kind in kws.items()}
        )

    def __call__(self, *arguments: Any) -> Any:
        if left_alone:
            end_if_left()
        answer = self.entry(*arguments)
        if left_alone:
            end_if_left()
        return answer

    @property
    def _numba_type_(self) -> Any:
        """What Numba sees when a kernel calls this one."""
        return self._inner._numba_type_


def _cached(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    before = config.CACHE_DIR
    place = _directory(function.__module__.rpartition(".")[2])
    config.CACHE_DIR = place or before
    try:
        dispatcher = numba.njit(cache=True, **{"nogil": True, **options})(function)
    finally:
        config.CACHE_DIR = before
    compile_or_load = dispatcher.compile

    def compile_once(signature: Any) -> Any:
        with _alone(Path(place, f"{function.__name__}.lock") if place else None), _no_collection():
            return compile_or_load(signature)

    dispatcher.compile = compile_once
    return dispatcher


@contextmanager
def _alone(path: Path | None) -> Iterator[None]:
    """Within the block no other process compiles this kernel: whoever comes second finds it in the cache."""
    try:
        file = None if path is None or flock is None else os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:  # a cache that can only be read
        file = None
    try:
        if file is not None:
            _take(file)
        yield
    finally:
        if file is not None:
            os.close(file)


def _take(file: int) -> None:
    try:
        flock(file, LOCK_EX | LOCK_NB)
    except OSError:  # another process compiles it: for whoever waits that is the same
        compilation_begins()
        try:
            flock(file, LOCK_EX)
        finally:
            compilation_ends()


@contextmanager
def _no_collection() -> Iterator[None]:
    """The compiler makes many objects that live long: looking for garbage among them is a tenth of its time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@cache
def _directory(module: str) -> str:
    """Where a module's compiled functions are kept; empty (numba's own choice) when it cannot be made."""
    date = (_HERE / f"{module}.py").stat().st_mtime_ns
    digest = hashlib.sha256(f"{numba.__version__} {date}".encode())
    for name in sorted(_ingredients(module)):
        digest.update(name.encode() + (_HERE / f"{name}.py").read_bytes())
    place = folder() / f"{module}-{digest.hexdigest()[:16]}"
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError:
        return ""
    return str(place)


def folder() -> Path:
    """Where all compiled functions are kept."""
    base = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "certmix"


@cache
def digest_of_all() -> str:
    """Names the texts and dates of all kernels, Numba's version and the processor."""
    modules = sorted(path.stem for path in _HERE.glob("*.py"))
    processor = f"{get_host_cpu_name()} {get_host_cpu_features().flatten()}"
    return hashlib.sha256(" ".join([processor, *map(_directory, modules)]).encode()).hexdigest()[:16]


def _ingredients(module: str) -> set[str]:
    """A kernel module and all kernel modules that it imports, directly or not."""
    found, waiting = set(), [module]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _IMPORT.findall((_HERE / f"{name}.py").read_text(encoding="utf-8"))
    return found
