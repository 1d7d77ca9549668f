"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from certmix.errors import InputError, OutputError
from certmix.interruption import held

Content = bytes | Callable[[IO[bytes]], object]  # or whoever writes it


def write_atomically(path: Path, content: Content) -> None:
    """Write to a temporary file beside ``path``, then put it in place in one step."""
    with held():
        _write(path, content)


def _write(path: Path, content: Content) -> None:
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: there is no folder {str(path.parent)!r}")
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror or error}") from None
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content) if isinstance(content, bytes) else content(stream)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise OutputError(f"{path} cannot be written: {error.strerror or error}") from None
        raise


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text atomically."""
    write_atomically(path, text.encode("utf-8"))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
