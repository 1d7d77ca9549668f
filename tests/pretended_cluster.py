"""A cluster in this process: tasks and answers are pickled on their way, come in any order, and some get lost."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import numpy as np


class Pretended:
    """Stands for :class:`certmix.cluster.Cluster`."""

    def __init__(self, rng: np.random.Generator, count: int = 3, lost: float = 0.1) -> None:
        self._rng, self.count, self._lost = rng, count, lost
        self.answered = 0
        self.working = False  # on a task: the engines of workers have no cluster

    def side_by_side(self, tasks, over, *shared):
        waiting, running = enumerate(tasks), []
        while not over():
            while len(running) < self.count and (following := next(waiting, None)) is not None:
                running.append(following)
            if not running:
                return
            number, task = running.pop(int(self._rng.integers(len(running))))
            if self._rng.random() < self._lost:
                continue
            self.working = True
            answer = pickle.loads(pickle.dumps(task))(*pickle.loads(pickle.dumps(shared)))
            self.working = False
            self.answered += 1
            yield number, pickle.loads(pickle.dumps(answer))


@contextmanager
def pretended(rng: np.random.Generator, **given) -> Iterator[Pretended]:
    """Engines work on a pretended cluster."""
    cluster = Pretended(rng, **given)

    @contextmanager
    def opened(options) -> Iterator[Pretended | None]:
        yield None if cluster.working else cluster

    with (
        mock.patch("certmix.search.sdp_engine.opened", opened),
        mock.patch("certmix.search.engines.opened", opened),
        mock.patch("certmix.parts.engine.opened", opened),
    ):
        yield cluster
