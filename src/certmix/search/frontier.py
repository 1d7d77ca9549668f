"""The open nodes: best bound first, and where there are very many the other way round."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import numpy as np

from certmix import memory
from certmix.search.bounds.base import PackingBound
from certmix.search.nodes import Nodes

OPEN_BYTES = 64e6  # of open nodes; beyond, the search dives
HERE = -1  # the ticket of what this process has taken


class Frontier:
    """Open nodes in growing arrays without holes.

    Ties are broken by age, so that the same run always takes the same nodes. Nodes that were taken, by this process or
    under a ticket by another, count for :attr:`bound` and :meth:`state` until whoever took them says that they are
    :meth:`settled`.

    ``packing`` says what is kept of nodes while they wait, and makes them whole again. Above ``most_bytes`` of open
    nodes the frontier is :attr:`full`.
    """

    def __init__(
        self, root: Nodes, packing: PackingBound | None = None, most_bytes: float = OPEN_BYTES
    ) -> None:
        self._packing, self._most_bytes = packing, most_bytes
        stored = root if packing is None else packing.packed(root)
        self._store = {
            name: np.empty((0, *a.shape[1:]), dtype=a.dtype)
            for name, a in [*stored.fields.items(), ("age", np.zeros(0, dtype=np.int64))]
        }
        self._count = self._born = 0
        self._loose = 0  # bytes of what object fields hold
        self._taken: dict[int, Nodes] = {}
        self.add(stored)

    def __len__(self) -> int:
        return self._count

    @property
    def bound(self) -> float:
        """The smallest bound of an open node; infinite when none is open."""
        taken = [nodes.bound.min(initial=math.inf) for nodes in self._taken.values()]
        return float(min([self._bounds.min(initial=math.inf), *taken]))

    @property
    def _bounds(self) -> np.ndarray:
        return self._store["bound"][: self._count]

    @property
    def row_bytes(self) -> float:
        """Bytes of an open node, on average."""
        fixed = sum(a.itemsize * math.prod(a.shape[1:]) for a in self._store.values())
        return fixed + self._loose / max(1, self._count)

    @property
    def full(self) -> bool:
        """Whether the open nodes take more memory than they may, so that some had better be settled first."""
        return self._count * self.row_bytes > self._most_bytes

    def push(self, nodes: Nodes) -> None:
        if len(nodes):
            self.add(nodes if self._packing is None else self._packing.packed(nodes))

    def add(self, stored: Nodes) -> None:
        """Nodes as they are stored."""
        first, last = self._count, self._count + len(stored)
        self._reserve(last)
        for name, array in stored.fields.items():
            self._store[name][first:last] = array
        self._store["age"][first:last] = np.arange(self._born, self._born + len(stored))
        self._born += len(stored)
        self._loose += _loose_bytes(stored.fields)
        self._count = last

    def pop(self, most: int, *, best: bool = True) -> Nodes:
        """The nodes with the smallest bounds, at most so many; or those with the largest, the youngest first.

        Children are no better than their parent: taking the largest bounds first is a depth-first search, which begins
        where least is left to do and needs next to no memory.
        """
        sign = 1 if best else -1
        key, age = sign * self._bounds, sign * self._store["age"][: self._count]
        most = min(most, self._count)
        rows = np.arange(self._count)
        if 0 < most < self._count:
            last = np.partition(key, most - 1)[most - 1]
            rows = np.flatnonzero(
                ~(key > last)
            )  # a bound that is not a number is none that could be left out
        rows = rows[np.lexsort((age[rows], key[rows]))][:most]
        stored = self._taken[HERE] = self._take(rows)
        return stored if self._packing is None else self._packing.restored(stored)

    def hand_out(self, ticket: int) -> dict[str, np.ndarray]:
        """The node with the smallest bound, for another process: as arrays without objects."""
        stored = self._taken[ticket] = self._take(self._best_first()[:1])
        return _plain_fields(stored)

    @property
    def handed_out(self) -> list[int]:
        """The tickets of what other processes have."""
        return [ticket for ticket in self._taken if ticket != HERE]

    def settled(self, ticket: int = HERE) -> None:
        """What was taken is closed, or its children are here, or it is back."""
        self._taken.pop(ticket, None)

    def take_back(self, ticket: int) -> None:
        """What another process had is open as it was."""
        self.add(self._taken.pop(ticket))

    def prune(self, cutoff: float) -> np.ndarray:
        """Drop every node whose bound reaches the cutoff; returns their bounds."""
        return self._take(np.flatnonzero(self._bounds >= cutoff)).bound

    def all(self) -> Nodes:
        """Every open node, best first, as it is stored."""
        return self._rows(self._best_first())

    def state(self) -> dict[str, np.ndarray]:
        """Every node that is not settled, as arrays without objects."""
        return _plain_fields(Nodes.join([*self._taken.values(), self.all()]))

    def read(self, arrays: Mapping[str, np.ndarray]) -> Nodes:
        """The nodes that :meth:`state` wrote, as they are stored."""
        fields = {name: _filled(name, a, arrays) for name, a in self._store.items() if name != "age"}
        if len({len(a) for a in fields.values()}) > 1 or np.isnan(fields["bound"]).any():
            raise ValueError("open nodes are damaged")
        return Nodes(fields)

    def replace(self, stored: Nodes) -> None:
        """These nodes, as they are stored, instead of those that are here."""
        self._take(np.arange(self._count))
        self.add(stored)

    def _best_first(self) -> np.ndarray:
        return np.lexsort((self._store["age"][: self._count], self._bounds))

    def _rows(self, rows: np.ndarray) -> Nodes:
        return Nodes({name: store[rows] for name, store in self._store.items() if name != "age"})

    def _take(self, rows: np.ndarray) -> Nodes:
        """Remove rows; the last ones take their places."""
        nodes = self._rows(rows)
        left = self._count - len(rows)
        gone = np.zeros(self._count, dtype=bool)
        gone[rows] = True
        holes, movers = np.flatnonzero(gone[:left]), left + np.flatnonzero(~gone[left:])
        for store in self._store.values():
            store[holes] = store[movers]
            if store.dtype == object:
                store[left : self._count] = None
        self._loose -= _loose_bytes(nodes.fields)
        self._count = left
        if 4 * left < self._size > 1024:
            self._resize(self._size // 2)
        return nodes

    @property
    def _size(self) -> int:
        return len(self._store["age"])

    def _reserve(self, count: int) -> None:
        if count > self._size:
            self._resize(max(count, self._size + self._size // 2, 64))

    def _resize(self, size: int) -> None:
        memory.require(size * self.row_bytes, f"{size:,} open nodes")
        for name, store in self._store.items():
            new = np.empty((size, *store.shape[1:]), dtype=store.dtype)
            new[: self._count] = store[: self._count]
            self._store[name] = new


def _plain_fields(nodes: Nodes) -> dict[str, np.ndarray]:
    return {key: part for name, a in nodes.fields.items() for key, part in _plain(name, a).items()}


def _plain(name: str, column: np.ndarray) -> dict[str, np.ndarray]:
    """A column without objects: texts of bytes, one after another, and where they end."""
    if column.dtype != object:
        return {name: column}
    ends = np.cumsum([len(x) for x in column], dtype=np.int64)
    return {f"{name}.bytes": np.frombuffer(b"".join(column), dtype=np.uint8), f"{name}.ends": ends}


def _filled(name: str, like: np.ndarray, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    """The column that :func:`_plain` wrote; it has to be one like this."""
    if like.dtype != object:
        column = arrays[name]
        if column.dtype != like.dtype or column.shape[1:] != like.shape[1:]:
            raise ValueError(f"open nodes have another {name}")
        return column
    content, ends = arrays[f"{name}.bytes"].tobytes(), arrays[f"{name}.ends"].tolist()
    if ends != sorted(ends) or (ends[-1] if ends else 0) != len(content):
        raise ValueError(f"open nodes are damaged in {name}")
    column = np.empty(len(ends), dtype=object)
    for i, (first, last) in enumerate(itertools.pairwise([0, *ends])):
        column[i] = content[first:last]
    return column


def _loose_bytes(fields: dict[str, np.ndarray]) -> int:
    """What the texts of bytes in object fields take."""
    return sum(len(x) for a in fields.values() if a.dtype == object for x in a)
