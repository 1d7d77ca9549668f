"""Exhaustive enumeration: every clustering of a dozen samples, under every constraint and prior.

It is the yardstick of the other engines, so it is kept plain: costs and constraints of every set of groups
are tabulated (:mod:`certmix.exact.subsets`), every labelling adds up its K entries, and the one evaluator
confirms the best.
"""

from __future__ import annotations

import math

import numpy as np

from certmix.engines import Outcome
from certmix.exact.labellings import count_labellings, labellings, labels_of
from certmix.exact.subsets import SubsetTable, subset_table
from certmix.exact.weight_costs import WeightCosts
from certmix.ledger import Ledger
from certmix.options import Options
from certmix.presolve.groups import group_samples
from certmix.presolve.instance import Instance, reduce
from certmix.problem import Problem, interchangeable
from certmix.problem.features import EVERY_FEATURE, Feature
from certmix.status import Termination

MOST_GROUPS = 12
MOST_LABELLINGS = 20_000_000


class Enumeration:
    """Look at every clustering.

    The bound is rigorous: with c(z) the tabulated cost of clustering z and E the bound on its rounding
    (:attr:`certmix.exact.subsets.SubsetTable.error`), every objective is at least c(z) - E, so the least
    c(z) - E is a lower bound on the optimum.
    """

    name = "enumerate"
    certified = True
    honours: frozenset[Feature] = EVERY_FEATURE

    def refusal(self, problem: Problem) -> str | None:
        # At least so many groups remain; this settles large problems without looking at the data.
        n_groups = problem.n_samples - len(problem.rules.together)
        if n_groups <= MOST_GROUPS:
            n_groups = group_samples(problem).n_groups if problem.rules.together else problem.n_samples
        if n_groups > MOST_GROUPS:
            return f"it enumerates at most {MOST_GROUPS} samples (must-linked ones count once)"
        count = count_labellings(n_groups, interchangeable(problem))
        if count > MOST_LABELLINGS:
            return f"there are {count:,} clusterings to enumerate; it takes up to {MOST_LABELLINGS:,}"
        return None

    def run(self, problem: Problem, ledger: Ledger, options: Options) -> Outcome:
        instance = reduce(problem)
        if instance.groups.contradiction:
            return Outcome(Termination.EXHAUSTED, infeasible=True)
        table = subset_table(instance)
        weight_costs = None if instance.entropy_exact else WeightCosts(problem)
        components = np.arange(problem.n_components)
        proved = math.inf
        for sets in labellings(instance.n_groups, instance.classes, table):
            costs = table.cost[table.row[components], sets].sum(axis=1)
            possible = np.isfinite(costs)
            sets, costs = sets[possible], costs[possible]
            if len(sets):
                if weight_costs is not None:
                    costs = costs + weight_costs(table.size[sets])
                proved = min(proved, _examine(instance, table, sets, costs, ledger))
            ledger.nodes += len(possible)
            ledger.progress()
            if options.time_left(ledger.seconds) <= 0:
                return Outcome(Termination.TIME, certificate_level="none")
            if options.node_limit is not None and ledger.nodes >= options.node_limit:
                return Outcome(Termination.NODES, certificate_level="none")
        if math.isinf(proved):
            return Outcome(Termination.EXHAUSTED, infeasible=True)
        ledger.raise_bound(proved)
        return Outcome(Termination.EXHAUSTED)


def _examine(
    instance: Instance, table: SubsetTable, sets: np.ndarray, costs: np.ndarray, ledger: Ledger
) -> float:
    """Offer the best of some labellings; a lower bound on their objectives (infinite: none is feasible)."""
    best = int(costs.argmin())
    if costs[best] - table.error < ledger.upper:
        ledger.offer(instance.expand(labels_of(sets[best], instance.n_groups)), "enumeration")
        if not math.isfinite(ledger.upper) and math.isfinite(costs[best]):
            raise AssertionError(
                "the evaluator rejects a clustering that satisfies every tabulated constraint"
            )
    return float(costs[best]) - table.error
