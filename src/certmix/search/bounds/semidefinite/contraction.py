"""A node of the search as the semidefinite bound sees it: candidate sets, pairs apart, and merged super-points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from certmix.kernels.arrays import Arrays
from certmix.kernels.candidates import packed, unpacked
from certmix.kernels.propagation import propagate
from certmix.presolve.instance import Instance

NAMED_SHARE = 0.4  # share of candidates that names must take away ...
MOST_GROWTH = 4.0  # ... and times as large as before all matrices may be then ...
FREELY_NAMED = 60  # ... but among so few groups, where names cost nothing


@dataclass
class Region:
    """What is still possible in a node.

    Attributes
    ----------
    allowed : (N, K) bool, components that groups may be in
    a, b : (K,), size intervals
    apart : (N, N) bool, pairs of groups that are in different components in everything that can beat the cutoff
    """

    allowed: np.ndarray
    a: np.ndarray
    b: np.ndarray
    apart: np.ndarray

    def copy(self) -> Region:
        return Region(self.allowed.copy(), self.a.copy(), self.b.copy(), self.apart.copy())

    def decided(self) -> np.ndarray:
        """The component of every decided group, -1 for the others."""
        return np.where(np.count_nonzero(self.allowed, axis=1) == 1, self.allowed.argmax(axis=1), -1)

    def propagate(self, instance: Instance, arrays: Arrays) -> bool:
        """Narrow by all constraints and pairs apart until nothing changes; False when nothing is left."""
        rows, columns = np.nonzero(self.apart)
        start = np.searchsorted(rows, np.arange(len(self.apart) + 1))
        known = arrays._replace(conflict_start=start, conflict_with=columns)
        mask = packed(self.allowed)
        if not propagate(mask, self.a, self.b, instance.n_samples, known):
            return False
        self.allowed = unpacked(mask, instance.n_components)
        where = self.decided()
        for k in np.unique(where[where >= 0]):
            # Whoever is apart from a member is apart from all of them.
            members = where == k
            away = self.apart[members].any(axis=0)
            self.apart[np.ix_(members, away)] = True
            self.apart[np.ix_(away, members)] = True
        return True

    def untouched(self, instance: Instance) -> list[np.ndarray]:
        """Sets of components that can still be exchanged for each other: nothing in the node tells them apart."""
        where = self.decided()
        K = instance.n_components
        held = np.zeros(K, dtype=bool)
        held[where[where >= 0]] = True
        columns = np.packbits(self.allowed, axis=0)
        found: dict[tuple[object, ...], list[int]] = {}
        for k in range(K):
            if self.b[k] <= 0:
                continue
            key = (int(instance.classes[k]), float(self.a[k]), float(self.b[k]), columns[:, k].tobytes())
            found.setdefault((*key, k) if held[k] else key, []).append(k)
        return [np.array(ks) for ks in found.values()]

    def anchor(self, instance: Instance, labels: np.ndarray) -> bool:
        """Give names to exchangeable components by groups that are pairwise apart; True when something was named.

        Components of an untouched set may be renamed at will, so pairwise apart groups that must be in that set can be
        put into its first, second, ... component. ``labels`` (of a good clustering of the groups) tells where to look.
        """
        named = False
        for ks in self.untouched(instance):
            if len(ks) < 2:
                continue
            inside = np.flatnonzero(~np.delete(self.allowed, ks, axis=1).any(axis=1))
            chosen = pairwise_apart(inside, self.apart, labels, len(ks))
            if len(chosen) < max(2, len(ks) - 1):
                continue
            # Every name splits the pool and its blocks: only worth it if it takes many candidates from the others.
            gone = self.apart[chosen][:, inside].sum(axis=1) / len(inside)
            few = gone.sum() < NAMED_SHARE * (len(ks) - 1) or ((1.0 - gone) ** 2).sum() > MOST_GROWTH
            if few and len(inside) > FREELY_NAMED:
                continue
            for group, k in zip(chosen, ks, strict=False):
                self.allowed[group] = np.arange(instance.n_components) == k
            named = True
        return named


def pairwise_apart(groups: np.ndarray, apart: np.ndarray, labels: np.ndarray, most: int) -> list[int]:
    """Greedily, up to ``most`` groups that are pairwise apart, at most one from every cluster of ``labels``."""
    chosen: list[int] = []
    open_to = groups
    degree = apart[np.ix_(groups, groups)].sum(axis=1)
    rank = {int(g): int(x) for g, x in zip(groups, degree, strict=True)}
    while len(open_to) and len(chosen) < most:
        best = int(max(open_to, key=lambda g: (rank[int(g)], -int(g))))
        if rank[best] == 0 and len(groups) > 1:
            break
        chosen.append(best)
        open_to = np.array(
            [g for g in open_to if apart[best, g] and labels[g] != labels[best]], dtype=np.int64
        )
    return chosen


@dataclass(frozen=True)
class Contraction:
    """Super-points: all decided groups of a component are one, every other group is its own.

    Attributes
    ----------
    of : (N,), super-point of every group
    weight, root : (M,), samples in a super-point and its square root
    points : (C, M, d); scatter : (C, M)
    allowed : (M, K); apart : (M, M)
    first : (M,), a group of every super-point
    """

    of: np.ndarray
    weight: np.ndarray
    root: np.ndarray
    points: np.ndarray
    scatter: np.ndarray
    allowed: np.ndarray
    apart: np.ndarray
    first: np.ndarray


def contract(region: Region, instance: Instance) -> Contraction:
    """Merge what is decided."""
    where = region.decided()
    N = instance.n_groups
    representative = np.arange(N)
    for k in range(instance.n_components):
        members = np.flatnonzero(where == k)
        if len(members):
            representative[members] = members[0]
    first, of = np.unique(representative, return_inverse=True)
    M = len(first)
    weight = np.bincount(of, weights=instance.weight, minlength=M)
    C, _, d = instance.points.shape
    points, scatter = np.zeros((C, M, d)), np.zeros((C, M))
    w = instance.weight.astype(np.float64)
    for c in range(C):
        np.add.at(points[c], of, w[:, None] * instance.points[c])
        points[c] /= weight[:, None]
        # Once more from there: the mean then errs by the spread of its members, which the scatter accounts for.
        shift = np.zeros((M, d))
        np.add.at(shift, of, w[:, None] * (instance.points[c] - points[c][of]))
        points[c] += shift / weight[:, None]
        away = instance.points[c] - points[c][of]
        np.add.at(scatter[c], of, instance.scatter[c] + 0.5 * w * np.einsum("ij,ij->i", away, away))
    apart = np.zeros((M, M), dtype=bool)
    rows, columns = np.nonzero(region.apart)
    apart[of[rows], of[columns]] = True
    return Contraction(of, weight, np.sqrt(weight), points, scatter, region.allowed[first], apart, first)


def undecided(allowed: np.ndarray) -> np.ndarray:
    """Which rows leave several components."""
    return np.asarray(np.count_nonzero(allowed, axis=1) > 1)
