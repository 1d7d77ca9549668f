"""What every piece of the study offers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from certmix.paper.study.cells import Cell, Record
from certmix.paper.study.section import Section
from certmix.paper.study.settings import Settings


class Piece(Protocol):
    """A piece first says what has to be run, then makes its section of the records."""

    name: str

    def cells(self, settings: Settings) -> list[Cell]: ...

    def section(self, settings: Settings, records: Mapping[str, Record]) -> Section:
        """The section, from the records of all its cells by their keys."""
        ...
