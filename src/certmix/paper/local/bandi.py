"""The method of Bandi, Bertsimas and Mazumder (2019): mixture parameters by mixed-integer optimisation.

It estimates the parameters of a Gaussian mixture, covariances included, by bringing its distribution close to that of
the samples; a sample's label is its most probable component under them. The known covariance of a problem is not used:
this is another question than MAP clustering, here for comparison.
"""

from __future__ import annotations

import math
import time

import numpy as np
from threadpoolctl import threadpool_limits

from certmix.local.kmeans import matched
from certmix.local.rounding import conclude
from certmix.local.solution import LocalSolution
from certmix.paper.local.bandi_line import Line, fit_line
from certmix.paper.local.bandi_recombine import fit_covariance, match_means
from certmix.presolve.instance import reduce
from certmix.problem import Problem

# Starts of the matching of components over the directions.
_STARTS = 50


def bandi(
    problem: Problem,
    *,
    seed: int = 0,
    start: np.ndarray | None = None,
    directions: int | None = None,
    stopping: float = 0.01,
    time_limit: float | None = None,
) -> LocalSolution:
    r"""Fit a mixture in the Kolmogorov-Smirnov distance and label every sample by its most probable component.

    Features are standardised. In one dimension: :func:`certmix.paper.local.bandi_line.fit_line`. In several, samples
    are projected on random unit directions, a mixture is fitted on every line, and the lines are recombined
    (:mod:`certmix.paper.local.bandi_recombine`); weights are averaged after matching.

    Parameters
    ----------
    problem : Problem
        Samples and number of components; its covariance, weights and priors play no part, its side constraints only
        when the labels are rounded.
    seed : int
        Of the directions and of k-means.
    start : array of n labels, optional
        Start from these clusters on every line; from k-means on the line by default.
    directions : int, optional
        How many; d^2 by default.
    stopping : float
        Relative change of the log-likelihood at which the alternation on a line stops.
    time_limit : float, optional
        Seconds. Every line gets an equal share of what is left; the mixed-integer programs are given what their
        linear programs leave of it.
    """
    begin = time.perf_counter()
    K, d = problem.n_components, problem.n_features
    rng = np.random.default_rng(seed)
    centre, scale = problem.data.mean(axis=0), problem.data.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    samples = (problem.data - centre) / scale
    lines_at = np.ones((1, 1)) if d == 1 else _directions(rng, directions or d * d, d)
    lines = []
    with threadpool_limits(1):  # threads cost k-means more than they bring on a line
        for r, direction in enumerate(lines_at):
            spent = time.perf_counter() - begin
            share = math.inf if time_limit is None else max(0.0, time_limit - spent) / (len(lines_at) - r)
            x = samples @ direction
            labels = _line_labels(x, K, seed) if start is None else np.asarray(start)
            lines.append(fit_line(x, labels, K, stopping=stopping, time_limit=share))
    means, covariances, weights = _recombined(samples, lines_at, lines, rng)
    clusters = _most_probable(samples, means, covariances, weights)
    instance = reduce(problem)
    component = matched(instance, instance.contract(clusters))  # clusters have no names, components may
    place = np.argsort(component)
    return conclude(
        instance,
        method="Bandi et al.",
        means=(centre + means * scale)[place],
        weights=weights[place],
        own_labels=component[clusters],
        history=[line.distance for line in lines],
        iterations=sum(line.rounds for line in lines),
        converged=all(line.converged for line in lines),
        notes=["the method of Bandi et al. estimates its own covariances; the known covariance is not used"],
    )


def _directions(rng: np.random.Generator, count: int, d: int) -> np.ndarray:
    drawn = rng.normal(size=(count, d))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


def _line_labels(x: np.ndarray, K: int, seed: int) -> np.ndarray:
    from sklearn.cluster import KMeans

    model = KMeans(min(K, len(np.unique(x))), n_init=3, random_state=seed % 2**32)
    return np.asarray(model.fit(x[:, None]).labels_)


def _recombined(
    samples: np.ndarray, directions: np.ndarray, lines: list[Line], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means (K, d), covariances (K, d, d) and weights of the mixture in space."""
    K = len(lines[0].means)
    variances = np.stack([line.deviations for line in lines]) ** 2
    if len(directions) == 1 and samples.shape[1] == 1:
        return lines[0].means[:, None], variances.T[:, :, None], lines[0].weights
    of_lines = np.stack([line.means for line in lines])
    starts = np.stack([samples[rng.choice(len(samples), K, replace=False)] for _ in range(_STARTS)])
    means, places, _ = match_means(directions, of_lines, starts)
    variances = np.take_along_axis(variances, places, axis=1)
    weights = np.take_along_axis(np.stack([line.weights for line in lines]), places, axis=1).mean(axis=0)
    covariances = np.stack([fit_covariance(directions, variances[:, k]) for k in range(K)])
    return means, covariances, weights / weights.sum()


def _most_probable(
    samples: np.ndarray, means: np.ndarray, covariances: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """The component with the largest ``log pi_k + log N(x; mu_k, Sigma_k)``."""
    costs = np.empty((len(samples), len(means)))
    for k, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
        away = samples - mean
        costs[:, k] = 0.5 * (away @ np.linalg.inv(covariance) * away).sum(axis=1)
        costs[:, k] += 0.5 * np.linalg.slogdet(covariance)[1] - math.log(max(float(weights[k]), 1e-300))
    return np.asarray(costs.argmin(axis=1))
