"""A large instance seen through a sample of its groups, for finding starts."""

from __future__ import annotations

import numpy as np

from certmix.kernels.clustering import PRIOR_WEIGHT, Model, State, state_of
from certmix.kernels.restarts import below


def sampled_model(model: Model, rng: np.ndarray, count: int) -> tuple[Model, State]:
    """A model on some of the groups, drawn without replacement, and a first clustering of them.

    The same state of ``rng`` draws the same ones. Coupling constraints are left out, sizes are scaled down. With
    r = n / (samples drawn) a cluster of m drawn samples stands for r m, so ``entropy(r m) / r`` and prior weights
    divided by r keep the balance between the parts of the cost.
    """
    N, K = model.allowed.shape
    n = model.entropy.shape[1] - 1
    generator = np.random.default_rng(below(rng, 2**31))
    rows = np.sort(generator.choice(N, size=min(count, N), replace=False))
    weight = model.weight[rows]
    total = int(weight.sum())
    ratio = n / total
    sizes = np.minimum(np.rint(np.arange(total + 1) * ratio).astype(np.int64), n)
    lower = np.maximum(np.floor(model.limits[0] / ratio).astype(np.int64), np.minimum(model.limits[0], 1))
    upper = np.maximum(np.ceil(model.limits[1] / ratio).astype(np.int64), 1)
    start = _round_robin(model.allowed[rows])
    filled = np.bincount(start, weight, minlength=K)
    # The start need not meet the scaled limits; those it violates are dropped here and met on all groups
    # later.
    lower, upper = np.where(filled < lower, 0, lower), np.where(filled > upper, total, upper)
    region = model.region.copy()
    region[PRIOR_WEIGHT] /= ratio
    small = model._replace(
        points=np.ascontiguousarray(model.points[:, rows]),
        scatter=np.ascontiguousarray(model.scatter[:, rows]),
        weight=weight,
        mass=np.ascontiguousarray(model.mass[rows]),
        region=region,
        entropy=np.ascontiguousarray(model.entropy[:, sizes]) / ratio,
        allowed=np.ascontiguousarray(model.allowed[rows]),
        limits=np.stack([lower, upper]),
        link_start=np.zeros(len(rows) + 1, dtype=np.int64),
        links=np.zeros((0, 3), dtype=np.int64),
        rows=np.zeros((0, 3), dtype=np.int64),
        single=np.ones(len(rows), dtype=np.bool_),
        coupled=False,
    )
    return small, state_of(small, start)


def _round_robin(allowed: np.ndarray) -> np.ndarray:
    """Labels that spread the groups over the components allowed to each."""
    order = (np.arange(allowed.shape[0])[:, None] + np.arange(allowed.shape[1])[None, :]) % allowed.shape[1]
    there = np.take_along_axis(allowed, order, axis=1)
    return np.asarray(np.take_along_axis(order, there.argmax(axis=1)[:, None], axis=1)[:, 0], dtype=np.int64)
