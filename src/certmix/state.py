"""What a run can go on from after it was cut short: plain numbers and arrays, nothing else.

An engine that can go on

- puts a :class:`Resumable` into ``ledger.resumable`` as soon as it has something to go on from, and
- looks at ``ledger.resumed`` when it starts: the state that an earlier run left, or an empty one.

The incumbent, the bound, the trace, nodes and seconds are the ledger's and no part of it: an engine that offers nothing
begins anew with these. :mod:`certmix.observers.snapshot` writes states, :mod:`certmix.resuming` reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np


@dataclass(frozen=True)
class State:
    """A state, or a part of one.

    Attributes
    ----------
    numbers : what JSON can hold: whole numbers, texts, truth values, finite numbers, lists and dicts of these
    arrays : written anew every time; no objects
    kept : bundles of arrays by name that never change once they are there, such as finished parts: written once
    """

    numbers: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    kept: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.numbers or self.arrays or self.kept)

    def of(self, name: str) -> State:
        """The part that was joined under a name; an empty one where there is none."""
        start = name + "/"

        def mine(entries: Mapping[str, Any]) -> dict[str, Any]:
            return {key.removeprefix(start): value for key, value in entries.items() if key.startswith(start)}

        return State(mine(self.numbers), mine(self.arrays), mine(self.kept))

    def in_memory(self) -> State:
        """The same, with nothing that is read from files when it is asked for."""
        kept = {name: {key: np.asarray(bundle[key]) for key in bundle} for name, bundle in self.kept.items()}
        return replace(self, kept=kept)

    @staticmethod
    def joined(**parts: State) -> State:
        """Several states as one, each under its name."""
        out = State({}, {}, {})
        for name, part in parts.items():
            for mine, others in (
                (out.numbers, part.numbers),
                (out.arrays, part.arrays),
                (out.kept, part.kept),
            ):
                assert isinstance(mine, dict)
                mine.update({f"{name}/{key}": value for key, value in others.items()})
        return out


class Resumable(Protocol):
    """Who can say what a run can go on from."""

    def state(self) -> State:
        """The state at this moment, whole whoever asks: it is called by another thread than the one that works.

        Going on from it covers everything that the run has not settled. Arrays in it must not change afterwards.
        """
        ...
