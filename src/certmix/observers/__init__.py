"""Watchers of a run: log, live line, snapshots. They see the run and never steer it."""

from certmix.observers.base import Observer, Progress

__all__ = ["Observer", "Progress"]
