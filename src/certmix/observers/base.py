"""What an observer is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from certmix.ledger import Ledger
    from certmix.problem import Problem
    from certmix.result import Result


@dataclass(frozen=True)
class Progress:
    """The state of a run at one moment."""

    seconds: float
    nodes: int
    open_nodes: int
    incumbent: float
    bound: float
    source: str = ""
    """Where a new incumbent came from; empty when there is none."""
    phase: str = ""
    """What is being done, in words."""


class Observer(Protocol):
    """Every method may do nothing. They are called by one thread at a time, but not always by the same."""

    def started(self, problem: Problem, engine: str, ledger: Ledger) -> None: ...

    def message(self, text: str) -> None: ...

    def progressed(self, progress: Progress) -> None: ...

    def finished(self, result: Result) -> None: ...


class Silent:
    """An observer that does nothing; a base for those that do a little."""

    def started(self, problem: Problem, engine: str, ledger: Ledger) -> None:
        pass

    def message(self, text: str) -> None:
        pass

    def progressed(self, progress: Progress) -> None:
        pass

    def finished(self, result: Result) -> None:
        pass
