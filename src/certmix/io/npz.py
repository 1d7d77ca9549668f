"""NPZ files: arrays of plain numbers, none of them pickled; and NPZ files inside an NPZ file, read when asked for."""

from __future__ import annotations

import hashlib
import io
import math
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from certmix.errors import InputError
from certmix.spool import Stored

LEVEL = 1  # of compression: certificates are 5 to 12 % larger than with NumPy's 6, in a fifth of the time
MOST_PART = 2**30  # bytes that the arrays of one part may take in memory
_FILE = re.compile(r"parts/(0|[1-9][0-9]*)\.npz")
_NAME = re.compile(r"parts/(0|[1-9][0-9]*)/(.+)")
_UNREADABLE = (
    OSError,
    ValueError,
    EOFError,
    KeyError,
    TypeError,
    SyntaxError,
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
    RuntimeError,  # encrypted, or compressed in a way that Python does not know
)


class NestedArrays(Mapping[str, np.ndarray]):
    """Arrays by name and, as ``parts/t/NAME``, those of parts, each an NPZ file; one part is in memory at a time.

    Attributes
    ----------
    own : the arrays beside the parts
    parts : for each part its NPZ file: bytes, or where they are; None for one that was not kept
    """

    def __init__(
        self,
        own: Mapping[str, np.ndarray],
        parts: Sequence[bytes | Stored | zipfile.ZipInfo | None],
        archive: zipfile.ZipFile | None = None,
    ) -> None:
        self.own, self.parts, self.archive = own, parts, archive
        self._last: tuple[int, Mapping[str, np.ndarray]] = (-1, {})

    @property
    def complete(self) -> bool:
        """Whether every part was kept."""
        return all(part is not None for part in self.parts)

    def content(self, t: int) -> bytes:
        """The NPZ file of a part."""
        part = self.parts[t]
        if part is None:
            raise InputError(f"the proof of part {t} was not kept")
        if isinstance(part, zipfile.ZipInfo):
            assert self.archive is not None
            if part.file_size > MOST_PART:
                raise InputError(f"{part.filename} holds more than {MOST_PART:,} bytes")
            with _readable(part.filename):
                return self.archive.read(part)
        return part.read() if isinstance(part, Stored) else part

    def __getitem__(self, name: str) -> np.ndarray:
        if name in self.own:
            return self.own[name]
        found = _NAME.fullmatch(name)
        if found is None or int(found[1]) >= len(self.parts):
            raise KeyError(name)
        return self._part(int(found[1]))[found[2]]

    def _part(self, t: int) -> Mapping[str, np.ndarray]:
        if self._last[0] != t:
            self._last = (-1, {})  # gone before the next one comes
            self._last = (t, unpacked(io.BytesIO(self.content(t)), MOST_PART, f"the file of part {t}"))
        return self._last[1]

    def __iter__(self) -> Iterator[str]:
        yield from self.own
        for t in range(len(self.parts)):
            yield from (f"parts/{t}/{name}" for name in self._part(t))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def packed(arrays: Mapping[str, np.ndarray], level: int = LEVEL) -> bytes:
    """An NPZ file, as np.savez_compressed writes it but several times as quickly; level 0 does not compress."""
    buffer = io.BytesIO()
    pack(arrays, buffer, level)
    return buffer.getvalue()


def pack(arrays: Mapping[str, np.ndarray], stream: IO[bytes], level: int = LEVEL) -> None:
    """Write an NPZ file."""
    method = zipfile.ZIP_DEFLATED if level else zipfile.ZIP_STORED
    own, parts = (arrays.own, arrays.parts) if isinstance(arrays, NestedArrays) else (arrays, ())
    with zipfile.ZipFile(stream, "w", method, compresslevel=level) as archive:
        for name, array in own.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)
        for t in range(len(parts)):
            assert isinstance(arrays, NestedArrays)
            archive.writestr(f"parts/{t}.npz", arrays.content(t), zipfile.ZIP_STORED)


def read_npz(source: Path, sha256: str, most_bytes: int) -> Mapping[str, np.ndarray]:
    """The arrays of a file with this digest; together they may take so many bytes."""
    if not source.is_file():
        raise InputError(f"the arrays {source.name} are missing")
    try:
        stream = source.open("rb")
        same = hashlib.file_digest(stream, "sha256").hexdigest() == sha256
    except OSError as error:
        raise InputError(f"{source.name} cannot be read: {error}") from None
    if not same:
        raise InputError(f"{source.name} does not belong to its JSON file")
    return unpacked(stream, most_bytes, source.name)


def unpacked(stream: IO[bytes], most_bytes: int, name: str) -> Mapping[str, np.ndarray]:
    """The arrays of an NPZ file that is called so; those beside its parts may take so many bytes together."""
    with _readable(name):
        archive = zipfile.ZipFile(stream)
        parts = {int(found[1]): i for i in archive.infolist() if (found := _FILE.fullmatch(i.filename))}
        items = [item for item in archive.infolist() if not _FILE.fullmatch(item.filename)]
        if sum(_size(archive, item) for item in items) > most_bytes:
            raise InputError(f"{name} holds arrays of more than {most_bytes:,} bytes")
        own = {item.filename.removesuffix(".npy"): _array(archive, item) for item in items}
        if parts:
            return NestedArrays(own, [parts[t] for t in range(len(parts))], archive)
        stream.close()
        return own


@contextmanager
def _readable(name: str) -> Iterator[None]:
    """Whatever is wrong with a file is an :class:`InputError`."""
    try:
        yield
    except InputError:
        raise
    except _UNREADABLE as error:
        raise InputError(f"{name} cannot be read: {error}") from None


def _array(archive: zipfile.ZipFile, item: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(item) as stream:
        return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))


def _size(archive: zipfile.ZipFile, item: zipfile.ZipInfo) -> int:
    """The bytes that an array of the archive takes in memory; its header has to agree with what is there."""
    with archive.open(item) as stream:
        version = np.lib.format.read_magic(stream)
        read = (
            np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        )
        shape, _, dtype = read(stream)
        size = math.prod(shape) * dtype.itemsize
        if item.file_size != stream.tell() + size:
            raise ValueError(f"array {item.filename} does not have the length that it claims")
    return size
