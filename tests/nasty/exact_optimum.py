"""The optimum of a small problem in exact arithmetic: fractions for the quadratics, sixty digits for the logarithms.

Independent of the package's evaluator, which rounds: the numbers of the problem (data, precision, prior, weights) are
taken as the doubles they are, the best means solve a linear system of fractions, and every clustering is looked at.
What is tied to an average or a share is that fraction; a share keeps bounds as the double nearest to it. Left out are
boxes around the means in three dimensions, which take long.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, getcontext, localcontext
from fractions import Fraction

import numpy as np

from certmix.presolve.groups import group_samples
from certmix.problem import Problem
from certmix.problem.satisfaction import satisfied

DIGITS = 60
Vector = list[Fraction]
Matrix = list[list[Fraction]]


@dataclass(frozen=True)
class Exact:
    """The optimum and the labels that reach it; infinite without labels when no clustering is feasible."""

    value: Decimal
    labels: np.ndarray | None


def covers(problem: Problem) -> bool:
    """Whether this module can compute the optimum of the problem."""
    flat = all(map(_is_diagonal, _matrices(problem)))
    return not problem.has_mean_box or problem.n_features <= 2 or flat


def exact_optimum(problem: Problem) -> Exact:
    """Look at every clustering of the groups of must-linked samples."""
    assert covers(problem)
    groups = group_samples(problem)
    N, K = groups.n_groups, problem.n_components
    with localcontext() as context:
        context.prec = DIGITS
        sets = [np.isin(groups.of, [g for g in range(N) if s >> g & 1]) for s in range(1 << N)]
        costs = [[quadratic_cost(problem, k, members) for members in sets] for k in range(K)]
        best, found = Decimal("Infinity"), None
        logs: dict[tuple[int, ...], Decimal] = {}
        for labels in itertools.product(range(K), repeat=N):
            expanded = np.asarray(labels, dtype=np.int64)[groups.of]
            sizes = tuple(np.bincount(expanded, minlength=K).tolist())
            if sizes not in logs:
                logs[sizes] = weight_cost(problem, sizes)
            chosen = [sum(1 << g for g, z in enumerate(labels) if z == k) for k in range(K)]
            value = sum((costs[k][s] for k, s in enumerate(chosen)), logs[sizes])
            empty = not problem.allow_empty and 0 in sizes
            if value < best and not empty and satisfied(problem, expanded).all():
                best, found = value, expanded
        return Exact(best, found)


def exact_value(problem: Problem, labels: np.ndarray) -> Decimal:
    """The objective of one clustering."""
    K = problem.n_components
    with localcontext() as context:
        context.prec = DIGITS
        logs = weight_cost(problem, tuple(np.bincount(labels, minlength=K).tolist()))
        return sum((quadratic_cost(problem, k, labels == k) for k in range(K)), logs)


def quadratic_cost(problem: Problem, k: int, members: np.ndarray) -> Decimal:
    """What the samples and the prior of a component's mean add to the objective, at its best mean."""
    d = problem.n_features
    precision = _matrix(problem.covariance.of(k))
    prior, centre = _matrix(problem.prior.precision[k]), _vector(problem.prior.mean[k])
    samples = [_vector(y) for y in problem.samples.filled[members]]
    each = [_vector(m) for m in masses(problem)[members]]
    mass = [sum((m[j] for m in each), Fraction(0)) for j in range(d)]
    total = [sum((m[j] * y[j] for m, y in zip(each, samples, strict=True)), Fraction(0)) for j in range(d)]
    left = [[mass[i] * precision[i][j] + prior[i][j] for j in range(d)] for i in range(d)]
    right = [a + b for a, b in zip(_times(precision, total), _times(prior, centre), strict=True)]

    def cost(mean: Vector) -> Fraction:
        found = _form(prior, _minus(mean, centre))
        for m, y in zip(each, samples, strict=True):
            found += _form(precision, _minus(y, mean), m)
        return found / 2

    low, high = problem.mean_lower[k], problem.mean_upper[k]
    if "means" in problem.estimators and samples:
        mean = [x / len(samples) for x in total]
        inside = all(_clip(x, low[j], high[j]) == x for j, x in enumerate(mean))
        return _decimal(cost(mean)) if inside else Decimal("Infinity")
    if all(x == 0 for row in left for x in row):  # nothing pulls at the mean
        return _beside(problem, k, members)
    if all(map(_is_diagonal, _matrices(problem))):
        means = [[_clip(right[j] / (left[j][j] or 1), low[j], high[j]) for j in range(d)]]
    else:
        means = list(_stationary(left, right, low, high))
    return _decimal(min(map(cost, means))) + _beside(problem, k, members)


