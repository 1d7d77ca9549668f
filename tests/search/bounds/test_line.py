"""The bound for one dimension and many samples, against dynamic programming."""

from __future__ import annotations

import math

import numpy as np
import pytest

import certmix
from certmix.ledger import Ledger
from certmix.options import Options
from certmix.presolve.instance import reduce
from certmix.problem import Problem
from certmix.search.bounds import line as line_module
from certmix.search.bounds.line import LineBound, applies
from certmix.search.loop import Search
from certmix.status import Termination


def random_problem(rng: np.random.Generator) -> Problem:
    """Few or many samples, with ties, duplicates, outliers, size limits and every kind of weights."""
    n, K = int(rng.integers(5, 201)), int(rng.integers(1, 6))
    kind = rng.integers(5)
    if kind == 0:
        y = rng.normal(size=n) + rng.uniform(0, 6) * rng.integers(0, K, n)
    elif kind == 1:
        y = rng.integers(0, rng.integers(2, 12), n) * rng.choice([0.3, 1.0, 3.0])
    elif kind == 2:
        y = rng.normal(size=n)
        y[: rng.integers(1, 4)] *= 10.0 ** rng.integers(1, 5)
    elif kind == 3:
        y = np.repeat(rng.normal(size=max(1, n // 4)) * 4, 4)
        y = np.concatenate([y, rng.normal(size=n - len(y)) if n > len(y) else []])[:n]
    else:
        y = rng.uniform(-5, 5, n) + rng.choice([0.0, 1e6])
    options: dict = {"weights": ["free", "free", "uniform"][rng.integers(3)]}
    if options["weights"] == "free" and rng.random() < 0.4:
        options["prior"] = certmix.DirichletPrior(float(rng.choice([0.5, 2.0, 10.0])))
    elif rng.random() < 0.2:
        options["allow_empty"] = True
    if rng.random() < 0.2:
        low = int(rng.integers(1, max(2, n // K + 1)))
        options["constraints"] = [certmix.MinimumSize(low)]
    return Problem(y[:, None], K, variance=float(rng.choice([0.1, 1.0, 7.0])), **options)


def run(
    problem: Problem, *, start: np.ndarray | None = None, gap: float = 1e-9, nodes: int | None = None
) -> Ledger:
    options = Options(gap=gap, node_limit=nodes)
    ledger = Ledger(problem, options.tolerances)
    if start is not None:
        ledger.offer(start, "start")
    Search(LineBound(reduce(problem)), ledger, options).run()
    return ledger


@pytest.mark.parametrize("seed", range(8))
def test_agrees_with_dynamic_programming(seed, monkeypatch):
    """No bound is above the optimum at any stage, and a finished run has found the optimum."""
    rng = np.random.default_rng(seed)
    for _ in range(40):
        problem = random_problem(rng)
        monkeypatch.setattr(line_module, "CELLS", int(rng.choice([2, 5, 128])))
        monkeypatch.setattr(line_module, "MOST_ARCS", int(rng.choice([30, 2000, 400_000])))
        exact = certmix.solve(problem, "dynamic", gap=1e-9)
        assert exact.status == "optimal"
        slack = 1e-9 * max(1.0, abs(exact.objective))
        start = None
        if rng.random() < 0.5:  # a poor clustering to begin with
            start = np.sort(rng.integers(0, problem.n_components, problem.n_samples))
        ledger = run(problem, start=start)
        assert all(point.bound <= exact.objective + slack for point in ledger.trace)
        assert ledger.closed
        assert abs(ledger.upper - exact.objective) <= slack


@pytest.mark.parametrize("nodes", [1, 2, 3, 5])
def test_stopped_runs_stay_below(nodes, monkeypatch):
    """A run that a node limit stops has a bound below the optimum."""
    rng = np.random.default_rng(100 + nodes)
    monkeypatch.setattr(line_module, "CELLS", 4)
    for _ in range(20):
        problem = random_problem(rng)
        optimum = certmix.solve(problem, "dynamic").objective
        ledger = run(problem, gap=0.0, nodes=nodes)
        assert ledger.bound <= optimum + 1e-9 * max(1.0, abs(optimum))


def test_node_bounds_lie_below_clusterings_in_the_node():
    """Whatever the cells, the shortest path is no longer than any clustering (without a cutoff none is excluded)."""
    rng = np.random.default_rng(7)
    for _ in range(60):
        n, K = int(rng.integers(8, 120)), int(rng.integers(2, 5))
        problem = Problem(rng.normal(size=(n, 1)) * rng.choice([1.0, 4.0]), K, variance=1.0)
        bound = LineBound(reduce(problem))
        nodes = bound.root()
        while True:
            explored = bound.explore(nodes, math.inf)
            for _ in range(20):
                cuts = np.sort(rng.choice(np.arange(1, n), K - 1, replace=False))
                labels = bound._labels(np.concatenate([[0], cuts, [n]]))
                value = problem.objective.best(labels).value
                assert explored.nodes.bound[0] <= value + 1e-9 * abs(value)
            if not explored.open[0]:
                break
            nodes = bound.branch(explored)


def test_finds_the_better_clustering_from_a_poor_start():
    """The search replaces a start that is not optimal, and says so only with labels in the order of the samples."""
    rng = np.random.default_rng(3)
    y = np.concatenate([rng.normal(size=1500), rng.normal(8, 1, 1000), [40.0]])
    rng.shuffle(y)
    problem = Problem(y[:, None], 3, variance=1.0)
    start = (y > np.median(y)).astype(int)
    start[:5] = 2
    result = certmix.solve(problem, "interval", start=start, gap=1e-9)
    exact = certmix.solve(problem, "dynamic", gap=1e-9)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(exact.objective, rel=1e-9)
    assert sorted(np.bincount(result.labels)) == sorted(np.bincount(exact.labels))
    assert np.count_nonzero(result.labels == result.labels[np.argmax(y)]) == 1


def test_far_outliers_do_not_blur_the_bound():
    """A first potential from clusters that hold far outliers is large, and so is its rounding; the search recovers."""
    for seed in range(12):
        y = np.random.default_rng(seed).normal(size=55)
        y[:3] *= 1e5
        assert run(Problem(y[:, None], 4, variance=1.0)).closed


def test_says_why_it_does_not_apply():
    """Everything that the bound does not know is refused by name."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=(20, 1))
    assert applies(Problem(y, 2, variance=1.0)) is None
    assert "dimension" in applies(Problem(rng.normal(size=(20, 2)), 2, variance=1.0))
    assert "interchangeable" in applies(Problem(y, 2, variance=1.0, weights=[0.3, 0.7]))
    assert "must-link" in applies(Problem(y, 2, variance=1.0, constraints=[certmix.MustLink(0, 1)]))
    assert "means" in applies(Problem(y, 2, variance=1.0, mean_bounds=(-1, 1)))
    with pytest.raises(ValueError, match="interchangeable"):
        LineBound(reduce(Problem(y, 2, variance=1.0, weights=[0.3, 0.7])))


def test_auto_takes_it_where_dynamic_programming_is_too_slow():
    """A hundred thousand samples in one dimension are solved to a gap of 1e-9."""
    rng = np.random.default_rng(1)
    y = 4.0 * rng.integers(0, 5, 100_000) + rng.normal(size=100_000)
    result = certmix.solve(Problem(y[:, None], 5, variance=1.0), gap=1e-9)
    assert result.engine == "interval"
    assert result.status == "optimal"
    assert result.gap_relative <= 1e-9


def test_infeasible_sizes_are_found_out():
    """Size limits that no clustering satisfies leave no path."""
    problem = Problem(np.arange(10.0)[:, None], 3, variance=1.0, constraints=[certmix.MaximumSize(3)])
    options = Options()
    ledger = Ledger(problem, options.tolerances)
    assert Search(LineBound(reduce(problem)), ledger, options).run() is Termination.EXHAUSTED
    assert ledger.incumbent is None
