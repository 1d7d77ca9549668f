"""Arrays that are kept for later, in a temporary file: a record grows, memory does not."""

from __future__ import annotations

import io
import weakref
from collections.abc import Mapping
from tempfile import TemporaryFile
from threading import Lock

import numpy as np


class Shelf:
    """Bundles of arrays, put there once and read as often as need be; gone when nobody has the shelf any more."""

    def __init__(self) -> None:
        self._file = TemporaryFile()  # noqa: SIM115
        self._lock = Lock()
        weakref.finalize(self, self._file.close)

    def put(self, arrays: Mapping[str, np.ndarray]) -> tuple[int, int]:
        """Returns where they are."""
        content = io.BytesIO()
        np.savez(content, **arrays)  # type: ignore[arg-type]
        with self._lock:
            at = self._file.seek(0, io.SEEK_END)
            return at, self._file.write(content.getbuffer())

    def get(self, place: tuple[int, int]) -> dict[str, np.ndarray]:
        with self._lock:
            self._file.seek(place[0])
            content = self._file.read(place[1])
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            return dict(arrays)