def masses(problem: Problem) -> np.ndarray:
    """(n, d): how much every value counts."""
    of = np.ones((1, 1)) if problem.masses is None else problem.masses.of
    return np.broadcast_to(of, problem.data.shape)


def _beside(problem: Problem, k: int, members: np.ndarray) -> Decimal:
    """Where values do not count once: determinants and the weight in the mixture, as often as the samples count."""
    given, total = problem.masses, Decimal(0)
    if given is None:
        return total
    half = np.broadcast_to(problem.covariance.half_log_det[k], 1)
    counts = np.ones((problem.n_samples, 1)) if given.weight is None else given.weight[:, None]
    if given.missing and not problem.covariance.shared and not problem.squares:
        half, counts = -0.5 * np.log(problem.covariance.precision.entries[k]), masses(problem)
    for row in counts[members]:
        total += sum(
            (Decimal(float(m)) * Decimal(float(h)) for m, h in zip(row, half, strict=True)), Decimal(0)
        )
    if given.weight is not None:
        assert problem.fixed_weights is not None
        pi = Decimal(float(problem.fixed_weights[k])).ln()
        total -= sum((Decimal(float(w)) * pi for w in given.weight[members]), Decimal(0))
    return total


def _stationary(left: Matrix, right: Vector, low: np.ndarray, high: np.ndarray) -> Iterator[Vector]:
    """The minimisers over all faces of a box, as far as they lie in it: the best of them is the best of the box."""
    d = len(right)
    for face in itertools.product((None, 0, 1), repeat=d):
        ends = [None if f is None else float((low, high)[f][j]) for j, f in enumerate(face)]
        if any(e is not None and not np.isfinite(e) for e in ends):
            continue
        at = [Fraction(0) if e is None else Fraction(e) for e in ends]
        free = [j for j in range(d) if ends[j] is None]
        held = [j for j in range(d) if ends[j] is not None]
        if free:
            push = [right[i] - sum((left[i][j] * at[j] for j in held), Fraction(0)) for i in free]
            for i, x in zip(free, _solve([[left[i][j] for j in free] for i in free], push), strict=True):
                at[i] = x
        if all(_clip(x, low[j], high[j]) == x for j, x in enumerate(at)):
            yield at


def weight_cost(problem: Problem, sizes: tuple[int, ...]) -> Decimal:
    """What the weights add to the objective, at their best, with the log-determinants of the covariances."""
    K, n = problem.n_components, problem.n_samples
    if problem.masses is not None and problem.masses.weight is not None:
        sizes = (0,) * K
    powers = [m + Decimal(float(a)) - 1 for m, a in zip(sizes, problem.prior.alpha, strict=True)]
    known = sum(
        (m * Decimal(float(h)) for m, h in zip(sizes, problem.covariance.half_log_det, strict=True)),
        Decimal(0),
    )
    known = known if problem.masses is None else Decimal(0)  # it is beside
    if "weights" in problem.estimators and not _shares_fit(problem, sizes):
        return Decimal("Infinity")
    if problem.fixed_weights is not None:
        weights = [Decimal(float(w)) for w in problem.fixed_weights]
    elif any(c < 0 for c in powers):
        return Decimal("Infinity")
    elif "weights" in problem.estimators:
        weights = [Decimal(m) / n for m in sizes]
    elif problem.has_weight_box:
        weights = _filled(powers, problem.weight_lower, problem.weight_upper)
    else:
        total = sum(powers, Decimal(0))
        weights = [c / total if total else Decimal(1) / K for c in powers]
    if any(c != 0 and w == 0 for c, w in zip(powers, weights, strict=True)):
        return Decimal("Infinity")
    return known - sum((c * w.ln() for c, w in zip(powers, weights, strict=True) if c != 0), Decimal(0))


