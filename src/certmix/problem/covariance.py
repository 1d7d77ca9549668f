"""Known covariances, shared or one for each component, and three rules that estimate them from classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from certmix.errors import InputError
from certmix.hints import did_you_mean

Rule = Literal["mean-precision", "mean-covariance", "pooled"]
RULES: tuple[str, ...] = ("mean-precision", "mean-covariance", "pooled")

# A matrix whose eigenvalues spread further than this is numerically singular in double precision.
_CONDITION_LIMIT = 1e14


@dataclass(frozen=True)
class Covariance:
    """The known precision matrices.

    Attributes
    ----------
    precision : ndarray of shape (1, d, d) when shared, else (K, d, d)
    half_log_det : ndarray of shape (K,)
        What one sample adds to the objective through the normalising constant of its component,
        ``1/2 log det Sigma_k``. Zero for a shared covariance, where it is the same for every clustering and
        is left out.
    """

    precision: np.ndarray
    half_log_det: np.ndarray

    @property
    def shared(self) -> bool:
        return self.precision.shape[0] == 1

    @property
    def diagonal(self) -> bool:
        """True when every precision matrix is diagonal."""
        d = self.precision.shape[1]
        return bool(np.all(self.precision[:, ~np.eye(d, dtype=bool)] == 0.0))

    def of(self, k: int) -> np.ndarray:
        """The precision matrix of component ``k``."""
        return self.precision[0 if self.shared else k]


def known_covariance(
    *, n_components: int, n_features: int, variance: Any = None, precision: Any = None, covariance: Any = None
) -> Covariance:
    """Validate whichever of the three was given (a unit variance when none was)."""
    given = [
        name
        for name, value in (("variance", variance), ("precision", precision), ("covariance", covariance))
        if value is not None
    ]
    if len(given) > 1:
        raise InputError(f"give only one of variance, precision, covariance; got {' and '.join(given)}")
    if precision is not None:
        return _from_matrices(precision, "precision", n_components, n_features)
    if covariance is not None:
        return _from_matrices(covariance, "covariance", n_components, n_features)
    return _from_variance(1.0 if variance is None else variance, n_components, n_features)


def _from_variance(variance: Any, n_components: int, d: int) -> Covariance:
    """A scalar for all components, or one scalar for each."""
    v = _numbers(variance, "variance")
    if v.ndim > 1 or (v.ndim == 1 and v.shape[0] != n_components):
        raise InputError(
            f"variance must be one number, or one for each of the {n_components} components; "
            f"it has shape {v.shape}"
        )
    if np.any(v <= 0):
        raise InputError(f"variance must be positive, got {np.min(v):g}")
    if np.any(v < 1e-300):
        raise InputError(f"variance {np.min(v):g} is too small for double precision; rescale the data")
    if v.ndim == 0:
        return Covariance(_frozen(np.eye(d)[None] / float(v)), _frozen(np.zeros(n_components)))
    return Covariance(_frozen(np.eye(d)[None] / v[:, None, None]), _frozen(0.5 * d * np.log(v)))


def _from_matrices(matrix: Any, what: str, n_components: int, d: int) -> Covariance:
    m = _numbers(matrix, what)
    if m.ndim == 0 and d == 1:
        m = m.reshape(1, 1)
    if m.ndim == 1 and d == 1 and m.shape[0] == n_components:
        m = m.reshape(-1, 1, 1)
    shared = m.ndim == 2
    if m.shape not in ((d, d), (n_components, d, d)):
        raise InputError(
            f"{what} must have shape ({d}, {d}), or ({n_components}, {d}, {d}) for one per component; "
            f"it has {m.shape}"
        )
    stack = m[None] if shared else m
    stack = np.stack(
        [_checked(s, what if shared else f"{what} of component {k}") for k, s in enumerate(stack)]
    )
    log_det = np.linalg.slogdet(stack)[1]
    if what == "covariance":
        stack = np.stack([_symmetric(np.linalg.inv(s)) for s in stack])
    else:
        log_det = -log_det
    half = np.zeros(n_components) if shared else 0.5 * log_det
    return Covariance(_frozen(stack), _frozen(half))


def _checked(matrix: np.ndarray, what: str) -> np.ndarray:
    """A symmetric positive definite matrix, or an error that says how it fails to be one."""
    scale = np.abs(matrix).max()
    if np.abs(matrix - matrix.T).max() > 1e-8 * scale:
        i, j = np.unravel_index(np.abs(matrix - matrix.T).argmax(), matrix.shape)
        raise InputError(
            f"{what} is not symmetric: entry ({i}, {j}) is {matrix[i, j]:g} "
            f"but ({j}, {i}) is {matrix[j, i]:g}"
        )
    matrix = _symmetric(matrix)
    eigenvalues = np.linalg.eigvalsh(matrix)
    if eigenvalues[0] <= 0 or eigenvalues[-1] > _CONDITION_LIMIT * eigenvalues[0]:
        raise InputError(
            f"{what} is singular or not positive definite: its eigenvalues run from {eigenvalues[0]:.3g} "
            f"to {eigenvalues[-1]:.3g}"
        )
    return matrix


def estimate_precision(data: Any, classes: Sequence[Any], rule: Rule = "mean-precision") -> np.ndarray:
    r"""Precision matrix from classes that are known for some of the samples.

    With :math:`S_c` the covariance (``ddof=1``) of class :math:`c` and :math:`n_c` its size, C classes:

    - ``mean-precision``: :math:`\frac1C \sum_c S_c^{-1}` (the paper's choice);
    - ``mean-covariance``: :math:`\bigl(\frac1C \sum_c S_c\bigr)^{-1}`;
    - ``pooled``: the inverse of :math:`\sum_c (n_c - 1) S_c / \sum_c (n_c - 1)`.

    Parameters
    ----------
    data : array-like of shape (n, d)
    classes : sequence of n values
        Blank entries (None, NaN, empty strings) are left out of the estimate.
    rule : {"mean-precision", "mean-covariance", "pooled"}

    Returns
    -------
    ndarray of shape (d, d)
    """
    from certmix.problem.constraints import _is_blank
    from certmix.problem.samples import Samples

    if rule not in RULES:
        raise InputError(f"unknown rule {rule!r} for the precision{did_you_mean(rule, RULES)}")
    samples = Samples(data)
    y, d = samples.values, samples.n_features
    classes = list(classes)
    if len(classes) != len(y):
        raise InputError(f"{len(classes)} classes were given for {len(y)} samples")
    members: dict[str, list[int]] = {}
    for i, c in enumerate(classes):
        if not _is_blank(c):
            members.setdefault(str(c), []).append(i)
    if not members:
        raise InputError("the class column is blank everywhere; nothing to estimate the covariance from")
    covariances, sizes = [], []
    for name, rows in sorted(members.items()):
        if len(rows) < 2:
            raise InputError(f"class {name!r} has only {len(rows)} sample; a covariance needs at least 2")
        s = np.atleast_2d(np.cov(y[rows], rowvar=False, ddof=1))
        if rule == "mean-precision":
            if len(rows) <= d:
                raise InputError(
                    f"class {name!r} has {len(rows)} samples in {d} dimensions, so its covariance is "
                    f"singular; use the rule mean-covariance or pooled, or fewer columns"
                )
            _checked(s, f"the covariance of class {name!r}")
        covariances.append(s)
        sizes.append(len(rows))
    if rule == "mean-precision":
        return _symmetric(np.mean([np.linalg.inv(s) for s in covariances], axis=0))
    if rule == "mean-covariance":
        total = np.mean(covariances, axis=0)
    else:
        total = np.average(covariances, axis=0, weights=np.asarray(sizes) - 1.0)
    return _symmetric(np.linalg.inv(_checked(total, f"the {rule} estimate")))


def _symmetric(matrix: np.ndarray) -> np.ndarray:
    return 0.5 * (matrix + matrix.T)


def _frozen(array: np.ndarray) -> np.ndarray:
    array = np.ascontiguousarray(array, dtype=np.float64)
    array.setflags(write=False)
    return array


def _numbers(value: Any, what: str) -> np.ndarray:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} is not numeric: {value!r}") from None
    if not np.all(np.isfinite(array)):
        raise InputError(f"{what} holds a value that is not finite")
    return array
