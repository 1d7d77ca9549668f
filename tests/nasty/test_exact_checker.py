"""The checker's bounds against the exact optimum: whatever a certificate holds, no bound lies above it by anything."""

from __future__ import annotations

import itertools
import json
import math
from decimal import Decimal

import numpy as np
import pytest
from exact_optimum import covers, exact_optimum
from nasty_instances import FAMILIES, nasty_problem
from scipy.optimize import linprog

from certmix.certificate.statement import state
from certmix.problem import Problem
from certmix.verify import dynamic
from certmix.verify import statement as statements
from certmix.verify.domain import Domain
from certmix.verify.enumeration import enumerate_all
from certmix.verify.evidence import Evidence, Rejected
from certmix.verify.lagrangian import Pricing, lagrangian, price
from certmix.verify.root import Root
from random_instances import random_problem


def tight_multipliers(root: Root, domain: Domain) -> np.ndarray:
    """The best multipliers: the dual of the set partitioning problem over all sets of groups."""
    alike = domain.exchangeable(root)
    rows, costs = [], []
    for c, members in enumerate(alike):
        k = int(members[0])
        x, w = root.points[k], root.weight
        candidates = np.flatnonzero(domain.allowed[:, k])
        surely = domain.inside()[:, k]
        for bits in itertools.product([False, True], repeat=len(candidates)):
            inside = np.zeros(root.N, dtype=bool)
            inside[candidates[list(bits)]] = True
            m = int(w[inside].sum())
            if not domain.low[k] <= m <= domain.high[k] or (surely & ~inside).any():
                continue
            g, centre = root.prior_weight[k], root.prior_mean[k]
            total = m + g
            mean = (w[inside] @ x[inside] + g * centre) / np.where(total > 0, total, 1.0)
            mean = np.clip(mean, root.mean_lower[k], root.mean_upper[k])
            cost = 0.5 * float((w[inside] @ (x[inside] - mean) ** 2).sum() + g @ (mean - centre) ** 2)
            cost += root.scatter[k][inside].sum() + root.entropy[k, m]
            if math.isfinite(cost):
                row = np.zeros(root.N + len(alike))
                row[: root.N], row[root.N + c] = inside, 1.0
                rows.append(row)
                costs.append(cost)
    gain = np.concatenate([np.ones(root.N), [len(m) for m in alike]])
    scale = max(1.0, float(np.abs(costs).max()))
    found = linprog(-gain, np.array(rows), np.array(costs) / scale, bounds=(None, None), method="highs")
    return np.zeros(root.N) if found.x is None else np.asarray(found.x[: root.N]) * scale


def finest_trees(root: Root, domain: Domain) -> dict[str, np.ndarray]:
    """Pricing trees that cut sizes down to single ones, then decide about every group."""
    arrays = {}
    for i, members in enumerate(domain.exchangeable(root)):
        k = int(members[0])
        a, b = max(int(domain.low[k]), 1), int(domain.high[k])
        free = np.flatnonzero(domain.allowed[:, k] & ~domain.decided)
        codes = [[root.d + 1 + int(g)] * 2**depth for depth, g in enumerate(free)] + [[-1] * 2 ** len(free)]
        # Level by level: one more size is cut off at each, and every single size grows its own tree of groups.
        sizes = b - a + 1
        axis: list[int] = []
        for level in range(sizes + len(codes)):
            for first in range(sizes):  # the size a + first is alone from this level on
                alone = min(first + 1, sizes - 1)
                if 0 <= level - alone < len(codes):
                    axis += codes[level - alone]
            if level < sizes - 1:
                axis.append(root.d)
        arrays[f"axis/{i}"] = np.array(axis)
        arrays[f"cut/{i}"] = np.arange(float(a), b)
    return arrays


def claims(root: Root, domain: Domain, arrays: dict[str, np.ndarray]) -> np.ndarray:
    """The most that the trees prove when boxes are not cut: the cheapest leaf of each."""
    none = np.zeros((0, 2), dtype=np.int64)
    found = []
    for i, members in enumerate(domain.exchangeable(root)):
        pricing = Pricing.of(root, domain, int(members[0]), arrays["multipliers"], none)
        psi = price(pricing, arrays[f"axis/{i}"], arrays[f"cut/{i}"], math.inf)
        found.append(psi if math.isfinite(psi) else 0.0)
    return np.array(found)


def bounds(root: Root, rng: np.random.Generator) -> dict[str, float]:
    """What the steps prove at the root."""
    domain = Domain.of(root)
    if not domain.propagate(root):
        return {"conclusions": math.inf}
    found = {"enumerate": enumerate_all(root, domain, Evidence({}, {}), 0.0)}
    if dynamic.refusal(root, domain) is None:
        found["dynamic"] = dynamic.dynamic(root, domain, Evidence({}, {}), 0.0)
    T = tight_multipliers(root, domain)
    noise = rng.normal(size=root.N) * np.abs(T).max(initial=1.0)
    for name, share in (("tight", 0.0), ("nearly tight", 1e-9), ("loose", 0.1)):
        arrays = {"multipliers": T + share * noise, **finest_trees(root, domain)}
        psi = claims(root, domain, arrays)
        for more in (0.0, 1e-12, 1e-9, 1.0):  # claims that are true, and some that are not
            given = {**arrays, "psi": psi + more * np.maximum(1.0, np.abs(psi))}
            found[f"lagrangian, {name}, {more} above"] = lagrangian(root, domain, Evidence({}, given), 0.0)
    return found


def assault(problem: Problem, seed: int) -> tuple[list[str], bool]:
    """Every bound above the optimum; and whether the Lagrangian bound came close to it."""
    try:
        root = Root(statements.read(json.loads(json.dumps(state(problem)))), problem.data)
    except Rejected:
        return [], False
    exact = exact_optimum(problem)
    with np.errstate(all="ignore"):
        found = bounds(root, np.random.default_rng(seed))
    close = any(
        bound > float(exact.value) - 1e-6 * max(1.0, abs(float(exact.value))) - 2 * root.error
        for way, bound in found.items()
        if "tight" in way and exact.labels is not None
    )
    wrong = [
        f"{way}: {bound!r} above {exact.value:.20g}"
        for way, bound in found.items()
        if exact.labels is not None
        and (math.isnan(bound) or bound == math.inf or Decimal(bound) > exact.value)
    ]
    return wrong, close


def run(family: str, seeds: range) -> None:
    found, close = [], 0
    for seed in seeds:
        problem = nasty_problem(family, np.random.default_rng([seed, FAMILIES.index(family), 71]))
        wrong, near = assault(problem, seed)
        found += [f"{family} {seed}, {text}" for text in wrong]
        close += near
    assert not found, "\n".join(found)
    assert close >= len(seeds) // 10, "bounds far below the optimum say nothing about rounding"


@pytest.mark.parametrize("family", FAMILIES)
def test_no_step_proves_more_than_the_exact_optimum(family: str) -> None:
    """Enumeration, dynamic programming and multipliers on numerically nasty problems, with no slack at all."""
    run(family, range(4))


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_no_step_proves_more_than_the_exact_optimum_of_many(family: str) -> None:
    """The same on many more."""
    run(family, range(100, 160))


@pytest.mark.slow
def test_ordinary_problems_too() -> None:
    """Problems with every option, as far as their optimum can be computed exactly."""
    found = []
    for seed in range(300):
        problem = random_problem(np.random.default_rng([seed, 72]), max_samples=7)
        if covers(problem):
            found += [f"{seed}, {text}" for text in assault(problem, seed)[0]]
    assert not found, "\n".join(found)
