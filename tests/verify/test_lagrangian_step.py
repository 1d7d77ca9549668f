"""The bound of a pricing leaf against every set that is in it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from test_root import rooted

from certmix.certificate.pricing_tree import grow
from certmix.problem import CannotLink, Problem
from certmix.verify.domain import Domain
from certmix.verify.evidence import Evidence, Rejected
from certmix.verify.lagrangian import LEAF, Pricing, combine, lagrangian, price
from certmix.verify.root import Root
from random_instances import random_problem


def sets(pricing: Pricing, root: Root, k: int) -> list[tuple[np.ndarray, int, float, np.ndarray]]:
    """Every set of candidates: (members, size, c(S) - T(S), its best mean)."""
    out = []
    n = len(pricing.w)
    for bits in itertools.product([False, True], repeat=n):
        inside = np.array(bits)
        size = int(pricing.w[inside].sum())
        both = inside[pricing.pairs].all(axis=1).any() if len(pricing.pairs) else False
        if not inside.any() or (pricing.forced & ~inside).any() or both or size > root.n:
            continue
        w, x = pricing.w[inside], pricing.x[inside]
        weight = w.sum() + pricing.prior_weight
        mean = ((w[:, None] * x).sum(axis=0) + pricing.prior_weight * pricing.prior_mean) / weight
        mean = np.clip(mean, root.mean_lower[k], root.mean_upper[k])
        cost = 0.5 * (w[:, None] * (x - mean) ** 2).sum()
        cost += 0.5 * (pricing.prior_weight * (mean - pricing.prior_mean) ** 2).sum()
        out.append((inside, size, cost + pricing.constant[inside].sum() + root.entropy[k, size], mean))
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
    return Pricing(root, domain, k, multipliers, pairs), root, k


@pytest.mark.parametrize("seed", range(150))
def test_no_set_in_a_leaf_is_cheaper_than_its_bound(seed: int) -> None:
    """Whatever box, sizes and decided groups a leaf has, its bound is below every set that belongs to it."""
    rng = np.random.default_rng(seed)
    made = pricing_of(rng)
    if made is None:
        pytest.skip("nothing feasible was drawn")
    pricing, root, k = made
    every = sets(pricing, root, k)
    n, d = pricing.x.shape
    for _ in range(12):
        ends = np.sort(rng.uniform(pricing.lo, pricing.hi, size=(2, d)), axis=0)
        lo, hi = (pricing.lo, pricing.hi) if rng.random() < 0.3 else ends
        if rng.random() < 0.3 and every:  # a small box around a set's own mean
            mean = every[rng.integers(len(every))][3]
            reach = 10.0 ** rng.uniform(-9, 0) * (pricing.hi - pricing.lo)
            lo, hi = np.maximum(mean - reach, pricing.lo), np.minimum(mean + reach, pricing.hi)
        a, b = np.sort(rng.integers(1, root.n + 1, size=2))
        status = np.where(pricing.forced, 0, rng.choice([-1, 0, 0, 0, 1], size=n)).astype(np.int8)
        use = None if rng.random() < 0.5 else status[None]
        found = pricing.bounds(lo[None], hi[None], np.array([a]), np.array([b]), use)[0]
        slack = 1e-9 * (1 + np.abs(pricing.constant).sum() + np.abs(pricing.x).max() ** 2 * root.n)
        for inside, size, cost, mean in every:
            belongs = a <= size <= b and (mean >= lo).all() and (mean <= hi).all()
            if use is not None:
                belongs &= bool(inside[status == 1].all() and not inside[status == -1].any())
            if belongs:
                assert found <= cost + slack


@pytest.mark.parametrize("seed", range(40))
def test_a_grown_tree_proves_the_cheapest_set(seed: int) -> None:
    """A tree for a price just below the cheapest set can be grown, is accepted, and never claims more than it."""
    rng = np.random.default_rng(500 + seed)
    made = pricing_of(rng)
    if made is None:
        pytest.skip("nothing feasible was drawn")
    pricing, root, k = made
    sizes = (pricing.a, pricing.b)
    cheapest = min(
        (c for _, m, c, _ in sets(pricing, root, k) if sizes[0] <= m <= sizes[1]), default=math.inf
    )
    if math.isinf(cheapest):
        pytest.skip("no set has a size that is allowed")
    scale = 1 + np.abs(pricing.constant).sum() + np.abs(pricing.x).max() ** 2
    grown = grow(pricing, cheapest - 1e-3 * scale, 20_000)
    if not grown.complete:
        assert grown.least < cheapest
        return
    found, place = price(pricing, grown.axis.astype(np.int64), grown.cut.astype(np.int64))
    assert grown.axis[place] == LEAF
    assert cheapest - 1e-3 * scale <= found <= cheapest + 1e-9 * scale


def small() -> tuple[Root, Domain, dict[str, np.ndarray]]:
    rng = np.random.default_rng(3)
    root = rooted(Problem(rng.normal(size=(14, 2)), 2, constraints=[CannotLink(0, 1)]))
    domain = Domain.of(root)
    domain.propagate(root)
    multipliers = np.full(root.N, 1.0)
    pairs = np.array([[0, 1]])
    pricing = Pricing(root, domain, 0, multipliers, pairs)
    sizes = np.array([pricing.a]), np.array([pricing.b])
    worth = float(pricing.bounds(pricing.lo[None], pricing.hi[None], *sizes)[0])
    trees = [grow(pricing, worth + more, 5000) for more in (1.0, 0.3, 0.1, 0.03, 0.01, 1e-3)]
    grown = next(g for g in trees if g.complete)  # the strongest that there is
    assert len(grown.cut)
    arrays = {"multipliers": multipliers, "axis/0": grown.axis, "cut/0": grown.cut, "pairs": pairs}
    return root, domain, arrays


def test_the_step_adds_multipliers_and_prices() -> None:
    """With one set of two exchangeable components the bound is the sum of T plus twice the price."""
    root, domain, arrays = small()
    found = lagrangian(root, domain, Evidence({}, arrays), 0.0)
    psi, _ = price(
        Pricing(root, domain, 0, arrays["multipliers"], arrays["pairs"]),
        arrays["axis/0"].astype(np.int64),
        arrays["cut/0"].astype(np.int64),
    )
    assert found == pytest.approx(14.0 + 2 * psi, abs=1e-9)
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
        ("cut/0", lambda x: x + 100),
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


def test_overflow_proves_nothing() -> None:
    """A leaf whose bound is not a number counts as minus infinity."""
    root, domain, _ = small()
    pricing = Pricing(root, domain, 0, np.full(root.N, 1e308), np.zeros((0, 2), dtype=np.int64))
    with np.errstate(all="ignore"):
        found = pricing.bounds(pricing.lo[None], pricing.hi[None], np.array([2]), np.array([8]))
    assert found[0] == -math.inf


def test_the_sum_over_coordinates_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """With two groups in a hundred dimensions the values of a hundred coordinates are added up."""
    from certmix.verify import lagrangian as module

    asked: list[float] = []
    monkeypatch.setattr(module, "gamma", lambda n, own=module.gamma: asked.append(n) or own(n))
    root = rooted(Problem(np.random.default_rng(0).normal(size=(2, 100)), 1, variance=1.0))
    pricing = Pricing(root, Domain.of(root), 0, np.zeros(root.N), np.zeros((0, 2), dtype=np.int64))
    pricing.bounds(pricing.lo[None], pricing.hi[None], np.array([1]), np.array([2]))
    assert max(asked) >= root.N + root.d + 32
