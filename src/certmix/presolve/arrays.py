"""The arrays of an instance, laid out for the compiled search."""

from __future__ import annotations

import numpy as np

from certmix.kernels.arrays import Arrays
from certmix.kernels.mass import for_kernels
from certmix.presolve.instance import Instance
from certmix.stopping import current


def instance_arrays(instance: Instance) -> Arrays:
    """Lay out an instance for the kernels."""
    N, K = instance.n_groups, instance.n_components
    pairs = instance.conflicts
    both = np.concatenate([pairs, pairs[:, ::-1]]) if len(pairs) else np.zeros((0, 2), dtype=np.int64)
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    conflict_start = np.concatenate([[0], np.cumsum(np.bincount(both[:, 0], minlength=N))]).astype(np.int64)
    rows, none = instance.counts, np.zeros(0)
    count_start = np.cumsum([0] + [len(r.groups) for r in rows]).astype(np.int64)
    movable = np.ones(N, dtype=bool)
    movable[pairs.ravel()] = False
    movable[instance.implications[:, :2].ravel()] = False
    for row in rows:
        movable[row.groups] = False
    if not instance.exact:
        movable[:] = False  # exchange arguments speak about the exact objective only
    table = instance.entropy
    with np.errstate(invalid="ignore"):
        bend = np.diff(table, 2, axis=1)
    scale = 1e-13 * np.abs(np.where(np.isfinite(table), table, 0.0)).max(axis=1, keepdims=True)
    from_size = np.minimum(np.maximum(instance.size_lower, 0), table.shape[1] - 1)
    concave = np.array([bool(np.all(~(bend[k, from_size[k] :] > scale[k]))) for k in range(K)])
    spread = instance.points[0].std(axis=0)
    numbers = (instance.points, instance.mean_lower, instance.mean_upper, instance.prior_mean)
    finite = [np.abs(array[np.isfinite(array)]).max(initial=0.0) for array in numbers]
    return Arrays(
        points=np.ascontiguousarray(instance.points),
        system=np.zeros(K, dtype=np.int64) if instance.shared else np.arange(K),
        scatter=np.ascontiguousarray(instance.scatter),
        weight=instance.weight.astype(np.float64),
        mass=for_kernels(instance.mass),
        counted=instance.counted,
        gamma=np.ascontiguousarray(instance.prior_weight),
        prior_mean=np.ascontiguousarray(instance.prior_mean),
        box_lower=instance.mean_lower.copy(),
        box_upper=instance.mean_upper.copy(),
        entropy=np.array(table),
        concave=concave,
        size_lower=instance.size_lower.astype(np.float64),
        size_upper=instance.size_upper.astype(np.float64),
        order=np.argsort(instance.points.transpose(0, 2, 1), axis=2, kind="stable"),
        movable=movable,
        allowance=0.0,
        plain_means=not (instance.prior_weight.any() or instance.problem.has_mean_box),
        conflict_start=conflict_start,
        conflict_with=np.ascontiguousarray(both[:, 1]),
        implications=np.array(instance.implications, dtype=np.int64).reshape(-1, 3),
        count_start=count_start,
        count_group=np.concatenate([none, *(r.groups for r in rows)]).astype(np.int64),
        count_coefficient=np.concatenate([none, *(r.coefficient for r in rows)]).astype(np.float64),
        count_component=np.array([r.component for r in rows], dtype=np.int64),
        count_low=np.array([r.low for r in rows], dtype=np.float64),
        count_high=np.array([r.high for r in rows], dtype=np.float64),
        classes=np.array(instance.classes),
        axis=int(np.argmax(spread)),
        largest=float(max(finite)),
        stop=current().flag,
    )
