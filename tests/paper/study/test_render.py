"""Sections as Markdown, HTML and CSV."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from certmix.paper.study.render import as_html, markdown, page_html, page_markdown
from certmix.paper.study.section import Bullets, Figure, Heading, Section, Text
from certmix.paper.study.tables import Table, decimals, percent, seconds

SECTION = Section(
    "part",
    "A < B",
    [
        Text("`code` & **bold**"),
        Heading("below"),
        Bullets(["one", "two"]),
        Table("numbers", "caption", ["", "n", "word"], [["a|b", "1.5", "x"], ["c", "–", "y"]]),
        Figure("curve", "what it shows", lambda: None),
    ],
)


class Balanced(HTMLParser):
    """Notes tags that are not closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.wrong = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in ("img", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def test_markdown():
    """Headings, lists, tables with numbers to the right, links to the files."""
    text = markdown(SECTION)
    for line in (
        "## A < B",
        "`code` & **bold**",
        "### below",
        "- two",
        "| a\\|b | 1.5 | x |",
        "| --- | ---: | --- |",
        "*caption* ([CSV](tables/numbers.csv))",
        "![what it shows](figures/curve.png)",
    ):
        assert line in text.splitlines() or line in text


def test_html_is_escaped_and_balanced():
    """Text cannot become markup, and every tag is closed."""
    text = page_html("T & T", ["lead"], [as_html(SECTION)])
    assert "<h2>A &lt; B</h2>" in text
    assert "<code>code</code> &amp; <strong>bold</strong>" in text
    assert '<td class="number">1.5</td>' in text
    assert '<img src="figures/curve.svg" alt="what it shows">' in text
    parser = Balanced()
    parser.feed(text)
    assert parser.wrong == []
    assert parser.open == []


def test_page_in_markdown():
    """Title, lead and sections in order."""
    assert page_markdown("T", ["lead"], ["## a\n", "## b\n"]) == "# T\n\nlead\n\n## a\n\n## b\n"


def test_csv_holds_records_with_all_digits():
    """Where there are records, the file has them; a missing number is blank."""
    table = Table(
        "t", "c", ["shown"], [["1.2"]], [{"x": 1.23456789012, "y": None}, {"x": float("inf"), "y": "a,b"}]
    )
    assert table.csv() == 'x,y\n1.23456789012,\n,"a,b"\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (decimals(None, 2), "–"),
        (decimals(1.005, 2), "1.00"),
        (decimals(-2.2e5, 2), "-2.2e+05"),
        (percent(0.5), "50.0 %"),
        (percent(None), "–"),
        (seconds(0.0042), "0.004"),
        (seconds(3.14159), "3.14"),
        (seconds(61.2), "61"),
        (seconds(None), "–"),
    ],
)
def test_numbers(text, expected):
    """Numbers as the tables show them."""
    assert text == expected
