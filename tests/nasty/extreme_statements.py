"""Statements with numbers at the ends of what can be written, and their exact optimum: no evaluator of ours has a say.

Diagonal matrices only, so that the best mean is found feature by feature; weights are fixed, or free without bounds.
"""

from __future__ import annotations

import itertools
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np

DIGITS = 80
Statement = dict[str, Any]


def extreme(rng: np.random.Generator) -> tuple[Statement, np.ndarray]:
    """A statement of four or five samples that no run would write, and data for it."""
    n, K, d = int(rng.integers(2, 6)), int(rng.integers(1, 4)), int(rng.integers(1, 3))
    scale = 10.0 ** float(rng.choice([0, 0, -150, -40, 30, 60, 99]))
    data = scale * rng.normal(size=(n, d)) + float(rng.choice([0.0, 0.0, scale * 1e10, 1e99]))
    if rng.random() < 0.2:
        data[rng.integers(n)] = data[0]
    if rng.random() < 0.1:
        data[rng.integers(n), rng.integers(d)] = float(rng.choice([5e-324, 1e-308, -0.0, 1e100]))
    shared = rng.random() < 0.5
    near = float(np.clip(scale**-2, 1e-100, 1e100)) if rng.random() < 0.7 else 1.0
    precision = near * 10.0 ** rng.uniform(-2, 2, size=(1 if shared else K, d))
    precision = np.clip(precision, 1e-100, 1e100)
    half = np.zeros(K) if shared else -0.5 * np.log(precision).sum(axis=1)
    entry: Statement = {
        "n_samples": n,
        "n_features": d,
        "n_components": K,
        "fixed_weights": None,
        "weight_lower": [0.0] * K,
        "weight_upper": [1.0] * K,
        "mean_lower": [[None] * d] * K,
        "mean_upper": [[None] * d] * K,
        "alpha": [1.0] * K,
        "prior_mean": [[0.0] * d] * K,
        "prior_precision": None,
        "estimators": [],
        "allow_empty": bool(rng.random() < 0.5),
        "component_names": [str(k) for k in range(K)],
        **{name: [] for name in ("together", "apart", "implications", "labels", "sizes", "counts")},
    }
    if rng.random() < 0.5:
        fixed = rng.dirichlet(np.full(K, 0.3)) * (1.0 - 1e-12 * K) + 1e-12
        entry["fixed_weights"] = [1.0] * K if rng.random() < 0.4 else fixed.tolist()
    if rng.random() < 0.3:
        entry["alpha"] = (1.0 + 10.0 ** rng.uniform(-15, 12, size=K)).tolist()
    if rng.random() < 0.3:
        entry["prior_precision"] = np.clip(
            precision * 10.0 ** rng.uniform(-15, 15, size=(K, d)), 1e-100, 1e100
        ).tolist()
        entry["prior_mean"] = np.clip(
            data[0] + scale * 10.0 ** rng.uniform(-3, 9, size=(K, d)), -1e100, 1e100
        ).tolist()
    if rng.random() < 0.3:
        low, high = np.sort(data[rng.integers(n, size=2)], axis=0)
        entry["mean_lower"], entry["mean_upper"] = (
            [low.tolist()] * K,
            [np.nextafter(high, np.inf).tolist()] * K,
        )
    if n > 2 and rng.random() < 0.3:
        entry["together"] = [[0, 1]]
    if entry["fixed_weights"] is not None and rng.random() < 0.5:
        entry["sample_weight"] = (10.0 ** rng.uniform(-9, 9, size=n)).clip(1e-9, 1e9).tolist()
    if d > 1 and rng.random() < 0.4:
        data[np.arange(n), rng.integers(d, size=n)] = np.nan
        half = half if shared else -0.5 * np.log(precision)
    entry["precision"], entry["half_log_det"] = precision.tolist(), (half + 0.0).tolist()
    return entry, np.clip(data, -1e100, 1e100)


def costs(entry: Statement, data: np.ndarray) -> dict[tuple[int, ...], Decimal]:
    """The exact objective of every clustering that keeps the rules, to many digits."""
    n, K = data.shape[0], entry["n_components"]
    found = {}
    with localcontext() as context:
        context.prec, context.Emax, context.Emin = DIGITS, 10**6, -(10**6)
        for labels in itertools.product(range(K), repeat=n):
            full = entry["allow_empty"] or len(set(labels)) == K
            if full and all(labels[i] == labels[j] for i, j in entry["together"]):
                found[labels] = _cost(entry, data, labels)
    return found


def _cost(entry: Statement, data: np.ndarray, labels: tuple[int, ...]) -> Decimal:
    n, d, K = len(labels), data.shape[1], entry["n_components"]
    weight = [Fraction(w) for w in entry.get("sample_weight", [1.0] * n)]
    total, powers = Decimal(0), []
    for k in range(K):
        mine = [i for i in range(n) if labels[i] == k]
        mass = sum((weight[i] for i in mine), Fraction(0))
        powers.append(_decimal(mass + Fraction(entry["alpha"][k]) - 1))
        half, quadratic = entry["half_log_det"][k], Fraction(0)
        total += 0 if isinstance(half, list) else _decimal(mass) * Decimal(half)
        for j in range(d):
            there = [i for i in mine if not np.isnan(data[i, j])]
            own = sum((weight[i] for i in there), Fraction(0))
            total += _decimal(own) * Decimal(half[j]) if isinstance(half, list) else 0
            p = Fraction(entry["precision"][k if len(entry["precision"]) > 1 else 0][j])
            g = Fraction(0 if entry["prior_precision"] is None else entry["prior_precision"][k][j])
            m, points = (
                Fraction(entry["prior_mean"][k][j]),
                [(weight[i] * p, Fraction(data[i, j])) for i in there],
            )
            points.append((g, m))
            full = sum((w for w, _ in points), Fraction(0))
            if full > 0:
                mean = sum((w * x for w, x in points), Fraction(0)) / full
                low, high = entry["mean_lower"][k][j], entry["mean_upper"][k][j]
                mean = mean if low is None else min(max(mean, Fraction(low)), Fraction(high))
                quadratic += sum((w * (x - mean) ** 2 for w, x in points), Fraction(0)) / 2
        total += _decimal(quadratic)
    fixed, all_power = entry["fixed_weights"], sum(powers, Decimal(0))
    for k, power in enumerate(powers):
        if power != 0:
            total -= power * (Decimal(fixed[k]) if fixed is not None else power / all_power).ln()
    return total


def _decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)
