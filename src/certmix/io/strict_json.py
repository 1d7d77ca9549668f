"""Strict JSON: a number that is missing or infinite is null, no entry stands twice."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def dumps(document: Mapping[str, Any]) -> str:
    """Strict JSON, one line for every top-level key."""
    lines = [f"  {json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in document.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def loads(text: str) -> Any:
    """The value that a text stands for; ValueError where it is not strict JSON."""
    return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_doubles)


def finite(value: float) -> float | None:
    """The number, or None when it is infinite or not a number."""
    return float(value) if math.isfinite(value) else None


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not allowed")


def _no_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; an entry that stands twice would be read differently by others."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an entry stands twice in an object")
    return found
