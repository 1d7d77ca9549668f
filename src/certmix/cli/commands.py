"""Commands as ``--help`` shows them, and what completes on the command line."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from typer.core import TyperCommand, TyperGroup

DATA_FILES = (".csv", ".tsv", ".tab", ".txt", ".npy", ".parquet", ".xlsx", ".gz")
COMPLETE = "_CERTMIX_COMPLETE"  # the shells' scripts ask for completions through this variable


def _without_types(params: Iterable[Any]) -> list[Any]:
    """Parameters whose help says no type where it says nothing: ``<bool>`` for a flag, ``<str>`` for an argument."""
    found = list(params)
    for param in found:
        if getattr(param, "is_flag", False):
            param.metavar = ""
        elif param.param_type_name == "argument":
            param.display_type_rich = lambda **_: None
    return found


class Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types(super().get_params(ctx))


class Group(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types(super().get_params(ctx))


def among(values: Iterable[str]) -> Callable[[str], list[str]]:
    """Complete one of these words."""
    words = tuple(values)

    def complete(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return complete


def data_or(values: Iterable[str]) -> Callable[[str], list[str]]:
    """Complete one of these words, or a data file. Where neither fits the shell completes any path."""
    words = among(values)

    def complete(incomplete: str) -> list[str]:
        folder, begin = os.path.split(incomplete)
        try:
            names = sorted(os.listdir(folder or "."))
        except OSError:
            names = []
        files = [n for n in names if n.startswith(begin) and Path(n).suffix.lower() in DATA_FILES]
        return [*words(incomplete), *(os.path.join(folder, name) for name in files)]

    return complete
