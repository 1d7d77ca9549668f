"""How tight are side constraints: how much room is left in them, or which samples would be elsewhere on their own?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from certmix.problem.rules import ALL, Count, Size

if TYPE_CHECKING:
    from certmix.problem.problem import Problem

_NAMED = 3  # samples that a sentence names


@dataclass(frozen=True)
class Tightness:
    """Whether a constraint is tight at a clustering, and what shows it."""

    tight: bool
    room: str


def tightness(problem: Problem, labels: np.ndarray, alone: np.ndarray) -> list[Tightness]:
    """For every constraint object, how tight it is.

    A limit of sizes or counts is tight when it is reached. Any other constraint is tight when a sample that it speaks
    of would be in another component on its own.

    Parameters
    ----------
    labels : (n,), a clustering that satisfies the constraints
    alone : (n,), the cheapest component of every sample at the means and weights of the clustering
    """
    rules = problem.rules
    sizes = np.bincount(labels, minlength=problem.n_components)
    room: dict[int, list[tuple[int, str]]] = {}
    about: dict[int, list[int]] = {}
    limits: tuple[Size | Count, ...] = (*rules.sizes, *rules.counts)
    for rule in limits:
        room.setdefault(rule.origin, []).extend(_rooms(problem, rule, labels, sizes))
    for link in (*rules.together, *rules.apart):
        about.setdefault(link.origin, []).extend((link.i, link.j))
    for soft in rules.soft:
        about.setdefault(soft.origin, []).extend(soft.samples)
    for known in rules.labels:
        about.setdefault(known.origin, []).append(known.sample)
    for one in rules.implications:
        own = about.setdefault(one.origin, [])
        if one.component in (ALL, labels[one.sample]):
            own.extend((one.sample, one.then))
    found, broken = [], {soft.origin for soft in rules.soft if soft.broken(labels)}
    for origin in range(len(problem.constraints)):
        if origin in broken:
            found.append(Tightness(False, "broken"))
        elif origin in room:
            left, said = min(room[origin])
            found.append(Tightness(left == 0, said))
        else:
            samples = sorted(set(about.get(origin, ())))
            found.append(_held(problem, samples, labels, alone))
    return found


def _rooms(
    problem: Problem, rule: Size | Count, labels: np.ndarray, sizes: np.ndarray
) -> list[tuple[int, str]]:
    """Samples that a limit has left, for each of its components, with a sentence."""
    if isinstance(rule, Count):
        counts = [(rule.component, int(np.count_nonzero(labels[rule.samples] == rule.component)))]
        most, what = len(rule.samples), " of them"
    else:
        own = range(problem.n_components) if rule.component == ALL else (rule.component,)
        counts = [(k, int(sizes[k])) for k in own]
        most, what = problem.n_samples, ""
    found = []
    for k, count in counts:
        above = [count - rule.low] if rule.low > 0 else []
        below = [rule.high - count] if rule.high < most else []
        left = min([*above, *below], default=most)
        holds = f"component {problem.component_names[k]} has {count}{what}"
        found.append((left, f"{holds}: {'no room' if left == 0 else f'room for {left}'}"))
    return found


def _held(problem: Problem, samples: Sequence[int], labels: np.ndarray, alone: np.ndarray) -> Tightness:
    if not samples:
        return Tightness(False, "not in force")
    held = [i for i in samples if alone[i] != labels[i]]
    if not held:
        return Tightness(False, "would hold by itself")
    if len(held) > _NAMED:
        return Tightness(True, f"{len(held)} of {len(samples)} samples would be elsewhere on their own")
    said = [
        f"{problem.samples.sample(i)} would be in component {problem.component_names[alone[i]]}" for i in held
    ]
    return Tightness(True, f"on {'its' if len(said) == 1 else 'their'} own, {' and '.join(said)}")
