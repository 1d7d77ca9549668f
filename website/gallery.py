"""Examples as pages: text and code of ``examples/plot_*.py`` in turn, with what they print and draw.

The format is that of Sphinx-Gallery: the docstring is title and introduction; comments after ``# %%`` are text.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Block:
    """A piece of an example: text to read, or code to run."""

    runs: bool
    text: str


@dataclass(frozen=True)
class Shown:
    """An example after it was run: a page, and its pictures by name."""

    title: str
    about: str
    page: str
    pictures: dict[str, bytes]


def blocks(source: str) -> list[Block]:
    """The pieces of an example in their order."""
    docstring = ast.get_docstring(ast.parse(source)) or ""
    found = [Block(False, docstring)]
    rest = source[source.index('"""', source.index('"""') + 3) + 3 :]
    for i, piece in enumerate(re.split(r"^# %%.*\n", rest, flags=re.M)):
        lines = piece.splitlines()
        text = []
        while i > 0 and lines and lines[0].startswith("#"):
            text.append(lines.pop(0)[1:].removeprefix(" "))
        if text:
            found.append(Block(False, "\n".join(text)))
        if code := "\n".join(lines).strip("\n"):
            found.append(Block(True, code))
    return found


def shown(path: Path) -> Shown:
    """Run an example and show it."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    title, about, page = path.stem, "", []
    pictures: dict[str, bytes] = {}
    names: dict[str, object] = {"__name__": "__main__"}
    for i, block in enumerate(blocks(path.read_text(encoding="utf-8"))):
        if not block.runs:
            if i == 0:
                title, _, rest = block.text.strip().partition("\n")
                about = re.sub(r"^=+\n+", "", rest).strip()
                page += [f"# {title}", about]
            else:
                page.append(block.text)
            continue
        page.append(f"```python\n{block.text.replace(chr(10) + 'plt.show()', '')}\n```")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block.text, str(path), "exec"), names)
        if printed.getvalue().strip():
            page.append(f"```text\n{printed.getvalue().rstrip()}\n```")
        for number in plt.get_fignums():
            name = f"{path.stem}-{len(pictures) + 1}.png"
            picture = io.BytesIO()
            plt.figure(number).savefig(picture, format="png", dpi=110)
            pictures[name] = picture.getvalue()
            page.append(f"![{title}]({name})")
        plt.close("all")
    return Shown(title, about, "\n\n".join(page) + "\n", pictures)


def index(examples: dict[str, Shown]) -> str:
    """The page of all examples, each with its first picture."""
    cards = []
    for name, example in examples.items():
        picture = next(iter(example.pictures))
        cards.append(
            f"-   [![{example.title}]({picture})]({name}.md)\n\n    **[{example.title}]({name}.md)**\n\n"
            f"    {' '.join(example.about.split())}"
        )
    about = (
        "Every example is a script in `examples/`. The pages show what the scripts printed and drew when the site was "
        "built."
    )
    return (
        f'# Gallery\n\n{about}\n\n<div class="grid cards" markdown>\n\n' + "\n\n".join(cards) + "\n\n</div>\n"
    )
