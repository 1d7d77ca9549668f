"""The statement of a problem, read strictly, and the digests that tie a certificate to it and to the data.

The statement is a JSON object of plain numbers; docs/certificates.md lists its entries and defines the objective.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from certmix.verify.evidence import LARGEST, MOST, Document, Rejected, listed, number, room, rows, whole

ENTRIES = {
    "n_samples", "n_features", "n_components", "precision", "half_log_det", "fixed_weights", "weight_lower",
    "weight_upper", "mean_lower", "mean_upper", "alpha", "prior_mean", "prior_precision", "estimators",
    "allow_empty", "component_names", "together", "apart", "implications", "labels", "sizes", "counts",
}  # fmt: skip
UNKNOWN = "variance"  # the range of an unknown variance; not there when the covariance is known
EACH = "each feature"  # behind the range: every feature has a variance of its own
MOST_EACH = 3  # features that may have: the vertices of more take long
SOFT = "soft"  # links that may be broken; not there when there are none
WEIGHT = "sample_weight"  # how much samples count; not there when each counts once
LIGHTEST, HEAVIEST = 1e-9, 1e9  # samples, so that sums of their weights keep their digits
MOST_FULL = 1000  # features of a full matrix: more would take hours to read, to add up and to prove positive
FEW = 2.0**-50  # eight units in the last place, relatively


def digest(statement: Document) -> str:
    """SHA-256 of the statement as JSON with sorted keys, no blanks, ASCII."""
    text = json.dumps(statement, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def data_digest(data: np.ndarray) -> str:
    """SHA-256 of "n d " in ASCII and the samples row by row as little-endian doubles (-0.0 as 0.0, one NaN)."""
    values = np.where(np.isnan(data), np.nan, np.ascontiguousarray(data, dtype="<f8") + 0.0)
    head = f"{values.shape[0]} {values.shape[1]} ".encode("ascii")
    return hashlib.sha256(head + values.astype("<f8").tobytes()).hexdigest()


class Statement:
    """The entries as arrays; a bound that is missing is infinite, ``counts`` are (component, low, high, samples).

    ``precision`` and ``prior_precision`` are matrices, or the diagonals of diagonal ones: one dimension less.
    ``half_log_det`` is a number for every component, or one for each of its features.
    """

    def __init__(self, entry: Document) -> None:
        n, d, K = (whole(entry[name], 1) for name in ("n_samples", "n_features", "n_components"))
        self.n, self.d, self.K = n, d, K
        self.precision = _matrices(entry["precision"], len(entry["precision"]), d)
        half = entry["half_log_det"]
        by_feature = isinstance(half, list) and half and isinstance(half[0], list)
        self.half_log_det = _floats(half, K, d) if by_feature else _floats(half, K)
        self.weighted = WEIGHT in entry
        self.weight = _floats(entry[WEIGHT], n) if self.weighted else np.broadcast_to(1.0, n)
        low, high, *each = entry.get(UNKNOWN, (1.0, None))
        self.unknown, self.per_feature = UNKNOWN in entry, each == [EACH]
        if each not in ([], [EACH]):
            raise Rejected(f"{each!r:.80} is not said of variances")
        self.variances = float(_floats(low)), float(_floats(high, missing=math.inf))
        fixed, prior = entry["fixed_weights"], entry["prior_precision"]
        self.fixed_weights = None if fixed is None else _floats(fixed, K)
        self.weight_lower = _floats(entry["weight_lower"], K)
        self.weight_upper = _floats(entry["weight_upper"], K)
        self.mean_lower = _floats(entry["mean_lower"], K, d, missing=-math.inf)
        self.mean_upper = _floats(entry["mean_upper"], K, d, missing=math.inf)
        self.alpha, self.prior_mean = _floats(entry["alpha"], K), _floats(entry["prior_mean"], K, d)
        self.prior_precision = np.zeros((K, d)) if prior is None else _matrices(prior, K, d)
        self.estimators, self.allow_empty = frozenset(_texts(entry["estimators"])), entry["allow_empty"]
        self.component_names = _texts(entry["component_names"])
        sample, component, size = (0, n - 1), (0, K - 1), (0, MOST)
        self.together = rows(entry["together"], sample, sample)
        self.apart = rows(entry["apart"], sample, sample)
        self.implications = rows(entry["implications"], sample, sample, (-1, K - 1))
        self.labels = rows(entry["labels"], sample, component)
        self.sizes = rows(entry["sizes"], (-1, K - 1), size, size)
        self.counts: list[tuple[int, int, int, np.ndarray]] = []
        for *numbers, some in map(listed, listed(entry["counts"])):
            k, least, most = rows([numbers], component, size, size)[0].tolist()
            self.counts.append((k, least, most, rows([[i] for i in listed(some)], sample)[:, 0]))
        self.soft: list[tuple[bool, float, np.ndarray]] = []
        for kind, penalty, some in map(listed, listed(entry.get(SOFT, []))):
            samples = rows([[i] for i in listed(some)], sample)[:, 0]
            self.soft.append((bool(whole(kind, 0, 1)), number(penalty), samples))

    @property
    def without_mean(self) -> np.ndarray:
        """Which components have a precision of zero, (K,) bool: noise, where all samples cost the same."""
        return np.broadcast_to(~self.precision.reshape(len(self.precision), -1).any(axis=1), self.K)

    @property
    def squares(self) -> float | None:
        """The sum of squares is so many times the objective; None where that is not k-means."""
        fixed, p = self.fixed_weights, float(self.precision.flat[0])
        own = self.precision if len(self.precision) == 1 else self.precision[~self.without_mean]
        trimmed = len(own) < len(self.precision) or len(self.precision) == 1
        one = self.precision.ndim == 2 and trimmed and (own == p).all() and p > 0
        plain = not (self.unknown or self.half_log_det.any() or self.prior_precision.any())
        return 2.0 / p if one and plain and fixed is not None and (fixed == 1.0).all() else None

    def told(self, value: float, direction: float) -> float:
        """A value of the objective in the units of the user: exact, or rounded towards this infinity."""
        factor = 1.0 if self.squares is None else self.squares
        exact = math.frexp(factor)[0] == 0.5  # a power of two
        return factor * value if exact else math.nextafter(factor * value, direction)

    @property
    def words(self) -> tuple[str, str]:
        """What the objective is called there, and its unit."""
        if self.squares is None:
            return "objective", " nats"
        return "SSE + penalties" if self.soft else "SSE", ""

    def precision_of(self, k: int) -> np.ndarray:
        return self.precision[min(k, len(self.precision) - 1)]

    def size_limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Smallest and largest size of every component; with ``pi_k = n_k / n`` the weights limit them too.

        A share counts as the double nearest to it: 3 of 10 samples keep a bound of 0.3. Fixed weights, which may come
        from a division, agree with a share to a few units in the last place.
        """
        room(self.n, 3)
        low = np.full(self.K, 0 if self.allow_empty else 1, dtype=np.int64)
        high = np.full(self.K, self.n, dtype=np.int64)
        for k, least, most in self.sizes.tolist():
            which = slice(None) if k < 0 else slice(k, k + 1)
            low[which] = np.maximum(low[which], least)
            high[which] = np.minimum(high[which], most)
        if "weights" in self.estimators:
            lower, upper = self.weight_lower, self.weight_upper
            if self.fixed_weights is not None:
                lower, upper = ((1.0 + sign * FEW) * self.fixed_weights for sign in (-1.0, 1.0))
            shares = np.arange(self.n + 1) / self.n
            low = np.maximum(low, np.searchsorted(shares, lower, side="left"))
            high = np.minimum(high, np.searchsorted(shares, upper, side="right") - 1)
        return low, high


