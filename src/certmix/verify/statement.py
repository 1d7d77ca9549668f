"""The statement of a problem, read strictly, and the digests that tie a certificate to it and to the data.

The statement is a JSON object of plain numbers (docs/certificates.md lists its entries). Numbers are exact: what is
written is the shortest decimal that reads back as the same double. An infinite bound is null.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from certmix.verify.evidence import Rejected

ENTRIES = frozenset(
    (
        *("n_samples", "n_features", "n_components", "precision", "half_log_det", "fixed_weights"),
        *(
            "weight_lower",
            "weight_upper",
            "mean_lower",
            "mean_upper",
            "alpha",
            "prior_mean",
            "prior_precision",
        ),
        *("estimators", "allow_empty", "together", "apart", "implications", "labels", "sizes", "counts"),
    )
)


def digest(statement: Mapping[str, Any]) -> str:
    """SHA-256 of the statement as JSON with sorted keys, no blanks, ASCII."""
    text = json.dumps(statement, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def data_digest(data: np.ndarray) -> str:
    """SHA-256 of "n d " in ASCII and the samples row by row as little-endian doubles (-0.0 counts as 0.0)."""
    values = np.ascontiguousarray(data, dtype="<f8") + 0.0
    head = f"{values.shape[0]} {values.shape[1]} ".encode("ascii")
    return hashlib.sha256(head + values.astype("<f8").tobytes()).hexdigest()


@dataclass(frozen=True)
class Statement:
    """The entries as arrays; see :data:`ENTRIES` and docs/certificates.md."""

    n: int
    d: int
    K: int
    precision: np.ndarray
    half_log_det: np.ndarray
    fixed_weights: np.ndarray | None
    weight_lower: np.ndarray
    weight_upper: np.ndarray
    mean_lower: np.ndarray
    mean_upper: np.ndarray
    alpha: np.ndarray
    prior_mean: np.ndarray
    prior_precision: np.ndarray
    estimators: frozenset[str]
    allow_empty: bool
    together: np.ndarray
    apart: np.ndarray
    implications: np.ndarray
    labels: np.ndarray
    sizes: np.ndarray
    counts: tuple[tuple[int, int, int, np.ndarray], ...]
    """(component, low, high, samples)."""

    def size_limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Smallest and largest size of every component; with ``pi_k = n_k / n`` the weights limit them too."""
        low = np.full(self.K, 0 if self.allow_empty else 1, dtype=np.int64)
        high = np.full(self.K, self.n, dtype=np.int64)
        for k, least, most in self.sizes.tolist():
            which = slice(None) if k < 0 else slice(k, k + 1)
            low[which] = np.maximum(low[which], least)
            high[which] = np.minimum(high[which], most)
        if "weights" in self.estimators:
            lower = self.weight_lower if self.fixed_weights is None else self.fixed_weights
            upper = self.weight_upper if self.fixed_weights is None else self.fixed_weights
            slack = 1e-9 * self.n
            low = np.maximum(low, np.ceil(lower * self.n - slack).astype(np.int64))
            high = np.minimum(high, np.floor(upper * self.n + slack).astype(np.int64))
        return low, high


def read(entry: Any) -> Statement:
    """The statement, or :class:`Rejected` with what is wrong with it."""
    if not isinstance(entry, Mapping) or set(entry) != ENTRIES:
        raise Rejected("the statement does not have the entries that it must have")
    try:
        return _read(entry)
    except (TypeError, ValueError, KeyError, IndexError, OverflowError) as error:
        raise Rejected(f"the statement cannot be read ({error})") from None


