"""The four branching rules: what each chooses, and that the choice changes the work but never the answer."""

from __future__ import annotations

import math

import numpy as np
import pytest

import certmix
from certmix.errors import InputError
from certmix.options import BRANCHING, Options
from certmix.paper.bnb.branching import (
    RELIABLE,
    Fractional,
    MostInfeasible,
    MostIntegral,
    PseudoCost,
    Strong,
    branching_rule,
)
from certmix.problem import CannotLink, Problem


def view(
    z: list[list[float]],
    gains: dict[tuple[int, int], tuple[float, float]] | None = None,
    undecided: list[list[bool]] | None = None,
    cutoff: float = math.inf,
) -> Fractional:
    """A node with bound 10; children lift it by the given gains, by nothing where none is given."""
    values = np.array(z)

    def children(g: int, k: int) -> tuple[float, float]:
        down, up = (gains or {}).get((g, k), (0.0, 0.0))
        return 10.0 + down, 10.0 + up

    free = np.ones(values.shape, dtype=bool) if undecided is None else np.array(undecided)
    return Fractional(values, free, 10.0, cutoff, children)


THREE = [[0.9, 0.1, 0.0], [0.45, 0.35, 0.2], [0.7, 0.2, 0.1]]


def test_most_infeasible_takes_the_value_closest_to_one_half() -> None:
    """0.45 is closest among 0.9, 0.1, 0.45, 0.35, 0.2, 0.7, ..."""
    assert MostInfeasible().choose(view(THREE)) == (1, 0)


def test_most_integral_takes_the_value_closest_to_one() -> None:
    """0.9 is closest; a decided group does not take part."""
    assert MostIntegral().choose(view(THREE)) == (0, 0)
    undecided = [[False] * 3, [True] * 3, [True] * 3]
    assert MostIntegral().choose(view(THREE, undecided=undecided)) == (2, 0)


def test_strong_takes_the_best_product_of_gains() -> None:
    """A gain on both sides beats a large gain on one."""
    gains = {(0, 0): (0.0, 50.0), (1, 1): (2.0, 3.0), (2, 0): (1.0, 4.0)}
    assert Strong().choose(view(THREE, gains)) == (1, 1)


def test_gains_beyond_the_cutoff_do_not_count() -> None:
    """A child that is closed is closed; how far beyond the cutoff it is does not matter."""
    gains = {(1, 0): (100.0, 0.5), (1, 1): (1.0, 1.0)}
    assert Strong().choose(view(THREE, gains)) == (1, 0)
    assert Strong().choose(view(THREE, gains, cutoff=11.0)) == (1, 1)


def test_an_impossible_child_counts_as_a_finite_gain() -> None:
    """A child without clusterings has an infinite bound; scores stay comparable."""
    gains = {(1, 0): (math.inf, 0.5), (1, 1): (math.inf, 1.0)}
    assert Strong().choose(view(THREE, gains)) == (1, 1)


def test_of_two_choices_that_exclude_each_other_one_is_looked_at() -> None:
    """With two candidates left, "in the first" and "not in the second" are the same branching."""
    node = view([[0.5, 0.5, 0.0]], undecided=[[True, True, False]])
    assert node.variables.tolist() == [[0, 0]]


def test_whole_values_are_branched_on_when_nothing_else_is_left() -> None:
    """A relaxed solution may be whole while the node is not decided: then any undecided assignment will do."""
    for name in BRANCHING:
        g, k = branching_rule(name).choose(view([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
        assert 0 <= g < 2
        assert 0 <= k < 3


def test_pseudo_costs_are_gains_for_each_unit_moved() -> None:
    """Learned gains of 2 over a distance of 1/2 promise 4 for each unit; the larger promise wins."""
    rule = PseudoCost()
    for _ in range(RELIABLE):
        for g, k, gain in ((0, 0, 2.0), (0, 1, 0.1), (1, 0, 1.0), (1, 1, 0.1)):
            for up in (False, True):
                rule.learn(g, k, up, 0.5, gain)
    half = [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]]
    undecided = [[True, True, False]] * 2
    assert rule.choose(view(half, undecided=undecided)) == (0, 0)
    # Moved by 0.02 on one side, the first promises 4 * 0.02 * 4 * 0.98, less than the second's 2 * 0.5 * 2 * 0.5.
    assert rule.choose(view([[0.02, 0.98, 0.0], [0.5, 0.5, 0.0]], undecided=undecided)) == (1, 0)


def test_pseudo_costs_without_history_are_tried_first() -> None:
    """At the first node the children of the most promising assignments are bounded, and count."""
    gains = {(1, 0): (1.0, 1.0), (1, 1): (3.0, 3.0)}
    rule = PseudoCost()
    assert rule.choose(view(THREE, gains)) == (1, 1)
    assert rule.count[1, 1, True] == rule.count[1, 1, False] == 1


def overlapping(n: int, d: int, k: int, seed: int, **more: object) -> Problem:
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=2.0, size=(k, d))
    data = centres[rng.integers(k, size=n)] + rng.normal(size=(n, d))
    return Problem(data, k, **{"variance": 1.0, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(3))
def test_all_rules_give_the_same_answer(seed: int) -> None:
    """Four rules, one optimum, and that of another certified engine."""
    problem = overlapping(9, 2, 3, seed, constraints=[CannotLink(0, 1)])
    reference = certmix.solve(problem, "enumerate")
    for name in BRANCHING:
        result = certmix.solve(problem, "bnb", branching=name, threads=1)
        assert result.status == "optimal"
        assert result.objective == pytest.approx(reference.objective, rel=2e-6)
        assert result.lower_bound <= reference.objective + 1e-9


@pytest.mark.parametrize("name", BRANCHING)
def test_runs_can_be_repeated(name: str) -> None:
    """The same problem takes the same nodes to the same bound."""
    problem = overlapping(12, 2, 3, 4)
    options = {"branching": name, "threads": 1, "node_limit": 9, "verify": False}
    one, other = (certmix.solve(problem, "bnb", **options) for _ in range(2))
    assert (one.nodes, one.lower_bound, one.objective) == (other.nodes, other.lower_bound, other.objective)


def test_an_interrupted_run_keeps_its_bound() -> None:
    """After a few nodes the bound is finite, below the optimum, and the status does not claim more."""
    problem = overlapping(11, 2, 3, 0)
    result = certmix.solve(problem, "bnb", threads=1, node_limit=3, gap=1e-9)
    best = certmix.solve(problem, "enumerate")
    assert result.status == "feasible"
    assert math.isfinite(result.lower_bound)
    assert result.lower_bound < best.objective


def test_an_unknown_rule_is_refused() -> None:
    """The message names the rules there are."""
    with pytest.raises(InputError, match="most-integral"):
        Options(branching="best")
