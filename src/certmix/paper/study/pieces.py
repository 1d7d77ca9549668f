"""The pieces of the study, in the order of the page. Nothing is imported before it is asked for."""

from __future__ import annotations

from certmix.errors import InputError
from certmix.hints import did_you_mean
from certmix.paper.study.piece import Piece
from certmix.places import at

_PLACES = {
    "table2": "certmix.paper.study.table2:Table2",
    "figure1a": "certmix.paper.study.figure1a:Figure1a",
    "figure1b": "certmix.paper.study.figure1b:Figure1b",
    "restarts": "certmix.paper.study.restarts:Restarts",
    "bandi": "certmix.paper.study.bandi:Bandi",
    "pam50": "certmix.paper.study.pam50.piece:Pam50",
}
PIECES = tuple(_PLACES)
ALL = "all"


def piece(name: str) -> Piece:
    """The piece of that name."""
    found: Piece = at(_PLACES[name])()
    return found


def chosen(names: list[str]) -> list[str]:
    """The pieces that are asked for, in the order of the page; ``all`` is every one."""
    for name in names:
        if name not in (*PIECES, ALL):
            raise InputError(f"unknown piece {name!r}{did_you_mean(name, (*PIECES, ALL))}")
    return [name for name in PIECES if ALL in names or name in names]
