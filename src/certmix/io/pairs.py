"""A pair of files: ``NAME.json`` for what a person reads, ``NAME.npz`` beside it for the arrays.

No pickle: arrays are plain numbers. The JSON file carries the digest of its NPZ file, so that a pair that does not
belong together is noticed. The NPZ file has the name of the JSON file: a pair can be renamed together.
"""

from __future__ import annotations

import hashlib
import io
import math
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from certmix.errors import InputError
from certmix.io.atomic import write_atomically, write_text
from certmix.io.strict_json import dumps, loads

LEVEL = 1  # of compression: certificates are 5 to 12 % larger than with NumPy's 6, in a fifth of the time


def stem_of(path: str | Path) -> Path:
    """The common path of a pair, without the ends of its names."""
    path = Path(path)
    if not path.name:
        raise InputError(f"{str(path)!r} names no file")
    return path.with_suffix("") if path.suffix in (".json", ".npz") else path


def json_of(stem: Path) -> Path:
    return stem.with_name(stem.name + ".json")


def write_pair(path: str | Path, document: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Path:
    """Write both files, each whole or not at all; the path of the JSON file."""
    stem = stem_of(path)
    content = packed(arrays)
    entry = {"file": f"{stem.name}.npz", "sha256": hashlib.sha256(content).hexdigest()}
    write_atomically(stem.with_name(stem.name + ".npz"), content)
    write_text(json_of(stem), dumps({**document, "arrays": entry}))
    return json_of(stem)


def packed(arrays: Mapping[str, np.ndarray], level: int = LEVEL) -> bytes:
    """An NPZ file, as np.savez_compressed writes it but several times as quickly; level 0 does not compress."""
    buffer = io.BytesIO()
    method = zipfile.ZIP_DEFLATED if level else zipfile.ZIP_STORED
    with zipfile.ZipFile(buffer, "w", method, compresslevel=level) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, np.asarray(array), allow_pickle=False)
    return buffer.getvalue()


def read_document(stem: Path, form: str, version: int) -> dict[str, Any]:
    """What the JSON file says; it has to be of this format, ``certmix-result`` say, in this version."""
    source = json_of(stem)
    try:
        if not source.is_file():
            raise InputError(f"there is no file {str(source)!r}")
        document = loads(source.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{str(source)!r:.200} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source} is damaged: it is not JSON ({error})") from None
    if not isinstance(document, dict) or document.get("format") != form:
        raise InputError(f"{source} is not a {form.removeprefix('certmix-')} of certmix")
    found = document.get("version")
    if type(found) is not int or found != version:
        raise InputError(
            f"{source} has format version {found!r}; this certmix reads version {version}: make it again"
        )
    return document


def read_arrays(stem: Path, entry: Any, most_bytes: int) -> dict[str, np.ndarray]:
    """The arrays that an entry ``arrays`` of the JSON file speaks of; together they may take so many bytes."""
    if not isinstance(entry, dict) or not isinstance(entry.get("sha256"), str):
        raise InputError(f"{json_of(stem)} does not say which arrays belong to it")
    return read_npz(stem.with_name(stem.name + ".npz"), entry["sha256"], most_bytes)


def read_npz(source: Path, sha256: str, most_bytes: int) -> dict[str, np.ndarray]:
    """The arrays of a file with this digest; together they may take so many bytes."""
    if not source.is_file():
        raise InputError(f"the arrays {source.name} are missing")
    try:
        content = source.read_bytes()
        if hashlib.sha256(content).hexdigest() != sha256:
            raise InputError(f"{source.name} does not belong to its JSON file")
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(_size(archive, item) for item in archive.infolist()) > most_bytes:
                raise InputError(f"{source.name} holds arrays of more than {most_bytes:,} bytes")
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except InputError:
        raise
    except (
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
    ) as error:
        raise InputError(f"{source.name} cannot be read: {error}") from None


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
