"""The examples of the gallery run, and draw something."""

from __future__ import annotations

from pathlib import Path

import gallery
import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path):
    """Every example runs from its first line to its last, and its page has title, text, code and a picture."""
    assert path.stem.startswith("plot_")
    found = gallery.shown(path)
    assert found.pictures
    assert all(picture.startswith(b"\x89PNG") for picture in found.pictures.values())
    assert found.page.startswith(f"# {found.title}\n")
    assert found.about
    assert "```python" in found.page
    assert all(f"]({name})" in found.page for name in found.pictures)


def test_blocks_of_an_example():
    """The docstring and comments after %% are text, all else is code."""
    source = '"""\nTitle\n=====\n\nWords.\n"""\n\nx = 1\n\n# %%\n# More\n# words.\n\n# a comment of the code\ny = 2\n'
    found = gallery.blocks(source)
    assert [block.runs for block in found] == [False, True, False, True]
    assert found[0].text == "Title\n=====\n\nWords."
    assert found[1].text == "x = 1"
    assert found[2].text == "More\nwords."
    assert found[3].text == "# a comment of the code\ny = 2"
