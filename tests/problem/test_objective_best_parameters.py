"""The two small convex problems behind the best parameters: weights in a box, a mean in a box."""

from __future__ import annotations

import numpy as np
import pytest

from certmix.problem.objective import _nearest_in_box, water_fill


def random_box(rng: np.random.Generator, K: int) -> tuple[np.ndarray, np.ndarray]:
    inside = rng.dirichlet(np.full(K, rng.choice([0.5, 3.0])))
    lower = inside * rng.choice([0.0, 0.5, 0.9, 1.0], K)
    upper = np.minimum(1.0, inside + (1 - inside) * rng.choice([0.0, 0.05, 0.5, 1.0], K))
    return lower, np.maximum(upper, 1e-3)


@pytest.mark.parametrize("seed", range(4))
def test_water_fill_meets_its_optimality_conditions(seed: int) -> None:
    """pi_k = clip(power_k / level) for one level, or what is left over goes to components without power."""
    rng = np.random.default_rng(seed)
    for _ in range(500):
        K = int(rng.integers(1, 7))
        lower, upper = random_box(rng, K)
        power = rng.choice([0.0, 0.3, 1.0, 5.0, 1e4], K) * rng.uniform(0.5, 1.5, K)
        pi = water_fill(power, lower, upper)
        assert np.all(pi >= lower)
        assert np.all(pi <= upper)
        if lower.sum() <= 1 <= upper.sum():
            assert pi.sum() == pytest.approx(1.0, abs=1e-12)
        # Moving weight from j to k must not pay, unless k is full or j is bare.
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = np.where(power > 0, power / pi, 0.0)
        takes, gives = pi < upper - 1e-12, pi > lower + 1e-12
        if np.any(takes) and np.any(gives):
            assert gain[takes].max() <= gain[gives].min() * (1 + 1e-7) + 1e-9


def test_water_fill_by_hand() -> None:
    """Weights 4 : 4 : 2 with the first held below 0.3 leave 0.7 to be shared 4 : 2."""
    power = np.array([4.0, 4.0, 2.0])
    pi = water_fill(power, np.zeros(3), np.array([0.3, 1.0, 1.0]))
    np.testing.assert_allclose(pi, [0.3, 0.7 * 4 / 6, 0.7 * 2 / 6])
    pi = water_fill(np.array([1.0, 0.0]), np.zeros(2), np.array([0.6, 1.0]))
    np.testing.assert_allclose(pi, [0.6, 0.4])
    pi = water_fill(np.zeros(2), np.array([0.1, 0.2]), np.ones(2))
    assert pi.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
def test_nearest_in_box_meets_its_optimality_conditions(scale: float) -> None:
    """The gradient vanishes on free coordinates and points outwards on those at a bound, at every scale."""
    rng = np.random.default_rng(5)
    for _ in range(300):
        d = int(rng.integers(1, 25))
        root = rng.normal(size=(d, d)) * 10.0 ** rng.uniform(-1, 1, d)
        hessian = (root @ root.T + 1e-3 * np.diag(np.diag(root @ root.T))) / scale**2
        target = rng.normal(size=d) * scale
        a, b = np.sort(rng.normal(size=(2, d)) * scale, axis=0)
        lower = np.where(rng.random(d) < 0.3, -np.inf, a)
        upper = np.where(rng.random(d) < 0.3, np.inf, b)
        upper = np.where((rng.random(d) < 0.2) & np.isfinite(lower), lower, upper)
        x = _nearest_in_box(hessian, target, lower, upper)
        assert np.all(x >= lower)
        assert np.all(x <= upper)
        gradient = hessian @ (x - target)
        tolerance = 1e-6 * np.sqrt(np.diag(hessian)) * (1 + np.sqrt((x - target) @ hessian @ (x - target)))
        assert np.all(np.abs(gradient[(x > lower) & (x < upper)]) <= tolerance[(x > lower) & (x < upper)])
        assert np.all(gradient[(x == lower) & (lower < upper)] >= -tolerance[(x == lower) & (lower < upper)])
        assert np.all(gradient[(x == upper) & (lower < upper)] <= tolerance[(x == upper) & (lower < upper)])


def test_nearest_in_box_with_a_large_offset() -> None:
    """An offset common to target and box changes the answer only by the offset."""
    hessian = np.array([[2.0, 1.2], [1.2, 1.0]])
    target, lower, upper = np.array([3.0, 0.0]), np.array([0.0, 0.0]), np.array([1.0, 5.0])
    near = _nearest_in_box(hessian, target, lower, upper)
    np.testing.assert_allclose(near, [1.0, 2.4])  # with x_0 = 1: x_1 = 0 - 1.2 (1 - 3)
    far = _nearest_in_box(hessian, target + 2.0**30, lower + 2.0**30, upper + 2.0**30)
    np.testing.assert_allclose(far - 2.0**30, near, atol=1e-6)
