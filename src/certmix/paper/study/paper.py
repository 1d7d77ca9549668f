"""The numbers that the paper prints, each with its place; they live in ``paper.json`` and nowhere else."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class PaperValue:
    """One printed value.

    Attributes
    ----------
    id : str
        ``piece/…``, the name under which the code asks for it.
    value : str or list
        As printed, with all its digits; a list for a printed table.
    place : str
        Where in the paper it stands.
    unit, note : str
    """

    id: str
    value: Any
    place: str
    unit: str = ""
    note: str = ""

    @property
    def number(self) -> float:
        return float(self.value)


@cache
def values() -> dict[str, PaperValue]:
    """All printed values by their ids."""
    document = json.loads((files("certmix.paper.study") / "paper.json").read_text(encoding="utf-8"))
    found = [PaperValue(**entry) for entry in document["values"]]
    return {value.id: value for value in found}


@cache
def source() -> str:
    """The paper itself, as a reference."""
    document = json.loads((files("certmix.paper.study") / "paper.json").read_text(encoding="utf-8"))
    return str(document["source"])


def printed(id: str) -> str:
    """A number as the paper prints it; a dash where it prints none."""
    found = values().get(id)
    return "–" if found is None else str(found.value)


def number(id: str) -> float:
    """A number of the paper; KeyError for an id that it does not have."""
    return values()[id].number


def rows(id: str) -> list[Any]:
    """A printed row or table."""
    return list(values()[id].value)
