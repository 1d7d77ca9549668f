"""The PAM50 files: expression, known subtypes, published centroids, and the paper's PAM assignments."""

from __future__ import annotations

import csv
import difflib
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from certmix.datasets import Dataset, load_pam50
from certmix.datasets.pam50 import FILE, read_matrix
from certmix.errors import InputError

CENTROIDS = "pam50_centroids.txt"
ASSIGNMENTS = "pam_assignments.csv"


@dataclass(frozen=True, eq=False)
class Expression:
    """Everything about PAM50 that the pieces need.

    Attributes
    ----------
    matrix : ndarray of shape (n, genes)
        Expression as published; NaN where a value is missing.
    reduced : Dataset
        ``pam50-4d``: the principal components that are clustered, with the known subtypes as target.
    centroids : ndarray of shape (subtypes, genes), or None
        The published ones, in the order of ``reduced.target_names``.
    assignments : ndarray of n subtypes, or None
        What the file ``pam_assignments.csv`` says that PAM gave.
    digest : str
        Of the matrix's file: two runs with the same digest had the same data.
    """

    genes: tuple[str, ...]
    matrix: np.ndarray
    reduced: Dataset
    centroids: np.ndarray | None
    assignments: np.ndarray | None
    digest: str

    @property
    def samples(self) -> tuple[str, ...]:
        assert self.reduced.names is not None
        return self.reduced.names

    @property
    def subtypes(self) -> tuple[str, ...]:
        return self.reduced.target_names

    @property
    def target(self) -> np.ndarray:
        """Known subtype of every sample, -1 where it is not known."""
        assert self.reduced.target is not None
        return self.reduced.target

    @property
    def known(self) -> np.ndarray:
        return self.target >= 0

    @property
    def missing(self) -> float:
        """Share of values that are missing."""
        return float(np.isnan(self.matrix).mean())

    def positions(self, names: Sequence[str]) -> list[int]:
        """Where samples of these names stand."""
        place = {name: i for i, name in enumerate(self.samples)}
        for name in names:
            if name not in place:
                near = difflib.get_close_matches(name, self.samples, n=1, cutoff=0.0)
                raise InputError(f"PAM50 has no sample {name!r}; the most similar name is {near[0]!r}")
        return [place[name] for name in names]


def read(path: Path) -> Expression:
    """Read the matrix, and the centroids and assignments that lie beside it, if they do."""
    file = path / FILE if path.is_dir() else path
    if not file.is_file():
        raise InputError(f"there is no PAM50 matrix {str(file)!r}")
    reduced = load_pam50(file)
    _, genes, _, matrix = read_matrix(file)
    return Expression(
        genes=genes,
        matrix=matrix,
        reduced=reduced,
        centroids=_centroids(file.parent / CENTROIDS, genes, reduced.target_names),
        assignments=_assignments(file.parent / ASSIGNMENTS, reduced),
        digest=hashlib.sha256(file.read_bytes()).hexdigest()[:12],
    )


def _rows(path: Path, delimiter: str) -> list[list[str]] | None:
    if not path.is_file():
        return None
    try:
        rows = [row for row in csv.reader(path.read_text().splitlines(), delimiter=delimiter) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot read {path}: {error}") from None
    if not rows:
        raise InputError(f"{path} is empty")
    return rows


def _centroids(path: Path, genes: tuple[str, ...], subtypes: tuple[str, ...]) -> np.ndarray | None:
    """Published centroids of the same genes and subtypes, (subtypes, genes)."""
    rows = _rows(path, "\t")
    if rows is None:
        return None
    names = [name.strip() for name in rows[0] if name.strip()]
    try:
        found = {row[0].strip(): [float(value) for value in row[1:]] for row in rows[1:]}
        table = np.array([found[gene] for gene in genes])
        return np.stack([table[:, names.index(subtype)] for subtype in subtypes])
    except (KeyError, ValueError, IndexError) as error:
        raise InputError(f"{path} does not hold a centroid for every gene and subtype ({error})") from None


def _assignments(path: Path, dataset: Dataset) -> np.ndarray | None:
    """Subtypes that PAM gave, by sample name."""
    rows = _rows(path, ",")
    if rows is None:
        return None
    try:
        found = {row[0]: dataset.target_names.index(row[1]) for row in rows[1:]}
        return np.array([found[name] for name in dataset.names or ()])
    except (KeyError, ValueError, IndexError) as error:
        raise InputError(f"{path} does not hold a subtype for every sample ({error})") from None
