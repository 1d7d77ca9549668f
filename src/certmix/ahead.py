"""Compiling ahead of need: what each part of the package compiles, and helper processes that do it side by side.

Numba compiles in one thread, so a helper is a process: it runs a part on a toy problem, and what it compiles is in the
cache on disk for everybody. Whoever needs a kernel that a helper is working on waits for it (:mod:`.kernels.compiled`),
so nothing has to be agreed on, and helpers may be ended at any moment.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from certmix.observers.base import Silent

if TYPE_CHECKING:
    from certmix.ledger import Ledger
    from certmix.problem import Problem

# The parts, the one that takes longest to compile first; each is a function of certmix.toys.
PARTS = ("start", "interval", "semidefinite", "pricing", "line", "rest")
# What engines need, in the order in which they need it.
NEEDED = {
    "dual": ("start", "interval", "pricing"),
    "interval": ("start", "interval"),
    "parts": ("start", "semidefinite"),
    "race": ("start", "interval", "pricing", "semidefinite"),
    "sdp": ("start", "semidefinite"),
}


def missing(parts: Iterable[str] = PARTS) -> list[str]:
    """The parts that have not been compiled, by this version on this machine."""
    return [part for part in parts if not _mark(part).exists()]


def compile_part(part: str) -> None:
    """Compile one part in this process and remember that."""
    from certmix import toys

    getattr(toys, part)()
    with suppress(OSError):  # a cache that can only be read
        _mark(part).touch()


def compile_all(parts: Sequence[str], processes: int) -> Iterator[tuple[str, str]]:
    """Compile parts in so many processes at a time; yields each when it is done, with what went wrong if anything."""

    def run(part: str) -> str:
        done = subprocess.run(_command([part]), stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return "" if done.returncode == 0 else (done.stderr.strip() or "it was killed").splitlines()[-1]

    with ThreadPoolExecutor(max_workers=max(1, processes)) as pool:
        waiting = {pool.submit(run, part): part for part in parts}
        for future in as_completed(waiting):
            yield waiting[future], future.result()


class Helpers(Silent):
    """An observer that lets helpers compile what a run needs later, while the run compiles what it needs first."""

    def __init__(self, threads: int) -> None:
        self.most = threads - 1
        self._running: list[subprocess.Popen[bytes]] = []

    def started(self, problem: Problem, engine: str, ledger: Ledger) -> None:
        later = NEEDED.get(engine, ())[1:]
        parts = missing(later) if self.most > 0 and later else []
        for i in range(min(self.most, len(parts))):
            self._start(parts[i :: self.most])

    def _start(self, parts: Sequence[str]) -> None:
        nowhere = subprocess.DEVNULL
        with suppress(OSError):  # without a helper the run compiles all of it
            self._running.append(
                subprocess.Popen(
                    _command(parts), stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True
                )
            )

    def __enter__(self) -> Helpers:
        return self

    def __exit__(self, *error: object) -> None:
        for helper in self._running:
            helper.kill()
            helper.wait()


def cache_folder() -> Path:
    """Where compiled kernels are kept."""
    from certmix.kernels.compiled import folder

    return folder()


def check_writable(folder: Path) -> None:
    """Raise OSError when nothing can be kept there."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        pass


def _mark(part: str) -> Path:
    from certmix.kernels.compiled import digest_of_all

    return cache_folder() / f"{part}-{digest_of_all()}.done"


def _command(parts: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "certmix.ahead", *parts]


def main(parts: Sequence[str]) -> None:
    """What a helper process does."""
    for part in parts:
        compile_part(part)


if __name__ == "__main__":
    main(sys.argv[1:])
