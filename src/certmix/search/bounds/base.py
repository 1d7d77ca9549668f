"""What the search loop asks of a bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from certmix.search.nodes import Nodes
from certmix.state import State


@dataclass(frozen=True)
class Explored:
    """A batch of nodes after bounding."""

    nodes: Nodes  # contracted, with bounds no weaker than their parents'
    open: (
        np.ndarray
    )  # bool per node; False means closed, its ``nodes.bound`` being the bound of everything in it
    clusterings: Sequence[np.ndarray] = ()  # sample labels that came up (the ledger checks and scores them)


class Bound(Protocol):
    """A bound contracts and bounds batches of nodes and splits those that stay open.

    All bounds are lower bounds on the exact objective, rounding included.
    """

    reaches: bool
    """Whether nodes are worked on until their bound reaches the cutoff; then a higher one costs more."""

    def root(self) -> Nodes: ...

    def explore(self, nodes: Nodes, cutoff: float) -> Explored: ...

    def branch(self, explored: Explored) -> Nodes:
        """Children of the open nodes; together they cover everything in their parents that can beat the cutoff."""
        ...


@runtime_checkable
class PackingBound(Protocol):
    """A bound whose open nodes are stored in less space than they take while they are worked on."""

    def packed(self, nodes: Nodes) -> Nodes:
        """What is stored of nodes: ``bound``, ``depth`` and whatever the rest can be made of."""
        ...

    def restored(self, nodes: Nodes) -> Nodes:
        """Nodes as they were before they were packed, but for what only saves time."""
        ...


@runtime_checkable
class ResumableBound(Protocol):
    """A bound that knows more of a search than its open nodes say: a record of it, what was proved of the roots."""

    def state(self) -> State:
        """What is to be stored beside the open nodes."""
        ...

    def resumed(self, state: State, nodes: Nodes) -> Nodes:
        """Go on from a state and the stored open nodes; returns these without what did not survive."""
        ...
