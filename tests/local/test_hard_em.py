"""Hard EM: never below the optimum, nearly always at it, and at the best known value of the paper's instances."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

import certmix
from certmix.datasets import load
from certmix.engines import engine
from certmix.errors import CertmixError, InfeasibleError, InputError
from certmix.ledger import Progress
from certmix.local import hard_em as module
from certmix.local.assignment import satisfies
from certmix.local.hard_em import again, default_restarts, hard_em
from certmix.local.moves import LocalSearch
from certmix.observers.base import Silent
from certmix.presolve.instance import Instance, reduce
from certmix.problem import (
    CannotLink,
    GaussianPrior,
    Implication,
    Label,
    MaximumSize,
    MinimumSize,
    MustLink,
    Partitioning,
    Problem,
    is_feasible,
)
from certmix.status import Status, Termination
from random_instances import random_problem

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
needs_files = pytest.mark.skipif(not SHARED.is_dir(), reason="the data files beside the project are absent")


def best_by_brute_force(instance: Instance) -> float:
    """The smallest objective over all labellings, by the one evaluator."""
    problem, best = instance.problem, np.inf
    for groups in itertools.product(range(instance.n_components), repeat=instance.n_groups):
        labels = instance.expand(np.array(groups))
        if is_feasible(problem, labels):
            try:
                best = min(best, problem.objective.best(labels).value)
            except InfeasibleError:
                continue
    return float(best)


def sweep(seeds: range, max_samples: int) -> tuple[int, int]:
    """Problems with a solution, and how many of them hard EM solved to optimality. Never better than brute force."""
    solvable = met = 0
    for seed in seeds:
        try:
            instance = reduce(random_problem(np.random.default_rng(seed), max_samples=max_samples))
        except CertmixError:
            continue
        best, found = best_by_brute_force(instance), hard_em(instance, restarts=8, seed=seed)
        if not np.isfinite(best):
            assert found is None
            continue
        solvable += 1
        if found is None:
            continue
        tolerance = 1e-8 * (1 + abs(best))
        assert is_feasible(instance.problem, instance.expand(found.labels))
        assert found.value >= best - tolerance
        met += found.value <= best + tolerance
    return solvable, met


def test_meets_brute_force_on_small_instances() -> None:
    """Over every constraint, prior, weight and box: never better than the optimum, and there in at least 95 %."""
    solvable, met = sweep(range(80), 6)
    assert solvable > 60
    assert met >= 0.95 * solvable


@pytest.mark.slow
def test_meets_brute_force_on_many_instances() -> None:
    """The same with up to nine samples."""
    solvable, met = sweep(range(10_000, 10_400), 9)
    assert solvable > 300
    assert met >= 0.95 * solvable


@pytest.mark.parametrize(
    ("name", "options", "changes", "value", "digits"),
    [
        ("iris1d", {}, {}, 280.0197, 4),
        ("iris1d", {"n": 45, "sigma": 0.2}, {}, 194.945547, 6),
        ("iris1d", {"n": 45, "sigma": 0.4}, {}, 85.361502, 6),
        ("wine", {}, {}, 1366.8512244670, 8),
        ("brca", {}, {}, 1566.4003302, 7),
        ("brca", {"rounded": False}, {}, 1554.58051, 5),
        ("iris", {}, {"n_components": 3}, 693.03972, 5),
        ("iris", {}, {"n_components": 4}, 612.16436, 5),
        ("iris", {}, {"n_components": 5}, 581.34300, 5),
    ],
)
def test_best_known_values(name: str, options: dict, changes: dict, value: float, digits: int) -> None:
    """A few restarts find the value that is proved or best known."""
    found = hard_em(reduce(load(name, **options).problem(**changes)), restarts=4)
    assert found is not None
    assert found.value == pytest.approx(value, abs=0.6 * 10.0**-digits)


@pytest.mark.parametrize(
    ("k", "sse"), [(2, 152.347951760358), (3, 78.8514414261460), (4, 57.2284732142857), (6, 39.0399872460872)]
)
def test_k_means_on_iris(k: int, sse: float) -> None:
    """With uniform weights and unit variance the objective is SSE/2 + n log K."""
    problem = load("iris").problem(n_components=k, variance=1.0, weights="uniform")
    found = hard_em(reduce(problem), restarts=6)
    assert found is not None
    assert 2 * (found.value - 150 * np.log(k)) == pytest.approx(sse, abs=1e-8)


@needs_files
@pytest.mark.parametrize(("k", "sse"), [(4, 12881.0512361466), (5, 10126.7197881828), (6, 8575.40687645688)])
def test_k_means_on_ruspini(k: int, sse: float) -> None:
    """The published optima."""
    data = np.loadtxt(SHARED / "ruspini.csv", delimiter=",", skiprows=1)
    found = hard_em(reduce(Problem(data, k, weights="uniform")), restarts=6)
    assert found is not None
    assert 2 * (found.value - 75 * np.log(k)) == pytest.approx(sse, rel=1e-9)


@needs_files
def test_known_subtypes_are_kept() -> None:
    """With the 139 labels of pam50 every labelled sample stays in its component; without them the value is lower."""
    pam50 = load("pam50", path=SHARED / "pam50")
    labelled, free = reduce(pam50.problem(constraints=pam50.labels())), reduce(pam50.problem())
    found, unconstrained = hard_em(labelled, restarts=3), hard_em(free, restarts=3)
    assert found is not None
    assert unconstrained is not None
    known = pam50.target >= 0
    assert np.array_equal(labelled.expand(found.labels)[known], pam50.target[known])
    assert unconstrained.value < found.value


def test_finds_clusters_of_one_and_two() -> None:
    """Two outliers far from each other and a pair far from everything are components of their own."""
    rng = np.random.default_rng(0)
    data = np.concatenate([rng.normal(size=(60, 2)), [[30, 0], [0, 30]], [[-30, 0], [-30.5, 0]]])
    found = hard_em(reduce(Problem(data, 4, variance=1.0)), restarts=2)
    assert found is not None
    assert sorted(np.bincount(found.labels)) == [1, 1, 2, 60]


def test_everything_at_once_is_honoured() -> None:
    """Links, implication, label, counts, sizes, prior, box and one covariance per component in one problem."""
    rng = np.random.default_rng(1)
    data = rng.normal(size=(60, 2)) + 3 * rng.integers(0, 3, 60)[:, None]
    constraints = [
        MustLink(0, 1, 2),
        CannotLink(3, 4, 5),
        Implication(6, 7),
        Implication(8, 9, 1),
        Label(10, 2),
        Partitioning(range(20, 30), 0, 4),
        MinimumSize(18),
        MaximumSize(22),
    ]
    problem = Problem(
        data,
        3,
        covariance=np.stack([np.eye(2) * v for v in (0.5, 1.0, 2.0)]),
        mean_bounds=(-1.0, 5.0),
        prior=GaussianPrior(0.0, 4.0),
        constraints=constraints,
    )
    instance = reduce(problem)
    found = hard_em(instance, restarts=4)
    assert found is not None
    labels = instance.expand(found.labels)
    assert is_feasible(problem, labels)
    assert found.value == problem.objective.best(labels).value
    again = LocalSearch(instance).improve(found.labels)
    assert again[1] == pytest.approx(found.value, rel=1e-12)


def test_same_seed_same_answer() -> None:
    """Two runs with one seed agree in every label and every improvement; the callback's values fall."""
    instance = reduce(Problem(np.random.default_rng(0).normal(size=(80, 3)), 5, variance=1.0))
    trails: list[list[float]] = []
    labels = []
    for _ in range(2):
        trail: list[float] = []
        found = hard_em(
            instance, seed=3, restarts=3, callback=lambda _, value, trail=trail: trail.append(value)
        )
        assert found is not None
        assert found.value == trail[-1]
        assert all(a > b for a, b in itertools.pairwise(trail))
        trails.append(trail)
        labels.append(found.labels)
    assert trails[0] == trails[1]
    assert np.array_equal(labels[0], labels[1])


