"""From the ledger of a run to its result: names of components in order, posteriors, and samples as people see them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from certmix.ledger import Ledger
from certmix.mixture import assigned
from certmix.presolve.groups import group_samples
from certmix.problem import Point, Problem, in_order, interchangeable, satisfaction_table
from certmix.problem.copies import CopiedSamples
from certmix.problem.noise import LABEL
from certmix.problem.scale import optimal_variances
from certmix.problem.wording import model_in_words
from certmix.result import Result
from certmix.status import Status, Termination, decide
from certmix.versions import versions


def build_result(
    problem: Problem,
    ledger: Ledger,
    *,
    engine: str,
    termination: Termination,
    infeasible: bool = False,
    certificate_level: str = "none",
    message: str = "",
) -> Result:
    """The result of a run from its ledger. The status is decided here, by comparing numbers."""
    point, known = ledger.incumbent, problem
    posterior = runner_up = fixed = alone = None
    if point is not None:
        point = _ordered(problem, point)
        fixed = _fixed(problem)
        known = problem if point.variance is None else problem.at_scale(1.0 / point.variance)
        squares = point.value - problem.objective.penalty(point.labels)
        if problem.squares and squares > 0.0:  # at the variance that fits
            known = problem.at_scale(0.5 * _counted(problem, point.labels < problem.n_clusters) / squares)
        posterior, runner_up, alone = assigned(known, point.labels, point.means, point.weights)
        posterior[fixed], runner_up[fixed] = 1.0, -1
    lower = ledger.bound
    status = decide(ledger.upper, lower, ledger.tolerances, infeasible=infeasible)
    tolerances = ledger.tolerances
    if status is Status.OPTIMAL:
        tolerances = replace(tolerances, target=math.inf)  # its proof has to show the gap
    elif termination is Termination.GAP:
        termination = Termination.TARGET
    columns = problem.samples.columns or tuple(f"x{j}" for j in range(problem.n_features))
    return Result(
        status=status,
        termination=termination,
        engine=engine,
        objective=ledger.upper,
        lower_bound=lower,
        labels=None if point is None else point.labels,
        means=None if point is None else point.means,
        weights=None if point is None else point.weights,
        posterior=posterior,
        runner_up=runner_up,
        names=problem.names,
        component_names=problem.component_names,
        feature_names=columns,
        constraints=() if point is None else satisfaction_table(problem, point.labels, alone),
        trace=tuple(ledger.trace),
        nodes=ledger.nodes,
        seconds=ledger.elapsed,
        resumes=ledger.resumes,
        quantity=problem.quantity,
        tolerances=tolerances,
        certificate_level=certificate_level if math.isfinite(lower) or infeasible else "none",
        message=message,
        source=ledger.source,
        fixed=fixed,
        data=problem.samples.filled,
        precision=known.covariance.precision.readable(),
        variance=None if point is None else point.variance,
        variance_interval=_variance_interval(problem, ledger),
        problem=problem,
        sample_weight=None if problem.masses is None else problem.masses.weight,
        envelope=None
        if ledger.envelope is None
        else np.array([(0.5 * t, x) for t, x in ledger.envelope.points]),
        model=model_in_words(problem),
        versions=versions(),
    )


def _counted(problem: Problem, inside: np.ndarray) -> float:
    """How many values the samples have that are in clusters, each as often as it counts."""
    if problem.masses is None:
        return float(np.count_nonzero(inside)) * problem.n_features
    return float(np.broadcast_to(problem.masses.of, problem.data.shape)[inside].sum())


def with_noise_apart(result: Result, problem: Problem) -> Result:
    """The label of noise is -1, and it has no mean and no precision: a run knows it as the last component."""
    if problem.noise is None or result.noise is not None:
        return result
    K, precision = problem.n_clusters, result.precision
    own = None if precision is None else precision[:K]
    return replace(
        result,
        noise=problem.noise,
        labels=None if result.labels is None else np.where(result.labels == K, LABEL, result.labels),
        means=None if result.means is None else result.means[:K],
        precision=own[:1] if own is not None and (own == own[0]).all() else own,
    )


def condensed(result: Result, problem: Problem) -> Result:
    """One entry for every sample, where samples with weights are copies; noise as people see it."""
    samples, result = problem.samples, with_noise_apart(result, problem)
    if not isinstance(samples, CopiedSamples) or result.sample_weight is not None:
        return result

    def first(array: np.ndarray | None) -> np.ndarray | None:
        return None if array is None else array[samples.first]

    return replace(
        result,
        labels=first(result.labels),
        posterior=first(result.posterior),
        runner_up=first(result.runner_up),
        fixed=first(result.fixed),
        data=first(result.data),
        names=samples.original.names,
        sample_weight=samples.weight,
    )


def _variance_interval(problem: Problem, ledger: Ledger) -> tuple[float, float] | None:
    point = ledger.incumbent
    if point is None or not isinstance(point.variance, float) or ledger.envelope is None:
        return None
    scale = 1.0 / point.variance
    squares = 0.5 * float(problem.objective.distances_to_own(point.labels, point.means).sum())
    # The rest is what the objective has beside the squares and N log t.
    rest = point.value - squares * scale + ledger.envelope.half * math.log(scale)
    return optimal_variances(ledger.envelope, (squares, rest), scale, ledger.tolerances.allowed(ledger.upper))


def _fixed(problem: Problem) -> np.ndarray:
    """Which samples the side constraints alone leave a single component."""
    if not problem.constraints or problem.n_components == 1:
        return np.zeros(problem.n_samples, dtype=bool)
    groups = group_samples(problem)
    return np.asarray(groups.allowed.sum(axis=1) == 1)[groups.of]


def _ordered(problem: Problem, point: Point) -> Point:
    """Interchangeable components by increasing mean, so that the same clustering always has the same labels."""
    old = in_order(interchangeable(problem), point.means)
    labels = np.argsort(old)[point.labels]
    return replace(point, labels=labels, means=point.means[old], weights=point.weights[old])
