"""The cache of compiled kernels knows what a kernel is made of."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from certmix.kernels import compiled


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The kernels' sources in a place where they can be changed, and a cache of their own."""
    here = tmp_path / "kernels"
    shutil.copytree(compiled._HERE, here, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(compiled, "_HERE", here)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    compiled._directory.cache_clear()
    yield here
    compiled._directory.cache_clear()


def test_ingredients_are_followed_through_imports() -> None:
    """The pricing kernel calls the interval kernel's chord, which calls propagation: all of them count."""
    assert {"pricing", "cells", "interval", "propagation", "splitting", "compiled"} <= compiled._ingredients(
        "pricing"
    )


def test_a_changed_callee_has_another_cache(copied: Path) -> None:
    """Changing a function that a kernel calls in another file must not leave the old compiled code in use."""
    before = compiled._directory("pricing"), compiled._directory("flow")
    with (copied / "propagation.py").open("a") as file:
        file.write("# changed\n")
    compiled._directory.cache_clear()
    assert compiled._directory("pricing") != before[0]
    assert compiled._directory("flow") == before[1]


def test_installations_of_different_dates_do_not_share(copied: Path) -> None:
    """Numba's index goes by the date of the file, so the same text of another date needs a directory of its own."""
    before = compiled._directory("pricing"), compiled._directory("flow")
    os.utime(copied / "pricing.py", ns=(1, 1))
    compiled._directory.cache_clear()
    assert compiled._directory("pricing") != before[0]
    assert compiled._directory("flow") == before[1]


def test_every_kernel_is_compiled_through_here() -> None:
    """No kernel goes to numba's own cache, which does not look at callees."""
    for path in Path(compiled.__file__).parent.glob("*.py"):
        if path.name not in ("compiled.py", "__init__.py"):
            assert "from numba import" not in path.read_text(), path.name
