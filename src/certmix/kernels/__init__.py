"""Compiled functions over plain arrays. When one has to be compiled, :mod:`certmix.compiling` is told."""

from __future__ import annotations

from typing import Any

from numba.core import event

from certmix.compiling import compilation_begins, compilation_ends


class _Watch(event.Listener):
    """Told by numba before it compiles a function; functions that come from its cache on disk are not compiled."""

    def on_start(self, event: Any) -> None:
        if _ours(event):
            compilation_begins()

    def on_end(self, event: Any) -> None:
        if _ours(event):
            compilation_ends()


def _ours(event: Any) -> bool:
    return bool(event.data["dispatcher"].py_func.__module__.startswith(__name__))


event.register("numba:compile", _Watch())
