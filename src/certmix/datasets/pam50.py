"""The PAM50 breast cancer expression data, read from the published file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from certmix.datasets.dataset import Dataset, checked_number, principal_scores
from certmix.errors import InputError
from certmix.problem import estimate_precision

FILE = "220arrays_nonUBCcommon+12normal_50g.txt"
_SUBTYPE_ROW = "subtype"


def load_pam50(path: Any, dimension: int | None = 4) -> Dataset:
    """232 samples and 50 genes, reduced to the first principal components as in the paper.

    Missing values become 0; every gene is standardised (mean 0, population standard deviation 1); the
    principal scores are scaled to unit variance. The precision is the mean of the precision matrices of the
    known subtypes.

    Parameters
    ----------
    path : str or Path
        The training matrix (tab separated, genes in rows, a row ``subtype``), or the folder that holds it.
    dimension : int or None
        Number of principal components; None keeps the standardised genes, with unit variance.

    Returns
    -------
    Dataset
        ``target`` is -1 for samples whose subtype is not known; :meth:`Dataset.labels` gives the known ones
        as constraints.
    """
    samples, genes, subtypes, matrix = read_matrix(Path(path))
    names = tuple(sorted({s for s in subtypes if s}))
    target = np.array([names.index(s) if s else -1 for s in subtypes])
    data = np.where(np.isnan(matrix), 0.0, matrix)
    data = (data - data.mean(axis=0)) / data.std(axis=0)
    common: dict[str, Any] = {
        "names": samples,
        "n_components": len(names),
        "target": target,
        "target_names": names,
    }
    if dimension is None:
        return Dataset(
            name="pam50",
            description="PAM50 expression, standardised genes",
            data=data,
            feature_names=genes,
            variance=1.0,
            **common,
        )
    checked_number(dimension, "the dimension of pam50", 1)
    if dimension > len(genes):
        raise InputError(f"the dimension of pam50 must be at most {len(genes)}, not {dimension}")
    scores, explained = principal_scores(data, dimension)
    scores = scores / scores.std(axis=0)
    return Dataset(
        name=f"pam50-{dimension}d",
        description=f"PAM50 expression, {dimension} principal components: {explained:.1%} of the variance",
        data=scores,
        feature_names=tuple(f"PC{j + 1}" for j in range(dimension)),
        precision=estimate_precision(scores, [s or None for s in subtypes], "mean-precision"),
        explained_variance=explained,
        **common,
    )


def read_matrix(path: Path) -> tuple[tuple[str, ...], tuple[str, ...], list[str], np.ndarray]:
    """Sample names, genes, subtypes (blank where unknown) and the matrix, NaN where a value is missing."""
    path = path / FILE if path.is_dir() else path
    try:
        lines = [line.split("\t") for line in path.read_text().splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the PAM50 matrix {path}: {error}") from None
    samples = tuple(name.strip() for name in lines[0][1:]) if lines else ()
    rows = {line[0].strip(): line[1:] for line in lines[1:]}
    if _SUBTYPE_ROW not in rows:
        raise InputError(f"{path} is not the PAM50 matrix: it has no row {_SUBTYPE_ROW!r}")
    for name, values in rows.items():
        if len(values) > len(samples):
            raise InputError(f"{path} has {len(values)} values for {name!r} but {len(samples)} samples")
    rows = {name: values + [""] * (len(samples) - len(values)) for name, values in rows.items()}
    subtypes = [value.strip() for value in rows.pop(_SUBTYPE_ROW)]
    if not rows or not samples:
        raise InputError(f"{path} is not the PAM50 matrix: it has no samples or no genes")
    matrix = np.array([[_number(v, gene, path) for v in values] for gene, values in rows.items()])
    return samples, tuple(rows), subtypes, matrix.T


def _number(text: str, gene: str, path: Path) -> float:
    try:
        return float(text) if text.strip() else np.nan
    except ValueError:
        raise InputError(f"{path}, gene {gene}: {text!r} is not a number") from None
