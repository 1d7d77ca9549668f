"""The method of Bandi et al.: its optimisation problems against slow twins, and what it promises as an engine."""

from __future__ import annotations

import math
import subprocess
import sys
from itertools import permutations, product

import numpy as np
import pytest
from scipy.special import ndtr

from certmix import solve
from certmix.datasets import load
from certmix.paper.local import bandi_line as line
from certmix.paper.local.bandi import bandi
from certmix.paper.local.bandi_recombine import fit_covariance, match_means
from certmix.paper.study.alignment import aligned
from certmix.paper.study.metrics import accuracy
from certmix.problem import CannotLink, MaximumSize, Problem, is_feasible
from certmix.status import Status


def distance(x: np.ndarray, means: np.ndarray, deviations: np.ndarray, weights: np.ndarray) -> float:
    """The Kolmogorov-Smirnov distance at the samples, by its definition."""
    n = len(x)
    return max(
        abs(
            (j + 1) / n
            - sum(w * ndtr((x[j] - m) / s) for m, s, w in zip(means, deviations, weights, strict=True))
        )
        for j in range(n)
    )


@pytest.fixture
def samples() -> np.ndarray:
    """Thirty samples of two components on a line, sorted."""
    rng = np.random.default_rng(0)
    return np.sort(np.concatenate([rng.normal(-2.0, 0.6, 12), rng.normal(1.5, 1.0, 18)]))


# -- one dimension -------------------------------------------------------------------------------------------
def test_step_b_finds_the_best_weights(samples: np.ndarray) -> None:
    """No weights on a fine grid have a smaller distance."""
    means, deviations = np.array([-2.2, 1.0]), np.array([0.7, 1.2])
    weights = line._step_b(samples, means, deviations)
    grid = [distance(samples, means, deviations, np.array([a, 1 - a])) for a in np.linspace(0, 1, 401)]
    assert weights.sum() == pytest.approx(1.0)
    assert distance(samples, means, deviations, weights) <= min(grid) + 1e-9


def piecewise(grid: line._Grid, u: np.ndarray) -> np.ndarray:
    """The piecewise-linear distribution function."""
    return np.interp(u, grid.v, grid.phi)


def approximate_distance(
    x: np.ndarray, grid: line._Grid, s: np.ndarray, t: np.ndarray, w: np.ndarray
) -> float:
    cdf = piecewise(grid, x[:, None] * s - t) @ w
    return float(np.abs(np.arange(1, len(x) + 1) / len(x) - cdf).max())


def test_the_linear_program_keeps_cells_and_is_optimal_among_them(samples: np.ndarray) -> None:
    """Its arguments stay in their cells, and no nearby point that stays in them too is better."""
    grid = line._Grid(samples, float(samples.std()))
    weights = np.array([0.4, 0.6])
    deviations, means = np.array([0.7, 1.1]), np.array([-2.0, 1.4])
    cells = grid.cells(1 / deviations, means / deviations)
    found = line._fixed_cells(samples, grid, cells, weights)
    assert found is not None
    s, t = found
    u = samples[:, None] * s - t
    assert np.all(u >= grid.v[cells] - 1e-7)
    assert np.all(u <= grid.v[cells + 1] + 1e-7)
    best = approximate_distance(samples, grid, s, t, weights)
    assert best <= approximate_distance(samples, grid, 1 / deviations, means / deviations, weights) + 1e-9
    rng = np.random.default_rng(1)
    compared = 0
    for _ in range(3000):
        size = 10 ** rng.uniform(-4, -0.5)
        other = s + size * rng.normal(size=2), t + size * rng.normal(size=2)
        if np.array_equal(grid.cells(*other), cells):
            compared += 1
            assert best <= approximate_distance(samples, grid, *other, weights) + 1e-7
    assert compared > 20


