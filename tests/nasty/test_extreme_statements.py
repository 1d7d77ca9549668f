"""A forger who writes statements: whatever numbers they hold, nothing is verified that is not exactly so."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from extreme_statements import costs, extreme

from certmix.verify import statement as statements
from certmix.verify.check import VERSION, check
from certmix.verify.domain import Domain
from certmix.verify.enumeration import enumerate_all
from certmix.verify.evidence import Evidence, Rejected
from certmix.verify.root import Root
from certmix.verify.statement import data_digest, digest

TREE = {"tree/parent": np.array([-1]), "tree/kind": np.array([0]), "tree/args": np.zeros((1, 3), dtype=int)}


def offered(root: Root, kind: str, rng: np.random.Generator) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """One step, and evidence that claims more than it proves."""
    if kind == "enumerate":
        return {"node": 0, "kind": kind}, {}
    if kind == "boxes":
        leaves = math.prod(
            1 + int(((root.classes == c) & (root.size_lower == 0)).sum()) for c in np.unique(root.classes)
        ) - bool((root.size_lower == 0).all())
        arrays = {"kind": np.full(leaves, -1)}
        arrays |= {name: np.zeros(leaves, dtype=int) for name in ("component", "index")}
        arrays["at"] = np.zeros(leaves)
        return {"node": 0, "kind": kind, "axis": int(rng.integers(root.d)), "arrays": "0/"}, arrays
    sets = len(Domain.of(root).exchangeable(root))
    arrays = {"multipliers": rng.normal(size=root.N) * 10.0 ** rng.uniform(-3, 3), "psi": np.full(sets, 1e50)}
    for i in range(sets):
        arrays |= {f"axis/{i}": np.array([-1]), f"cut/{i}": np.zeros(0)}
    return {"node": 0, "kind": kind, "arrays": "0/"}, arrays


def attack(seed: int) -> tuple[list[str], int]:
    """False claims that are believed, and how many true ones are."""
    rng = np.random.default_rng([seed, 85])
    entry, data = extreme(rng)
    try:
        root = Root(statements.read(entry), data)
    except Rejected:
        return [], 0
    exact = costs(entry, data)
    if not exact:
        return [], 0
    optimum, (labels, value) = min(exact.values()), max(exact.items(), key=lambda item: item[1])
    found, believed = [], 0
    for kind in ("enumerate", "boxes", "lagrangian"):
        step, arrays = offered(root, kind, rng)
        domain = Domain.of(root)
        domain.propagate(root)
        try:
            own = enumerate_all(root, domain, Evidence({}, {}), math.nextafter(float(optimum), math.inf))
        except Rejected:
            own = -math.inf
        for bound in (
            own,
            math.nextafter(own, math.inf),
            math.nextafter(float(optimum), math.inf),
            float(optimum) + 1e-9 * abs(float(optimum)),
        ):
            if not math.isfinite(bound):
                continue
            document = {
                "format": "certmix-certificate",
                "version": VERSION,
                "claim": "bound",
                "objective": float(value),
                "bound": min(bound, float(value)),
                "digests": {"statement": digest(entry), "data": data_digest(data)},
                "steps": [step],
                "statement": entry,
            }
            verdict = check(
                document,
                {**TREE, **incumbent(entry, data, labels), **{f"0/{n}": a for n, a in arrays.items()}},
                data,
            )
            believed += verdict.verified
            if verdict.verified and Decimal(verdict.bound) > optimum:
                found.append(f"seed {seed}, {kind}: bound {verdict.bound!r}, optimum {optimum:.20g}")
            if verdict.verified and Decimal(verdict.value) < value:
                found.append(f"seed {seed}, {kind}: value {verdict.value!r}, truly {value:.20g}")
    return found, believed


def incumbent(entry: dict[str, Any], data: np.ndarray, labels: tuple[int, ...]) -> dict[str, np.ndarray]:
    """About the best means and weights."""
    K, z = entry["n_components"], np.array(labels)
    weight = np.array(entry.get("sample_weight", [1.0] * len(z)))
    means = np.zeros((K, data.shape[1]))
    for k in range(K):
        prior = (
            np.zeros(data.shape[1])
            if entry["prior_precision"] is None
            else np.array(entry["prior_precision"][k])
        )
        p = np.array(entry["precision"][k if len(entry["precision"]) > 1 else 0])
        mass = np.where(np.isnan(data), 0.0, weight[:, None])[z == k] * p
        total = mass.sum(axis=0) + prior
        pull = (mass * np.nan_to_num(data[z == k])).sum(axis=0) + prior * np.array(entry["prior_mean"][k])
        means[k] = np.clip(pull / np.where(total > 0, total, 1.0), *_box(entry, k))
    power = np.bincount(z, minlength=K) + np.array(entry["alpha"]) - 1.0
    fixed = entry["fixed_weights"]
    weights = np.array(fixed) if fixed is not None else power / power.sum()
    return {"incumbent/labels": z, "incumbent/means": means, "incumbent/weights": weights}


def _box(entry: dict[str, Any], k: int) -> tuple[np.ndarray, np.ndarray]:
    low, high = entry["mean_lower"][k], entry["mean_upper"][k]
    return (
        np.array([-np.inf if x is None else x for x in low]),
        np.array([np.inf if x is None else x for x in high]),
    )


def run(seeds: range) -> int:
    results = [attack(seed) for seed in seeds]
    assert not (found := [text for texts, _ in results for text in texts]), "\n".join(found)
    return sum(believed > 0 for _, believed in results)


@pytest.mark.filterwarnings("ignore")
def test_what_is_verified_of_any_statement_is_true() -> None:
    """By enumeration, by a tree of boxes with one leaf, by multipliers; bounds next to the truth and a little above."""
    assert run(range(60)) > 20, "nothing true is believed either"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_what_is_verified_of_many_statements_is_true() -> None:
    """The same on many more."""
    assert run(range(1000, 3000)) > 600
