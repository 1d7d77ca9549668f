"""Threads for compiled code that holds no interpreter lock."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from queue import SimpleQueue

CHUNKS_PER_THREAD = 4

Task = tuple["Future[object]", Callable[[], object]]


class Threads:
    """Runs a function over ranges of rows, in several threads when there are enough rows.

    The rows are independent of each other, so the result does not depend on the number of threads. Nobody waits for
    these threads when the program ends: one may be in a long computation that the run has given up.
    """

    def __init__(self, count: int) -> None:
        self.count = max(1, count)
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        if self.count > 1:
            for _ in range(self.count):
                threading.Thread(target=_work, args=(self._tasks,), name="certmix", daemon=True).start()

    def over(self, rows: int, work: Callable[[int, int], object]) -> None:
        """Call ``work(first, last)`` on pieces that cover ``range(rows)``."""
        if self.count == 1 or rows < 2:
            work(0, rows)
            return
        pieces = min(rows, self.count * CHUNKS_PER_THREAD)
        ends = [rows * i // pieces for i in range(pieces + 1)]
        futures: list[Future[object]] = []
        for a, b in itertools.pairwise(ends):
            futures.append(Future())
            context = copy_context()
            self._tasks.put((futures[-1], lambda context=context, a=a, b=b: context.run(work, a, b)))  # type: ignore[misc]
        for future in futures:
            future.result()

    def close(self) -> None:
        """Let the threads end after what they are doing."""
        if self.count > 1:
            for _ in range(self.count):
                self._tasks.put(None)

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _work(tasks: SimpleQueue[Task | None]) -> None:
    while (task := tasks.get()) is not None:
        future, work = task
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)
