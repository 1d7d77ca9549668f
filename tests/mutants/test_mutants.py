"""Planted bugs are noticed: every mutant of the table by the soundness program or by the test of its part."""

from __future__ import annotations

from pathlib import Path

import pytest
from checker_mutants import CHECKER as COUNTED
from kernel_mutants import KERNEL
from masses_mutants import CHECKED_MASSES
from mutant import Mutant
from planting import PACKAGE, trial
from problem_mutants import PROBLEM
from run_mutants import RUN
from search_mutants import SEARCH
from sensitivity_mutants import SENSITIVITY

CHECKER = (*COUNTED, *CHECKED_MASSES)
MUTANTS = (*KERNEL, *SEARCH, *PROBLEM, *RUN, *SENSITIVITY, *CHECKER)
FAST = [m for m in MUTANTS if m.fast]
SLOW = [m for m in MUTANTS if not m.fast]
CHECKS = sorted({(m.noticed_by, m.compiled) for m in MUTANTS})


def by_name(mutants: list[Mutant]) -> dict:
    return {"argvalues": mutants, "ids": [m.name for m in mutants]}


@pytest.mark.parametrize("mutant", **by_name(list(MUTANTS)))
def test_a_mutant_still_fits_the_code(mutant: Mutant) -> None:
    """The text that a mutant changes stands exactly once in its file, and changes."""
    assert (PACKAGE / mutant.file).read_text(encoding="utf-8").count(mutant.old) == 1
    assert mutant.new != mutant.old


def test_names_are_different() -> None:
    """A mutant can be told by its name."""
    assert len({m.name for m in MUTANTS}) == len(MUTANTS)


def test_the_documentation_counts_them() -> None:
    """docs/trust.md says how many there are."""
    text = (PACKAGE.parents[1] / "docs" / "trust.md").read_text(encoding="utf-8")
    assert f"A kept list of {len(MUTANTS) - len(CHECKER)} bugs" in text
    assert f"has {len(CHECKER)} bugs for the checker" in text


@pytest.mark.parametrize("mutant", **by_name(FAST))
def test_a_planted_bug_is_noticed(mutant: Mutant, tmp_path: Path) -> None:
    """Nobody can plant one of these without a check failing."""
    assert trial(mutant, tmp_path, mutant.noticed_by, compiled=mutant.compiled).noticed, mutant.says


@pytest.mark.slow
@pytest.mark.parametrize("mutant", **by_name(SLOW))
def test_every_planted_bug_is_noticed(mutant: Mutant, tmp_path: Path) -> None:
    """Nor one of these."""
    assert trial(mutant, tmp_path, mutant.noticed_by, compiled=mutant.compiled).noticed, mutant.says


@pytest.mark.slow
@pytest.mark.parametrize(("checks", "compiled"), CHECKS, ids=["; ".join(c) for c, _ in CHECKS])
def test_nothing_planted_nothing_noticed(checks: tuple[str, ...], compiled: bool, tmp_path: Path) -> None:
    """The checks themselves do not cry wolf, kernels in plain Python included."""
    answer = trial(None, tmp_path, checks, seeds=60, seconds=60.0, compiled=compiled)
    assert not answer.noticed, answer.text
