"""A test file is found by the name of what it tests."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parents[1]
PACKAGE = TESTS.parent / "src" / "certmix"
WHOLE = ("fuzz", "mutants", "nasty", "whole")  # tests of the program as a whole


def test_a_test_file_has_the_name_of_its_module() -> None:
    """``tests/a/test_b.py`` or ``tests/a/test_b_what.py`` is about ``a/b.py`` or ``a/b/``, or about all of ``a/``."""
    astray = []
    for path in sorted(TESTS.rglob("test_*.py")):
        folder = path.parent.relative_to(TESTS)
        if folder.parts[:1] and folder.parts[0] in WHOLE:
            continue
        name = path.stem.removeprefix("test_") + "_"
        own = [p.stem for p in (PACKAGE / folder).glob("*") if p.suffix == ".py" or p.is_dir()]
        if not any(name.startswith(f"{module}_") for module in (*own, *folder.parts[-1:])):
            astray.append(str(path.relative_to(TESTS)))
    assert not astray