def _shares_fit(problem: Problem, sizes: tuple[int, ...]) -> bool:
    """Whether the shares n_k / n, as doubles, keep the bounds on the weights or are the fixed ones but for rounding."""
    shares = [m / problem.n_samples for m in sizes]
    if problem.fixed_weights is not None:
        return all(
            abs(x - w) < 1e-15 * w for x, w in zip(shares, problem.fixed_weights.tolist(), strict=True)
        )
    ends = zip(shares, problem.weight_lower.tolist(), problem.weight_upper.tolist(), strict=True)
    return all(low <= x <= high for x, low, high in ends)


def _filled(powers: list[Decimal], low: np.ndarray, high: np.ndarray) -> list[Decimal]:
    """Weights clip(power / level) in their box that add up to one: the level by bisection, to all digits."""
    below, above = [Decimal(float(x)) for x in low], [Decimal(float(x)) for x in high]

    def at(level: Decimal) -> list[Decimal]:
        return [min(max(c / level, a), b) for c, a, b in zip(powers, below, above, strict=True)]

    # Weights without power cost nothing: they take what is left over, if they can.
    first, last = Decimal(10) ** -30, Decimal(10) ** 30
    for _ in range(300):
        middle = (first * last).sqrt()
        first, last = (middle, last) if sum(at(middle), Decimal(0)) > 1 else (first, middle)
    return at(last)


def _matrices(problem: Problem) -> list[np.ndarray]:
    return [*problem.covariance.precision, *problem.prior.precision]


def _is_diagonal(matrix: np.ndarray) -> bool:
    return bool(np.array_equal(matrix, np.diag(np.diag(matrix))))


# -- arithmetic ----------------------------------------------------------------------------------------------------
def _vector(x: np.ndarray) -> Vector:
    return [Fraction(float(v)) for v in x]


def _matrix(a: np.ndarray) -> Matrix:
    return [_vector(row) for row in a]


def _times(a: Matrix, x: Vector) -> Vector:
    return [sum((c * v for c, v in zip(row, x, strict=True)), Fraction(0)) for row in a]


def _minus(x: Vector, y: Vector) -> Vector:
    return [a - b for a, b in zip(x, y, strict=True)]


def _form(a: Matrix, x: Vector, mass: Vector | None = None) -> Fraction:
    each = mass or [Fraction(1)] * len(x)
    return sum((m * v * w for m, v, w in zip(each, x, _times(a, x), strict=True)), Fraction(0))


def _solve(a: Matrix, b: Vector) -> Vector:
    """Gaussian elimination; the matrices are positive definite."""
    rows = [[*row, right] for row, right in zip(a, b, strict=True)]
    n = len(rows)
    for i in range(n):
        pivot = next(r for r in range(i, n) if rows[r][i] != 0)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for r in range(n):
            if r != i:
                rows[r] = [x - rows[r][i] * y for x, y in zip(rows[r], rows[i], strict=True)]
    return [row[-1] for row in rows]


def _clip(x: Fraction, low: float, high: float) -> Fraction:
    if np.isfinite(low):
        x = max(x, Fraction(float(low)))
    return min(x, Fraction(float(high))) if np.isfinite(high) else x


def _decimal(x: Fraction) -> Decimal:
    assert getcontext().prec >= DIGITS
    return Decimal(x.numerator) / Decimal(x.denominator)
