"""The feasibility of side constraints as a MILP in HiGHS.

One integer per kind of group and component: ``x_ck`` groups of kind c are in component k. Groups are of the
same kind when the demands cannot tell them apart: same number of samples, same allowed components, same
places in the counting constraints, no cannot-link, no implication and no mean box. Samples that no
constraint mentions are one more kind, so the model stays small however many samples there are.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from scipy.sparse import csr_matrix

from certmix.highs import Ending, minimise
from certmix.presolve.demands import Demands, MeanBox
from certmix.presolve.groups import Groups
from certmix.presolve.instance import CountRow
from certmix.presolve.rows import Rows, apart, counted, implied, once, sizes


class PlacingModel:
    """Rows ``low <= A x <= high`` over the counts ``x_ck`` (variable ``c K + k``)."""

    def __init__(
        self, asked: Demands, groups: Groups, counts: list[CountRow], lower: np.ndarray, upper: np.ndarray
    ) -> None:
        self.asked, self.groups, self.counts = asked, groups, counts
        self.lower, self.upper = lower, upper
        self.K = asked.n_components
        self.kind_of, self.members = self._kinds()
        self.size = np.array([len(m) for m in self.members], dtype=np.int64)
        self.first = np.array([m[0] for m in self.members], dtype=np.int64)
        weight, allowed = groups.weight[self.first], groups.allowed[self.first]
        if asked.n_free:
            self.size, weight = np.append(self.size, asked.n_free), np.append(weight, 1)
            allowed = np.vstack([allowed, np.ones((1, self.K), dtype=bool)])
        self.most = np.where(allowed, self.size[:, None], 0)
        cliques, shape = clique_cover(groups.conflicts), groups.allowed.shape
        side = counted(counts, shape) + apart(cliques, shape) + implied(groups.implications, shape)
        self.rows = once(self.size, self.K) + sizes(weight, lower, upper) + self._by_kind(side)
        if cliques and self._alike():
            # Members of a clique sit in different components; which ones does not matter.
            for k, group in enumerate(max(cliques, key=len)[: self.K]):
                self.most[self.kind_of[group], np.arange(self.K) != k] = 0

    def solve(self, margin: float, time_limit: float) -> tuple[bool, tuple[np.ndarray, np.ndarray] | None]:
        """``(proved infeasible, labels of the groups and sizes of the rest)``.

        ``margin`` says how much stricter than the box the mean rows are, as a share of the largest that a group
        can move them.
        """
        box = self.asked.active_box
        rows = self.rows if box is None else self.rows + self._by_kind(self._box_rows(box, margin))
        ending, x = minimise(
            np.zeros(self.most.size),
            rows.matrix,
            rows.low,
            rows.high,
            upper=self.most.ravel(),
            integer=True,
            time_limit=time_limit,
        )
        found = None if x is None else self._labels(np.rint(x).astype(np.int64).reshape(-1, self.K))
        return ending is Ending.INFEASIBLE, found

    def _labels(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        if np.any(x.sum(axis=1) != self.size):
            return None
        labels = np.empty(self.groups.n_groups, dtype=np.int64)
        for kind, members in enumerate(self.members):
            labels[members] = np.repeat(np.arange(self.K), x[kind])
        return labels, x[-1] if self.asked.n_free else np.zeros(self.K, dtype=np.int64)

    def _kinds(self) -> tuple[np.ndarray, list[list[int]]]:
        groups = self.groups
        alone = np.full(groups.n_groups, self.asked.active_box is not None)
        alone[groups.conflicts.ravel()] = True
        alone[groups.implications[:, :2].ravel()] = True
        places: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for r, row in enumerate(self.counts):
            for group, coefficient in zip(row.groups.tolist(), row.coefficient.tolist(), strict=True):
                places[group].append((r, coefficient))
        plain = ~alone & (groups.weight == 1) & groups.allowed.all(axis=1)
        plain[list(places)] = False
        members: list[list[int]] = [np.flatnonzero(plain).tolist()] if plain.any() else []
        kinds: dict[object, int] = {"plain": 0} if members else {}
        kind_of = np.zeros(groups.n_groups, dtype=np.int64)
        for g in np.flatnonzero(~plain).tolist():
            look: object = (int(groups.weight[g]), groups.allowed[g].tobytes(), tuple(places.get(g, ())))
            kind_of[g] = kinds.setdefault(g if alone[g] else look, len(kinds))
            if kind_of[g] == len(members):
                members.append([])
            members[kind_of[g]].append(g)
        return kind_of, members

    def _by_kind(self, rows: Rows) -> Rows:
        """Rows over groups as rows over kinds: groups of a kind stand in the same rows, with the same coefficients."""
        chosen = rows.over((self.first[:, None] * self.K + np.arange(self.K)).ravel())
        chosen.matrix.resize(len(rows), self.most.size)
        return chosen

    def _alike(self) -> bool:
        """Whether nothing tells one component from another."""
        same = np.all(self.most == self.most[:, :1])
        same &= np.all(self.lower == self.lower[0]) and np.all(self.upper == self.upper[0])
        plain = not self.counts and not len(self.groups.implications) and self.asked.active_box is None
        return bool(same) and plain

    def _box_rows(self, box: MeanBox, margin: float) -> Rows:
        """``sum_g x_gk (sum over g of y - bound) >= margin``, scaled to coefficients of size one."""
        N, values, component = self.groups.n_groups, [], []
        for k in range(self.K):
            for j in range(box.data.shape[1]):
                for sign, bound in ((1.0, box.lower[k, j]), (-1.0, box.upper[k, j])):
                    if np.isfinite(bound):
                        away = sign * (box.data[:, j] - bound)  # first, lest an offset swallow the difference
                        above = np.bincount(self.groups.of, away, minlength=N)
                        values.append(above / max(float(np.abs(above).max()), 1e-300))
                        component.append(k)
        count = len(values)
        columns = (np.arange(N) * self.K + np.array(component)[:, None]).ravel()
        starts = np.arange(count + 1) * N
        matrix = csr_matrix((np.concatenate(values), columns, starts), shape=(count, N * self.K))
        return Rows(matrix, np.full(count, margin), np.full(count, np.inf))


def clique_cover(conflicts: np.ndarray) -> list[np.ndarray]:
    """Cliques that together hold every conflict pair: their rows are tighter than those of the pairs."""
    neighbours: dict[int, set[int]] = defaultdict(set)
    for a, b in conflicts.tolist():
        neighbours[a].add(b)
        neighbours[b].add(a)
    covered: set[tuple[int, int]] = set()
    cliques = []
    for a, b in conflicts.tolist():
        if (a, b) in covered:
            continue
        clique, common = [a, b], neighbours[a] & neighbours[b]
        while common:
            g = max(common, key=lambda v: (len(neighbours[v]), -v))
            clique.append(g)
            common &= neighbours[g]
        clique.sort()
        covered.update((x, y) for i, x in enumerate(clique) for y in clique[i + 1 :])
        cliques.append(np.array(clique, dtype=np.int64))
    return cliques