def test_start_is_used_and_checked() -> None:
    """The answer is never worse than the start; a start that violates a constraint is an error."""
    rng = np.random.default_rng(0)
    problem = Problem(rng.normal(size=(30, 2)), 3, variance=1.0, constraints=[CannotLink(0, 1)])
    instance = reduce(problem)
    best = hard_em(instance)
    assert best is not None
    start = instance.expand(best.labels)
    found = hard_em(instance, restarts=1, seed=99, start=start)
    assert found is not None
    assert found.value <= best.value
    wrong = start.copy()
    wrong[1] = wrong[0]
    with pytest.raises(InputError, match="start violates"):
        hard_em(instance, start=wrong)


def test_time_limit_still_makes_one_start() -> None:
    """With no time at all there is a clustering, and the run says that it was cut short."""
    instance = reduce(Problem(np.random.default_rng(0).normal(size=(200, 2)), 4, variance=1.0))
    found = hard_em(instance, restarts=50, time_limit=0.0)
    assert found is not None
    assert not found.complete
    assert satisfies(instance, found.labels)


def test_no_clustering_when_there_is_none() -> None:
    """Three samples apart from each other do not fit into two components."""
    assert (
        hard_em(reduce(Problem(np.arange(4.0), 2, variance=1.0, constraints=[CannotLink(0, 1, 2)]))) is None
    )


