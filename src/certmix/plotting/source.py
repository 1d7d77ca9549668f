"""What a plot is drawn of: a result, or the folder that holds one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from certmix.errors import InputError
from certmix.plotting.margins import STABILITY, Margins, margins_of
from certmix.result import Result

Source = Result | str | Path


def loaded(source: Source) -> Result:
    """The result, or the one that was saved there."""
    return source if isinstance(source, Result) else Result.load(source)


def beside(source: Source, name: str = STABILITY) -> Path | None:
    """A file in the folder of a saved result, its margins say, if it is there."""
    if isinstance(source, Result):
        return None
    path = Path(source)
    found = (path if path.is_dir() else path.parent) / name
    return found if found.is_file() else None


def margins_for(source: Source, stability: Any = None) -> tuple[Result, Margins]:
    """A result and its margins, given or beside it."""
    result, known = loaded(source), beside(source) if stability is None else stability
    if known is None:
        raise InputError("there are no margins to plot: give stability=..., or a folder with stability.json")
    if result.labels is None:
        raise InputError("there is no clustering to plot: " + result.sentence())
    return result, margins_of(result, known)
