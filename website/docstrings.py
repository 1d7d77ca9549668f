"""Docstrings, which are written for Sphinx, as Markdown: formulas between dollars, roles as code."""

from __future__ import annotations

import re
from typing import Any

import griffe

_FORMULA = re.compile(r"^( *)\.\. math::\s*\n\s*\n((?:\1 +.*\n?|\s*\n)+)", flags=re.M)


def markdown(text: str) -> str:
    """A docstring with the roles of Sphinx put into Markdown."""
    text = re.sub(r":math:`([^`]*)`", r"$\1$", text)
    text = re.sub(r":[a-z]+:`~?([^`]*)`", r"`\1`", text)
    return _FORMULA.sub(lambda found: f"{found[1]}$$\n{found[2].strip()}\n{found[1]}$$\n\n", text)


class Sphinx(griffe.Extension):
    """Put every docstring into Markdown before it is read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)