def broken(s: Statement, labels: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """What every rule is called, and (M,) bool: which rows of labels, (M, n), break it."""
    (a, b), (c, d), (i, j, k) = s.together.T, s.apart.T, s.implications.T
    yield "a must-link", (labels[:, a] != labels[:, b]).any(axis=1)
    yield "a cannot-link", (labels[:, c] == labels[:, d]).any(axis=1)
    known, component = s.labels.T
    yield "a known label", (labels[:, known] != component).any(axis=1)
    there = (k < 0) | (labels[:, i] == k)
    yield "an implication", (there & (labels[:, i] != labels[:, j])).any(axis=1)
    limits = [(k, low, high, slice(None)) for k, (low, high) in enumerate(zip(*s.size_limits(), strict=True))]
    for what, rules in (("a size limit", limits), ("a count", s.counts)):
        for k, low, high, samples in rules:
            found = (labels[:, samples] == k).sum(axis=1)
            yield what, (found < low) | (found > high)


def penalty(s: Statement, labels: np.ndarray) -> list[float]:
    """What the soft links cost that labels break: those whose samples are not together, or not all apart."""
    found = []
    for together, cost, samples in s.soft:
        different = len(set(labels[samples].tolist()))
        if different > 1 if together else different < len(samples):
            found.append(cost)
    return found


def counted(s: Statement, data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The samples, zero where a value is missing, and how much every value counts: (n, d), or (n, 1) if none is."""
    if data.shape != (s.n, s.d):
        raise Rejected(f"the data have shape {data.shape}, the certificate is about {s.n} x {s.d}")
    missing = np.isnan(data)
    if np.isinf(data).any():
        raise Rejected("the data have values that are infinite")
    if not missing.any():
        return data, s.weight[:, None]
    diagonal = s.precision.ndim == s.prior_precision.ndim == 2
    if not diagonal or s.unknown or s.estimators:
        what = "matrices must be diagonal then, variances known, and there are no estimators"
        raise Rejected(f"the data have values that are missing: {what}")
    return np.where(missing, 0.0, data), s.weight[:, None] * ~missing


def times(rows: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Rows times a matrix, or times the diagonal matrix of which that is the diagonal."""
    return np.asarray(rows * matrix if matrix.ndim == 1 else rows @ matrix)


def read(entry: Any) -> Statement:
    """The statement, or :class:`Rejected` with what is wrong with it."""
    if not isinstance(entry, Mapping) or set(entry) - {UNKNOWN, SOFT, WEIGHT} != ENTRIES:
        raise Rejected("the statement does not have the entries that it must have")
    try:
        found = Statement(entry)
    except (Rejected, TypeError, ValueError, KeyError, IndexError, OverflowError) as error:
        raise Rejected(f"the statement cannot be read ({error})") from None
    wrong = _wrong(found)
    if wrong:
        raise Rejected(f"the statement's {wrong}")
    return found


def _wrong(s: Statement) -> str | None:
    """What is impossible about a statement."""
    if not isinstance(s.allow_empty, bool) or not s.estimators <= {"weights", "means"}:
        return "allow_empty or estimators are not what they can be"
    if len(s.component_names) != s.K:
        return "components do not have one name each"
    if len(s.precision) not in (1, s.K):
        return "precision is neither one matrix nor one per component"
    for matrix in (*s.precision, *s.prior_precision):
        diagonal = np.abs(matrix if matrix.ndim == 1 else np.diag(matrix))
        if (matrix != matrix.T).any() or ((diagonal > 0) & (diagonal < 1 / LARGEST)).any():
            return f"matrices are not symmetric, or have numbers below {1 / LARGEST:g}: their shares would underflow"
    if not all(cost >= 0.0 and len(set(some.tolist())) == len(some) >= 2 for _, cost, some in s.soft):
        return "soft links have a negative penalty, or are not about two samples or more that differ"
    if not 0.0 <= s.variances[0] < s.variances[1]:
        return "range of variances is impossible"
    if s.per_feature and (s.d > MOST_EACH or s.precision.shape != (1, s.d) or (s.precision != 1.0).any()):
        return "features have variances of their own, but are too many or have a shape as well"
    fixed = np.ones(s.K) if s.fixed_weights is None else s.fixed_weights
    if not ((fixed > 0).all() and (abs(fixed.sum() - 1) < 1e-9 or (fixed == 1.0).all())):
        return "fixed weights are not positive, or neither add up to one nor are all one (k-means)"
    if s.weighted:
        if s.fixed_weights is None or s.estimators or s.unknown:
            return "samples have weights, but those of components are not fixed, or the variance is unknown"
        if not ((s.weight >= LIGHTEST) & (s.weight <= HEAVIEST)).all():
            return f"samples have weights outside {LIGHTEST:g} .. {HEAVIEST:g}"
    if not ((s.weight_lower >= 0) & (s.weight_lower <= s.weight_upper) & (s.weight_upper > 0)).all():
        return "bounds on the weights are impossible"
    if not (s.mean_lower <= s.mean_upper).all() or not (s.alpha > 0).all():
        return "bounds on the means or Dirichlet parameters are impossible"
    if s.fixed_weights is None and ((s.alpha < 1) & (s.size_limits()[0] == 0)).any():
        return "objective has no minimum: a Dirichlet parameter is below one and components may be empty"
    by_feature = s.half_log_det.ndim == 2
    if by_feature and (s.precision.ndim == 3 or s.unknown):
        return "half_log_det is one of features, but these are correlated or have unknown variances"
    # The logarithms of the determinants are part of the statement; they are looked at only for gross errors.
    if len(s.precision) > 1 or s.half_log_det.any():
        full = s.precision.ndim == 3
        with np.errstate(divide="ignore", invalid="ignore"):
            own = np.linalg.slogdet(s.precision)[1] if full else np.log(s.precision)
        own = own if full or by_feature else own.sum(axis=1)
        # Without a mean there is no determinant: what a sample costs there is for the statement to say.
        noise = s.without_mean
        free = noise if s.squares is None else np.full(len(noise), True)
        alike = np.isclose(s.half_log_det, -0.5 * own, rtol=1e-6, atol=1e-6)
        if not (free | (alike.all(axis=1) if by_feature else alike)).all():
            return "half_log_det is not that of its precision"
        if noise.any() and (noise.all() or s.unknown or s.prior_precision[noise].any()):
            return "component of precision zero has a prior, an unknown variance, or no other beside it"
    return None


def _floats(value: Any, *shape: int, missing: float | None = None) -> np.ndarray:
    """Nested lists of numbers; null is allowed only where something may be ``missing``."""
    if not shape:
        return np.array(missing if value is None and missing is not None else number(value))
    found = [_floats(x, *shape[1:], missing=missing) for x in listed(value, count=shape[0])]
    return np.array(found, dtype=np.float64).reshape(shape)


def _texts(value: Any) -> tuple[str, ...]:
    """Texts that differ."""
    if not all(isinstance(text, str) and text for text in listed(value)) or len(set(value)) < len(value):
        raise Rejected(f"{value!r:.80} is not a list of texts that differ")
    return tuple(value)


def _matrices(value: Any, count: int, d: int) -> np.ndarray:
    """Full matrices, (count, d, d), or the diagonals of diagonal ones, (count, d)."""
    full = isinstance(value, list) and value and isinstance(value[0], list) and isinstance(value[0][0], list)
    if full and d > MOST_FULL:
        raise Rejected(too_many_features(d))
    return _floats(value, count, d, d) if full else _floats(value, count, d)


def too_many_features(d: int) -> str:
    """Why full matrices of so many features are refused."""
    large = f"its matrices of {d:,} x {d:,} numbers are too large to check"
    return f"{large}; with more than {MOST_FULL:,} features matrices must be diagonal"
