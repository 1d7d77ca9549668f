"""The paper's branch and bound over assignments, as an engine."""

from __future__ import annotations

from certmix.ledger import Ledger
from certmix.options import Options
from certmix.paper.bnb.branching import branching_rule
from certmix.paper.bnb.relaxation import RelaxationBound
from certmix.presolve.instance import Instance
from certmix.problem import Problem
from certmix.problem.features import EVERY_FEATURE, MASSES, Feature
from certmix.search.engines import SearchEngine, first_incumbent
from certmix.search.loop import search
from certmix.status import Termination

MOST_PRODUCTS = 30_000  # of samples, components and features: beyond, a single relaxation takes minutes


class BranchAndBound(SearchEngine):
    """Algorithm 1 of the paper with a convex relaxation at every node and its four branching rules; for few samples."""

    name = "bnb"
    honours = EVERY_FEATURE - {Feature.NOISE} - MASSES

    def refusal(self, problem: Problem) -> str | None:
        products = problem.n_samples * problem.n_components * problem.n_features
        if products > MOST_PRODUCTS:
            return (
                f"it is for small problems: samples times components times features is {products:,}, "
                f"more than {MOST_PRODUCTS:,}"
            )
        return None

    def searched(self, instance: Instance, ledger: Ledger, options: Options) -> Termination:
        first_incumbent(instance, ledger, options)
        ledger.phase = "convex relaxations"
        bound = RelaxationBound(instance, branching_rule(options.own("branching")))
        # A relaxation costs more than a step of the loop, so nodes are taken one by one, strictly best first.
        reason = search(bound, ledger, options, largest_batch=1)
        ledger.message(f"{bound.relaxations:,} relaxations solved")
        return reason