def test_neighbouring_cells_are_at_least_as_good() -> None:
    """The integer program never ends above its start, and meets a fine grid over its parameters."""
    rng = np.random.default_rng(3)
    x = np.sort(rng.normal(size=9))
    grid = line._Grid(x, float(x.std()))
    weights = np.array([1.0])
    s, t = np.array([1.2]), np.array([0.3])
    cells = grid.cells(s, t)
    found = line._neighbouring_cells(x, grid, cells, weights, (s, t), 20.0)
    best = approximate_distance(x, grid, *found, weights)
    assert best <= approximate_distance(x, grid, s, t, weights) + 1e-9
    others = []
    for a, b in product(np.linspace(0.5, 3.0, 120), np.linspace(-1.5, 1.5, 120)):
        u = x[:, None] * a - b
        near = np.abs(grid.cells(np.array([a]), np.array([b])) - cells).max() <= 1
        if near and x[0] * a <= b <= x[-1] * a and np.all(np.isfinite(u)):
            others.append(approximate_distance(x, grid, np.array([a]), np.array([b]), weights))
    assert best <= min(others) + 1e-6


def test_fitting_brings_the_distributions_closer(samples: np.ndarray) -> None:
    """From a poor clustering the distance falls, and what the answer says of it is its definition's value."""
    labels = (samples > 0.8).astype(int)
    start = line._start(samples, labels, 2, float(samples.std()))
    poor = distance(samples, *start)
    quick = line.fit_line(samples, labels, 2, stopping=1e-6, time_limit=0.0)  # linear programs alone
    assert quick.distance < poor
    # The integer programs come as far as the machine is fast.
    found = line.fit_line(samples, labels, 2, stopping=1e-6, time_limit=2.0)
    assert found.distance <= poor
    for answer in (quick, found):
        again = distance(samples, answer.means, answer.deviations, answer.weights)
        assert answer.distance == pytest.approx(again)
        assert answer.means[0] < answer.means[1]


