"""Arrays that are kept for later, in a temporary file: a record grows, memory does not."""

from __future__ import annotations

import io
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from tempfile import TemporaryFile
from threading import Lock

import numpy as np


class Shelf:
    """A temporary file for bundles of arrays, gone when nobody has it or one of them any more."""

    def __init__(self) -> None:
        self._file = TemporaryFile()  # noqa: SIM115
        self._lock = Lock()
        weakref.finalize(self, self._file.close)

    def put(self, arrays: Mapping[str, np.ndarray]) -> Bundle:
        content = io.BytesIO()
        np.savez(content, **arrays)  # type: ignore[arg-type]
        with self._lock:
            at = self._file.seek(0, io.SEEK_END)
            return Bundle(self, tuple(arrays), at, self._file.write(content.getbuffer()))

    def read(self, at: int, size: int) -> io.BytesIO:
        with self._lock:
            self._file.seek(at)
            return io.BytesIO(self._file.read(size))


@dataclass(frozen=True)
class Bundle(Mapping[str, np.ndarray]):
    """Arrays on a shelf, read when somebody asks for them."""

    shelf: Shelf
    names: tuple[str, ...]
    at: int
    size: int

    def __getitem__(self, name: str) -> np.ndarray:
        with np.load(self.shelf.read(self.at, self.size), allow_pickle=False) as arrays:
            return np.asarray(arrays[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)
