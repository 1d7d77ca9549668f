"""Problems with soft links, and the truth about them: every clustering, with penalties counted by plain loops."""

from __future__ import annotations

import itertools
import math

import numpy as np

from certmix.errors import InfeasibleError
from certmix.problem import CannotLink, Constraint, MustLink, Problem, is_feasible
from claims import Truth
from unknown_variance import best_value


def random_soft_links(
    n: int, rng: np.random.Generator, scale: float, names: bool = False
) -> list[Constraint]:
    """One to four soft links of two or three samples; they may contradict each other, and repeat."""
    found: list[Constraint] = []
    for _ in range(int(rng.integers(1, 5))):
        samples = rng.permutation(n)[: int(rng.choice([2, 2, 3]))].tolist()
        kind = MustLink if rng.random() < 0.5 else CannotLink
        penalty = 0.0 if rng.random() < 0.05 else float(scale * 10.0 ** rng.uniform(-2, 1))
        found.append(kind(*([f"S{i}" for i in samples] if names else samples), penalty=penalty))
        if rng.random() < 0.1:
            found.append(found[-1])
    return found


def penalty_of(problem: Problem, labels: np.ndarray) -> float:
    """What broken links cost, in nats, from the constraints as they were given."""
    total = 0.0
    for item in problem.given_constraints:
        if not isinstance(item, MustLink | CannotLink) or item.penalty is None:
            continue
        own = [int(labels[problem.samples.position(ref)]) for ref in item.samples]
        pairs = list(itertools.combinations(own, 2))
        apart, together = any(a != b for a, b in pairs), any(a == b for a, b in pairs)
        if apart if isinstance(item, MustLink) else together:
            total += item.penalty / problem.quantity.factor
    return total


def without_soft_links(problem: Problem) -> Problem:
    rest = [item for item in problem.given_constraints if getattr(item, "penalty", None) is None]
    return problem.replace(constraints=rest)


def truth_with_penalties(problem: Problem) -> Truth:
    """The best clustering of all; minus infinity when the objective has no bound."""
    best, found, bare = math.inf, None, without_soft_links(problem)
    for given in itertools.product(range(problem.n_components), repeat=len(problem.samples.original.values)):
        labels = problem.samples.expand(np.array(given))
        if not is_feasible(bare, labels):
            continue
        try:
            value = best_value(bare, labels) if bare.covariance.unknown else bare.objective.best(labels).value
        except InfeasibleError:
            continue
        value += penalty_of(problem, labels)
        if value < best:
            best, found = value, labels
    return Truth(best, found)
