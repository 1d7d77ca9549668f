"""Bugs to plant: for every one a name, a sentence, the line it changes, and who has to notice.

The list is kept so that the checks are checked: a planted bug that nothing notices is a missing test. The text of a
mutant must occur exactly once in its file; when the code has moved on, the mutant moves with it.
"""

from __future__ import annotations

from dataclasses import dataclass

INTERVAL, DUAL, SDP, BNB = ("interval loop",), ("dual loop",), ("sdp loop",), ("bnb loop",)
SPLIT = ("sdp loop, split",)
PRICING = ("tests/kernels/test_pricing.py",)
CELLS = ("tests/kernels/test_cell_pricing.py",)
CLUMPS = ("tests/kernels/test_cell_clumps.py",)
ACCOUNT = ("tests/search/test_account.py",)
NODES = ("tests/kernels/test_interval.py",)
WHITENING = ("tests/nasty/test_exact_whitening.py",)
ROUNDING = ("tests/nasty/test_exact_optimum.py",)


@dataclass(frozen=True)
class Mutant:
    """A planted bug.

    Attributes
    ----------
    name, says : what it is called and what it does wrong
    file, old, new : where, relative to the package, and what becomes of which text
    noticed_by : ways of the soundness program, or test files
    fast : whether it is tried in `make test`
    compiled : whether the copy's kernels are compiled, for checks that would take too long in plain Python
    """

    name: str
    says: str
    file: str
    old: str
    new: str
    noticed_by: tuple[str, ...]
    fast: bool = False
    compiled: bool = False


