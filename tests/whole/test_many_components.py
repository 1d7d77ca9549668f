"""More components than a word has bits, up to one for every sample, where the optimum is known otherwise."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from certmix import Problem, solve
from certmix.options import Options
from certmix.problem import CannotLink, Constraint, Label, MaximumSize, MinimumSize
from certmix.result import Result
from certmix.status import Status

ENGINES = ("sdp", "race", "parts", "dual", "interval")
KINDS = ("plain", "estimated weights", "apart", "labels", "sizes")
CASES = [
    *itertools.product(["sdp"], KINDS),
    *(
        pytest.param(engine, kind, marks=pytest.mark.slow)
        for engine, kinds in {
            "race": KINDS,
            "parts": KINDS[:1],
            "dual": ("plain", "sizes"),
            "interval": KINDS[:1],
        }.items()
        for kind in kinds
    ),
]


def merged(n: int, sets: tuple[tuple[int, ...], ...]) -> np.ndarray:
    """Every sample alone, but for those of each set, which are together."""
    labels = np.arange(n)
    for members in sets:
        labels[list(members)] = members[0]
    return np.unique(labels, return_inverse=True)[1]


def cheapest(problem: Problem, away: np.ndarray) -> np.ndarray:
    """The best clustering with one or two components fewer than samples: every pair, all threes, or two pairs.

    ``away`` are squared distances, infinite for samples that cannot be together.
    """
    n, missing = problem.n_samples, problem.n_samples - problem.n_components
    pairs = np.array(list(itertools.combinations(range(n), 2)))
    cost = away[tuple(pairs.T)] / 2.0
    first = tuple(pairs[np.argmin(cost)])
    if missing == 1:
        return merged(n, (first,))
    both = cost[:, None] + cost
    both[(pairs[:, None, :, None] == pairs[None, :, None, :]).any(axis=(2, 3))] = np.inf
    i, j = np.unravel_index(np.argmin(both), both.shape)
    threes = (away[:, :, None] + away[:, None, :] + away[None, :, :]) / 3.0
    k = np.arange(n)
    threes[(k[:, None, None] >= k[:, None]) | (k[:, None] >= k)] = np.inf
    three = tuple(int(x) for x in np.unravel_index(np.argmin(threes), threes.shape))
    known = [merged(n, (tuple(pairs[i]), tuple(pairs[j]))), merged(n, (three,))]
    return min(known, key=lambda labels: problem.objective.best(labels).value)


def nearly_all(rng: np.random.Generator, kind: str, missing: int) -> tuple[Problem, float]:
    """A problem with so many components fewer than samples, one or two, in any units, and its optimum."""
    n = int(rng.integers(65, 70))
    factor = 10.0 ** rng.uniform(-6.0, 6.0)
    data = factor * rng.normal(size=(n, int(rng.integers(2, 7))))
    given = {} if kind == "estimated weights" else {"weights": "uniform"}
    problem = Problem(data, n - missing, variance=(0.2 * factor) ** 2, **given)
    away = ((data[:, None] - data) ** 2).sum(axis=2)
    constraints: list[Constraint] = []
    if kind == "apart":
        i, j = np.unravel_index(np.argmin(np.where(np.eye(n, dtype=bool), np.inf, away)), away.shape)
        away[i, j] = away[j, i] = np.inf
        constraints = [CannotLink(int(i), int(j))]
    labels = cheapest(problem, away)
    if kind == "labels":
        firsts = np.unique(labels, return_index=True)[1]
        chosen = rng.permutation(len(firsts))[: int(rng.integers(1, len(firsts) + 1))]
        constraints = [Label(int(firsts[k]), int(k)) for k in chosen]
    elif kind == "sizes":
        for k, m in enumerate(sorted(np.bincount(labels).tolist(), reverse=True)):
            constraints += [MinimumSize(m, k), MaximumSize(m, k)]
    return problem.replace(constraints=constraints), float(problem.objective.best(labels).value)


def solved(problem: Problem, engine: str) -> Result:
    """By one engine, with a certificate where matrices are at work; parts of less than half of the samples."""
    own = {"part_size": 30} if engine == "parts" else {}
    wanted = engine in ("sdp", "race")
    options = Options(threads=1, restarts=2, certificate=wanted, verify=wanted, **own)
    return solve(problem, engine, options=options)


@pytest.mark.parametrize(("engine", "kind"), CASES)
def test_nearly_as_many_components_as_samples(engine: str, kind: str) -> None:
    """The optimum is proved; the checker believes the matrices, with a pool for every component too."""
    rng = np.random.default_rng([ENGINES.index(engine), KINDS.index(kind), 62])
    missing = 2 if engine in ("sdp", "race") and kind != "plain" else 1
    problem, optimum = nearly_all(rng, kind, missing)
    result = solved(problem, engine)
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(optimum, rel=1e-9)
    if engine in ("sdp", "race"):
        assert result.certificate_level == "verified", result.verification


@pytest.mark.parametrize("engine", ENGINES)
def test_a_component_for_every_sample(engine: str) -> None:
    """Nothing but the entropy of the sizes is left."""
    data = np.random.default_rng(62).normal(size=(70, 3))
    result = solved(Problem(data, 70, variance=1.0), engine)
    assert result.status is Status.OPTIMAL
    assert np.array_equal(np.sort(result.labels), np.arange(70))
    assert result.objective == pytest.approx(70.0 * np.log(70.0))


@pytest.mark.parametrize("given", [{}, {"weights": "uniform"}])
@pytest.mark.parametrize("engine", ["sdp", pytest.param("race", marks=pytest.mark.slow)])
def test_clumps(engine: str, given: dict[str, str]) -> None:
    """Clumps that are far apart are the clusters; the matrices have to prove it, for two samples are rarely enough."""
    rng = np.random.default_rng(62)
    K = 70
    truth = np.concatenate([np.arange(K), rng.integers(0, 12, 30)])
    centres = np.stack([(np.arange(K) // 7**j) % 7 for j in range(3)], axis=1) * 40.0
    problem = Problem(centres[truth] + rng.normal(size=(len(truth), 3)), K, variance=1.0, **given)
    result = solved(problem, engine)
    assert result.status is Status.OPTIMAL
    assert result.objective <= problem.objective.best(truth).value + 1e-9
    assert np.array_equal(result.labels[:, None] == result.labels, truth[:, None] == truth)
    assert result.certificate_level == "verified", result.verification
