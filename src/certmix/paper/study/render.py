"""A section as Markdown and as HTML. Both say the same; neither knows what a piece is about."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from certmix.paper.study.section import Block, Bullets, Figure, Heading, Section, Text
from certmix.paper.study.tables import Table

FIGURES, TABLES = "figures", "tables"

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2, h3 { line-height: 1.25; margin-top: 2rem; }
table { border-collapse: collapse; margin: 1rem 0 .3rem; font-size: .9rem; display: block; overflow-x: auto; }
th, td { padding: .3rem .7rem; text-align: left; border-bottom: 1px solid #ddd; white-space: nowrap; }
.number { text-align: right; }
th { border-bottom: 2px solid #888; }
figure { margin: 1.5rem 0; }
img { max-width: 100%; height: auto; }
figcaption, .caption { color: #555; font-size: .9rem; margin: 0 0 1.5rem; }
code { background: #f2f2f2; padding: 0 .2rem; }
"""


# -- Markdown --------------------------------------------------------------------------------------------------
def markdown(section: Section) -> str:
    """A section in Markdown."""
    return "\n\n".join([f"## {section.title}", *(_markdown(block) for block in section.blocks)]) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Text(text):
            return text
        case Bullets(items):
            return "\n".join(f"- {item}" for item in items)
        case Heading(text):
            return f"### {text}"
        case Figure(name, caption, _):
            return f"![{caption}]({FIGURES}/{name}.png)\n\n*{caption}* ([SVG]({FIGURES}/{name}.svg))"
        case Table():
            lines = [_row(block.header), _row(["---:" if n else "---" for n in _numeric(block)])]
            lines += [_row(row) for row in block.rows]
            return "\n".join(lines) + f"\n\n*{block.caption}* ([CSV]({TABLES}/{block.name}.csv))"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


# -- HTML ------------------------------------------------------------------------------------------------------
def as_html(section: Section) -> str:
    """A section in HTML."""
    parts = [f'<section id="{section.name}">', f"<h2>{inline(section.title)}</h2>"]
    return "\n".join([*parts, *(_html(block) for block in section.blocks), "</section>"]) + "\n"


def _html(block: Block) -> str:
    match block:
        case Text(text):
            return f"<p>{inline(text)}</p>"
        case Bullets(items):
            return "<ul>" + "".join(f"<li>{inline(item)}</li>" for item in items) + "</ul>"
        case Heading(text):
            return f"<h3>{inline(text)}</h3>"
        case Figure(name, caption, _):
            place = f"{FIGURES}/{html.escape(name)}"
            return (
                f'<figure><img src="{place}.svg" alt="{html.escape(caption)}">'
                f'<figcaption>{inline(caption)} (<a href="{place}.png">PNG</a>)</figcaption></figure>'
            )
        case Table():
            kinds = ['<{} class="number">' if n else "<{}>" for n in _numeric(block)]
            head = _html_row("th", block.header, kinds)
            rows = "".join(f"<tr>{_html_row('td', row, kinds)}</tr>" for row in block.rows)
            link = f'<a href="{TABLES}/{html.escape(block.name)}.csv">CSV</a>'
            return (
                f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
                f'<p class="caption">{inline(block.caption)} ({link})</p>'
            )


def _html_row(tag: str, cells: Sequence[str], kinds: Sequence[str]) -> str:
    return "".join(
        f"{kind.format(tag)}{inline(cell)}</{tag}>" for kind, cell in zip(kinds, cells, strict=True)
    )


def _numeric(table: Table) -> list[bool]:
    """Which columns hold mostly numbers, or a dash in their place: those are set to the right."""
    columns = zip(*table.rows, strict=True) if table.rows else [()] * len(table.header)
    return [sum(bool(re.match(r"$|[-–>]|\d", cell)) for cell in c) > len(c) / 2 for c in map(list, columns)]


def inline(text: str) -> str:
    """A text with `code` and **bold** in HTML."""
    text = html.escape(text)
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", text)


def page_markdown(title: str, lead: Sequence[str], sections: Sequence[str]) -> str:
    """The whole page from sections already in Markdown."""
    return "\n\n".join([f"# {title}", *lead, *(s.rstrip() for s in sections)]) + "\n"


def page_html(title: str, lead: Sequence[str], sections: Sequence[str]) -> str:
    """The whole page from sections already in HTML; it needs no other file but its figures and tables."""
    words = "".join(f"<p>{inline(text)}</p>\n" for text in lead)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{html.escape(title)}</h1>\n{words}{''.join(sections)}</body>\n</html>\n"
    )
