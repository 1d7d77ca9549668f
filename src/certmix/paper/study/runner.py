"""Runs pieces: cells that are not stored yet, then sections, then the page."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path

from certmix.errors import InputError
from certmix.observers.wording import duration
from certmix.paper.study.cells import Cell, Record, Tell
from certmix.paper.study.page import write_page, write_section
from certmix.paper.study.pieces import PIECES, piece
from certmix.paper.study.settings import Settings
from certmix.paper.study.store import Store


class Interrupted(KeyboardInterrupt):
    """The run was stopped; what was finished before is stored."""

    def __init__(self, finished: int, cells: int) -> None:
        super().__init__(f"{finished} of {cells} runs are finished")
        self.finished, self.cells = finished, cells


def run(names: Sequence[str], settings: Settings, directory: Path, tell: Tell) -> list[str]:
    """Run pieces, write their files and the page; return the names of the sections on the page.

    Raises
    ------
    Interrupted
        After Ctrl-C or a termination signal. Finished cells and pieces stay in the directory.
    """
    plans = [(name, piece(name), piece(name).cells(settings)) for name in names]
    cells = {cell.key: cell for _, _, planned in plans for cell in planned}
    store = Store(directory)
    records = {key: record for key, cell in cells.items() if (record := store.find(cell)) is not None}
    _announce(names, list(cells.values()), set(records), settings, directory, tell)
    try:
        waiting = list(cells)  # a run that an earlier piece has needed too is not told again
        for name, asked, planned in plans:
            for cell in planned:
                if cell.key not in waiting:
                    continue
                waiting.remove(cell.key)
                head = f"[{len(cells) - len(waiting):>{len(str(len(cells)))}}/{len(cells)}] {name}"
                _do(cell, head, store, records, tell)
            tell(f"{name}: writing tables and figures")
            section = asked.section(settings, {cell.key: records[cell.key] for cell in planned})
            write_section(directory, section, _made_with(settings))
            write_page(directory, PIECES)
    except KeyboardInterrupt:
        raise Interrupted(len(records), len(cells)) from None
    return write_page(directory, PIECES)


def _do(cell: Cell, head: str, store: Store, records: dict[str, Record], tell: Tell) -> None:
    """Make a cell unless it is stored."""
    if cell.key in records:
        tell(f"{head}: {cell.title}: {cell.words(records[cell.key])} (finished before)")
        return
    tell(f"{head}: {cell.title}")
    try:
        record = cell.make(lambda text: tell(f"    {text}"))
    except InputError as error:
        raise InputError(f"{cell.title}: {error}") from None
    records[cell.key] = store.keep(cell, record)
    tell(f"    {cell.words(records[cell.key])}")


def _announce(
    names: Sequence[str],
    cells: Sequence[Cell],
    stored: set[str],
    settings: Settings,
    directory: Path,
    tell: Tell,
) -> None:
    most = sum(cell.seconds for cell in cells if cell.key not in stored)
    tell(f"reproducing {', '.join(names)} in {directory}, at most {settings.time_limit:g} s a run")
    kept = f", {len(stored)} of them finished before" if stored else ""
    tell(f"{len(cells)} runs{kept}; those that may use their whole time limit add up to {duration(most)}")


def _made_with(settings: Settings) -> str:
    system = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return f"Made with `--time-limit {settings.time_limit:g}`, seed {settings.seed}, {system}."
