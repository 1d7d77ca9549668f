"""An observer that does nothing; a base for those that do a little."""

from __future__ import annotations

from typing import TYPE_CHECKING

from certmix.ledger import Ledger, Progress
from certmix.problem import Problem

if TYPE_CHECKING:
    from certmix.result import Result


class Silent:
    """Does nothing."""

    def started(self, problem: Problem, engine: str, ledger: Ledger) -> None:
        pass

    def message(self, text: str) -> None:
        pass

    def progressed(self, progress: Progress) -> None:
        pass

    def finished(self, result: Result) -> None:
        pass
