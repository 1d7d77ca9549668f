"""The unit of work: one run, stored when it is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Record = dict[str, Any]
"""What a cell leaves: plain values, ready for JSON."""
Tell = Callable[[str], None]
"""Where a cell tells how it is getting on."""


@dataclass(frozen=True)
class Cell:
    """One run of one method on one data set.

    Attributes
    ----------
    key : str
        Name of its file; two pieces that need the same run use the same key.
    title : str
        What it is, for the progress line.
    options : mapping
        What it is made with; a stored record made with anything else is stale.
    make : function
        Does the work.
    words : function
        One line about a record.
    seconds : float
        The time limit, for a run that is likely to use it; 0 for one that is likely to end long before.
    """

    key: str
    title: str
    options: Mapping[str, Any]
    make: Callable[[Tell], Record]
    words: Callable[[Record], str]
    seconds: float = field(default=0.0)
