"""Known covariances, shared or one for each component, and three rules that estimate them from classes.

A covariance may also be known but for one factor, the variance sigma^2: then its shape is known. Or it is known to be
diagonal, with a variance for every feature, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from certmix.errors import InputError, about
from certmix.hints import did_you_mean
from certmix.problem.symmetric_matrices import Matrices

Rule = Literal["mean-precision", "mean-covariance", "pooled"]
RULES: tuple[str, ...] = ("mean-precision", "mean-covariance", "pooled")

# A matrix whose eigenvalues spread further than this is numerically singular in double precision.
_CONDITION_LIMIT = 1e14
# Of a diagonal covariance that is unknown: polyhedra in more dimensions have too many vertices.
MOST_VARIANCES = 3
# The eigenvalues of a larger matrix would take longer than most runs.
_MOST_EIGENVALUES = 500


@dataclass(frozen=True)
class Covariance:
    """The known precision matrices, or their known shape.

    Attributes
    ----------
    precision : Matrices, one when shared, else K
    half_log_det : ndarray of shape (K,)
        What one sample adds to the objective through the normalising constant of its component,
        ``1/2 log det Sigma_k``. Zero where constants do not count.
    constants_count : bool
        Whether the objective holds normalising constants: the covariances were given for every component, the variance
        is unknown, or there is noise. They are the same for every clustering otherwise, and are left out.
    variances : (lower, upper), or None
        Between which the unknown variance lies that the covariances are to be multiplied by; None when they are known.
    per_feature : bool
        Whether every feature has an unknown variance of its own.
    """

    precision: Matrices
    half_log_det: np.ndarray
    constants_count: bool
    variances: tuple[float, float] | None = None
    per_feature: bool = False

    @property
    def unknown(self) -> bool:
        """Whether the variance is to be found."""
        return self.variances is not None

    def scaled(self, scale: float | np.ndarray) -> Covariance:
        """The known covariance whose precision is so many times that of this shape (of each feature, or of all)."""
        half = np.zeros(len(self.half_log_det))
        if not self.shared:
            half = self.half_log_det - 0.5 * self.precision.entries.shape[1] * math.log(float(scale))
            half = np.where(self.without_mean, self.half_log_det, half)
        return Covariance(Matrices(scale * self.precision.entries), frozen(half), not self.shared)

    @property
    def shared(self) -> bool:
        return len(self.precision) == 1

    @property
    def without_mean(self) -> np.ndarray:
        """Which components have none, (K,) bool: the noise, whose precision is zero."""
        zero = ~self.precision.entries.reshape(len(self.precision), -1).any(axis=1)
        return np.broadcast_to(zero, len(self.half_log_det))

    @property
    def alike(self) -> bool:
        """True when all components that have a mean have the same covariance."""
        own = self.precision.entries[~self.without_mean[: len(self.precision)]]
        return bool(np.all(own == own[:1]))

    @property
    def diagonal(self) -> bool:
        """True when every precision matrix is diagonal."""
        return self.precision.diagonal

    @property
    def scalar(self) -> bool:
        """True when it is one known variance, for all features and components."""
        entries = self.precision.entries
        one = self.diagonal and not self.constants_count
        return one and bool(np.all(entries == entries.flat[0]))

    def of(self, k: int) -> np.ndarray:
        """The precision matrix of component ``k``, in full."""
        return self.precision[0 if self.shared else k]

    def times(self, k: int, rows: np.ndarray) -> np.ndarray:
        """Rows times the precision matrix of component ``k``."""
        return self.precision.times(0 if self.shared else k, rows)


def covariance_of(
    *,
    n_components: int,
    n_features: int,
    variance: Any = None,
    precision: Any = None,
    covariance: Any = None,
    variance_range: Any = None,
) -> Covariance:
    """Validate what was given: a known covariance, or a shape and ``variance="unknown"``, or ``"diagonal"``."""
    diagonal = isinstance(variance, str) and variance == "diagonal"
    unknown = diagonal or (isinstance(variance, str) and variance == "unknown")
    if variance_range is not None and not unknown:
        raise InputError("a range of variances is given, but the variance is not unknown")
    if diagonal:
        _check_diagonal(n_features, precision, covariance)
    shape = _known(n_components, n_features, None if unknown else variance, precision, covariance)
    if not unknown:
        return shape
    half = shape.half_log_det
    if shape.shared:
        half = frozen(np.full(n_components, -0.5 * shape.precision.log_determinant(0)))
    with about("variance_range"):
        limits = _variances(variance_range)
    return Covariance(shape.precision, half, True, limits, diagonal and n_features > 1)


def _check_diagonal(n_features: int, precision: Any, covariance: Any) -> None:
    if precision is not None or covariance is not None:
        raise InputError(
            "a diagonal covariance that is unknown has no shape: leave precision and covariance out"
        )
    if n_features > MOST_VARIANCES:
        raise InputError(
            f"an unknown variance for every feature is found for up to {MOST_VARIANCES} features, and there are "
            f"{n_features}: give the shape of the covariance and the variance 'unknown' (one factor for all), or "
            "scale the features"
        )


def _variances(given: Any) -> tuple[float, float]:
    """The range of an unknown variance; open where nothing is given."""
    try:
        low, high = (None, None) if given is None else given
        lower, upper = 0.0 if low is None else float(low), math.inf if high is None else float(high)
    except (TypeError, ValueError):
        raise InputError(
            f"the range of variances must be a pair (smallest, largest), not {given!r}"
        ) from None
    if not 0.0 <= lower < upper:
        raise InputError(
            f"the range of variances must be two numbers with 0 <= smallest < largest, not {lower:g} and {upper:g}"
        )
    if (lower and lower < 1e-280) or (math.isfinite(upper) and not 1e-280 <= upper <= 1e280):
        raise InputError("the range of variances is beyond double precision; rescale the data")
    return lower, upper


def _known(n_components: int, n_features: int, variance: Any, precision: Any, covariance: Any) -> Covariance:
    """Validate whichever of the three was given (a unit variance when none was)."""
    forms = {"variance": variance, "precision": precision, "covariance": covariance}
    given = [name for name, value in forms.items() if value is not None]
    if len(given) > 1:
        raise InputError(f"give only one of variance, precision, covariance; got {' and '.join(given)}")
    if isinstance(covariance, Covariance):
        return _taken_over(covariance, n_components, n_features)
    if precision is not None:
        return _from_matrices(precision, "precision", n_components, n_features)
    if covariance is not None:
        return _from_matrices(covariance, "covariance", n_components, n_features)
    return _from_variance(1.0 if variance is None else variance, n_components, n_features)


def _from_variance(variance: Any, n_components: int, d: int) -> Covariance:
    """A scalar for all components, or one scalar for each."""
    if isinstance(variance, str):
        raise InputError(f"variance must be numbers, 'unknown' or 'diagonal', not {variance!r}")
    v = numbers(variance, "variance")
    if v.ndim > 1 or (v.ndim == 1 and v.shape[0] != n_components):
        raise InputError(
            f"variance must be one number, or one for each of the {n_components} components; "
            f"it has shape {v.shape}"
        )
    if np.any(v <= 0):
        raise InputError(f"variance must be positive, got {np.min(v):g}")
    if np.any(v < 1e-300):
        raise InputError(f"variance {np.min(v):g} is too small for double precision; rescale the data")
    half = np.zeros(n_components) if v.ndim == 0 else 0.5 * d * np.log(v)
    return Covariance(Matrices(np.repeat(1.0 / v.reshape(-1, 1), d, axis=1)), frozen(half), v.ndim > 0)


def _taken_over(found: Covariance, n_components: int, d: int) -> Covariance:
    """The covariance of another problem of the same shape (:meth:`Problem.replace`)."""
    own = not found.shared or (found.constants_count and not found.unknown)
    if found.precision.entries.shape[1] != d or (own and len(found.half_log_det) != n_components):
        raise InputError("the covariance is that of a problem with other features or components")
    if own:
        return found
    return replace(found, half_log_det=frozen(np.full(n_components, found.half_log_det[0])))


def _from_matrices(matrix: Any, what: str, n_components: int, d: int) -> Covariance:
    m = numbers(matrix, what)
    if m.ndim == 0 and d == 1:
        m = m.reshape(1, 1)
    if m.ndim == 1 and d == 1 and m.shape[0] == n_components:
        m = m.reshape(-1, 1, 1)
    if m.shape not in ((d,), (d, d), (n_components, d, d)):
        raise InputError(
            f"{what} must have shape ({d}, {d}), ({d},) for a diagonal one, or ({n_components}, {d}, {d}) for "
            f"one per component; it has {m.shape}"
        )
    shared = m.ndim < 3
    given = Matrices(m[None] if shared else m)
    names = [what if shared else f"{what} of component {k}" for k in range(len(given))]
    if given.diagonal:
        for name, values in zip(names, given.entries, strict=True):
            _check_spread(name, float(values.min()), float(values.max()))
        half = 0.5 * np.log(given.entries).sum(axis=1)
        found = given if what == "precision" else Matrices(1.0 / given.entries)
    else:
        stack = [positive_definite(s, name) for name, s in zip(names, given.entries, strict=True)]
        half = np.zeros(1) if shared else 0.5 * np.linalg.slogdet(np.stack(stack))[1]
        found = Matrices(
            np.stack(stack if what == "precision" else [symmetric(np.linalg.inv(s)) for s in stack])
        )
    half = np.zeros(n_components) if shared else half
    return Covariance(found, frozen(-half if what == "precision" else half), not shared)


def positive_definite(matrix: np.ndarray, what: str) -> np.ndarray:
    """A symmetric positive definite matrix, or an error that says how it fails to be one."""
    scale = np.abs(matrix).max()
    if np.abs(matrix - matrix.T).max() > 1e-8 * scale:
        i, j = np.unravel_index(np.abs(matrix - matrix.T).argmax(), matrix.shape)
        raise InputError(
            f"{what} is not symmetric: entry ({i}, {j}) is {matrix[i, j]:g} "
            f"but ({j}, {i}) is {matrix[j, i]:g}"
        )
    matrix = symmetric(matrix)
    if len(matrix) > _MOST_EIGENVALUES:
        _check_factor(what, matrix)
    else:
        eigenvalues = np.linalg.eigvalsh(matrix)
        _check_spread(what, float(eigenvalues[0]), float(eigenvalues[-1]))
    return matrix


def _check_spread(what: str, least: float, largest: float) -> None:
    if least <= 0 or largest > _CONDITION_LIMIT * least:
        raise InputError(
            f"{what} is singular or not positive definite: its eigenvalues run from {least:.3g} to {largest:.3g}"
        )


def _check_factor(what: str, matrix: np.ndarray) -> None:
    """One Cholesky factorisation and LAPACK's estimate of the condition: a tenth of the time of the eigenvalues."""
    from scipy.linalg.lapack import dpocon, dpotrf

    factor, failed = dpotrf(matrix, clean=0)
    reciprocal = 0.0 if failed else float(dpocon(factor, np.abs(matrix).sum(axis=0).max())[0])
    if reciprocal * _CONDITION_LIMIT < 1.0:
        raise InputError(f"{what} is singular or not positive definite: its condition is beyond 1e14")


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
    from certmix.problem.constraints import is_blank
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
        if not is_blank(c):
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
            positive_definite(s, f"the covariance of class {name!r}")
        covariances.append(s)
        sizes.append(len(rows))
    if rule == "mean-precision":
        return symmetric(np.mean([np.linalg.inv(s) for s in covariances], axis=0))
    if rule == "mean-covariance":
        total = np.mean(covariances, axis=0)
    else:
        total = np.average(covariances, axis=0, weights=np.asarray(sizes) - 1.0)
    return symmetric(np.linalg.inv(positive_definite(total, f"the {rule} estimate")))


def symmetric(matrix: np.ndarray) -> np.ndarray:
    """The symmetric part of a matrix."""
    return 0.5 * (matrix + matrix.T)


def frozen(array: np.ndarray) -> np.ndarray:
    """The numbers as an array that cannot be written to."""
    array = np.ascontiguousarray(array, dtype=np.float64)
    array.setflags(write=False)
    return array


def numbers(value: Any, what: str) -> np.ndarray:
    """Finite numbers, or an error that says what is not."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} is not numeric: {value!r}") from None
    if not np.all(np.isfinite(array)):
        raise InputError(f"{what} holds a value that is not finite")
    return array
