"""Conflicts that can be read off: sizes that do not add up, chains of must-links against labels and links."""

from __future__ import annotations

import itertools
import time
from collections import defaultdict, deque
from collections.abc import Iterable

import numpy as np

from certmix.presolve.demands import Demands
from certmix.presolve.groups import merged
from certmix.problem.rules import ALL


def size_conflicts(asked: Demands) -> list[frozenset[int]]:
    """The smallest conflicts among size limits: a minimum above a maximum, or sums that do not fit.

    A maximum of u is a minimum of n - u for the samples outside the component, so one search serves both
    sums.
    """
    n, K = asked.n_samples, asked.n_components
    low, high = asked.only(()).size_limits()
    inside = [(r.low, r.component, r.origin) for r in asked.rules.sizes if r.low > 0]
    outside = [(n - r.high, r.component, r.origin) for r in asked.rules.sizes if r.high < n]
    found = []
    for k in range(K):
        least = max((x for x in inside if x[1] in (ALL, k)), default=None)
        most = max((x for x in outside if x[1] in (ALL, k)), default=None)
        for one in (None, least):
            for two in (None, most):
                within = low[k] if one is None else max(one[0], low[k])
                beyond = n - high[k] if two is None else max(two[0], n - high[k])
                if within + beyond > n:
                    found.append(frozenset(x[2] for x in (one, two) if x is not None))
    for limits, base, most_in_all in ((inside, low, n), (outside, n - high, (K - 1) * n)):
        for common in (None, max((x for x in limits if x[1] == ALL), default=None)):
            fewest = _exceeding(limits, base, common, most_in_all)
            if fewest is not None:
                found.append(fewest)
    return found


def _exceeding(
    limits: list[tuple[int, int, int]], base: np.ndarray, common: tuple[int, int, int] | None, most: int
) -> frozenset[int] | None:
    """The fewest limits (value, component, origin), ``common`` among them, that sum to more than ``most``."""
    level = base if common is None else np.maximum(base, common[0])
    total = int(level.sum())
    chosen = [] if common is None else [common[2]]
    best: dict[int, tuple[int, int]] = {}
    for value, k, origin in limits:
        if k != ALL:
            best[k] = max(best.get(k, (0, -1)), (value - int(level[k]), origin))
    for gain, origin in sorted(best.values(), reverse=True):
        if total > most or gain <= 0:
            break
        total += gain
        chosen.append(origin)
    return frozenset(chosen) if total > most else None


def chain_conflicts(asked: Demands, seconds: float) -> list[frozenset[int]]:
    """Conflicts of links and labels, each with a shortest chain of must-links.

    - two samples that are tied together but may not be;
    - two different labels on samples that are tied together;
    - two samples that may not be together, tied to the same label.
    """
    deadline = time.perf_counter() + seconds
    rules = asked.rules
    links = _Links(asked)
    group_of = merged(rules, len(asked.samples))
    labels: dict[int, dict[int, dict[int, int]]] = defaultdict(lambda: defaultdict(dict))
    for known in rules.labels:  # group -> component -> sample -> constraint
        labels[group_of[known.sample]][known.component].setdefault(known.sample, known.origin)
    found: list[frozenset[int]] = []
    for given in labels.values():
        for k, j in itertools.combinations(given, 2):
            for sample, origin in given[k].items():
                chain = links.shortest(sample, given[j])
                if chain is not None:
                    found.append(chain[0] | {origin, given[j][chain[1]]})
                if time.perf_counter() > deadline:
                    return found
    for link in rules.apart:
        if group_of[link.i] == group_of[link.j]:
            chain = links.shortest(link.i, (link.j,))
            if chain is not None:
                found.append(chain[0] | {link.origin})
        elif group_of[link.i] in labels and group_of[link.j] in labels:
            left, right = labels[group_of[link.i]], labels[group_of[link.j]]
            for k in left.keys() & right.keys():
                one, two = links.shortest(link.i, left[k]), links.shortest(link.j, right[k])
                if one is not None and two is not None:
                    found.append(one[0] | two[0] | {left[k][one[1]], right[k][two[1]], link.origin})
        if time.perf_counter() > deadline:
            return found
    return found


class _Links:
    """Samples tied together by constraint objects, as a graph of samples and objects."""

    def __init__(self, asked: Demands) -> None:
        self._objects: dict[int, set[int]] = defaultdict(set)
        self._samples: dict[int, set[int]] = defaultdict(set)
        tied = [(r.i, r.j, r.origin) for r in asked.rules.together]
        tied += [(r.sample, r.then, r.origin) for r in asked.rules.implications if r.component == ALL]
        for i, j, origin in tied:
            for sample in (i, j):
                self._objects[sample].add(origin)
                self._samples[origin].add(sample)

    def shortest(self, start: int, goals: Iterable[int]) -> tuple[frozenset[int], int] | None:
        """The fewest objects that tie ``start`` to one of the goals, and that goal."""
        wanted = frozenset(goals)
        came: dict[int, tuple[int, int]] = {}
        used: set[int] = set()
        seen, queue = {start}, deque([start])
        while queue:
            sample = queue.popleft()
            if sample in wanted:
                goal, chain = sample, set()
                while sample != start:
                    sample, origin = came[sample]
                    chain.add(origin)
                return frozenset(chain), goal
            for origin in sorted(self._objects.get(sample, set()) - used):
                used.add(origin)
                for other in sorted(self._samples[origin] - seen):
                    seen.add(other)
                    came[other] = (sample, origin)
                    queue.append(other)
        return None
