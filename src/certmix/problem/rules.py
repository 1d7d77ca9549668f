"""The side constraints with every name resolved to a position: what the rest of the program reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from certmix.errors import InputError
from certmix.problem import constraints as c
from certmix.problem.samples import Samples

ALL = -1  # stands for "every component"


@dataclass(frozen=True)
class Link:
    """Samples ``i`` and ``j`` together (must-link) or apart (cannot-link)."""

    i: int
    j: int
    origin: int


@dataclass(frozen=True)
class Implies:
    """``sample`` in ``component`` (or ALL) implies ``then`` in it."""

    sample: int
    then: int
    component: int
    origin: int


@dataclass(frozen=True)
class Known:
    sample: int
    component: int
    origin: int


@dataclass(frozen=True)
class Size:
    """``low <= n_component <= high``; component may be ALL."""

    component: int
    low: int
    high: int
    origin: int


@dataclass(frozen=True)
class Count:
    """``low <= #(samples in component) <= high``."""

    samples: np.ndarray
    component: int
    low: int
    high: int
    origin: int


@dataclass(frozen=True, order=True)
class SoftLink:
    """Samples that should be ``together``, or all apart; the objective has the penalty, in nats, where they are not."""

    together: bool
    samples: tuple[int, ...]
    penalty: float
    origin: int

    def broken(self, labels: np.ndarray) -> bool:
        """Whether labels are not as it wants them."""
        different = len({labels[i] for i in self.samples})
        return different > 1 if self.together else different < len(self.samples)


