"""The page of the study: sections are kept as they are finished, and the page is made of those there are."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from certmix._version import __version__
from certmix.io.atomic import write_atomically, write_text
from certmix.io.strict_json import dumps
from certmix.paper.study import paper
from certmix.paper.study.render import FIGURES, TABLES, as_html, inline, markdown, page_html, page_markdown
from certmix.paper.study.section import Figure, Section
from certmix.paper.study.tables import Table

TITLE = "The experiments of the paper, run again"
FORMAT = "certmix-study-section"


def write_section(directory: Path, section: Section, made_with: str) -> None:
    """Write tables and figures of a section, and keep its words for the page.

    Parameters
    ----------
    made_with : str
        A sentence about options and machine that ends the section.
    """
    for folder in (directory / TABLES, directory / FIGURES, _place(directory, section.name).parent):
        folder.mkdir(parents=True, exist_ok=True)
    for block in section.blocks:
        if isinstance(block, Table):
            write_text(directory / TABLES / f"{block.name}.csv", block.csv())
        elif isinstance(block, Figure):
            _write_figure(directory / FIGURES, block)
    document = {
        "format": FORMAT,
        "name": section.name,
        "markdown": f"{markdown(section)}\n{made_with}\n",
        "html": as_html(section).replace(
            "</section>", f'<p class="caption">{inline(made_with)}</p></section>'
        ),
    }
    write_text(_place(directory, section.name), dumps(document))


def write_page(directory: Path, names: Sequence[str]) -> list[str]:
    """Write ``report.md`` and ``report.html`` of the sections that are there, in this order; return their names."""
    found = [section for section in (_read(directory, name) for name in names) if section is not None]
    lead = [
        f"Every number and figure of the experiments in {paper.source()}, made by `certmix reproduce` "
        f"(certmix {__version__}), with the paper's value beside ours.",
        "A bound is **verified** (checked by an independent program), **computed** (proved by certmix, not yet "
        "checked), **attested by** a solver (taken on its word) or there is **none**. The relative gap is "
        "(value - bound) / max(1, |value|).",
    ]
    write_text(directory / "report.md", page_markdown(TITLE, lead, [s["markdown"] for s in found]))
    write_text(directory / "report.html", page_html(TITLE, lead, [s["html"] for s in found]))
    return [s["name"] for s in found]


def _place(directory: Path, name: str) -> Path:
    return directory / "sections" / f"{name}.json"


def _read(directory: Path, name: str) -> dict[str, Any] | None:
    try:
        document = json.loads(_place(directory, name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        return None
    return document


def _write_figure(directory: Path, figure: Figure) -> None:
    import matplotlib as mpl

    from certmix.paper.study.drawing import RESOLUTION, STYLE

    with mpl.rc_context(STYLE):
        drawn = figure.draw()
        for kind, options in (("png", {"dpi": RESOLUTION}), ("svg", {"metadata": {"Date": None}})):
            content = io.BytesIO()
            drawn.savefig(content, format=kind, **options)
            write_atomically(directory / f"{figure.name}.{kind}", content.getvalue())
