"""What was found of a result and saved beside it, as JSON: read alike from a file, its content, or what gives it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from certmix.errors import InputError

T = TypeVar("T")


def understood(given: Any, what: str, read: Callable[[Any], T]) -> T:
    """What ``read`` makes of a mapping, of the path of a JSON file, or of an object with ``to_dict``.

    Errors are in words, and name the file, or ``what``.
    """
    if isinstance(given, (str, Path)):
        given, what = _read(Path(given)), str(given)
    else:
        given = getattr(given, "to_dict", lambda: given)()
    try:
        return read(given)
    except InputError as error:
        raise InputError(f"{what}: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        missing = f"the entry {error} is missing" if isinstance(error, KeyError) else str(error)
        raise InputError(f"{what} is damaged: {missing}") from None


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