MUTANTS = (
    # -- dominance ---------------------------------------------------------------------------------------------
    Mutant(
        "dominance under coupling constraints",
        "Hartigan's exchange is used for groups that take part in coupling constraints.",
        "kernels/contraction.py",
        "if single(mask[g]) or not arrays.movable[g]:",
        "if single(mask[g]):",
        INTERVAL,
    ),
    Mutant(
        "dominance empties a component",
        "The exchange may take the last group out of a component, or one too many.",
        "kernels/contraction.py",
        "if keeps_size or not_alone:",
        "if True:",
        INTERVAL,
    ),
    Mutant(
        "dominance overfills a component",
        "The exchange moves a group into a component that is full.",
        "kernels/contraction.py",
        "if arrays.size_upper[k] >= n or b[k] + w <= arrays.size_upper[k]:",
        "if True:",
        INTERVAL,
    ),
    Mutant(
        "dominance by the nearest point",
        "What joining a component costs is taken at the nearest point of its box, not the farthest.",
        "kernels/contraction.py",
        "factor * 0.5 * w * far + arrays.entropy[k, from_size + iw]",
        "factor * 0.5 * w * near + arrays.entropy[k, from_size + iw]",
        INTERVAL,
        fast=True,
    ),
    Mutant(
        "dominance without the table's step",
        "The saving from leaving a component forgets how the entropy changes.",
        "kernels/contraction.py",
        "gain[k] = factor * 0.5 * w * near + arrays.entropy[k, ib] - arrays.entropy[k, ib - iw]",
        "gain[k] = factor * 0.5 * w * near",
        NODES,
    ),
    # -- boxes of the means ------------------------------------------------------------------------------------
    Mutant(
        "reachable means, one side",
        "The largest reachable mean stops adding groups by the test of the smallest one.",
        "kernels/contraction.py",
        "if members >= a[k] and ((side == 0 and x >= mean) or (side == 1 and x <= mean)):",
        "if members >= a[k] and x >= mean:",
        (*INTERVAL, "tests/kernels/test_interval.py"),
    ),
    Mutant(
        "reachable means, whole groups",
        "A group that is only needed to make up the smallest size counts with its whole weight.",
        "kernels/contraction.py",
        "if members < a[k] and ((side == 0 and x >= mean) or (side == 1 and x <= mean)):",
        "if members < a[k] and (side == 0 and x >= mean):",
        (*INTERVAL, "tests/kernels/test_interval.py"),
    ),
    Mutant(
        "reachable means without the prior",
        "The range of reachable means leaves out the prior's pull.",
        "kernels/contraction.py",
        "total = rest.points[k, j] + prior_sum",
        "total = rest.points[k, j]",
        INTERVAL,
    ),
    Mutant(
        "reachable means, size off by one",
        "The largest size is taken one too small where reachable means are looked for.",
        "kernels/contraction.py",
        "w = min(arrays.weight[g], b[k] - members)",
        "w = min(arrays.weight[g], b[k] - 1.0 - members)",
        INTERVAL,
    ),
    Mutant(
        "numbering of different components",
        "Components that are not interchangeable are numbered by their means as well.",
        "kernels/contraction.py",
        "if arrays.classes[k] == arrays.classes[m] and b[k] > 0 and b[m] > 0:\n                lo[m, j]",
        "if b[k] > 0 and b[m] > 0:\n                lo[m, j]",
        INTERVAL,
    ),
    Mutant(
        "box cut too short",
        "A mean is allowed to move only 1/sqrt(2) of what the gap allows.",
        "kernels/interval.py",
        "reach = np.sqrt(2.0 * gap / full + (centre[k, j] - bar) ** 2)",
        "reach = np.sqrt(gap / full + (centre[k, j] - bar) ** 2)",
        NODES,
    ),
    # -- propagation -------------------------------------------------------------------------------------------
    Mutant(
        "sizes: largest off by one",
        "The largest size that the others leave is one too small.",
        "kernels/propagation.py",
        "high = n - (total_a - a[k])",
        "high = n - (total_a - a[k]) - 1.0",
        INTERVAL,
    ),
    Mutant(
        "sizes: smallest off by one",
        "The smallest size that the others leave is one too large.",
        "kernels/propagation.py",
        "low = n - (total_b - b[k])",
        "low = n - (total_b - b[k]) + 1.0",
        INTERVAL,
    ),
    Mutant(
        "sizes: a group that just fits is turned away",
        "A group may not join a component that it would fill exactly.",
        "kernels/propagation.py",
        "if arrays.weight[g] > slack_up:",
        "if arrays.weight[g] >= slack_up:",
        INTERVAL,
    ),
    Mutant(
        "conflict with the undecided",
        "A cannot-link takes all candidates of an undecided group from the other one.",
        "kernels/propagation.py",
        "            if not single(mask[g]):\n                continue\n            for p",
        "            for p",
        INTERVAL,
        fast=True,
    ),
    Mutant(
        "implication too strong",
        "An implication fires as soon as its premise is possible.",
        "kernels/propagation.py",
        "if mask[g] == bit and mask[then] != bit:",
        "if mask[g] & bit and mask[then] != bit:",
        INTERVAL,
    ),
    Mutant(
        "packing off by one",
        "A packing constraint is full one group too early.",
        "kernels/propagation.py",
        "if have + arrays.count_coefficient[p] > arrays.count_high[r]:",
        "if have + arrays.count_coefficient[p] >= arrays.count_high[r]:",
        INTERVAL,
    ),
    Mutant(
        "covering off by one",
        "A covering constraint forces a group in one group too early.",
        "kernels/propagation.py",
        "elif can - arrays.count_coefficient[p] < arrays.count_low[r]:",
        "elif can - arrays.count_coefficient[p] <= arrays.count_low[r]:",
        INTERVAL,
    ),
    # -- the interval bound ------------------------------------------------------------------------------------
    Mutant(
        "tangent for chord",
        "The line through the middle of the entropy stands in for its chord: it lies above.",
        "kernels/interval.py",
        "alpha = min(entropy[low] - beta * low, entropy[high] - beta * high)",
        "alpha = entropy[(low + high) // 2] - beta * ((low + high) // 2)",
        INTERVAL,
        fast=True,
    ),
    Mutant(
        "chord of a table that is not concave",
        "Only the ends of a table are looked at, although it is not concave.",
        "kernels/interval.py",
        "for m in range(low, high + 1):",
        "for m in (low, high):",
        NODES,
    ),
    Mutant(
        "minorant without its share",
        "An undecided group pays its favourite's whole quadratic, whatever a rival would cost.",
        "kernels/interval.py",
        "t = max(0.0, (next_low - low) / (high - low)) * (1.0 - SLACK)",
        "t = 1.0",
        INTERVAL,
    ),
    Mutant(
        "rounding of the interval bound",
        "The bound is not lowered by the rounding of its sums.",
        "kernels/interval.py",
        "error = (2.0 * N + 64.0) * EPS * magnitude",
        "error = 0.0",
        ROUNDING,
    ),
    Mutant(
        "fixing with too large a gain",
        "What forcing a group into a component costs counts the group's square twice.",
        "kernels/interval.py",
        "lifted += 0.5 * w * square + w * beta[k] + arrays.scatter[e, g]",
        "lifted += w * square + w * beta[k] + arrays.scatter[e, g]",
        INTERVAL,
    ),
    Mutant(
        "fixing leaves the old share in",
        "A group's old share stays in the bound when its new place is priced.",
        "kernels/interval.py",
        "rest = bound - value[f] + without - part",
        "rest = bound - value[f] + without",
        INTERVAL,
    ),
    # -- branching ---------------------------------------------------------------------------------------------
    Mutant(
        "a lost child",
        "Only one of the two children of a node is kept.",
        "search/bounds/interval.py",
        "return Nodes.join([Nodes(left), Nodes(right)])",
        "return Nodes(left)",
        INTERVAL,
    ),
    Mutant(
        "a lost piece of a box",
        "Between the two halves of a box a strip is missing.",
        "search/bounds/interval.py",
        'right["lo"][i, k, index] = at',
        'right["lo"][i, k, index] = 0.5 * (at + nodes["hi"][i, k, index])',
        INTERVAL,
    ),
    Mutant(
        "a lost size",
        "Between the two halves of a size interval one size is missing.",
        "search/bounds/interval.py",
        'right["a"][i, k] = at + 1',
        'right["a"][i, k] = at + 2',
        ACCOUNT,
    ),
    Mutant(
        "a lost component",
        "In the second child a group loses all components up to the one it was split on.",
        "search/bounds/interval.py",
        'right["mask"][i, index] &= ~bit',
        'right["mask"][i, index] &= ~(2 * bit - 1)',
        INTERVAL,
        fast=True,
    ),
    Mutant(
        "a lost choice of empty components",
        "Where components may be empty, the root in which none is gets forgotten.",
        "search/bounds/interval.py",
        "for empty in _empty_choices(instance):",
        "for empty in _empty_choices(instance)[-1:]:",
        INTERVAL,
    ),
    # -- the loop, the ledger, the status ----------------------------------------------------------------------
    Mutant(
        "closed leaves forgotten",
        "The global bound is that of the open nodes alone.",
        "search/loop.py",
        "self.ledger.raise_bound(min(self.frontier.bound, self.leaves))",
        "self.ledger.raise_bound(self.frontier.bound)",
        INTERVAL,
    ),
    Mutant(
        "more than the cutoff proved",
        "A leaf that was compared with the cutoff counts with whatever bound it claims.",
        "search/loop.py",
        "self._close(explored.nodes.bound[~still].clip(max=cutoff))",
        "self._close(explored.nodes.bound[~still])",
        INTERVAL,
    ),
    Mutant(
        "worst node as the bound",
        "The bound of the frontier is that of any open node, not of the best.",
        "search/frontier.py",
        "return self._heap[0][0] if self._heap else math.inf",
        "return self._heap[-1][0] if self._heap else math.inf",
        INTERVAL,
    ),
    Mutant(
        "infeasible incumbent",
        "A clustering is accepted without a look at the constraints.",
        "ledger.py",
        "if not is_feasible(self.problem, labels):",
        "if False:",
        BNB,
        fast=True,
    ),
    Mutant(
        "falling bound",
        "A weaker bound replaces a stronger one.",
        "ledger.py",
        "if bound > self.bound:",
        "if bound != self.bound:",
        ACCOUNT,
    ),
    Mutant(
        "always optimal",
        "Whoever has an incumbent is called optimal.",
        "status.py",
        "return Status.OPTIMAL if tolerances.closed(upper, lower) else Status.FEASIBLE",
        "return Status.OPTIMAL",
        INTERVAL,
    ),
    Mutant(
        "nothing found is nothing there",
        "A run that found no clustering says that there is none.",
        "status.py",
        "return Status.INFEASIBLE if infeasible else Status.UNKNOWN",
        "return Status.INFEASIBLE",
        INTERVAL,
    ),
    Mutant(
        "closed too early",
        "Nodes are closed at twice the gap that was asked for.",
        "status.py",
        "return upper - 0.999 * self.allowed(upper)",
        "return upper - 2.0 * self.allowed(upper)",
        INTERVAL,
    ),
    # -- pricing -----------------------------------------------------------------------------------------------
    Mutant(
        "pricing: in too soon",
        "A group is in for sure as soon as some mean of the box wants it.",
        "kernels/pricing.py",
        "if high_q[g] + step < -SLACK * (",
        "if low_q[g] + step < -SLACK * (",
        PRICING,
    ),
    Mutant(
        "pricing: out too soon",
        "A group is out for sure as soon as some mean of the box does not want it.",
        "kernels/pricing.py",
        "if low_q[g] + step > SLACK * (1.0 + abs(low_q[g])",
        "if high_q[g] + step > SLACK * (1.0 + abs(low_q[g])",
        PRICING,
    ),
    Mutant(
        "pricing: sizes at the limit",
        "A group may always leave a set, even one of the smallest size.",
        "kernels/pricing.py",
        "if a - w >= max(size_lower, 1.0):",
        "if a - w >= 0.0:",
        PRICING,
    ),
    Mutant(
        "pricing: conflicts and exchanges",
        "Groups in a conflict are settled by exchange arguments as well.",
        "kernels/pricing.py",
        "if movable[g] and concave:",
        "if concave:",
        PRICING,
    ),
    Mutant(
        "pricing: minorant without its share",
        "A group's whole quadratic stands for min(0, q).",
        "kernels/pricing.py",
        "theta = max(0.0, (ceiling - s) / (t - s)) * (1.0 - SLACK)",
        "theta = 1.0",
        PRICING,
    ),
    Mutant(
        "pricing: box cut by the parent's bound",
        "The box is cut with the gap of a better bound than the quadratic's own.",
        "kernels/pricing.py",
        "rest = cut - value  #",
        "rest = cut - bound  #",
        PRICING,
    ),
    Mutant(
        "pricing: a lost size",
        "Between the two halves of a size interval one size is missing.",
        "kernels/pricing.py",
        "stack_a[top] = cutting + 1.0",
        "stack_a[top] = cutting + 2.0",
        PRICING,
    ),
    Mutant(
        "pricing: given up and forgotten",
        "Nodes that are left when the limit strikes drop out of the minimum.",
        "kernels/pricing.py",
        "            complete = False\n            leaf_bound = min(leaf_bound, parent_bound)\n",
        "            complete = False\n",
        PRICING,
    ),
    Mutant(
        "pricing: more than the threshold proved",
        "What was cut away against the threshold counts as proved beyond it.",
        "kernels/pricing.py",
        "return min(leaf_bound, threshold, best_value - tolerance), best_value, nodes, complete",
        "return leaf_bound, best_value, nodes, complete",
        PRICING,
    ),
    Mutant(
        "cells: box cut by the parent's bound",
        "The box is cut with the gap of a better bound than the quadratic's own.",
        "kernels/cells.py",
        "rest = cut - value  #",
        "rest = cut - bound  #",
        CLUMPS,
        compiled=True,
    ),
    Mutant(
        "cells: one group for all",
        "A cell's floor counts once, not once for every group in it.",
        "kernels/cells.py",
        "constant += theta * (fixed + mass * beta) + (1.0 - theta) * count * s",
        "constant += theta * (fixed + mass * beta) + (1.0 - theta) * s",
        CELLS,
        compiled=True,
    ),
    Mutant(
        "cells: heaviest group for the lightest",
        "The least cost of a cell's groups is taken with the largest weight.",
        "kernels/cells.py",
        "low = 0.5 * light * near + cheap",
        "low = 0.5 * heavy * near + cheap",
        CLUMPS,
        compiled=True,
    ),
    Mutant(
        "cells: in too soon",
        "A cell is in for sure as soon as some of its groups are.",
        "kernels/cells.py",
        "if high + step < -SLACK",
        "if low + step < -SLACK",
        CELLS,
        compiled=True,
    ),
    # -- multipliers -------------------------------------------------------------------------------------------
    Mutant(
        "master's bound for the priced one",
        "What local search finds counts as the price, without a proof.",
        "search/bounds/lagrangian.py",
        "bound = total + float(np.dot(bounds, counts)) - rounding",
        "bound = total + float(np.dot(expected, counts)) - rounding",
        DUAL,
    ),
    Mutant(
        "one price for different components",
        "Interchangeable components are priced alike, whatever a node has made of them.",
        "search/bounds/dual.py",
        "found.setdefault(key, []).append(k)",
        "found.setdefault(key[:1], []).append(k)",
        ("tests/search/test_node_bounds.py",),
    ),
    Mutant(
        "empty components are free",
        "What an empty component costs is left out of the multipliers' bound.",
        "search/bounds/dual.py",
        'return float(self.arrays.entropy[nodes["b"][i] <= 0, 0].sum()) - self.instance.error',
        'return float(np.abs(self.arrays.entropy[nodes["b"][i] <= 0, 0]).sum()) + 0.01 - self.instance.error',
        DUAL,
    ),
    # -- the semidefinite bound --------------------------------------------------------------------------------
    Mutant(
        "safe bound without its correction",
        "The smallest eigenvalue is believed to be zero where it is negative.",
        "search/bounds/semidefinite/safe.py",
        "level[i] = smallest_from_below(reduced) - rounding",
        "level[i] = max(0.0, smallest_from_below(reduced) - rounding)",
        SDP,
    ),
    Mutant(
        "pairs cost double",
        "What it costs to fill up a cluster around two points is counted twice.",
        "kernels/reduced_costs.py",
        "ratio[count] = cost / weight[p]",
        "ratio[count] = 2.0 * cost / weight[p]",
        ("tests/search/semidefinite/test_kernels.py",),
    ),
    Mutant(
        "naming without mutual apartness",
        "Groups that are not known to be apart get different names.",
        "search/bounds/semidefinite/contraction.py",
        "[g for g in open_to if apart[best, g] and labels[g] != labels[best]]",
        "[g for g in open_to if labels[g] != labels[best]]",
        SDP,
    ),
    Mutant(
        "profile off by one",
        "The other components may hold one sample fewer than there are.",
        "kernels/profiles.py",
        "alone[p, m] = table[n - m]",
        "alone[p, m] = table[max(n - m - 1, 0)]",
        SDP,
    ),
    Mutant(
        "prior for the smallest size",
        "The factor that the prior takes off is that of the smallest size.",
        "search/bounds/semidefinite/pools.py",
        "scale = np.sqrt(high / (high + pool.gamma))",
        "scale = np.sqrt(1 / (1 + pool.gamma))",
        SDP,
    ),
    Mutant(
        "sdp: a lost child",
        "Where a group is not in a component is never looked at.",
        "search/bounds/semidefinite/bound.py",
        "                if left == 0:\n",
        "                if left == 0 or not inside:\n",
        SDP,
    ),
    Mutant(
        "sdp: a size between the parts",
        "A root is split by the smallest size, and one size is in neither part.",
        "search/bounds/semidefinite/bound.py",
        'child["a"][alike] = size + 1',
        'child["a"][alike] = size + 2',
        ("tests/search/semidefinite/test_domain.py",),
    ),
    Mutant(
        "sdp: one part speaks for both",
        "The bound of one part of a split root is reported for the whole.",
        "search/bounds/semidefinite/bound.py",
        "self.on_root_bound(float(self._proved.min()))",
        "self.on_root_bound(float(self._proved.max()))",
        SPLIT,
    ),
    Mutant(
        "sdp: names and an order of means",
        "Components that have names are put in order by their means as well.",
        "search/bounds/semidefinite/geometry.py",
        "._replace(classes=np.arange(instance.n_components))",
        "",
        ("tests/search/semidefinite/test_geometry.py",),
    ),
    # -- the paper's branch and bound --------------------------------------------------------------------------
    Mutant(
        "bnb: dual without the copies of the others",
        "A group's copies of the means that it does not choose are left out.",
        "search/bounds/relaxation_dual.py",
        "cost = linear + near.sum(axis=2) + (away.sum(axis=(1, 2))[:, None] - away.sum(axis=2))",
        "cost = linear + near.sum(axis=2)",
        BNB,
    ),
    Mutant(
        "bnb: box cut too short",
        "A mean is allowed to move only 1/sqrt(2) of what the gap allows.",
        "search/bounds/relaxation_dual.py",
        "reach = np.sqrt(2.0 * rest / full",
        "reach = np.sqrt(rest / full",
        ("tests/search/test_tightening.py",),
    ),
    Mutant(
        "bnb: fixing against the wrong choice",
        "What a choice costs is not compared with the group's cheapest one.",
        "search/bounds/relaxation_dual.py",
        "lifted = dual.value + (cost - dual.cost.min(axis=1, keepdims=True))",
        "lifted = dual.value + cost",
        BNB,
    ),
    Mutant(
        "bnb: numbering one group too far",
        "The first group of a component rules out the next component for one group more.",
        "search/bounds/relaxation.py",
        "early = self.order[: first + 1]",
        "early = self.order[: first + 2]",
        BNB,
    ),
    # -- one dimension -----------------------------------------------------------------------------------------
    Mutant(
        "dynamic programming off by one",
        "The largest cluster that a prefix allows is left out.",
        "kernels/dynamic.py",
        "for m in range(1, min(largest, j) + 1):",
        "for m in range(1, min(largest, j)):",
        ("dynamic",),
    ),
    Mutant(
        "dynamic programming stops early",
        "The inner loop ends by the value of one prefix instead of the least of all shorter ones.",
        "kernels/dynamic.py",
        "if scatter + previous_least[i] + least_entropy >= value:",
        "if scatter + previous[i] + least_entropy >= value:",
        ("dynamic",),
    ),
    Mutant(
        "line: largest size of an arc",
        "The largest cluster between two cells is taken too small.",
        "kernels/line.py",
        "b = min(line.largest, e1 - s0)",
        "b = min(line.largest, e0 - s0)",
        ("line loop", "tests/kernels/test_line_kernels.py"),
    ),
    Mutant(
        "line: nearest end of a cell",
        "Where the mean may lie among the samples the kinder end of the cell is taken.",
        "kernels/line.py",
        "value = beta - q - half * max((x_first - m) ** 2, (x_last - m) ** 2)",
        "value = beta - q - half * min((x_first - m) ** 2, (x_last - m) ** 2)",
        ("tests/kernels/test_line_kernels.py",),
    ),
    # -- what the engines work on ------------------------------------------------------------------------------
    Mutant(
        "weights in a box, duality forgotten",
        "The tables of bounded weights leave out the multiplier's term.",
        "presolve/tables.py",
        "cost = _minus_xlog(power, weight) + level * (weight - power / total)",
        "cost = _minus_xlog(power, weight)",
        INTERVAL,
    ),
    Mutant(
        "box of the means turned around",
        "The box around a rotated box is too small.",
        "presolve/instance.py",
        "lower[k] = ends.min(axis=0).sum(axis=1) - slack",
        "lower[k] = ends.mean(axis=0).sum(axis=1) - slack",
        INTERVAL,
    ),
    Mutant(
        "rounding of the whitening",
        "Coordinates are taken for exact.",
        "presolve/instance.py",
        "error=whitening_error(problem, groups, systems, spread, whitened, scatter, prior_mean, lower, upper),",
        "error=0.0,",
        WHITENING,
    ),
    Mutant(
        "rounding of the evaluator",
        "The one evaluator is taken for exact at a leaf.",
        "search/bounds/leaves.py",
        "return 1.01 * ((n + 2 * d + 64) * EPS * added + off)",
        "return 0.0",
        ROUNDING,
    ),
    Mutant(
        "rounding of the means",
        "The means of a leaf's clustering are taken for exact.",
        "search/bounds/leaves.py",
        "return 1.01 * ((n + 2 * d + 64) * EPS * added + off)",
        "return 1.01 * (n + 2 * d + 64) * EPS * added",
        ROUNDING,
    ),
)
