"""A temporary file for what would take too much memory."""

from __future__ import annotations

import io
import tempfile
import threading
from dataclasses import dataclass


class Spool:
    """A temporary file that goes away with its last reader, whatever happens."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="certmix-")  # noqa: SIM115
        self._lock = threading.Lock()

    def put(self, content: bytes | memoryview) -> Stored:
        with self._lock:
            start = self._file.seek(0, io.SEEK_END)
            self._file.write(content)
        return Stored(self, start, len(content))

    def read(self, start: int, length: int) -> bytes:
        with self._lock:
            self._file.seek(start)
            return self._file.read(length)


@dataclass(frozen=True)
class Stored:
    """A piece of a :class:`Spool`."""

    spool: Spool
    start: int
    length: int

    def read(self) -> bytes:
        return self.spool.read(self.start, self.length)
