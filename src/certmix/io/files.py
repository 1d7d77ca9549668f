"""Files as bytes: plain or compressed, or standard input; what kind they are."""

from __future__ import annotations

import difflib
import gzip
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

from certmix.errors import InputError

TEXT = (".csv", ".tsv", ".tab", ".txt")
SUFFIXES = (*TEXT, ".npy", ".parquet", ".xlsx")
STANDARD_INPUT = "-"
_GZIP, _NUMPY, _PARQUET, _ZIP = b"\x1f\x8b", b"\x93NUMPY", b"PAR1", b"PK\x03\x04"


@dataclass(frozen=True)
class Source:
    """A file that was read.

    Attributes
    ----------
    name : what to call it in messages
    kind : its suffix, without ``.gz``; standard input is told by its first bytes
    """

    name: str
    kind: str
    content: bytes

    def __str__(self) -> str:
        return self.name


def read_source(path: str | Path) -> Source:
    """The content of a file, unpacked; ``-`` is standard input."""
    if str(path) == STANDARD_INPUT:
        content = _unpacked("standard input", sys.stdin.buffer.read())
        known = {_NUMPY: ".npy", _PARQUET: ".parquet", _ZIP: ".xlsx"}
        kind = next((kind for first, kind in known.items() if content.startswith(first)), ".txt")
        return Source("standard input", kind, content)
    path = existing_file(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    if path.suffix.lower() == ".gz" and content[:2] != _GZIP:
        raise InputError(f"{path} is not a gzip file")
    return Source(str(path), kind_of(path), _unpacked(str(path), content))


def existing_file(path: str | Path) -> Path:
    """The path of a file that can be read, or a sentence that says why it cannot."""
    path = Path(path)
    try:
        if path.is_dir():
            raise InputError(f"{path} is a directory, not a file")
        if not path.exists():
            close = difflib.get_close_matches(
                path.name, [p.name for p in path.parent.glob("*")], n=1, cutoff=0.8
            )
            hint = f"; did you mean {str(path.with_name(close[0]))!r}?" if close else ""
            raise InputError(f"there is no file {str(path)!r}{hint}")
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{str(path)!r} cannot be opened: {error}") from None
    if kind_of(path) not in SUFFIXES:
        kind = f"the suffix {path.suffix!r}" if path.suffix else "no suffix"
        raise InputError(f"{path} has {kind}; certmix reads {', '.join(SUFFIXES)}, each also with .gz")
    return path


def read_text(path: Path) -> str:
    """What people have written in a file, which is UTF-8."""
    try:
        raw = path.read_bytes()
    except (OSError, ValueError) as error:  # a ValueError: a path with a zero byte in it
        said = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: the file cannot be read: {said}") from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path.name}, line {line}: the file is not UTF-8 text; save it as UTF-8") from None
    if not text.strip():
        raise InputError(f"{path.name} is empty")
    return text


def kind_of(path: Path) -> str:
    """The suffix that tells what a file holds: that before ``.gz``."""
    return (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()


def _unpacked(name: str, content: bytes) -> bytes:
    if content[:2] != _GZIP:
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name} is a damaged gzip file ({error})") from None
