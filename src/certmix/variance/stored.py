"""What a run with an unknown variance can go on from: bounds at known variances, and the solve that is not over."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from certmix.certificate.envelope import Solved
from certmix.concluding import build_result
from certmix.ledger import Ledger
from certmix.problem import Problem
from certmix.state import State
from certmix.status import Termination, Tolerances

Scale = float | np.ndarray  # 1 / variance, of all features or of each


class Cut(NamedTuple):
    """A solve at a known variance that is not over: which one, what is found and proved so far, how it goes on."""

    scale: Scale
    squares: bool
    labels: np.ndarray | None
    bound: float
    state: State

    @staticmethod
    def of(scale: Scale, squares: bool, ledger: Ledger) -> Cut:
        whose, bound = ledger.resumable, ledger.bound
        state = State() if whose is None else whose.state()
        found = ledger.incumbent  # after the state: one as good as what nodes were closed by
        return Cut(scale, squares, None if found is None else found.labels, bound, state)

    def is_at(self, scale: Scale, squares: bool) -> bool:
        return squares == self.squares and np.array_equal(scale, self.scale)

    @property
    def name(self) -> str:
        """Of its problem: what is kept of a state is written once, so another problem needs another name."""
        text = repr((np.asarray(self.scale).tolist(), self.squares))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def stored(begun: bool, solved: Sequence[Solved], cut: Cut | None) -> State:
    """For a later run."""
    numbers: dict[str, Any] = {
        "begun": begun,
        "solved": [{**one.entry, "bound": one.result.lower_bound} for one in solved],
    }
    arrays = {"labels": np.array([one.result.labels for one in solved], dtype=np.int64)}
    if cut is None:
        return State.joined(run=State(numbers, arrays))
    bound = cut.bound if math.isfinite(cut.bound) else None
    numbers["cut"] = {"scale": np.asarray(cut.scale).tolist(), "squares": cut.squares, "bound": bound}
    arrays |= {} if cut.labels is None else {"cut": cut.labels}
    return State.joined(run=State(numbers, arrays), **{cut.name: cut.state})


def begun_in(state: State) -> bool:
    return bool(state.of("run").numbers["begun"])


def solved_in(state: State, known: Any, engine: str) -> list[Solved]:
    """The bounds; ``known(entry)`` makes the problem of each. Their records are gone."""
    own, found = state.of("run"), []
    for entry, labels in zip(own.numbers["solved"], own.arrays["labels"], strict=True):
        problem: Problem = known(entry)
        ledger = Ledger(problem, Tolerances())
        ledger.offer(labels, "resumed")
        ledger.raise_bound(entry["bound"], whole=True)
        result = build_result(
            problem,
            ledger,
            engine=engine,
            termination=Termination.EXHAUSTED,
            certificate_level=ledger.certificate_level,
        )
        which = {name: entry[name] for name in ("squares", "feature") if name in entry}
        scale = entry["scale"][0] if "feature" in entry else _scale(entry)
        found.append(Solved(scale, problem, result, None, **which))
    return found


def cut_in(state: State) -> Cut | None:
    """The solve that was not over."""
    own = state.of("run")
    entry = own.numbers.get("cut")
    if entry is None:
        return None
    bound = -math.inf if entry["bound"] is None else entry["bound"]
    cut = Cut(_scale(entry), entry["squares"], own.arrays.get("cut"), bound, State())
    return cut._replace(state=state.of(cut.name))


def _scale(entry: Mapping[str, Any]) -> Scale:
    return np.array(entry["scale"]) if isinstance(entry["scale"], list) else float(entry["scale"])
