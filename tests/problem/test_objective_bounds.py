"""Bounds on means and weights against fractions: nothing passes them, by however little."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from certmix.errors import InfeasibleError, InputError
from certmix.problem import Problem
from certmix.problem.averages import average_in_box, average_side
from certmix.problem.objective import water_fill
from certmix.search.bounds.leaves import _weights_lost


def exact_average(column: np.ndarray) -> Fraction:
    return sum(map(Fraction, column.tolist()), Fraction(0)) / len(column)


@pytest.mark.parametrize("seed", range(40))
def test_the_side_of_an_average_is_exact(seed: int) -> None:
    """At any offset and scale, for bounds at the rounded average and the doubles around it."""
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(-10, 11)
    y = scale * rng.normal(size=(int(rng.integers(1, 30)), 3)) + rng.choice([0.0, 1.7e9, -1e-3])
    exact = [exact_average(column) for column in y.T]
    at = np.array([float(a) for a in exact])
    for bound in (at, np.nextafter(at, np.inf), np.nextafter(at, -np.inf), at + scale):
        sides = [(a > Fraction(b)) - (a < Fraction(b)) for a, b in zip(exact, bound.tolist(), strict=True)]
        assert average_side(y, bound).tolist() == sides
    assert average_in_box(y, np.full(3, -np.inf), np.full(3, np.inf))
    below = np.array(
        [float(b) if Fraction(b) <= a else np.nextafter(b, -np.inf) for a, b in zip(exact, at, strict=True)]
    )
    assert average_in_box(y, below, np.nextafter(below, np.inf))
    assert not average_in_box(y, np.nextafter(below, np.inf), np.full(3, np.inf)) or below.tolist() == exact


def test_a_tied_mean_stays_in_its_box() -> None:
    """The average of 0.1, 0.2 and 0.3 is below the double 0.2 or not, whatever the sum says in doubles."""
    y = np.array([[0.1], [0.2], [0.3], [9.0]])
    exact = exact_average(y[:3, 0])
    edge = float(exact)
    edge = edge if Fraction(edge) >= exact else math.nextafter(edge, 1.0)
    labels = np.array([0, 0, 0, 1])

    def best(top: float) -> np.ndarray:
        bounds = ([[-1.0], [-np.inf]], [[top], [np.inf]])
        problem = Problem(y, 2, variance=1.0, mean_bounds=bounds, estimators=["means"])
        return np.asarray(problem.objective.best(labels).means)

    assert best(edge)[0, 0] <= edge
    with pytest.raises(InfeasibleError, match="outside its box"):
        best(math.nextafter(edge, 0.0))


@pytest.mark.parametrize("seed", range(60))
def test_weights_in_bounds_add_up_to_no_more_than_one(seed: int) -> None:
    """Their exact sum is one but for rounding, never above; the loss against the best ones is accounted for."""
    rng = np.random.default_rng(seed)
    K = int(rng.integers(2, 6))
    inside = rng.dirichlet(np.full(K, rng.choice([0.05, 1.0])))
    lower = inside * rng.choice([0.0, 1.0 - 1e-14, 0.5], size=K)
    upper = np.minimum(inside * rng.choice([1.0 + 1e-14, 2.0, 1e6], size=K) + 1e-13, 1.0)
    power = rng.integers(0, 9, size=K) + rng.choice([0.0, 0.5])
    pi = water_fill(power, lower, upper)
    total = sum(map(Fraction, pi.tolist()), Fraction(0))
    assert np.all((pi >= lower) & (pi <= upper))
    assert 1 - Fraction(1, 10**15) * K <= total <= 1
    lost = _weights_lost(power, pi, lower, upper)
    used = power > 0
    if np.any(pi[used] == 0):
        return
    assert lost < 1e-4  # next to nothing but where a weight of 1e-12 is all that can give way
    value = -(power[used] @ np.log(pi[used]))
    for _ in range(200):  # other weights within the bounds that add up to one
        i, j = rng.integers(K, size=2)
        step = min(upper[i] - pi[i], pi[j] - lower[j]) * rng.uniform()
        other = pi.copy()
        other[i] += step
        other[j] -= step
        with np.errstate(divide="ignore"):
            assert -(power[used] @ np.log(other[used])) >= value - lost - 1e-12 * (1 + abs(value))


def test_bounds_that_no_weights_can_keep() -> None:
    """Ten times the double 0.1 is more than one, three times the double 1/3 is less; fixed weights are the way."""
    y = np.arange(10.0)
    with pytest.raises(InputError, match=r"lower bounds.*1 \+ 5.6e-17.*give them as weights"):
        Problem(y, 10, variance=1.0, weight_bounds=(0.1, 1.0))
    with pytest.raises(InputError, match=r"upper bounds.*1 - 5.6e-17"):
        Problem(y, 3, variance=1.0, weight_bounds=(0.0, 1 / 3))
    assert (
        Problem(y, 10, variance=1.0, weights=[0.1] * 10, weight_bounds=(0.1, 0.1)).fixed_weights is not None
    )
    assert (
        Problem(y, 10, variance=1.0, weight_bounds=(0.1, 0.1), estimators=["weights"]).size_upper.tolist()
        == [1] * 10
    )


def test_sizes_that_shares_leave() -> None:
    """A share is compared as the double nearest to it: 3 of 10 are 0.3, and not the double below."""
    y = np.arange(10.0)

    def sizes(low: float, high: float) -> tuple[int, int]:
        bounds = ([0.0, low], [1.0, high])
        found = Problem(y, 2, variance=1.0, weight_bounds=bounds, estimators=["weights"], allow_empty=True)
        return int(found.size_lower[1]), int(found.size_upper[1])

    assert sizes(0.3, 0.7) == (3, 7)
    assert sizes(math.nextafter(0.3, 1), math.nextafter(0.7, 0)) == (4, 6)
    assert sizes(0.3 - 1e-10, 0.7 + 1e-10) == (3, 7)
    assert sizes(0.3 + 1e-10, 0.7 - 1e-10) == (4, 6)
    uniform = Problem(y[:9], 3, weights="uniform", estimators=["weights"])
    assert uniform.size_lower.tolist() == uniform.size_upper.tolist() == [3, 3, 3]
    with pytest.raises(InfeasibleError, match="would need"):
        Problem(y[:9], 2, variance=1.0, weights=[1 / 3 + 1e-12, 2 / 3 - 1e-12], estimators=["weights"])
