"""The report as one page that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from certmix.io.atomic import write_atomically
from certmix.plotting.margins import Margins, margins_of
from certmix.reporting import about, sections
from certmix.reporting.markup import Markup, embedded, joined, tag
from certmix.reporting.samples import Shown, payload
from certmix.result import Result


def report(result: Result, path: str | Path, *, stability: Any = None, data: Any = None) -> Path:
    """Write a result as one HTML page that needs no network and nothing beside it.

    Parameters
    ----------
    result : Result
        A loaded one will do.
    path : str or Path
        The page.
    stability : mapping, path of stability.json, or what ``certmix.stability`` returns, optional
        Margins of the samples.
    data : array-like of shape (n, d), optional
        The samples as they were clustered, where the result does not hold them.

    Returns
    -------
    Path
        Where the page is.
    """
    margins = None if stability is None or result.labels is None else margins_of(result, stability)
    write_atomically(Path(path), page(result, margins, data=data).encode("utf-8", "replace"))
    return Path(path)


def page(result: Result, margins: Margins | None = None, *, data: Any = None) -> str:
    """The page as text."""
    script, style = _part("report.js"), _part("report.css")
    parts: list[Markup | None] = [about.headline(result)]
    shown = None if result.labels is None else Shown(result, margins, data)
    if shown is not None:
        parts += [sections.clusters(shown), sections.components(shown)]
    parts.append(tag("div", about.asked(result), about.found(result), class_="beside"))
    if shown is not None:
        parts += [sections.means(shown), sections.certainty(shown), sections.uncertain(shown)]
    parts += [about.constraints(result), about.progress(result), about.proof(result), about.origin(result)]
    return Template(_part("report.html")).substitute(
        title=tag("title", "certmix report"),
        # Only this very script may run, and nothing may be fetched.
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        style=style,
        body=joined(*parts),
        data=embedded({"samples": None} if shown is None else payload(shown)),
        script=script,
    )


def _part(name: str) -> str:
    return files("certmix.reporting").joinpath(name).read_text(encoding="utf-8")
