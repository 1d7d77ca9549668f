"""The certificate as a pair of files: ``certificate.json`` for what a person reads, ``certificate.npz`` for arrays.

docs/certificates.md describes every entry. No pickle: arrays are plain numbers. The JSON file carries the digest of its
NPZ file.
"""

from __future__ import annotations

import hashlib
import io
import math
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from certmix.errors import InputError
from certmix.io.atomic import write_atomically, write_text
from certmix.io.strict_json import dumps, loads
from certmix.verify.check import FORMAT, VERSION

LEVEL = 1  # of compression: certificates are 5 to 12 % larger than with NumPy's 6, in a fifth of the time
MOST_BYTES = 2**28  # what the arrays of a certificate may take in memory


@dataclass(frozen=True, eq=False)
class Certificate:
    """A claim and its proof.

    Attributes
    ----------
    document : dict, ready for JSON
        ``format``, ``version``, ``claim``, ``statement``, ``digests``, ``objective``, ``bound``, ``tolerances``,
        ``steps``, ``made_by``; of a run on the command line ``options``.
    arrays : dict of name -> ndarray
        ``incumbent/labels``, ``incumbent/means``, ``incumbent/weights``, ``tree/parent``, ``tree/kind``,
        ``tree/args``, and those of the steps.
    """

    document: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def infeasible(self) -> bool:
        """Whether the claim is that no clustering meets the constraints."""
        return self.document.get("claim") == "infeasible"

    @property
    def bound(self) -> float:
        """The lower bound that is claimed; infinite when nothing is feasible."""
        return math.inf if self.infeasible else float(self.document["bound"])

    @property
    def objective(self) -> float:
        """The value of the clustering that the certificate holds; infinite when nothing is feasible."""
        return math.inf if self.infeasible else float(self.document["objective"])

    def packed(self) -> bytes:
        """The arrays as an NPZ file, as np.savez_compressed writes it but several times as quickly."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as archive:
            for name, array in self.arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                    np.lib.format.write_array(stream, np.asarray(array), allow_pickle=False)
        return buffer.getvalue()

    def save(self, path: str | Path) -> Path:
        """Write ``PATH.json`` and ``PATH.npz``; the path of the former."""
        stem = _stem(path)
        content = self.packed()
        entry = {"file": f"{stem.name}.npz", "sha256": hashlib.sha256(content).hexdigest()}
        target = stem.with_name(stem.name + ".json")
        write_atomically(stem.with_name(stem.name + ".npz"), content)
        write_text(target, dumps({**self.document, "arrays": entry}))
        return target

    @staticmethod
    def load(path: str | Path) -> Certificate:
        """Read what :meth:`save` wrote; a file that is not that is an :class:`InputError`."""
        stem = _stem(path)
        source = stem.with_name(stem.name + ".json")
        document = _read_json(source)
        entry = document.pop("arrays", None)
        if not isinstance(entry, dict) or not isinstance(entry.get("sha256"), str):
            raise InputError(f"{source} does not say which arrays belong to it")
        return Certificate(document, _read_arrays(stem.with_name(stem.name + ".npz"), entry["sha256"]))


def _stem(path: str | Path) -> Path:
    path = Path(path)
    if path.is_dir():
        path = path / "certificate"
    return path.with_suffix("") if path.suffix in (".json", ".npz") else path


def _read_json(source: Path) -> dict[str, Any]:
    if not source.is_file():
        raise InputError(f"there is no file {str(source)!r}")
    try:
        document = loads(source.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{source} cannot be read: it is not JSON ({error})") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InputError(f"{source} is not a certificate of certmix")
    version = document.get("version")
    if type(version) is not int or version != VERSION:
        raise InputError(
            f"{source} has format version {version!r}; this certmix reads version {VERSION}: make it again"
        )
    return document


def _read_arrays(source: Path, sha256: str) -> dict[str, np.ndarray]:
    if not source.is_file():
        raise InputError(f"the arrays {source.name} of the certificate are missing")
    try:
        content = source.read_bytes()
        if hashlib.sha256(content).hexdigest() != sha256:
            raise InputError(f"{source.name} does not belong to its JSON file")
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(_size(archive, item) for item in archive.infolist()) > MOST_BYTES:
                raise InputError(f"{source.name} holds arrays of more than {MOST_BYTES:,} bytes")
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
    ) as e:
        raise InputError(f"{source.name} cannot be read: {e}") from None


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
