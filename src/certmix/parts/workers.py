"""Tasks side by side in threads; who waits for them hears every tenth of a second whether to go on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import TypeVar

from certmix.status import Termination
from certmix.stopping import Stop

A = TypeVar("A")
Task = Callable[[Stop], A]

LOOK = 0.1  # seconds between two questions whether to go on


def side_by_side(tasks: Iterable[Task[A]], count: int, over: Callable[[], bool]) -> Iterator[tuple[int, A]]:
    """Do tasks, so many at a time, and yield their numbers and answers as they come; the first ones begin first.

    Every task has a flag of its own. Once ``over`` says so, or when nobody asks for more answers, all flags are raised
    and nobody waits: a task that is late ends by itself.
    """
    waiting, running = enumerate(tasks), dict[int, Stop]()
    answers: SimpleQueue[tuple[int, A | BaseException]] = SimpleQueue()

    def work(number: int, task: Task[A], stop: Stop) -> None:
        try:
            answers.put((number, task(stop)))
        except BaseException as error:
            answers.put((number, error))

    def begin() -> bool:
        for number, task in waiting:
            stop = running[number] = Stop()
            given = number, task, stop
            threading.Thread(
                target=copy_context().run, args=(work, *given), name="certmix", daemon=True
            ).start()
            return True
        return False

    try:
        while not over():
            while len(running) < count and begin():
                pass
            if not running:
                return
            try:
                number, answer = answers.get(timeout=LOOK)
            except Empty:
                continue
            del running[number]
            if isinstance(answer, BaseException):
                raise answer
            yield number, answer
    finally:
        for stop in running.values():
            stop.hoist(Termination.INTERRUPTED)
