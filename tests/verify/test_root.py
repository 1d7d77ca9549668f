"""The checker's view of a problem against the program's own."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from claiming import rooted

from certmix.certificate.statement import state
from certmix.presolve.instance import reduce
from certmix.problem import Problem, interchangeable, is_feasible
from certmix.verify import statement as statements
from certmix.verify.domain import Domain
from certmix.verify.evidence import Rejected
from certmix.verify.root import Root
from random_instances import random_problem


@pytest.mark.parametrize("seed", range(80))
def test_the_checker_rebuilds_groups_coordinates_and_tables(seed: int) -> None:
    """Groups, points, tables, rules and symmetries agree with those that the search works on."""
    problem = random_problem(np.random.default_rng(seed))
    root, instance = rooted(problem), reduce(problem)
    assert (root.group == instance.groups.of).all()
    assert (root.weight == instance.weight).all()
    assert (root.conflicts == instance.conflicts).all()
    assert {tuple(r) for r in root.implications} == {tuple(r) for r in instance.implications}
    largest = root.n if problem.allow_empty else root.n - root.K + 1  # no clustering has larger sizes
    tables = (t[:, : largest + 1] for t in (root.entropy, instance.entropy))
    assert next(tables) == pytest.approx(next(tables), rel=1e-12, abs=1e-12, nan_ok=True)
    assert (root.size_lower == instance.size_lower).all()
    assert (root.size_upper == instance.size_upper).all()
    same = interchangeable(problem)
    assert ((root.classes[:, None] == root.classes) == (same[:, None] == same)).all()
    scale = 1e-9 * (1 + np.abs(instance.points).max())
    distances = [
        ((x[:, None] - x[None]) ** 2).sum(axis=2)
        for points in (root.points[: len(instance.points)], instance.points)
        for x in points
    ]
    half = len(distances) // 2
    for mine, other in zip(distances[:half], distances[half:], strict=True):
        assert mine == pytest.approx(other, rel=1e-9, abs=scale**2 + 1e-12)
    assert root.scatter == pytest.approx(
        instance.scatter[np.arange(root.K) % len(instance.scatter)], rel=1e-9, abs=1e-12
    )
    assert 0 <= root.error < 4 * instance.error + 1e-10 * (1 + float((instance.points**2).sum()))


@pytest.mark.parametrize("seed", range(60))
def test_conclusions_remove_no_feasible_clustering(seed: int) -> None:
    """After conclusions every feasible clustering is still in the domain; False only where there is none."""
    rng = np.random.default_rng(1000 + seed)
    problem = random_problem(rng, max_samples=6)
    root = rooted(problem)
    domain = Domain.of(root)
    if rng.random() < 0.5:  # a random decision first
        domain.allowed[int(rng.integers(root.N))] &= np.arange(root.K) == int(rng.integers(root.K))
    before = domain.copy()
    alive = domain.propagate(root)
    for z in itertools.product(range(root.K), repeat=root.N):
        labels = np.array(z)[root.group]
        if not is_feasible(problem, labels) or not before.allowed[np.arange(root.N), z].all():
            continue
        assert alive
        assert domain.allowed[np.arange(root.N), z].all()
        sizes = np.bincount(labels, minlength=root.K)
        assert (sizes >= domain.low).all()
        assert (sizes <= domain.high).all()


def test_a_pair_apart_keeps_a_group_out() -> None:
    """A group that is apart from a decided member loses that component."""
    root = rooted(Problem(np.arange(5.0)[:, None], 2, variance=1.0))
    domain = Domain.of(root)
    domain.apart = np.array([[0, 3], [3, 0]])
    domain.allowed[0] &= np.arange(root.K) == 1
    assert domain.propagate(root)
    assert domain.allowed[3].tolist() == [True, False]


def test_components_are_told_apart_by_a_decision() -> None:
    """Three interchangeable components are one set; once a group is in the first, the other two remain one."""
    root = rooted(Problem(np.arange(5.0)[:, None], 3, variance=1.0))
    domain = Domain.of(root)
    assert [m.tolist() for m in domain.exchangeable(root)] == [[0, 1, 2]]
    domain.allowed[2] &= np.arange(root.K) == 0
    assert domain.propagate(root)
    assert [m.tolist() for m in domain.exchangeable(root)] == [[0], [1, 2]]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_samples", 0),
        ("n_samples", True),
        ("n_components", 2.0),
        ("precision", [[["x"]]]),
        ("precision", [[[float("nan")]]]),
        ("precision", [[[-1.0]]]),
        ("alpha", [0.0, 1.0]),
        ("apart", [[0, 9]]),
        ("labels", [[0, 2]]),
        ("sizes", [[0, -1, 3]]),
        ("counts", [[0, 0, 1]]),
        ("estimators", ["sizes"]),
        ("allow_empty", 1),
        ("half_log_det", [0.5, 0.5]),
        ("mean_lower", None),
        ("fixed_weights", [0.5, 0.6]),
        ("together", "ab"),
    ],
)
def test_a_bad_statement_is_rejected(name: str, value: object) -> None:
    """Whatever is wrong with an entry of the statement, it is rejected in words."""
    entry = state(Problem(np.arange(5.0)[:, None], 2, variance=1.0))
    with pytest.raises(Rejected):
        Root(statements.read({**entry, name: value}), np.arange(5.0)[:, None])
    with pytest.raises(Rejected):
        statements.read({k: v for k, v in entry.items() if k != name})


def test_a_problem_without_a_minimum_is_rejected() -> None:
    """Empty components and a Dirichlet parameter below one: the weight of an empty one would go to zero."""
    entry = state(Problem(np.arange(5.0)[:, None], 2, variance=1.0))
    with pytest.raises(Rejected, match="no minimum"):
        statements.read({**entry, "allow_empty": True, "alpha": [0.5, 1.0]})
    assert statements.read({**entry, "alpha": [0.5, 1.0]}).K == 2


@pytest.mark.parametrize("seed", range(40))
def test_the_cost_in_stored_coordinates_is_below_the_exact_objective(seed: int) -> None:
    """The evaluator's value of any feasible clustering is at least the checker's cost less its error."""
    from certmix.errors import InfeasibleError
    from certmix.verify.narrowing import Boxes

    rng = np.random.default_rng(3000 + seed)
    problem = random_problem(rng)
    root = rooted(problem)
    for _ in range(20):
        groups = rng.integers(root.K, size=root.N)
        labels = groups[root.group]
        if not is_feasible(problem, labels):
            continue
        try:
            value = problem.objective.best(labels).value
        except InfeasibleError:
            continue
        found = float(Boxes(root, np.inf).decided(groups[None])[0])
        assert found - root.error <= value + 1e-12 * (1 + abs(value)) + 1e-3 * root.error
