"""Tables of a report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from certmix.reporting.markup import Markup, tag


def table(
    head: Sequence[Markup | str],
    rows: Iterable[Sequence[Markup | str] | Markup],
    *,
    class_: str | None = None,
) -> Markup:
    """A table; rows are cells, or markup already. It scrolls by itself where it is wider than the page."""
    body = [row if isinstance(row, Markup) else tag("tr", [tag("td", cell) for cell in row]) for row in rows]
    found = tag(
        "table",
        tag("thead", tag("tr", [tag("th", h, scope="col") for h in head])),
        tag("tbody", body),
        class_=class_,
    )
    return tag("div", found, class_="scroll", tabindex="0")


def sortable(
    head: Sequence[tuple[str, str]],
    rows: Iterable[tuple[int, Sequence[tuple[Markup | str, object]]]],
    *,
    caption: str,
) -> Markup:
    """A table that the script sorts by any column; every cell has what is shown and what it is sorted by."""
    heads = [
        tag("th", tag("button", name, type="button"), scope="col", data_kind=kind, class_=kind)
        for name, kind in head
    ]
    body = [
        tag(
            "tr",
            [
                tag("td", what, data_value=value, class_=kind)
                for (what, value), (_, kind) in zip(cells, head, strict=True)
            ],
            data_sample=i,
            tabindex="0",
        )
        for i, cells in rows
    ]
    return tag(
        "div",
        tag(
            "table",
            tag("caption", caption),
            tag("thead", tag("tr", heads)),
            tag("tbody", body),
            class_="sortable",
        ),
        class_="scroll tall",
    )


def pairs(entries: Iterable[tuple[str, Markup | str]]) -> Markup:
    """Names and what there is to say of each."""
    return tag("dl", [[tag("dt", name), tag("dd", said)] for name, said in entries])
