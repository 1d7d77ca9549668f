"""What the components of a node may hold; those that may hold the same sets at the same cost are one class."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from certmix.kernels.arrays import Arrays
from certmix.kernels.candidates import unpacked
from certmix.presolve.instance import Instance
from certmix.search.bounds.pricer import PricingClass
from certmix.search.nodes import Nodes


def candidates(instance: Instance, nodes: Nodes, i: int) -> np.ndarray:
    """(N, K): the components that groups may take in a node."""
    return unpacked(nodes["mask"][i], instance.n_components)


def classes_of(instance: Instance, arrays: Arrays, nodes: Nodes, i: int) -> list[PricingClass]:
    """Components with equal costs, boxes, sizes and candidates, as classes."""
    allowed = candidates(instance, nodes, i)
    decided = allowed.sum(axis=1) == 1
    found: dict[tuple[object, ...], PricingClass] = {}
    for k in np.flatnonzero(nodes["b"][i] > 0).tolist():
        status = np.where(allowed[:, k], decided.astype(np.int64), -1)
        points, prior = arrays.points[arrays.system[k]][status >= 0], arrays.prior_mean[k]
        low, high = points.min(axis=0), points.max(axis=0)
        if np.any(arrays.gamma[k]):
            low, high = np.minimum(low, prior), np.maximum(high, prior)
        lo = np.clip(np.maximum(nodes["lo"][i, k], low), arrays.box_lower[k], arrays.box_upper[k])
        hi = np.clip(np.minimum(nodes["hi"][i, k], high), arrays.box_lower[k], arrays.box_upper[k])
        hi, least, most = np.maximum(lo, hi), float(nodes["a"][i, k]), _largest(instance, nodes, i, k)
        key = int(instance.classes[k]), lo.tobytes(), hi.tobytes(), least, most, status.tobytes()
        empty = math.inf if least > 0 else float(arrays.entropy[k, 0])
        one = found.get(key, PricingClass(k, 0, (), status, max(1.0, least), most, lo, hi, empty))
        found[key] = replace(one, count=one.count + 1, members=(*one.members, k))
    return list(found.values())


def _largest(instance: Instance, nodes: Nodes, i: int, k: int) -> float:
    """The largest size, lifted to n where only the other components' smallest sizes limit it.

    A larger range of sizes is a relaxation; without a limit, pricing may use that groups can always join.
    """
    n, b = instance.n_samples, float(nodes["b"][i, k])
    others = float(nodes["a"][i].sum() - nodes["a"][i, k])
    return float(n) if b >= n - others and instance.size_upper[k] >= n else b


def deserted(instance: Instance, nodes: Nodes, i: int) -> bool:
    """Whether a component that may not be empty has lost its last candidate: nothing better is in the node."""
    return bool(np.any((nodes["b"][i] > 0) & ~candidates(instance, nodes, i).any(axis=0)))


def admissible(classes: list[PricingClass], sets: list[np.ndarray]) -> bool:
    """Whether the components may hold these sets."""
    held = [(which.status, sets[k]) for which in classes for k in which.members]
    return not any(np.any(own & (status == -1)) or np.any(~own & (status == 1)) for status, own in held)


def all_decided(classes: list[PricingClass]) -> bool:
    """Whether every group must be in some component."""
    return bool(np.any(np.stack([c.status for c in classes]) == 1, axis=0).all())
