"""HTML that is safe by construction: whatever is not markup already is escaped."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from typing import Any

_VOID = frozenset({"br", "hr", "input", "meta", "path", "line", "rect", "polyline"})


class Markup(str):
    """Text that is HTML."""

    __slots__ = ()


Child = str | Iterable["Child"] | None


def tag(name: str, *children: Child, **attributes: Any) -> Markup:
    """An element. Texts among its children and the values of its attributes are escaped.

    Attributes that are None or False are left out, True stands alone. ``class_`` is class, other underscores are
    dashes.
    """
    said = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{name}{said}>" if name in ("br", "hr", "input", "meta") else f"<{name}{said}/>")
    return Markup(f"<{name}{said}>{joined(*children)}</{name}>")


def joined(*children: Child) -> Markup:
    """Children one after the other."""
    return Markup("".join(_child(child) for child in children))


def own_words(text: str) -> Markup:
    """A name that somebody else has chosen: letters that run from right to left stay inside it."""
    return tag("bdi", text)


def _child(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, str):
        return html.escape(child)
    return joined(*child)


def _attribute(key: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    key = key.rstrip("_").replace("_", "-")
    return f" {key}" if value is True else f' {key}="{html.escape(str(value))}"'


def embedded(value: Any) -> Markup:
    """JSON for a script element: nothing in it can end the element or begin a comment."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)
