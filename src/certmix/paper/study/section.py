"""What a piece has to say: words, tables and figures in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from certmix.paper.study.tables import Table


@dataclass(frozen=True)
class Text:
    """A paragraph; ``code`` and **bold** are marked as in Markdown."""

    text: str


@dataclass(frozen=True)
class Bullets:
    """A list."""

    items: Sequence[str]


@dataclass(frozen=True)
class Heading:
    """A heading inside a section."""

    text: str


@dataclass(frozen=True)
class Figure:
    """A figure: ``draw`` returns a matplotlib figure; ``name`` is that of its files."""

    name: str
    caption: str
    draw: Callable[[], Any]


Block = Text | Bullets | Heading | Figure | Table


@dataclass(frozen=True)
class Section:
    """One piece of the study on the page."""

    name: str
    title: str
    blocks: Sequence[Block]
