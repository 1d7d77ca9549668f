"""What somebody probably meant who wrote a name that does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_MOST_NAMES = 20


def did_you_mean(written: str, known: Iterable[object]) -> str:
    """The end of a sentence about an unknown name: the one that is most like it, or all there are."""
    names = [str(name) for name in known]
    close = difflib.get_close_matches(written, names, n=1, cutoff=0.6)
    if close:
        return f"; did you mean {close[0]!r}?"
    more = ", …" if len(names) > _MOST_NAMES else ""
    return f"; choose from {', '.join(names[:_MOST_NAMES])}{more}" if names else ""
