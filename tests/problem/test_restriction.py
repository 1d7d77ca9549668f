"""Parts of the samples: what a part may do includes the restriction of whatever the whole may do, and costs no more."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from certmix.errors import InfeasibleError, InputError
from certmix.presolve.groups import group_samples
from certmix.problem import (
    CannotLink,
    Covering,
    DirichletPrior,
    GaussianPrior,
    Implication,
    JeffreysPrior,
    Label,
    MaximumSize,
    MinimumSize,
    MustLink,
    Packing,
    Partitioning,
    Problem,
    is_feasible,
)
from certmix.problem.restriction import Restriction, partition_refusal
from claims import ROUNDING, find_truth
from soundness import draw

y = np.arange(12.0).reshape(6, 2)


def partition(problem: Problem, rng: np.random.Generator) -> list[np.ndarray]:
    """The groups of the samples dealt out at random, often to few parts, now and then to one each."""
    of = group_samples(problem).of
    few = int(rng.choice([1, 2, 2, 2, 3, len(of)]))
    part = rng.integers(0, few, of.max() + 1)[of]
    return [np.flatnonzero(part == t) for t in np.unique(part)]


def examine(seed: int) -> str:
    """The problem of a seed in parts, against every option's truth; what kind of problem it was."""
    problem, rng = draw(seed), np.random.default_rng([seed, 15])
    if partition_refusal(problem):
        assert np.any(problem.prior.alpha < 1)
        return "refused"
    parts = partition(problem, rng)
    restriction = Restriction(problem)
    problems = [restriction.part(samples) for samples in parts]
    for _ in range(20):  # any clustering, not only the best one
        labels = rng.integers(0, problem.n_components, len(group_samples(problem).weight))
        check_labels(problem, parts, problems, labels[group_samples(problem).of])
    truth = find_truth(problem)
    if truth.infeasible:
        return "infeasible"
    check_labels(problem, parts, problems, truth.labels)
    found = [find_truth(part) for part in problems]
    assert not any(part.infeasible for part in found), (
        f"seed {seed}: a part of a feasible problem is infeasible"
    )
    total = math.fsum(part.optimum for part in found)
    above = total - truth.optimum
    assert above <= ROUNDING * max(1.0, abs(truth.optimum)), (
        f"seed {seed}: the parts are {above} above the optimum"
    )
    return "feasible"


def check_labels(
    problem: Problem, parts: list[np.ndarray], problems: list[Problem], labels: np.ndarray
) -> None:
    """Labels that the whole admits, every part admits; and they cost the parts together no more."""
    try:
        if not is_feasible(problem, labels):
            return
        whole = problem.objective.best(labels).value
    except InfeasibleError:
        return
    total = 0.0
    for samples, part in zip(parts, problems, strict=True):
        assert is_feasible(part, labels[samples])
        total += part.objective.best(labels[samples]).value
    assert total <= whole + ROUNDING * max(1.0, abs(whole))


def test_parts_add_up_to_no_more_than_the_optimum() -> None:
    """The optima of the parts of any partition add up to a lower bound, whatever the options."""
    seen = [examine(seed) for seed in range(150)]
    assert seen.count("feasible") > 80


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_parts_of_many_problems(block: int) -> None:
    """The same, of 5,000 more problems."""
    for seed in range(1000 + 500 * block, 1500 + 500 * block):
        examine(seed)


def test_one_part_is_the_whole_with_empty_components() -> None:
    """A partition of one part is the problem itself, but for components that may be empty."""
    problem = Problem(y, 2, variance=1.0, prior=[GaussianPrior(1.0, 2.0), DirichletPrior(3.0)])
    part = Restriction(problem).part(np.arange(6))
    labels = np.array([0, 0, 0, 1, 1, 1])
    assert part.allow_empty
    assert part.objective.best(labels).value == pytest.approx(problem.objective.best(labels).value, rel=1e-13)


def test_rules_inside_are_kept_and_counts_are_relaxed() -> None:
    """Links, implications and labels within the part; of counts what the part must and may still hold."""
    rules = [
        MustLink(0, 2),
        CannotLink(0, 1, 4),
        CannotLink(1, 5),
        Implication(2, 4, 1),
        Implication(4, 5, 1),
        Label(4, 1),
        Label(5, 0),
        Covering([0, 1, 2, 4], 0, 2),
        Covering([0, 1], 0, 1),
        Packing([0, 1, 2, 4, 5], 1, 2),
        Partitioning([2, 4], 1, 1),
        MinimumSize(4, 0),
        MaximumSize(2, 1),
    ]
    part = Restriction(Problem(y, 2, variance=1.0, constraints=rules)).part(np.array([0, 2, 4]))
    assert part.constraints == (
        MustLink(0, 1),
        CannotLink(0, 2),
        Implication(1, 2, 1),
        Label(2, 1),
        MinimumSize(1, 0),
        MaximumSize(2, 1),
        Covering((0, 1, 2), 0, 1),
        Packing((0, 1, 2), 1, 2),
        Covering((1, 2), 1, 1),
        Packing((1, 2), 1, 1),
    )
    assert part.size_lower.tolist() == [1, 0]
    assert part.size_upper.tolist() == [3, 2]


