"""Formulas as MathML, which browsers render by themselves: no script, no network."""

from __future__ import annotations

import html
import re

from latex2mathml.converter import convert

_INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', flags=re.S)
_DISPLAYED = re.compile(r'<div class="arithmatex">\\\[(.*?)\\\]</div>', flags=re.S)


def rendered(page: str) -> str:
    """The page with the formulas that ``pymdownx.arithmatex`` has marked."""
    page = _INLINE.sub(lambda found: convert(html.unescape(found[1]).strip()), page)
    return _DISPLAYED.sub(
        lambda found: (
            f'<div class="formula">{convert(html.unescape(found[1]).strip(), display="block")}</div>'
        ),
        page,
    )