@dataclass(frozen=True)
class Rules:
    """Resolved constraints. ``origin`` is the position of the object in :attr:`constraints`.

    ``soft`` links rule nothing out, so whoever looks at the others only looks at a problem with a smaller objective.
    """

    constraints: tuple[c.Constraint, ...]
    together: tuple[Link, ...]
    apart: tuple[Link, ...]
    implications: tuple[Implies, ...]
    labels: tuple[Known, ...]
    sizes: tuple[Size, ...]
    counts: tuple[Count, ...]
    soft: tuple[SoftLink, ...] = ()

    @property
    def coupled(self) -> bool:
        """True when some constraint ties the fate of one sample to others (sizes included)."""
        return bool(self.together or self.apart or self.implications or self.sizes or self.counts)

    def size_limits(self, lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Limits on the size of every component, (K,) each, made narrower by the rules."""
        lower, upper = lower.copy(), upper.copy()
        for size in self.sizes:
            which = slice(None) if size.component == ALL else size.component
            lower[which] = np.maximum(lower[which], size.low)
            upper[which] = np.minimum(upper[which], size.high)
        return lower, upper

    @cached_property
    def together_array(self) -> np.ndarray:
        """The must-links as rows (i, j, origin)."""
        return _rows([(r.i, r.j, r.origin) for r in self.together], 3)

    @cached_property
    def apart_array(self) -> np.ndarray:
        """The cannot-links as rows (i, j, origin)."""
        return _rows([(r.i, r.j, r.origin) for r in self.apart], 3)

    @cached_property
    def implication_array(self) -> np.ndarray:
        """The implications as rows (sample, then, component, origin)."""
        return _rows([(r.sample, r.then, r.component, r.origin) for r in self.implications], 4)

    @cached_property
    def label_array(self) -> np.ndarray:
        """The known labels as rows (sample, component, origin)."""
        return _rows([(r.sample, r.component, r.origin) for r in self.labels], 3)

    @property
    def origins(self) -> list[int]:
        """The constraint objects that say anything at all."""
        return sorted(self._by_origin)

    def only(self, origins: Iterable[int]) -> Rules:
        """The rules that come from some of the constraint objects; origins stay as they are."""
        pieces = [self._by_origin[i] for i in sorted(set(origins)) if i in self._by_origin]
        parts = (tuple(rule for piece in pieces for rule in piece[place]) for place in range(6))
        return Rules(self.constraints, *parts)

    @cached_property
    def _by_origin(self) -> dict[int, tuple[list[Any], ...]]:
        found: dict[int, tuple[list[Any], ...]] = {}
        parts: list[tuple[Any, ...]] = [self.together, self.apart, self.implications]
        for place, part in enumerate([*parts, self.labels, self.sizes, self.counts]):
            for rule in part:
                found.setdefault(rule.origin, ([], [], [], [], [], []))[place].append(rule)
        return found


def _rows(values: list[tuple[int, ...]], width: int) -> np.ndarray:
    array = np.array(values, dtype=np.int64).reshape(-1, width)
    array.setflags(write=False)
    return array


def _distinct(refs: Iterable[c.SampleRef], samples: Samples, fault: str) -> list[int]:
    """The positions of samples that must all differ."""
    rows = [samples.position(ref) for ref in refs]
    if len(set(rows)) < len(rows):
        twice = next(row for row in rows if rows.count(row) > 1)
        raise InputError(f"{samples.sample(twice)} {fault}")
    return rows


def listed(constraints: Iterable[Any] | None) -> list[c.Constraint]:
    """Constraints as a list, or an error about what is none."""
    if isinstance(constraints, c.Constraint):
        return [constraints]
    if constraints is None:
        return []
    if isinstance(constraints, str) or not isinstance(constraints, Iterable):
        raise InputError(f"constraints must be a list of constraints, not {constraints!r}")
    kept = list(constraints)
    for item in kept:
        if not isinstance(item, c.Constraint):
            raise InputError(f"{item!r} is not a constraint; use MustLink, CannotLink, Label, MinimumSize, …")
    return kept


def resolve_rules(
    constraints: Iterable[Any] | None,
    samples: Samples,
    component_of: Callable[[Any], int],
    nats: Callable[[float], float] = float,
    n_clusters: int | None = None,
) -> Rules:
    """Turn constraint objects into :class:`Rules`, or say which one is wrong and where it was written.

    ``nats`` says what penalties, given as people see the objective, are worth in it; ``n_clusters`` how many of the
    components a limit on the sizes of all is about, where that is not all of them.
    """
    kept = listed(constraints)
    n = samples.n_samples
    together: list[Link] = []
    apart: list[Link] = []
    implications: list[Implies] = []
    labels: list[Known] = []
    sizes: list[Size] = []
    counts: list[Count] = []
    soft: list[SoftLink] = []
    for origin, item in enumerate(kept):
        try:
            component = getattr(item, "component", None)
            if component is None and isinstance(item, (c.Label, c.Counting)):
                raise InputError("needs a component")
            k = ALL if component is None else component_of(component)
            match item:
                case c.Linking(penalty=float(penalty)):
                    rows = _distinct(item.samples, samples, "stands twice")
                    kind = isinstance(item, c.MustLink)
                    soft.append(SoftLink(kind, tuple(sorted(rows)), nats(penalty), origin))
                case c.MustLink():
                    rows = _distinct(item.samples, samples, "stands twice")
                    together += [Link(rows[0], j, origin) for j in rows[1:]]
                case c.Copies():
                    i = samples.position(item.sample)
                    together += [Link(i, i + copy, origin) for copy in range(1, item.count)]
                case c.CannotLink():
                    rows = _distinct(item.samples, samples, "cannot be apart from itself")
                    apart += [Link(i, j, origin) for a, i in enumerate(rows) for j in rows[a + 1 :]]
                case c.Implication():
                    i, j = samples.position(item.sample), samples.position(item.then)
                    if i == j:
                        raise InputError(f"{samples.sample(i)} stands twice")
                    implications.append(Implies(i, j, k, origin))
                case c.Label():
                    labels.append(Known(samples.position(item.sample), k, origin))
                case c.SizeLimit():
                    least = isinstance(item, c.MinimumSize)
                    limits = (item.limit, n) if least else (0, item.limit)
                    every = [k] if n_clusters is None or k != ALL else range(n_clusters)
                    sizes += [Size(each, *limits, origin) for each in every]
                case c.Counting():
                    rows = samples.copies(_distinct(item.samples, samples, "stands twice in the set"))
                    low = 0 if isinstance(item, c.Packing) else item.limit
                    high = len(rows) if isinstance(item, c.Covering) else item.limit
                    counts.append(Count(np.array(rows), k, low, high, origin))
                case _:
                    raise InputError(f"unknown kind of constraint {type(item).__name__}")
        except InputError as error:
            raise InputError(f"{item.kind}{item.at()}: {error}") from None
    found: list[list[Any]] = [together, apart, implications, labels, sizes, counts, sorted(soft)]
    return Rules(tuple(kept), *map(tuple, found))