def test_a_round_that_ends_farther_away_is_not_the_answer(
    samples: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Step A minimises an image of the distance: where every round makes things worse, the start is returned."""
    labels = (samples > 0.8).astype(int)
    start = line._start(samples, labels, 2, float(samples.std()))
    monkeypatch.setattr(line, "_step_a", lambda x, means, deviations, *_: (means + 10.0, deviations))
    found = line.fit_line(samples, labels, 2, stopping=1e-6)
    assert found.distance == pytest.approx(distance(samples, *start))
    np.testing.assert_allclose(found.means, start[0])


# -- recombination -------------------------------------------------------------------------------------------
def test_matching_is_as_good_as_every_permutation() -> None:
    """With three lines in the plane and two components, all permutations can be tried."""
    rng = np.random.default_rng(2)
    for _ in range(5):
        directions = rng.normal(size=(3, 2))
        lines = np.sort(rng.normal(size=(3, 2)), axis=1)
        _, places, error = match_means(directions, lines, rng.normal(size=(60, 2, 2)))
        best = math.inf
        for orders in product(permutations(range(2)), repeat=3):
            wanted = np.take_along_axis(lines, np.array(orders), axis=1)
            fit, *_ = np.linalg.lstsq(directions, wanted, rcond=None)
            best = min(best, float(((wanted - directions @ fit) ** 2).sum()))
        assert error == pytest.approx(best, abs=1e-9)
        assert all(sorted(row) == [0, 1] for row in places.tolist())


def test_matching_recovers_means_from_their_projections() -> None:
    """Exact projections of three means in three dimensions determine them."""
    rng = np.random.default_rng(4)
    means, directions = 3 * rng.normal(size=(3, 3)), rng.normal(size=(12, 3))
    found, _, error = match_means(
        directions, np.sort(directions @ means.T, axis=1), rng.normal(size=(50, 3, 3))
    )
    assert error == pytest.approx(0, abs=1e-12)
    assert np.array(sorted(found.tolist())) == pytest.approx(np.array(sorted(means.tolist())))


def test_a_covariance_is_recovered_from_variances_on_lines() -> None:
    """Variances, not standard deviations: consistent ones give the covariance back, with a few outliers too."""
    rng = np.random.default_rng(5)
    root = rng.normal(size=(3, 3))
    covariance, directions = root @ root.T, rng.normal(size=(30, 3))
    variances = np.einsum("ri,ij,rj->r", directions, covariance, directions)
    variances[:3] *= 4  # absolute values shrug off outliers
    assert fit_covariance(directions, variances) == pytest.approx(covariance, abs=1e-4)


def test_a_covariance_is_definite() -> None:
    """Variances that no covariance has still give one with a density."""
    directions = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0]])
    found = fit_covariance(directions, np.array([1.0, 1.0, 9.0, 0.0]))
    assert np.linalg.eigvalsh(found).min() > 0


# -- the whole -----------------------------------------------------------------------------------------------
def test_separated_clusters_are_found_in_any_dimension() -> None:
    """Two clusters far apart in every feature: nearly every sample is in its own, whatever the features' scales."""
    rng = np.random.default_rng(0)
    target = np.repeat([0, 1], [30, 50])
    for d in (1, 2, 3):
        data = (rng.normal(size=(80, d)) + 9.0 * target[:, None]) * 10.0 ** np.arange(d)
        found = bandi(Problem(data, 2, variance=1.0), directions=20, time_limit=0.0)
        order = aligned(found.own_labels, target, 2)
        assert accuracy(order[found.own_labels], target) > 0.95, d


def test_iris1d_is_in_the_range_of_the_paper() -> None:
    """With the linear programs alone about nine of ten samples are in their class, as in the paper."""
    data = load("iris1d")
    found = bandi(data.problem(), time_limit=0.0)
    assert 0.88 < accuracy(aligned(found.own_labels, data.target, 3)[found.own_labels], data.target) < 0.93
    assert found.history[0] < 0.05


def test_as_an_engine_it_keeps_constraints_and_proves_nothing() -> None:
    """Labels satisfy what the method itself does not know of; there is no bound; the seed repeats the run."""
    data = np.random.default_rng(0).normal(size=(24, 2)) + np.repeat([[0.0], [4.0]], 12, axis=0)
    problem = Problem(data, 2, variance=1.0, constraints=[CannotLink(0, 1), MaximumSize(13)])
    results = [solve(problem, "bandi", seed=3, time_limit=0.1) for _ in range(2)]
    assert is_feasible(problem, np.array(results[0].labels))
    assert results[0].status is Status.FEASIBLE
    assert results[0].certificate_level == "none"
    assert results[0].lower_bound == -math.inf
    assert np.array_equal(results[0].labels, results[1].labels)


@pytest.mark.parametrize("K", [1, 3, 4])
def test_extreme_shapes(K: int) -> None:
    """One component, as many components as samples, and equal samples are no special cases."""
    for data in ([[0.0, 1.0], [1.0, 3.0], [2.0, 2.0], [7.0, 0.0]], [[0.0], [0.0], [0.0], [5.0]]):
        problem = Problem(np.array(data), K, variance=1.0)
        found = bandi(problem, time_limit=0.0)
        assert is_feasible(problem, np.array(found.labels))
        assert math.isfinite(found.rescored)


def test_an_interruption_of_the_integer_program_ends_in_good_order() -> None:
    """Ctrl-C while HiGHS works: KeyboardInterrupt at once, and the program can end without being aborted."""
    code = (
        "import os, signal, sys, threading, time\n"
        "from certmix.datasets import load\n"
        "from certmix import highs\n"
        "from certmix.paper.local.bandi import bandi\n"
        "problem = load('iris1d').problem()\n"
        "noted = highs.noted\n"
        "def bombed():\n"
        "    stop = lambda: (time.sleep(2), os.kill(os.getpid(), signal.SIGINT))\n"
        "    threading.Thread(target=stop, daemon=True).start()\n"
        "    return noted()\n"
        "highs.noted = bombed\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "def main():\n"
        "    try:\n"
        "        bandi(problem, time_limit=600.0)\n"
        "    except KeyboardInterrupt as error:\n"
        "        return 130\n"
        "    return 1\n"
        "sys.exit(main())\n"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert (answer.returncode, answer.stderr) == (130, "")
