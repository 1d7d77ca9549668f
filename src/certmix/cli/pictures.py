"""Pictures that the command line writes."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from certmix.errors import InputError

FIGURES = (".png", ".pdf", ".svg")


def check_picture(path: Path) -> None:
    """Refuse, before any work, a picture that cannot be written."""
    if path.suffix.lower() not in FIGURES:
        raise InputError(f"--plot {path}: the name must end with {', '.join(FIGURES)}")
    if path.is_dir():
        raise InputError(f"--plot {path}: it is a directory")
    if not path.parent.is_dir():
        raise InputError(f"--plot {path}: there is no folder {str(path.parent)!r}")


def write_picture(figure: Any, path: Path) -> None:
    """Write a matplotlib figure in the format that the name tells."""
    from certmix.io.atomic import write_atomically

    picture = io.BytesIO()
    figure.savefig(picture, format=path.suffix[1:].lower(), dpi=200)
    write_atomically(path, picture.getvalue())
