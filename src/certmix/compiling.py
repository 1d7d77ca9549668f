"""Telling that kernels are being compiled: numba does so when one is first used, and keeps the result on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

MESSAGE = "compiling kernels; this is done once on a machine, so later runs begin sooner"

_listeners: list[Callable[[str], None]] = []


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
    for listener in list(_listeners):
        listener(MESSAGE)
