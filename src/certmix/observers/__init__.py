"""Watchers of a run: log, live line, snapshots. They see the run and never steer it."""

from certmix.ledger import Observer, Progress

__all__ = ["Observer", "Progress"]
