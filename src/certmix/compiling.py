"""Telling that kernels are being compiled: numba does so when one is first used, and keeps the result on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

MESSAGE = "compiling kernels; this is done once on a machine, so later runs begin sooner"

_listeners: list[Callable[[str], None]] = []
_under_way: list[bool] = []  # one entry for every function that is being compiled, one inside the other


@contextmanager
def announced(tell: Callable[[str], None]) -> Iterator[None]:
    """Within the block, the first compilation of a kernel calls ``tell`` with a sentence about it."""
    told = False

    def once(text: str) -> None:
        nonlocal told
        if not told:
            told = True
            tell(text)

    _listeners.append(once)
    try:
        yield
    finally:
        _listeners.remove(once)


def compilation_begins() -> None:
    """Called from :mod:`certmix.kernels` whenever numba compiles one of its functions."""
    _under_way.append(True)
    for listener in list(_listeners):
        listener(MESSAGE)


def compilation_ends() -> None:
    """Called from :mod:`certmix.kernels` when numba has compiled one of its functions."""
    _under_way.pop()


def under_way() -> bool:
    """Whether a kernel is being compiled: whoever gave up now would have to begin again in the next run."""
    return bool(_under_way)
