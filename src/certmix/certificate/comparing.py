"""The parts of a statement that a user may state, compared with the certificate's, and those not stated in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RULES = ("together", "apart", "implications", "labels", "sizes", "counts", "soft")
PARTS: dict[str, tuple[str, ...]] = {
    "components": ("n_components",),
    "covariance": ("precision", "half_log_det", "variance"),
    "weights": ("fixed_weights",),
    "prior": ("alpha", "prior_mean", "prior_precision"),
    "bounds": ("mean_lower", "mean_upper", "weight_lower", "weight_upper"),
    "estimators": ("estimators",),
    "empty components": ("allow_empty",),
    "weights of samples": ("sample_weight",),
    "side constraints": RULES,
    "component names": ("component_names",),
}


def different(own: Mapping[str, Any], stated: Mapping[str, Any]) -> list[str]:
    """The parts in which two statements differ, an entry that only one of them has being a difference."""
    return [p for p, entries in PARTS.items() if any(_entry(own, e) != _entry(stated, e) for e in entries)]


def _entry(statement: Mapping[str, Any], name: str) -> list[Any]:
    return [statement[name]] if name in statement else []


def has_noise(stated: Mapping[str, Any]) -> bool:
    """Whether the last component of a statement, which need not be a sound one, is noise: its precision is zero."""
    precision = stated.get("precision")
    if not isinstance(precision, list) or len(precision) < 2 or not isinstance(precision[-1], list):
        return False
    rows = [row if isinstance(row, list) else [row] for row in precision[-1]]
    return all(x == 0.0 for row in rows for x in row)


def where(part: str, own: Mapping[str, Any], stated: Mapping[str, Any]) -> str:
    """A part in words, with the kinds of rules that differ."""
    rules = [rule for rule in PARTS[part] if part == "side constraints" and own.get(rule) != stated.get(rule)]
    return f"{part} ({', '.join(rules)})" if rules else part


def told(part: str, stated: Mapping[str, Any]) -> str:
    """What a statement, one that has been checked, says in a part; nothing when it only numbers the components."""
    s, K = stated, stated["n_components"]
    if part == "components":
        clusters = K - has_noise(s)
        return f"{clusters} component{'s' if clusters > 1 else ''}{' and noise' if clusters < K else ''}"
    if part == "covariance":
        unknown = "an unknown variance, shape: " if "variance" in s else ""
        noise = " and the density of noise" if has_noise(s) else ""
        return unknown + _covariance(s["precision"][: len(s["precision"]) - has_noise(s)]) + noise
    if part == "weights":
        fixed = s["fixed_weights"]
        if fixed is not None and len(fixed) > 1 and all(weight == 1.0 for weight in fixed):
            return "no weights (k-means)"
        return "free weights" if fixed is None else f"weights {_some(fixed)}"
    if part == "prior":
        found = ["a Dirichlet prior"] * any(a != 1.0 for a in s["alpha"])
        found += ["a Gaussian prior"] * (s["prior_precision"] is not None)
        return " and ".join(found) or "no prior"
    if part == "bounds":
        means = any(x is not None for side in ("mean_lower", "mean_upper") for row in s[side] for x in row)
        weights = any(x > 0 for x in s["weight_lower"]) or any(x < 1 for x in s["weight_upper"])
        found = ["bounds on the means"] * means + ["bounds on the weights"] * weights
        return " and ".join(found) or "no bounds"
    if part == "estimators":
        tied = " and ".join(s["estimators"])
        return f"{tied} tied to those of the clusters" if tied else "no estimators"
    if part == "empty components":
        return "components may be empty" if s["allow_empty"] and not _nonempty(s) else "no empty components"
    if part == "weights of samples":
        return part if "sample_weight" in s else ""
    if part == "side constraints":
        count = sum(len(s.get(rule, ())) for rule in RULES) - len(_nonempty(s))
        return f"{count} side constraint{'s' if count > 1 else ''}" if count else "no side constraints"
    names = s["component_names"]
    K -= has_noise(s)
    return "" if names[:K] == [str(k) for k in range(K)] else f"the component names {_some(names)}"


def _nonempty(s: Mapping[str, Any]) -> list[Any]:
    """The sizes that say, beside noise, that no other component is empty."""
    K = s["n_components"] - has_noise(s)
    found = [row for row in s["sizes"] if row[0] < K and row[1:] == [1, s["n_samples"]]]
    return found if has_noise(s) and len(found) == K else []


def _covariance(precision: Any) -> str:
    if any(matrix != precision[0] for matrix in precision):
        return "a covariance for each component"
    matrix = precision[0]
    if isinstance(matrix[0], list):
        matrix = [row[i] if not any(row[:i] + row[i + 1 :]) else None for i, row in enumerate(matrix)]
    plain = all(x is not None and x == matrix[0] for x in matrix)  # a diagonal of equal numbers
    return f"variance {1.0 / matrix[0]:.6g}" if plain else "the covariance"


def _some(values: Any) -> str:
    shown = [v if isinstance(v, str) else f"{v:.6g}" for v in values[:8]]
    return ", ".join(shown) + (", …" if len(values) > 8 else "")
