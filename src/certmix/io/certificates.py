"""The certificate as a pair of files: ``certificate.json`` for what a person reads, ``certificate.npz`` for arrays.

docs/certificates.md describes every entry.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from certmix.io.npz import NestedArrays, packed
from certmix.io.pairs import read_arrays, read_document, stem_of, write_pair
from certmix.verify.check import FORMAT, VERSION

MOST_BYTES = 2**28  # what the arrays of a certificate may take in memory


@dataclass(frozen=True, eq=False)
class Certificate:
    """A claim and its proof.

    Attributes
    ----------
    document : dict, ready for JSON
        ``format``, ``version``, ``claim``, ``statement``, ``digests``, ``objective``, ``bound``, ``tolerances``,
        ``steps``, ``made_by``; of a run on the command line ``options``.
    arrays : mapping of name -> ndarray
        ``incumbent/labels``, ``incumbent/means``, ``incumbent/weights``, ``tree/parent``, ``tree/kind``,
        ``tree/args``, and those of the steps; of a sum ``partition``, and under ``parts/t/`` those of part t, read when
        they are asked for.
    """

    document: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def infeasible(self) -> bool:
        """Whether the claim is that no clustering meets the constraints."""
        return self.document.get("claim") == "infeasible"

    @property
    def complete(self) -> bool:
        """Whether all of its proof is there: parts that were checked as they were made need not have been kept."""
        return not isinstance(self.arrays, NestedArrays) or self.arrays.complete

    @property
    def bound(self) -> float:
        """The lower bound that is claimed; infinite when nothing is feasible."""
        return math.inf if self.infeasible else float(self.document["bound"])

    @property
    def objective(self) -> float:
        """The value of the clustering that the certificate holds; infinite when nothing is feasible."""
        return math.inf if self.infeasible else float(self.document["objective"])

    @property
    def parts(self) -> tuple[Certificate, ...]:
        """The certificates inside a comparison."""
        inside = self.document.get("parts", ()) if self.document.get("claim") == "comparison" else ()
        return tuple(Certificate(part, self.part_arrays(i)) for i, part in enumerate(inside))

    def part_arrays(self, t: int) -> dict[str, np.ndarray]:
        """The arrays of a part, all at once."""
        prefix = f"parts/{t}/"
        return {name.removeprefix(prefix): a for name, a in self.arrays.items() if name.startswith(prefix)}

    @property
    def proof(self) -> dict[str, Any]:
        """What another certificate has of it as a part: its bound, null when nothing is feasible, and its proof."""
        return {name: self.document[name] for name in ("bound", "steps", "parts") if name in self.document}

    @property
    def known(self) -> set[tuple[str, str, float]]:
        """What the checker need not look at again once it is verified: digests of statement and data, the bound."""
        digests = self.document["digests"]
        return set() if self.infeasible else {(digests["statement"], digests["data"], self.bound)}

    @property
    def proof_arrays(self) -> Mapping[str, np.ndarray]:
        """The arrays without the clustering: those of its proof."""
        nested = self.arrays if isinstance(self.arrays, NestedArrays) else None
        own = self.arrays if nested is None else nested.own
        proof = {name: array for name, array in own.items() if not name.startswith("incumbent/")}
        return proof if nested is None else NestedArrays(proof, nested.parts, nested.archive)

    def packed(self) -> bytes:
        """The arrays as an NPZ file."""
        return packed(self.arrays)

    def save(self, path: str | Path) -> Path:
        """Write ``PATH.json`` and ``PATH.npz``; the path of the former."""
        return write_pair(_in_directory(path), self.document, self.arrays)

    @staticmethod
    def load(path: str | Path) -> Certificate:
        """Read what :meth:`save` wrote; a file that is not that is an :class:`InputError`."""
        stem = stem_of(_in_directory(path))
        document = read_document(stem, FORMAT, VERSION)
        return Certificate(document, read_arrays(stem, document.pop("arrays", None), MOST_BYTES))


def _in_directory(path: str | Path) -> Path:
    return Path(path) / "certificate" if Path(path).is_dir() else Path(path)