@pytest.mark.parametrize(
    "constraints", [[], [MinimumSize(5000)], [CannotLink(0, 1), MustLink(2, 3), MinimumSize(4990)]]
)
def test_many_samples_through_a_subsample(constraints: list) -> None:
    """Fifteen thousand samples of three clear clusters: at least as good as the truth, under the constraints."""
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(3), 5000)
    centres = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])
    problem = Problem(centres[truth] + rng.normal(size=(15_000, 2)), 3, variance=1.0, constraints=constraints)
    instance = reduce(problem)
    assert instance.n_groups > module.MANY_GROUPS
    found = hard_em(instance)
    assert found is not None
    assert is_feasible(problem, instance.expand(found.labels))
    reference = truth.copy()
    reference[[1, 5000]] = reference[[5000, 1]] if constraints else reference[[1, 5000]]
    assert found.value <= problem.objective.best(reference).value


def test_search_from_means() -> None:
    """Starting at the true centres leads to the best clustering of separated data."""
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(3), 20)
    data = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])[truth] + rng.normal(size=(60, 2))
    instance = reduce(Problem(data, 3, variance=1.0))
    means = np.stack([instance.points[0][truth == k].mean(axis=0) for k in range(3)])
    found = LocalSearch(instance).from_means(means)
    assert found is not None
    assert np.array_equal(found[0], truth)


def test_default_restarts_fall_with_the_size() -> None:
    """Small instances get many starts, large ones few, none gets less than two."""
    counts = [
        default_restarts(reduce(Problem(np.random.default_rng(0).normal(size=(n, 2)), 3, variance=1.0)))
        for n in (50, 4000)
    ]
    assert counts[0] > counts[1] >= 2


class _Interrupt(Silent):
    """Presses Ctrl-C at the first incumbent."""

    def progressed(self, progress: Progress) -> None:
        if np.isfinite(progress.incumbent):
            raise KeyboardInterrupt


def test_engine_through_solve() -> None:
    """As an engine: every feature, no bound, status feasible, and an interrupted run keeps what it had."""
    hard = engine("hard-em")
    assert hard.name == "hard-em"
    assert not hard.certified
    problem = load("iris").problem(constraints=[CannotLink(0, 1), MinimumSize(10)])
    result = certmix.solve(problem, engine="hard-em", restarts=2)
    assert result.status == Status.FEASIBLE
    assert result.termination == Termination.CONVERGED
    assert result.lower_bound == -np.inf
    limited = certmix.solve(problem, engine="hard-em", restarts=10_000, time_limit=0.2)
    assert limited.termination == Termination.TIME
    assert is_feasible(problem, limited.labels)
    stopped = certmix.solve(problem, engine="hard-em", observers=[_Interrupt()])
    assert stopped.termination == Termination.INTERRUPTED
    assert is_feasible(problem, stopped.labels)


def test_fixed_sizes_go_to_clusters_of_that_size() -> None:
    """Six clusters of different sizes far apart, the sizes asked for in another order: found from any seed."""
    sizes = np.array([12, 56, 22, 40, 31, 18])
    rng = np.random.default_rng(2)
    truth = np.repeat(np.arange(6), sizes)
    data = 9.0 * rng.normal(size=(6, 4))[truth] + rng.normal(size=(len(truth), 4))
    order = rng.permutation(6)
    limits = [limit(int(m), k) for k, m in enumerate(sizes[order]) for limit in (MinimumSize, MaximumSize)]
    instance = reduce(Problem(data, 6, variance=1.0, weights="uniform", constraints=limits))
    for seed in range(3):
        found = hard_em(instance, seed=seed)
        assert found is not None
        assert np.array_equal(order[found.labels], truth)


def test_a_longer_run_is_as_good_as_a_short_one_and_keeps_what_it_began_with() -> None:
    """From anything it comes as far as a short run; from its own end nowhere else; of few components it is silent."""
    rng = np.random.default_rng(3)
    instance = reduce(Problem(rng.uniform(size=(400, 2)), 25, weights="none"))
    objective = instance.problem.objective
    first = hard_em(instance, seed=1, restarts=1, failed=0)
    better = again(instance, rng.integers(25, size=400), 0, np.inf)
    assert first is not None
    assert better is not None
    assert objective.best(better).value <= first.value * (1.0 + 1e-12)
    np.testing.assert_array_equal(better, again(instance, better, 0, np.inf))
    few = reduce(Problem(rng.uniform(size=(40, 2)), 3, weights="none"))
    assert again(few, np.zeros(40, dtype=int), 0, np.inf) is None


def test_threads_do_not_change_what_crossing_finds() -> None:
    """Clusterings climb side by side, always as many of them."""
    instance = reduce(Problem(np.random.default_rng(5).uniform(size=(300, 2)), 20, weights="none"))
    one, two = (hard_em(instance, seed=3, n_threads=n) for n in (1, 2))
    assert one is not None
    assert two is not None
    assert one.value == two.value
    np.testing.assert_array_equal(one.labels, two.labels)
