"""States of runs (:mod:`certmix.state`) as NPZ files beside ``NAME.json``, which says which of them count.

Files are numbered and never written twice: a run that is killed between two of them leaves those that its JSON file
speaks of as they were. No pickle: arrays are plain numbers, and a file that is not what the JSON file says is refused.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from certmix.errors import InputError
from certmix.io.atomic import write_atomically
from certmix.io.npz import packed, read_npz
from certmix.state import State

MOST_BYTES = 2**33  # what the arrays of a state may take in memory
MOST_FILES = 32  # of bundles; then they are written anew as one


class StateFiles:
    """The files of one run's states.

    Parameters
    ----------
    stem : path
        ``DIRECTORY/NAME`` of the files ``NAME-1.npz``, ``NAME-2.npz``, ...
    entry : mapping, optional
        What :meth:`write` returned in an earlier process: its files are left alone until there are new ones.
    """

    def __init__(self, stem: Path, entry: Mapping[str, Any] | None = None) -> None:
        self.stem, self.entry = stem, entry
        self._bundles: dict[str, set[str]] = {}  # by file, the bundles in it
        self._files: list[dict[str, str]] = []
        self._arrays: dict[str, str] = {}
        self._digest = ""
        self._next = 1 + max((_number(path, stem) for path in _all(stem)), default=0)

    def write(self, state: State) -> Mapping[str, Any]:
        """Write what is new of a state; the entry of the JSON file that :func:`read_state` reads it by."""
        stored = set().union(*self._bundles.values())
        new = {name: bundle for name, bundle in state.kept.items() if name not in stored}
        if len(self._files) >= MOST_FILES:
            new, self._files, self._bundles = dict(state.kept), [], {}
        if new:
            self._files.append(self._put(_flat(new)))
            self._bundles[self._files[-1]["file"]] = set(new)
        digest = _digest(state.arrays)
        if digest != self._digest:
            self._arrays, self._digest = self._put(state.arrays), digest
        self.entry = {"numbers": dict(state.numbers), "arrays": self._arrays, "kept": list(self._files)}
        return self.entry

    def _put(self, arrays: Mapping[str, np.ndarray]) -> dict[str, str]:
        content = packed(arrays, level=0)
        path = self.stem.with_name(f"{self.stem.name}-{self._next}.npz")
        self._next += 1
        write_atomically(path, content)
        return {"file": path.name, "sha256": hashlib.sha256(content).hexdigest()}

    def tidy(self) -> None:
        """Remove what the JSON file, now that it is written, speaks of no more, and what a killed process left."""
        used = set()
        if self.entry is not None:
            used = {file["file"] for file in (self.entry["arrays"], *self.entry["kept"])}
        for path in (*_all(self.stem), *self.stem.parent.glob(f".{self.stem.name}*.part")):
            if path.name not in used:
                path.unlink(missing_ok=True)

    def remove(self) -> None:
        self.entry = None
        self.tidy()


def read_state(stem: Path, entry: Any) -> State:
    """The state that an entry of the JSON file speaks of; :class:`InputError` where its files are not what it says."""
    try:
        numbers, own, bundles = entry["numbers"], entry["arrays"], entry["kept"]
        kept: dict[str, dict[str, np.ndarray]] = {}
        for file in bundles:
            kept |= _bundled(_read(stem, file))
        return State(numbers, _read(stem, own), kept)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"the state in {stem.parent} is damaged: {error}") from None


def _read(stem: Path, file: Mapping[str, str]) -> Mapping[str, np.ndarray]:
    name = file["file"]
    if _number(Path(name), stem) < 1:
        raise ValueError(f"{name!r} is no file of a state")
    return read_npz(stem.with_name(name), file["sha256"], MOST_BYTES)


def _all(stem: Path) -> list[Path]:
    return [path for path in stem.parent.glob(f"{stem.name}-*.npz") if _number(path, stem) > 0]


def _number(path: Path, stem: Path) -> int:
    text = path.name.removeprefix(f"{stem.name}-").removesuffix(".npz")
    return int(text) if text.isdecimal() and path.name == f"{stem.name}-{text}.npz" else 0


def _digest(arrays: Mapping[str, np.ndarray]) -> str:
    """Of the arrays themselves: an NPZ file holds the time when it was written."""
    found = hashlib.sha256()
    for name, array in arrays.items():
        found.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def _flat(bundles: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Bundles as two arrays, for there may be very many small ones: a table of contents, and their bytes."""
    parts = [(b, name, np.asarray(a)) for b, arrays in bundles.items() for name, a in arrays.items()]
    contents = json.dumps([[b, name, a.dtype.str, a.shape] for b, name, a in parts])
    return {
        "contents": np.frombuffer(contents.encode(), dtype=np.uint8),
        "bytes": np.frombuffer(b"".join(a.tobytes() for _, _, a in parts), dtype=np.uint8),
    }


def _bundled(flat: Mapping[str, np.ndarray]) -> dict[str, dict[str, np.ndarray]]:
    found: dict[str, dict[str, np.ndarray]] = {}
    content, at = flat["bytes"].tobytes(), 0
    for bundle, name, kind, shape in json.loads(flat["contents"].tobytes()):
        dtype, count = np.dtype(kind), math.prod(shape)
        if dtype.kind not in "biufU" or count < 0:
            raise ValueError(f"{name} is of kind {kind}")
        array = np.frombuffer(content, dtype, count, at).reshape(shape).copy()
        found.setdefault(bundle, {})[name] = array
        at += array.nbytes
    return found