def _read(entry: Mapping[str, Any]) -> Statement:
    n, d, K = (_whole(entry[name], 1) for name in ("n_samples", "n_features", "n_components"))
    precision = _floats(entry["precision"], len(entry["precision"]), d, d)
    if len(precision) not in (1, K):
        raise Rejected("the statement has neither one precision matrix nor one per component")
    prior = entry["prior_precision"]
    found = Statement(
        n=n,
        d=d,
        K=K,
        precision=precision,
        half_log_det=_floats(entry["half_log_det"], K),
        fixed_weights=None if entry["fixed_weights"] is None else _floats(entry["fixed_weights"], K),
        weight_lower=_floats(entry["weight_lower"], K),
        weight_upper=_floats(entry["weight_upper"], K),
        mean_lower=_floats(entry["mean_lower"], K, d, missing=-math.inf),
        mean_upper=_floats(entry["mean_upper"], K, d, missing=math.inf),
        alpha=_floats(entry["alpha"], K),
        prior_mean=_floats(entry["prior_mean"], K, d),
        prior_precision=np.zeros((K, d, d)) if prior is None else _floats(prior, K, d, d),
        estimators=frozenset(entry["estimators"]),
        allow_empty=entry["allow_empty"],
        together=_rows(entry["together"], (0, n - 1), (0, n - 1)),
        apart=_rows(entry["apart"], (0, n - 1), (0, n - 1)),
        implications=_rows(entry["implications"], (0, n - 1), (0, n - 1), (-1, K - 1)),
        labels=_rows(entry["labels"], (0, n - 1), (0, K - 1)),
        sizes=_rows(entry["sizes"], (-1, K - 1), (0, None), (0, None)),
        counts=tuple(_count(row, n, K) for row in entry["counts"]),
    )
    _check(found)
    return found


def _check(s: Statement) -> None:
    if not isinstance(s.allow_empty, bool) or not s.estimators <= {"weights", "means"}:
        raise Rejected("the statement's allow_empty or estimators are not what they can be")
    if s.fixed_weights is not None and not (
        (s.fixed_weights > 0).all() and abs(s.fixed_weights.sum() - 1) < 1e-9
    ):
        raise Rejected("the statement's fixed weights are not positive or do not add up to one")
    if (
        not (s.alpha > 0).all()
        or not ((s.weight_lower >= 0) & (s.weight_lower <= s.weight_upper) & (s.weight_upper > 0)).all()
    ):
        raise Rejected("the statement's Dirichlet parameters or bounds on the weights are impossible")
    if s.allow_empty and s.fixed_weights is None and (s.alpha < 1).any():
        raise Rejected(
            "with empty components and a Dirichlet parameter below one the objective has no minimum"
        )
    if not (s.mean_lower <= s.mean_upper).all():
        raise Rejected("the statement's bounds on the means are impossible")
    for matrix in (*s.precision, *s.prior_precision):
        if not (matrix == matrix.T).all():
            raise Rejected("a matrix of the statement is not symmetric")
    # The logarithms of the determinants are part of the statement; they are looked at only for gross errors.
    own = -0.5 * np.linalg.slogdet(s.precision)[1]
    absent = len(s.precision) == 1 and not s.half_log_det.any()
    if not absent and not np.allclose(s.half_log_det, own, rtol=1e-6, atol=1e-6):
        raise Rejected("the statement's half_log_det is not that of its precision")


def _whole(value: Any, low: int, high: int | None = None) -> int:
    if (
        isinstance(value, bool)
        or not isinstance(value, int)
        or value < low
        or (high is not None and value > high)
    ):
        raise ValueError(f"{value!r} is not a whole number of the right size")
    return value


def _floats(value: Any, *shape: int, missing: float | None = None) -> np.ndarray:
    """Nested lists of numbers; null is allowed only where something may be ``missing``."""
    if not shape:
        if value is None and missing is not None:
            return np.array(missing)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise ValueError(f"{value!r} is not a finite number")
        return np.array(float(value))
    if not isinstance(value, list) or len(value) != shape[0]:
        raise ValueError(f"a list does not have {shape[0]} entries")
    return np.array([_floats(x, *shape[1:], missing=missing) for x in value], dtype=np.float64).reshape(shape)


def _rows(value: Any, *limits: tuple[int, int | None]) -> np.ndarray:
    rows = [[_whole(x, *limit) for x, limit in zip(row, limits, strict=True)] for row in value]
    return np.array(rows, dtype=np.int64).reshape(-1, len(limits))


def _count(row: Any, n: int, K: int) -> tuple[int, int, int, np.ndarray]:
    k, low, high, samples = row
    return (
        _whole(k, 0, K - 1),
        _whole(low, 0),
        _whole(high, 0),
        np.array([_whole(i, 0, n - 1) for i in samples], dtype=np.int64),
    )
