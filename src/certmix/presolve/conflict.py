"""A smallest set of side constraints that cannot hold together.

Every conflicting set meets the complement of every feasible set. The implicit hitting set method makes use
of this: take a smallest set of constraints that meets all complements found so far; if it cannot hold it is
a smallest conflict; otherwise grow it to a large feasible set and note the new complement. Conflicts that
can be read off (shortest chains of must-links, sizes that do not add up) come first; often it only remains
to be proved that there is none with fewer constraints.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

import numpy as np
from scipy.sparse import csr_matrix

from certmix.highs import Ending, minimise
from certmix.presolve.demands import Demands
from certmix.presolve.placing import Placing, Verdict, place
from certmix.presolve.plain_conflicts import chain_conflicts, size_conflicts
from certmix.problem.satisfaction import satisfied_rules

SECONDS = 3.0
QUESTIONS = 60  # asked at most to grow one feasible set


class Proof(Enum):
    """What is known about the size of a conflict."""

    SMALLEST = "smallest"
    """No conflict has fewer constraints."""
    IRREDUCIBLE = "irreducible"
    """No constraint of it can be left out."""
    NONE = "none"


@dataclass(frozen=True)
class Conflict:
    """Constraints (by position) that cannot hold together under the conditions that come with the problem.

    Attributes
    ----------
    origins : tuple of int
    conditions : frozenset of str
        The conditions that take part (see :class:`certmix.presolve.demands.Demands`).
    proof : Proof
    """

    origins: tuple[int, ...]
    conditions: frozenset[str]
    proof: Proof


def find_conflict(asked: Demands, seconds: float = SECONDS) -> Conflict:
    """A smallest conflict among demands that cannot all be met; when time runs out, an irreducible one."""
    oracle = _Oracle(asked)
    sizes = size_conflicts(asked)
    candidates = sorted({*sizes, *chain_conflicts(asked, seconds / 4)}, key=lambda s: (len(s), sorted(s)))
    known = next((s for s in candidates if oracle.conflicting(s)), None)
    only_sizes = len(oracle.elements) == len(asked.rules.sizes) and asked.active_box is None
    if known is not None and only_sizes:
        found, proof = known, Proof.SMALLEST
    else:
        found, proof = _smallest(oracle, known, time.perf_counter() + seconds)
    if proof is not Proof.SMALLEST:
        found, proof = _irreducible(oracle, sorted(found), time.perf_counter() + 1.5 * seconds)
    needed = asked.conditions
    for condition in sorted(asked.conditions):
        if oracle.conflicting(found, needed - {condition}):
            needed = needed - {condition}
    return Conflict(tuple(sorted(found)), needed, proof)


class _Oracle:
    """Answers "can these constraints hold together?" and remembers."""

    def __init__(self, asked: Demands) -> None:
        self.asked = asked
        self.elements = asked.rules.origins
        self.doubtful = False
        """Whether some question went unanswered."""
        self._memory: dict[tuple[frozenset[int], frozenset[str]], Placing] = {}

    def ask(self, origins: Iterable[int], conditions: frozenset[str] | None = None) -> Placing:
        kept = self.asked.conditions if conditions is None else conditions
        key = (frozenset(origins), kept)
        if key not in self._memory:
            self._memory[key] = place(self.asked.only(key[0], kept), time_limit=2.0)
        answer = self._memory[key]
        self.doubtful |= answer.verdict is Verdict.UNKNOWN
        return answer

    def conflicting(self, origins: Iterable[int], conditions: frozenset[str] | None = None) -> bool:
        """Whether the constraints are proved not to hold together."""
        return self.ask(origins, conditions).verdict is Verdict.INFEASIBLE

    def satisfied(self, found: Placing) -> set[int]:
        """All constraints that a placing happens to satisfy."""
        if found.mentioned is None or found.free_counts is None:
            return set()
        sizes = np.bincount(found.mentioned, minlength=self.asked.n_components) + found.free_counts
        good = satisfied_rules(self.asked.rules, found.mentioned, sizes)
        return {i for i in self.elements if good[i]}


def _smallest(oracle: _Oracle, known: frozenset[int] | None, deadline: float) -> tuple[frozenset[int], Proof]:
    """A conflict with the fewest constraints; when time runs out, the best that is known."""
    best = frozenset(oracle.elements) if known is None else known
    if oracle.conflicting(()):
        return frozenset(), Proof.SMALLEST
    single, complements = _halved(oracle, deadline) if len(best) > 1 else (None, [])
    if single is not None:
        return single, Proof.SMALLEST
    if known is not None and len(known) > 2:
        complements += _indispensable(oracle, known, deadline)
    while len(best) > 2:
        candidate = _hitting_set(complements, deadline)
        if candidate is None or oracle.doubtful or time.perf_counter() > deadline:
            return best, Proof.NONE
        if len(candidate) >= len(best):
            break
        if oracle.conflicting(candidate):
            return candidate, Proof.SMALLEST
        grown = _grow(oracle, candidate, complements, deadline)
        complements.append(frozenset(oracle.elements) - grown)
    return best, Proof.NONE if oracle.doubtful else Proof.SMALLEST


def _halved(oracle: _Oracle, deadline: float) -> tuple[frozenset[int] | None, list[frozenset[int]]]:
    """Split the constraints into feasible blocks: one that alone cannot hold, or the blocks' complements."""
    everything = frozenset(oracle.elements)
    complements: list[frozenset[int]] = []
    blocks = [oracle.elements]
    while blocks:
        block = blocks.pop()
        answer = oracle.ask(block)
        if answer.verdict is Verdict.FEASIBLE:
            complements.append(everything - oracle.satisfied(answer))
        elif len(block) > 1:
            blocks += [block[len(block) // 2 :], block[: len(block) // 2]]
        elif answer.verdict is Verdict.INFEASIBLE:
            return frozenset(block), complements
        if time.perf_counter() > deadline:
            oracle.doubtful = True
            break
    return None, complements


def _indispensable(oracle: _Oracle, known: frozenset[int], deadline: float) -> list[frozenset[int]]:
    """Complements ``{e}``: members of a conflict without which the rest is feasible are in every conflict."""
    everything = frozenset(oracle.elements)
    found: list[frozenset[int]] = []
    for e in sorted(known):
        if time.perf_counter() > deadline or oracle.ask(everything - {e}).verdict is not Verdict.FEASIBLE:
            break
        found.append(frozenset([e]))
    return found


def _hitting_set(sets: list[frozenset[int]], deadline: float) -> frozenset[int] | None:
    """A smallest set that meets all the given ones (a MILP); None when time runs out."""
    if not sets:
        return frozenset()
    elements = sorted(frozenset().union(*sets))
    column = {e: a for a, e in enumerate(elements)}
    columns = [column[e] for s in sets for e in sorted(s)]
    starts = np.concatenate([[0], np.cumsum([len(s) for s in sets])])
    matrix = csr_matrix((np.ones(len(columns)), columns, starts), shape=(len(sets), len(elements)))
    ones, rows = np.ones(len(elements)), np.ones(len(sets))
    left = deadline - time.perf_counter()
    ending, x = minimise(ones, matrix, rows, np.inf * rows, upper=1.0, integer=True, time_limit=left)
    if ending is not Ending.OPTIMAL or x is None:
        return None
    return frozenset(elements[a] for a in np.flatnonzero(x > 0.5))


def _grow(
    oracle: _Oracle, start: frozenset[int], complements: list[frozenset[int]], deadline: float
) -> frozenset[int]:
    """A large feasible set of constraints around ``start``, by adding halves of what is left.

    What was left out the last time goes first, so that complements differ. The set is maximal unless that
    takes too many questions; a smaller one is as true, only less telling.
    """
    before = complements[-1] if complements else frozenset()
    kept = set(start)
    blocks = [[e for e in oracle.elements if e not in before], [e for e in oracle.elements if e in before]]
    for _ in range(QUESTIONS):
        if not blocks or time.perf_counter() > deadline:
            break
        block = [e for e in blocks.pop() if e not in kept]
        if not block:
            continue
        answer = oracle.ask(kept.union(block))
        if answer.verdict is Verdict.FEASIBLE:
            kept.update(block, oracle.satisfied(answer))
        elif len(block) > 1:
            blocks += [block[len(block) // 2 :], block[: len(block) // 2]]
    return frozenset(kept)


def _irreducible(oracle: _Oracle, elements: list[int], deadline: float) -> tuple[frozenset[int], Proof]:
    """A conflicting subset from which nothing can be left out, by dividing (QuickXplain)."""
    doubt, late = oracle.doubtful, False
    oracle.doubtful = False

    def needed(background: frozenset[int], added: bool, candidates: list[int]) -> frozenset[int]:
        nonlocal late
        if added and oracle.conflicting(background):
            return frozenset()
        late |= time.perf_counter() > deadline
        if len(candidates) <= 1 or late:
            return frozenset(candidates)
        first, second = candidates[: len(candidates) // 2], candidates[len(candidates) // 2 :]
        from_second = needed(background | set(first), True, second)
        from_first = needed(background | from_second, bool(from_second), first)
        return from_first | from_second

    if oracle.conflicting(()):
        return frozenset(), Proof.SMALLEST
    found = needed(frozenset(), False, elements)
    proof = Proof.NONE if late or oracle.doubtful else Proof.IRREDUCIBLE
    oracle.doubtful |= doubt
    return found, proof
