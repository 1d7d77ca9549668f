"""From a problem to its statement: plain numbers that say everything, in one canonical way."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from certmix.presolve.groups import merged
from certmix.problem import Problem
from certmix.problem.rules import Rules
from certmix.verify.statement import EACH


def state(problem: Problem, rules: Rules | None = None) -> dict[str, Any]:
    """The statement of a problem; the same problem always has the same one.

    Rules are sorted and without repetition; must-links are given as links to the first sample of their group, so that
    it does not matter in which order a user wrote them. Other rules may stand in for the problem's own.
    """
    p, rules = problem, problem.rules if rules is None else rules
    boxed, prior = p.has_weight_box, p.prior
    K, d = p.n_components, p.n_features
    # Noise may be empty where nothing else may.
    named = p.noise is not None and not p.allow_empty
    nonempty = [(k, 1, p.n_samples) for k in range(p.n_clusters if named else 0)]
    optional: dict[str, Any] = {}
    if p.covariance.variances is not None:
        each = [EACH] if p.covariance.per_feature else []
        optional = {"variance": [*_range(p.covariance.variances), *each]}
    if p.masses is not None and p.masses.weight is not None:
        optional["sample_weight"] = p.masses.weight.tolist()
    if rules.soft:
        rows = [[int(link.together), link.penalty, list(link.samples)] for link in rules.soft]
        optional["soft"] = rows
    return {
        **optional,
        "n_samples": p.n_samples,
        "n_features": d,
        "n_components": K,
        "precision": p.covariance.precision.entries.tolist(),
        "half_log_det": (_half_log_det(p) + 0.0).tolist(),  # -0.0 would have another digest
        "fixed_weights": None if p.fixed_weights is None else p.fixed_weights.tolist(),
        "weight_lower": p.weight_lower.tolist() if boxed else [0.0] * K,
        "weight_upper": p.weight_upper.tolist() if boxed else [1.0] * K,
        "mean_lower": _with_gaps(p.mean_lower),
        "mean_upper": _with_gaps(p.mean_upper),
        "alpha": prior.alpha.tolist(),
        "prior_mean": (prior.mean if prior.on_means else np.zeros((K, d))).tolist(),
        "prior_precision": prior.precision.entries.tolist() if prior.on_means else None,
        "estimators": sorted(p.estimators),
        "allow_empty": p.allow_empty or p.noise is not None,
        "component_names": list(p.component_names),
        "together": _together(rules, p.n_samples),
        "apart": _sorted((min(r.i, r.j), max(r.i, r.j)) for r in rules.apart),
        "implications": _sorted(
            (r.sample, r.then, r.component) for r in rules.implications if r.component >= 0
        ),
        "labels": _sorted((r.sample, r.component) for r in rules.labels),
        "sizes": _sorted([*nonempty, *((r.component, r.low, r.high) for r in rules.sizes)]),
        "counts": sorted([r.component, r.low, r.high, sorted(map(int, r.samples))] for r in rules.counts),
    }


def _half_log_det(p: Problem) -> np.ndarray:
    """A number for every component; where values may be missing, one for every feature of it."""
    if p.masses is None or not p.masses.missing or not p.covariance.constants_count or p.squares:
        return p.covariance.half_log_det
    return np.asarray(-0.5 * np.log(p.covariance.precision.entries))


def _together(rules: Rules, n: int) -> list[list[int]]:
    """Every sample linked to the first of its group. (Implications for every component are must-links.)"""
    of = merged(rules, n)
    _, first = np.unique(of, return_index=True)
    return [[int(first[g]), i] for i, g in enumerate(of.tolist()) if first[g] != i]


def _range(variances: tuple[float, float]) -> list[float | None]:
    low, high = variances
    return [low, high if math.isfinite(high) else None]


def _sorted(rows: Any) -> list[list[int]]:
    return [list(map(int, row)) for row in sorted(set(rows))]


def _with_gaps(values: np.ndarray) -> list[list[float | None]]:
    return [[x if math.isfinite(x) else None for x in row] for row in values.tolist()]
