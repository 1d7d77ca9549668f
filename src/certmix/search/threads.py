"""Threads for compiled code that holds no interpreter lock."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

CHUNKS_PER_THREAD = 4


class Threads:
    """Runs a function over ranges of rows, in several threads when there are enough rows.

    The rows are independent of each other, so the result does not depend on the number of threads.
    """

    def __init__(self, count: int) -> None:
        self.count = max(1, count)
        self._pool = ThreadPoolExecutor(self.count) if self.count > 1 else None

    def over(self, rows: int, work: Callable[[int, int], object]) -> None:
        """Call ``work(first, last)`` on pieces that cover ``range(rows)``."""
        if self._pool is None or rows < 2:
            work(0, rows)
            return
        pieces = min(rows, self.count * CHUNKS_PER_THREAD)
        ends = [rows * i // pieces for i in range(pieces + 1)]
        for future in [self._pool.submit(work, a, b) for a, b in itertools.pairwise(ends)]:
            future.result()

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
