"""The certificate of a problem with soft links: a tree of links that are kept or broken, and a proof for every leaf.

The engine leaves a :class:`SoftRecord` in ``ledger.record`` (docs/certificates.md, Soft links).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from certmix.certificate.draft import Make, Pieces, Unproved, as_proved
from certmix.io.certificates import Certificate
from certmix.problem import Problem
from certmix.result import Result
from certmix.status import Status
from certmix.verify.check import Verdict
from certmix.verify.rounding import total_below


@dataclass(frozen=True)
class Solved:
    """The problem in which some soft links have to hold and no other is there: its result, and how it was proved."""

    kept: frozenset[int]
    problem: Problem
    result: Result
    record: Any

    @property
    def infeasible(self) -> bool:
        return self.result.status is Status.INFEASIBLE


@dataclass
class SoftRecord:
    """The tree: a node is a link and its two children, kept and broken, or a leaf: the problem that bounds it."""

    nodes: list[tuple[int, int, int] | Solved] = field(default_factory=list)


def bent(problem: Problem, result: Result, record: Any, make: Make) -> tuple[Certificate, Verdict]:
    """The certificate of a result with soft links, and the checker's verdict."""
    if not isinstance(record, SoftRecord) or not record.nodes:
        raise Unproved("the run left no record of which soft links it has decided")
    pieces, place, bounds = Pieces(), dict[int, int](), list[float]()
    for one in {id(node): node for node in record.nodes if isinstance(node, Solved)}.values():
        if one.result.labels is None and not one.infeasible:
            raise Unproved("a problem with some of the soft links kept has no clustering with a lower bound")
        claimed = one.result if one.infeasible else as_proved(one.result)
        place[id(one)] = len(bounds)
        bounds.append(pieces.add({"kept": sorted(one.kept)}, *make(one.problem, claimed, one.record)))
    nodes = [[place[id(node)]] if isinstance(node, Solved) else list(node) for node in record.nodes]
    return pieces.together("soft", problem, result, _reached(problem, nodes, bounds), nodes=nodes)


def _reached(problem: Problem, nodes: list[list[int]], bounds: list[float]) -> float:
    """What all leaves reach: the bounds that are proved, and the penalties of the links that are broken."""
    penalty = [link.penalty for link in problem.rules.soft]
    least, waiting = float("inf"), [(0, [0.0])]
    while waiting:
        i, paid = waiting.pop()
        if len(nodes[i]) == 1:
            least = min(least, total_below(np.array([bounds[nodes[i][0]], *paid])))
        else:
            link, kept, broken = nodes[i]
            waiting += [(kept, paid), (broken, [*paid, penalty[link]])]
    return least
