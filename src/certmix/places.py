"""Objects that are known by their places: nothing is imported before it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def at(place: str) -> Any:
    """The object at ``module:name``."""
    module, name = place.split(":")
    return getattr(import_module(module), name)
