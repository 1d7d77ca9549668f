"""Small tasks for tests of processes; they have to be found by name there."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

from certmix.ledger import Observer, Progress
from certmix.stopping import Stop


@dataclass(frozen=True)
class Number:
    """A task: which process it is done in, after something was printed."""

    def __call__(self, stop: Stop, observers: list[Observer] | None = None) -> int:
        print("this is not an answer", flush=True)
        for observer in observers or []:
            observer.progressed(Progress(0.0, 0, 0, math.inf, 1.5))
        return os.getpid()


@dataclass(frozen=True)
class Fails:
    def __call__(self, stop: Stop) -> None:
        raise ZeroDivisionError("by design")


@dataclass(frozen=True)
class Dies:
    """Takes its process with it, unless that is the one it must not."""

    spared: int

    def __call__(self, stop: Stop) -> str:
        if os.getpid() != self.spared:
            os._exit(7)
        return "done here"


@dataclass(frozen=True)
class Unsendable:
    """Comes to something that no pipe takes."""

    def __call__(self, stop: Stop) -> object:
        return (number for number in range(3))
