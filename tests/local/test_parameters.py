"""The M step against the evaluator."""

from __future__ import annotations

import numpy as np
import pytest

from certmix.local.parameters import best_parameters, one_hot
from certmix.problem.features import EVERY_FEATURE, Feature
from random_instances import random_problem


def test_m_step_is_the_evaluators_for_whole_samples() -> None:
    """For shares that are labels the parameters are those of the evaluator, under every prior and box."""
    for seed in range(80):
        features = EVERY_FEATURE - {Feature.ESTIMATORS, Feature.ALLOW_EMPTY}
        problem = random_problem(np.random.default_rng([5, seed]), features=features)
        labels = np.arange(problem.n_samples) % problem.n_components
        point = problem.objective.best(labels)
        means, weights = best_parameters(problem, one_hot(labels, problem.n_components))
        assert means == pytest.approx(point.means, rel=1e-9, abs=1e-9)
        assert weights == pytest.approx(point.weights, rel=1e-6, abs=1e-9)
