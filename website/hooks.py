"""What the site adds to the pages in docs/: the gallery, and formulas."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import gallery
import mathematics
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]


def on_files(files: Files, *, config: Any) -> Files:
    """Run the examples and add their pages."""
    found = {path.stem: gallery.shown(path) for path in sorted((ROOT / "examples").glob("plot_*.py"))}
    pages: dict[str, str | bytes] = {"index.md": gallery.index(found)}
    for name, example in found.items():
        pages[f"{name}.md"] = example.page
        pages.update(example.pictures)
    for name, content in pages.items():
        files.append(File.generated(config, f"gallery/{name}", content=content))
    return files


def on_page_content(html: str, **_: Any) -> str:
    """Formulas as MathML."""
    return mathematics.rendered(html)
