"""Labels that meet given demands, or the proof that there are none: propagation, a greedy pass, a MILP."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import Enum
from heapq import heapify, heappop, heappush

import numpy as np

from certmix.presolve.demands import Demands
from certmix.presolve.groups import Domains, Groups, merge_samples
from certmix.presolve.instance import CountRow
from certmix.problem.satisfaction import satisfied_rules

MARGIN = 1e-5  # of the largest coefficient of a box row: ten times what HiGHS lets a row be broken by
LARGEST_BOXED = 60_000  # variables beyond which the MILP of a mean box is not tried


class Verdict(Enum):
    """What is known about a set of demands."""

    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Placing:
    """A verdict and, when feasible, labels of the mentioned samples and sizes of the rest."""

    verdict: Verdict
    mentioned: np.ndarray | None = None
    free_counts: np.ndarray | None = None


_INFEASIBLE = Placing(Verdict.INFEASIBLE)
_UNKNOWN = Placing(Verdict.UNKNOWN)


def place(asked: Demands, time_limit: float = 10.0) -> Placing:
    """Labels that meet all demands, or the proof that there are none (within the time limit)."""
    lower, upper = asked.size_limits()
    n = asked.n_samples
    if np.any(lower > upper) or lower.sum() > n or upper.sum() < n:
        return _INFEASIBLE
    groups = merge_samples(asked.rules, len(asked.samples), upper)
    if groups.contradiction:
        return _INFEASIBLE
    rows = [CountRow.of(count, groups) for count in asked.rules.counts]
    if any(row.low > row.coefficient.sum() or row.low > row.high for row in rows):
        return _INFEASIBLE
    found = _greedy(asked, groups, rows, lower, upper)
    if found is not None and _meets(asked, groups, *found):
        return Placing(Verdict.FEASIBLE, found[0][groups.of], found[1])
    return _exactly(asked, groups, rows, lower, upper, time_limit)


def _meets(asked: Demands, groups: Groups, labels: np.ndarray, free_counts: np.ndarray) -> bool:
    """Whether labels of the groups and sizes of the rest meet every demand."""
    mentioned = labels[groups.of]
    sizes = np.bincount(mentioned, minlength=asked.n_components) + free_counts
    lower, upper = asked.size_limits()
    if np.any(sizes < lower) or np.any(sizes > upper) or sizes.sum() != asked.n_samples:
        return False
    if not satisfied_rules(asked.rules, mentioned, sizes).all():
        return False
    box = asked.active_box
    return box is None or box.holds(mentioned, asked.n_components)


def _exactly(
    asked: Demands,
    groups: Groups,
    rows: list[CountRow],
    lower: np.ndarray,
    upper: np.ndarray,
    time_limit: float,
) -> Placing:
    """By MILP. Box rows are first loosened by more than the solver's tolerances, so that "infeasible" is true.

    What it finds is tested exactly; if that fails, something well inside the box is asked for. Between the two only a
    search can tell.
    """
    if asked.active_box is not None and groups.allowed.size > LARGEST_BOXED:
        return _UNKNOWN
    # SciPy and HiGHS, where propagation does not decide
    from certmix.presolve.placing_milp import PlacingModel

    model = PlacingModel(asked, groups, rows, lower, upper)
    for margin in (-MARGIN, MARGIN):
        infeasible, found = model.solve(margin, time_limit)
        if infeasible:
            return _INFEASIBLE if margin < 0 else _UNKNOWN
        if found is not None and _meets(asked, groups, *found):
            return Placing(Verdict.FEASIBLE, found[0][groups.of], found[1])
        if asked.active_box is None:
            break
    return _UNKNOWN


def _greedy(
    asked: Demands, groups: Groups, rows: list[CountRow], lower: np.ndarray, upper: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Groups in constraints first, the most restricted one next; then the others where most are needed."""
    domains = Domains(groups.allowed.copy(), groups.conflicts, groups.implications)
    labels = np.full(groups.n_groups, -1, dtype=np.int64)
    sizes = np.zeros(asked.n_components, dtype=np.int64)
    member_of: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for r, row in enumerate(rows):
        for group, coefficient in zip(row.groups.tolist(), row.coefficient.tolist(), strict=True):
            member_of[group].append((r, coefficient))
    used = np.zeros(len(rows), dtype=np.int64)

    def put(group: int) -> bool:
        best, best_score = -1, (-np.inf, -np.inf, -np.inf)
        for k in np.flatnonzero(domains.allowed[group]).tolist():
            if sizes[k] + groups.weight[group] > upper[k]:
                continue
            mine = [(r, c) for r, c in member_of.get(group, ()) if rows[r].component == k]
            if any(used[r] + c > rows[r].high for r, c in mine):
                continue
            wanted = sum(used[r] < rows[r].low for r, _ in mine)
            score = (float(wanted), float(lower[k] - sizes[k]), float(upper[k] - sizes[k]))
            if score > best_score:
                best, best_score = k, score
        if best < 0:
            return False
        labels[group] = best
        sizes[best] += groups.weight[group]
        for r, c in member_of.get(group, ()):
            used[r] += c if rows[r].component == best else 0
        domains.fix(group, best)
        return True

    tangled = set(domains.tied.tolist()) | set(member_of)
    urgency = {g: len(domains.apart.get(g, ())) + int(groups.weight[g]) for g in tangled}
    waiting = [(int(domains.left[g]), -urgency[g], g) for g in tangled]
    heapify(waiting)
    while waiting:
        left, _, group = heappop(waiting)
        if labels[group] >= 0 or left != domains.left[group]:  # it is in its place, or has moved up
            continue
        if not put(group):
            return None
        for g in tangled.intersection(domains.narrowed):
            heappush(waiting, (int(domains.left[g]), -urgency[g], g))
        domains.narrowed.clear()

    rest = labels < 0
    forced = np.flatnonzero(rest & (domains.left == 1))
    labels[forced] = np.argmax(domains.allowed[forced], axis=1)
    sizes += np.bincount(labels[forced], weights=groups.weight[forced], minlength=len(sizes)).astype(np.int64)
    if np.any(sizes > upper):
        return None
    plain = np.flatnonzero((labels < 0) & (groups.weight == 1) & (domains.left == asked.n_components))
    labels[plain] = 0  # any component will do: shared out with the samples that nothing mentions
    others = np.flatnonzero(labels < 0)
    for group in others[np.lexsort((domains.left[others], -groups.weight[others]))].tolist():
        if not put(group):
            return None
    if any(not row.low <= used[r] <= row.high for r, row in enumerate(rows)):
        return None
    shares = _shared_out(asked.n_free + len(plain), lower - sizes, upper - sizes)
    if shares is None:
        return None
    each = np.repeat(np.arange(asked.n_components), shares)
    labels[plain] = each[: len(plain)]
    return labels, np.bincount(each[len(plain) :], minlength=asked.n_components)


def _shared_out(number: int, least: np.ndarray, most: np.ndarray) -> np.ndarray | None:
    """So many samples shared out between the limits; the widest room takes what is left."""
    shares = np.maximum(least, 0)
    spare = number - int(shares.sum())
    if spare < 0 or np.any(shares > most):
        return None
    for k in np.argsort(shares - most):
        more = min(spare, int(most[k] - shares[k]))
        shares[k] += more
        spare -= more
    return shares if spare == 0 else None
