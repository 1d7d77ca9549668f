"""A pair of files: ``NAME.json`` for what a person reads, ``NAME.npz`` beside it for the arrays.

No pickle: arrays are plain numbers. The JSON file carries the digest of its NPZ file, so that a pair that does not
belong together is noticed. The NPZ file has the name of the JSON file: a pair can be renamed together.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from certmix.errors import InputError
from certmix.io.atomic import write_atomically, write_text
from certmix.io.npz import pack, read_npz
from certmix.io.strict_json import dumps, loads


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
    target = stem.with_name(stem.name + ".npz")
    write_atomically(target, partial(pack, arrays))
    with target.open("rb") as stream:
        entry = {"file": target.name, "sha256": hashlib.file_digest(stream, "sha256").hexdigest()}
    write_text(json_of(stem), dumps({**document, "arrays": entry}))
    return json_of(stem)


def read_document(stem: Path, form: str, version: int) -> dict[str, Any]:
    """What the JSON file says; it has to be of this format, ``certmix-result`` say, in this version."""
    source = json_of(stem)
    try:
        there = source.is_file()
        document = loads(source.read_text(encoding="utf-8")) if there else None
    except OSError as error:
        raise InputError(f"{str(source)!r:.200} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source} is damaged: it is not JSON ({error})") from None
    if not there:
        raise InputError(f"there is no file {str(source)!r}, a {form.removeprefix('certmix-')} of certmix")
    if not isinstance(document, dict) or document.get("format") != form:
        raise InputError(f"{source} is not a {form.removeprefix('certmix-')} of certmix")
    found = document.get("version")
    if type(found) is not int or found != version:
        raise InputError(
            f"{source} has format version {found!r}; this certmix reads version {version}: make it again"
        )
    return document


def read_arrays(stem: Path, entry: Any, most_bytes: int) -> Mapping[str, np.ndarray]:
    """The arrays that an entry ``arrays`` of the JSON file speaks of; together they may take so many bytes."""
    if not isinstance(entry, dict) or not isinstance(entry.get("sha256"), str):
        raise InputError(f"{json_of(stem)} does not say which arrays belong to it")
    return read_npz(stem.with_name(stem.name + ".npz"), entry["sha256"], most_bytes)
