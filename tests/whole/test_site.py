"""The documentation as a site: nothing is left out of it, and it works from a disk."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import browser
import certmix
from certmix import plotting

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
TOOLS = ("mkdocs", "material", "mkdocstrings", "mkdocstrings_handlers", "latex2mathml")
MISSING = [name for name in TOOLS if find_spec(name) is None]
without_tools = pytest.mark.skipif(
    bool(MISSING),
    reason=f"the tools of the site are not installed ({', '.join(MISSING)}): make docs installs them",
)


def test_every_page_has_its_place():
    """The navigation names every page, and no page that does not exist."""
    named = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text()))
    pages = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")}
    assert named - {"gallery/index.md"} == pages


def test_every_public_name_is_in_the_reference():
    """What can be imported from certmix and certmix.plotting is described on a page of the reference."""
    text = "\n".join(path.read_text() for path in (DOCS / "api").glob("*.md"))
    words = set(re.findall(r"\w+", text))
    assert {*certmix.__all__, *plotting.__all__} - {"__version__"} <= words


@without_tools
def test_docstrings_become_markdown():
    """Formulas and roles of Sphinx are put into Markdown."""
    from docstrings import markdown

    text = "Minimise :math:`f(z)`; see :func:`certmix.solve`.\n\n.. math::\n\n    a + b\n    = c\n\nMore.\n"
    assert markdown(text) == "Minimise $f(z)$; see `certmix.solve`.\n\n$$\na + b\n    = c\n$$\n\nMore.\n"


@without_tools
def test_formulas_become_mathml():
    """A formula that was marked is MathML, escaped signs included."""
    from mathematics import rendered

    page = rendered(
        '<p><span class="arithmatex">\\(a &lt; b\\)</span></p><div class="arithmatex">\\[x^2\\]</div>'
    )
    assert page.count("<math") == 2
    assert "arithmatex" not in page
    assert "<mo>&#x0003C;</mo>" in page


@pytest.mark.slow
@without_tools
def test_the_site_is_built_and_searched_from_a_disk(tmp_path):
    """The site is built without a warning; in a browser nothing is fetched, formulas are there, and search finds."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "gallery" / "plot_first_clustering.html").is_file()
    assert "<math" in (tmp_path / "for-statisticians.html").read_text()
    assert "<math" in (tmp_path / "api" / "problem.html").read_text()
    outside = re.compile(r'<(?:script|link|img|iframe)[^>]+(?:src|href)="(?:https?:)?//')
    for page in tmp_path.rglob("*.html"):
        assert not outside.search(page.read_text()), page
    if browser.found() is None:
        pytest.skip("there is no Chromium here: the site was built, and not looked at in a browser")
    with browser.Browser() as chromium:
        chromium.open(tmp_path / "api" / "index.html")
        chromium.run("document.querySelector('[data-md-component=search-query]').focus()")
        chromium.type("replicates")
        chromium.run(
            """new Promise((done, failed) => { let turns = 0; const look = () => {
              const found = document.querySelector('[data-md-component=search-result]').innerText;
              if (found.includes('replicates together')) done();
              else if (turns++ > 300) failed(new Error(found));
              else setTimeout(look, 100); }; look(); })"""
        )
        assert chromium.said == []
        assert [url for url in chromium.fetched if not url.startswith(("file:", "data:"))] == []
