"""The assignment step as an integer program in HiGHS, for what simpler means cannot do."""

from __future__ import annotations

import math

import numpy as np

from certmix.highs import minimise
from certmix.presolve.instance import Instance
from certmix.presolve.rows import once, side_rows, sizes


class Program:
    """Cheapest labels of some groups; constraints that reach beyond them are left out.

    ``allowed`` are the components open to each member, (members, K), instead of those of the instance; ``size_limits``
    the least and the most weight that the members bring to every component.
    """

    def __init__(
        self,
        instance: Instance,
        members: np.ndarray,
        *,
        allowed: np.ndarray | None = None,
        size_limits: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        self.members = members
        self.allowed = instance.allowed[members] if allowed is None else allowed
        self.tied = special_groups(instance)[members]
        rows = once(np.ones(len(members)), instance.n_components) + side_rows(instance, members)
        if size_limits is not None:
            rows += sizes(instance.weight[members], *size_limits)
        self.rows = rows.over(np.flatnonzero(self.allowed))

    def solve(self, costs: np.ndarray, time_limit: float | None = None) -> np.ndarray | None:
        """Labels of the members that minimise the sum of ``costs[member, label]``; None when there are none.

        First without any integrality, which is often enough. Then a group of weight one in no constraint
        but the size limits need not be declared integer: once the others are fixed, the rest is a
        transportation problem with whole-number limits, whose vertices are integral. At last with all of
        it.
        """
        if not self.allowed.any(axis=1).all():
            return None
        K = self.allowed.shape[1]
        inner = np.where(self.allowed, costs, np.inf)
        cost = (inner - inner.min(axis=1, keepdims=True))[self.allowed]
        for tied in (np.zeros(len(self.tied), dtype=bool), self.tied, np.ones(len(self.tied), dtype=bool)):
            answer = minimise(
                cost,
                self.rows.matrix,
                self.rows.low,
                self.rows.high,
                upper=1.0,
                integer=np.repeat(tied, K)[self.allowed.ravel()],
                time_limit=math.inf if time_limit is None else time_limit,
                mip_rel_gap=0.0,
                mip_abs_gap=1e-9,
            )[1]
            if answer is None:
                return None
            shares = np.zeros(self.allowed.shape)
            shares[self.allowed] = answer
            if np.all(np.abs(shares - np.rint(shares)) < 1e-4):
                return np.asarray(np.argmax(shares, axis=1), dtype=np.int64)
        return None


def special_groups(instance: Instance) -> np.ndarray:
    """Groups in a conflict, an implication or a count, or of more than one sample."""
    special = np.asarray(instance.weight != 1)
    special[instance.conflicts.ravel()] = True
    special[instance.implications[:, :2].ravel()] = True
    for count in instance.counts:
        special[count.groups] = True
    return special
