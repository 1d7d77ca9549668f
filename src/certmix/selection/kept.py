"""A comparison on disk: the run with every number of components in a folder of its own, as that of ``solve`` is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from certmix.errors import InputError
from certmix.ledger import Observer
from certmix.observers.snapshot import NAME, Snapshot
from certmix.problem import Problem
from certmix.result import Result
from certmix.resuming import finished
from certmix.saving import RESULT


@dataclass(frozen=True)
class Kept:
    """Where runs are kept, and whether those that are there go on."""

    directory: Path | None = None
    resumed: bool = False

    @staticmethod
    def of(keep: str | Path | None, resume: Path | None) -> Kept:
        if resume is None:
            return Kept(None if keep is None else Path(keep))
        require_comparison(Path(resume))
        return Kept(Path(resume), resumed=True)

    def observers(self, problem: Problem) -> tuple[Observer, ...]:
        """Whoever keeps the run with one number."""
        if self.directory is None:
            return ()
        return (Snapshot(folder(self.directory, problem.n_components), overwrite=True),)

    def unfinished(self, k: int) -> Path | None:
        """The folder of a run that was cut short."""
        if not self.resumed or self.directory is None:
            return None
        found = folder(self.directory, k)
        return found if (found / NAME).is_file() else None

    def finished(self, problem: Problem) -> Result | None:
        """What a run has found that was not cut short, if its certificate is confirmed."""
        if not self.resumed or self.directory is None:
            return None
        return finished(folder(self.directory, problem.n_components), problem)


def folder(directory: Path, k: int) -> Path:
    """That of one number of components."""
    return directory / f"k{k}"


def require_comparison(directory: Path) -> None:
    """An error in words where a folder holds no comparison that could be resumed."""
    if not any(path.name in (NAME, RESULT) for path in directory.glob("k*/*.json")):
        raise InputError(
            f"there is nothing to resume in {str(directory)!r}: there is no folder k1, k2, ... with a run"
        )
