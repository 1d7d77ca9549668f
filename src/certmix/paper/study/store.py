"""Finished cells on disk, so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from certmix._version import __version__
from certmix.io.atomic import write_text
from certmix.io.strict_json import dumps
from certmix.paper.study.cells import Cell, Record

FORMAT = "certmix-study-cell"


class Store:
    """``DIRECTORY/cells/KEY.json``: the record of a cell with the options it was made with.

    A file is written in one step when its cell is finished, so it is whole or not there. A record counts only if it
    was made with the same options by the same version; a file that cannot be read is made again.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory / "cells"

    def path(self, cell: Cell) -> Path:
        return self.directory / f"{re.sub(r'[^A-Za-z0-9._-]+', '-', cell.key)}.json"

    def find(self, cell: Cell) -> Record | None:
        """The record of a cell, if it is there and not stale."""
        try:
            document = json.loads(self.path(cell).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(document, dict) or not isinstance(document.get("record"), dict):
            return None
        same = all(document.get(name) == value for name, value in self._head(cell).items())
        return document["record"] if same else None

    def keep(self, cell: Cell, record: Record) -> Record:
        """Write the record and return it as it will be read again."""
        text = dumps({**self._head(cell), "record": record})
        self.directory.mkdir(parents=True, exist_ok=True)
        write_text(self.path(cell), text)
        found: Record = json.loads(text)["record"]
        return found

    @staticmethod
    def _head(cell: Cell) -> dict[str, Any]:
        options = json.loads(json.dumps(dict(cell.options)))  # tuples become lists, as in the file
        return {"format": FORMAT, "version": __version__, "key": cell.key, "options": options}