def test_boxes_stay_and_ties_go() -> None:
    """Bounds and fixed weights hold in every part; estimators do not, nor bounds on the weights that come with them."""
    boxed = Problem(y, 2, variance=1.0, mean_bounds=(0.0, [5.0, 6.0]), weight_bounds=(0.25, None))
    part = Restriction(boxed).part(np.array([1, 3]))
    assert np.array_equal(part.mean_upper, boxed.mean_upper)
    assert np.array_equal(part.weight_lower, boxed.weight_lower)
    tied = boxed.replace(estimators=("weights", "means"))
    part = Restriction(tied).part(np.array([0, 1, 2, 3, 5]))
    assert not part.estimators
    assert not part.has_weight_box
    assert part.size_lower.tolist() == [1, 1]  # two of six samples at least, and one is elsewhere
    fixed = Problem(y, 2, variance=[1.0, 2.0], weights=[0.3, 0.7], estimators=())
    part = Restriction(fixed).part(np.array([1]))
    assert np.array_equal(part.fixed_weights, fixed.fixed_weights)
    assert np.array_equal(part.covariance.half_log_det, fixed.covariance.half_log_det)


def test_numbers_of_components_are_positions() -> None:
    """A rule about a component that is called by another one's number speaks of the same component in a part."""
    problem = Problem(y, 2, variance=1.0, component_names=["1", "0"], constraints=[Label(3, 0)])
    assert problem.rules.labels[0].component == 1
    assert Restriction(problem).part(np.array([3, 4])).rules.labels[0].component == 1


def test_shares_of_the_prior_never_exceed_it() -> None:
    """Exactly, as the numbers that are stored: the priors of the parts add up to the whole's or less."""
    rng = np.random.default_rng(3)
    root = rng.normal(size=(2, 3, 3))
    for covariance in (0.37, np.diag([0.1, 3.0, 7.7]), root @ root.transpose(0, 2, 1) + 0.1 * np.eye(3)):
        alpha = 1.0 + rng.exponential(size=2) * [1.0, 1e-9]
        whole = Problem(
            rng.normal(size=(97, 3)),
            2,
            variance=1.0,
            prior=[GaussianPrior(0.1, covariance), DirichletPrior(alpha)],
        )
        cuts = np.split(np.arange(97), [3, 10, 30, 31, 64])
        parts = [Restriction(whole).part(samples).prior for samples in cuts]
        for k in range(2):
            assert sum(Fraction(p.alpha[k]) - 1 for p in parts) <= Fraction(whole.prior.alpha[k]) - 1
            rest = [[Fraction(x) for x in row] for row in whole.prior.precision[k]]
            for p in parts:
                rest = [
                    [a - Fraction(b) for a, b in zip(*rows, strict=True)]
                    for rows in zip(rest, p.precision[k], strict=True)
                ]
            for i, row in enumerate(rest):  # diagonally dominant: positive semidefinite
                assert row[i] >= sum(abs(x) for j, x in enumerate(row) if j != i)
        shares = sum(p.precision[0] for p in parts)
        assert np.allclose(shares, whole.prior.precision[0], rtol=1e-13)
        assert np.allclose(sum(p.alpha - 1 for p in parts), whole.prior.alpha - 1, atol=1e-13)


@pytest.mark.parametrize("prior", [JeffreysPrior(), DirichletPrior([0.9, 2.0])])
def test_alpha_below_one_is_refused(prior: object) -> None:
    """Empty components in a part would have no least weight."""
    problem = Problem(y, 2, variance=1.0, prior=prior)
    assert "alpha < 1" in (partition_refusal(problem) or "")
    with pytest.raises(InputError, match="alpha < 1"):
        Restriction(problem).part(np.arange(3))


@pytest.mark.parametrize("rule", [MustLink(1, 4), Implication(4, 1)])
def test_what_belongs_together_is_not_cut(rule: object) -> None:
    """Neither must-links, nor implications for all components, which are the same."""
    problem = Problem(y, 2, variance=1.0, constraints=[rule], names=list("abcdef"))
    with pytest.raises(InputError, match="belong together"):
        Restriction(problem).part(np.array([0, 1, 2]))
    assert len(Restriction(problem).part(np.array([1, 4])).rules.together_array) == 1


@pytest.mark.parametrize("samples", [[2, 1], [1, 1], [], [-1, 2], [5, 6]])
def test_a_part_is_ascending_samples(samples: list[int]) -> None:
    """Anything else has no meaning, and is refused."""
    with pytest.raises(InputError, match="ascending"):
        Restriction(Problem(y, 2, variance=1.0)).part(np.array(samples, dtype=int))
