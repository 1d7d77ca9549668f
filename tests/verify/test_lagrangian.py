"""The step ``lagrangian``: prices of real problems against every set, and arrays that are damaged."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from claiming import rooted

from certmix.certificate.recording import walk
from certmix.problem import CannotLink, Problem
from certmix.verify import narrowing as module
from certmix.verify.boxes import LEAF
from certmix.verify.domain import Domain
from certmix.verify.evidence import Evidence, Rejected
from certmix.verify.lagrangian import Pricing, combine, lagrangian, price
from certmix.verify.root import Root
from random_instances import random_problem


def sets(pricing: Pricing, root: Root, k: int) -> list[tuple[np.ndarray, int, float, np.ndarray]]:
    """Every set of candidates: (members, size, c(S) - T(S), its best mean)."""
    out, own, constant = [], pricing.root, pricing.boxes().constant[0]
    points, gamma, centre = own.points[0], own.prior_weight[0], own.prior_mean[0]
    for bits in itertools.product([False, True], repeat=own.N):
        inside = np.array(bits)
        size = int(own.weight[inside].sum())
        both = bool(inside[own.conflicts].all(axis=1).any())
        if not inside.any() or (pricing.forced & ~inside).any() or both or size > root.n:
            continue
        w, x = own.weight[inside], points[inside]
        mean = ((w[:, None] * x).sum(axis=0) + gamma * centre) / (w.sum() + gamma)
        mean = np.clip(mean, root.mean_lower[k], root.mean_upper[k])
        cost = 0.5 * (w[:, None] * (x - mean) ** 2).sum() + 0.5 * (gamma * (mean - centre) ** 2).sum()
        out.append((inside, size, cost + constant[inside].sum() + root.entropy[k, size], mean))
    return out


def pricing_of(rng: np.random.Generator) -> tuple[Pricing, Root, int] | None:
    problem = random_problem(rng, max_samples=7)
    root = rooted(problem)
    domain = Domain.of(root)
    if not domain.propagate(root):
        return None
    k = int(rng.integers(root.K))
    if domain.high[k] == 0:
        return None
    spread = np.abs(root.points).max() + 1.0
    multipliers = rng.normal(scale=spread * rng.choice([0.1, 1.0, 3.0]), size=root.N) + 0.5
    pairs = root.conflicts[:1]
    return Pricing.of(root, domain, k, multipliers, pairs), root, k


@pytest.mark.parametrize("seed", range(40))
def test_a_recorded_tree_proves_the_cheapest_set(seed: int) -> None:
    """A tree for a price just below the cheapest set is accepted; it never proves more, whatever is claimed."""
    rng = np.random.default_rng(500 + seed)
    made = pricing_of(rng)
    if made is None:
        pytest.skip("nothing feasible was drawn")
    pricing, root, k = made
    sizes = int(pricing.root.size_lower[0]), int(pricing.root.size_upper[0])
    cheapest = min(
        (c for _, m, c, _ in sets(pricing, root, k) if sizes[0] <= m <= sizes[1]), default=math.inf
    )
    if math.isinf(cheapest):
        pytest.skip("no set has a size that is allowed")
    scale = 1 + np.abs(pricing.boxes().constant).sum() + np.abs(pricing.root.points).max() ** 2
    found = walk(pricing, cheapest - 1e-3 * scale, 20_000)
    tree = found.axis.astype(np.int64), found.cut.astype(float)
    assert found.complete
    assert price(pricing, *tree, cheapest - 2e-3 * scale) == cheapest - 2e-3 * scale
    for above in (1e-9, 1e-3, 1.0):
        assert price(pricing, *tree, cheapest + above * scale) <= cheapest + 1e-12 * scale


def small() -> tuple[Root, Domain, dict[str, np.ndarray]]:
    rng = np.random.default_rng(3)
    root = rooted(Problem(rng.normal(size=(14, 2)), 2, variance=1.0, constraints=[CannotLink(0, 1)]))
    domain = Domain.of(root)
    domain.propagate(root)
    multipliers = np.full(root.N, 1.0)
    pairs = np.array([[0, 1]])
    pricing = Pricing.of(root, domain, 0, multipliers, pairs)
    cheapest = min(c for _, m, c, _ in sets(pricing, root, 0) if m <= pricing.root.size_upper[0])
    found = walk(pricing, cheapest - 1e-4, 5000)
    assert found.complete
    assert len(found.cut)
    arrays = {"multipliers": multipliers, "axis/0": found.axis, "cut/0": found.cut, "pairs": pairs}
    return root, domain, {**arrays, "psi": np.array([cheapest - 1e-3])}


def test_the_step_adds_multipliers_and_prices() -> None:
    """With one set of two exchangeable components the bound is the sum of T plus twice the price."""
    root, domain, arrays = small()
    found = lagrangian(root, domain, Evidence({}, arrays), 0.0)
    assert found == pytest.approx(14.0 + 2 * arrays["psi"][0], abs=1e-9)
    more = {
        **arrays,
        "psi": arrays["psi"] + 1.0,
    }  # a claim that the tree does not prove counts as far as it does
    assert lagrangian(root, domain, Evidence({}, more), 0.0) < 14.0 + 2 * arrays["psi"][0] + 3e-3
    assert combine(root, arrays["multipliers"], [(2, -8.0)]) == pytest.approx(-2.0, abs=1e-9)
    assert combine(root, arrays["multipliers"], [(2, math.inf)]) == math.inf
    assert combine(root, arrays["multipliers"], [(2, -math.inf)]) == -math.inf


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("axis/0", lambda x: x[:-1]),
        ("axis/0", lambda x: np.append(x, -1).astype(x.dtype)),
        ("axis/0", lambda x: np.where(x == -1, 99, x)),
        ("axis/0", lambda x: x.astype(float)),
        ("cut/0", lambda x: x[:-1]),
        ("cut/0", lambda x: np.append(x, 3)),
        ("cut/0", lambda x: x * np.nan),
        ("cut/0", lambda x: x.astype(np.int64)),
        ("psi", lambda x: x * np.inf),
        ("psi", lambda x: np.append(x, 0.0)),
        ("multipliers", lambda x: x * np.nan),
        ("multipliers", lambda x: x * 1e200),
        ("multipliers", lambda x: x[:-1]),
        ("multipliers", lambda x: x.astype(complex)),
        ("pairs", lambda x: np.array([[0, 2]])),
        ("pairs", lambda x: np.array([[0, 1], [1, 0]])),
        ("pairs", lambda x: np.array([[0, 99]])),
    ],
)
def test_damaged_arrays_are_rejected(name: str, change: object) -> None:
    """Trees that end too soon or too late, cuts where there is no size, pairs that are not apart: rejected."""
    root, domain, arrays = small()
    with pytest.raises(Rejected):
        lagrangian(root, domain, Evidence({}, {**arrays, name: change(arrays[name])}), 0.0)  # type: ignore[operator]


def leaf() -> tuple[np.ndarray, np.ndarray]:
    return np.array([LEAF]), np.zeros(0)


def test_overflow_proves_nothing() -> None:
    """A leaf whose bound is not a number counts as minus infinity."""
    root, domain, _ = small()
    none = np.zeros((0, 2), dtype=np.int64)
    pricing = Pricing.of(root, domain, 0, np.full(root.N, 1e308), none)
    with np.errstate(all="ignore"):
        assert price(pricing, *leaf(), 0.0) == -math.inf


def test_the_sum_over_coordinates_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """With two groups in a hundred dimensions the values of a hundred coordinates are added up."""
    asked: list[float] = []
    monkeypatch.setattr(module, "gamma", lambda n, own=module.gamma: asked.append(n) or own(n))
    root = rooted(Problem(np.random.default_rng(0).normal(size=(2, 100)), 1, variance=1.0))
    pricing = Pricing.of(root, Domain.of(root), 0, np.zeros(root.N), np.zeros((0, 2), dtype=np.int64))
    price(pricing, *leaf(), 1e6)
    assert max(asked) >= root.N + root.d + 40
