"""Exported models are read again by solvers and have the same optimum."""

from __future__ import annotations

from pathlib import Path

import highspy
import pytest
from pyscipopt import Model

from certmix import solve
from certmix.cli.main import run
from certmix.paper.formulation.export import build, export
from certmix.problem import CannotLink, Implication, MaximumSize, MustLink, Problem

DATA = [0.1, 0.4, 1.9, 2.3, 6.0, 6.2]


def problem(**changes: object) -> Problem:
    constraints = [CannotLink(0, 5), MustLink(2, 3), Implication(4, 5, 1), MaximumSize(4)]
    return Problem([[x] for x in DATA], 2, variance=0.6, constraints=constraints, **changes)  # type: ignore[arg-type]


def scip_optimum(path: Path) -> float:
    model = Model()
    model.hideOutput()
    model.readProblem(str(path))
    model.optimize()
    assert model.getStatus() == "optimal"
    return float(model.getObjVal())


def test_the_minlp_read_again_has_the_problems_optimum(tmp_path: Path) -> None:
    """Written as .nl, read and solved by SCIP on its own."""
    path = tmp_path / "model.nl"
    export(build(problem(), "minlp"), "nl", path)
    assert scip_optimum(path) == pytest.approx(solve(problem(), "enumerate").objective, abs=1e-4)


@pytest.mark.parametrize("form", ["lp", "mps", "nl"])
def test_the_miqp_read_again_is_a_lower_bound(tmp_path: Path, form: str) -> None:
    """With tangents its optimum lies below the problem's, by no more than the error of the logarithm."""
    path = tmp_path / f"model.{form}"
    export(build(problem(), "miqp", breakpoints=40), form, path)
    optimum = solve(problem(), "enumerate").objective
    assert optimum - 0.01 < scip_optimum(path) < optimum + 1e-4


@pytest.mark.parametrize("form", ["lp", "mps"])
def test_fixed_weights_need_no_approximation(tmp_path: Path, form: str) -> None:
    """k-means: the MIQP is exact."""
    path = tmp_path / f"model.{form}"
    export(build(problem(weights="uniform"), "miqp"), form, path)
    optimum = solve(problem(weights="uniform"), "enumerate").objective
    assert scip_optimum(path) == pytest.approx(optimum, abs=1e-4)


@pytest.mark.parametrize("form", ["lp", "mps"])
def test_highs_reads_what_is_written(tmp_path: Path, form: str) -> None:
    """HiGHS has no mixed-integer quadratic solver, but it reads the same variables and rows."""
    path = tmp_path / f"model.{form}"
    formulation = build(problem(), "miqp")
    export(formulation, form, path)
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    assert 0 <= highs.getNumCol() - formulation.model.nvariables() <= 1  # one for the constant
    assert 0 <= highs.getNumRow() - formulation.model.nconstraints() <= 1


@pytest.mark.parametrize("formulation", ["minlp", "miqp"])
@pytest.mark.parametrize(("form", "words"), [("gms", "SOLVE GAMS_MODEL"), ("bar", "BINARY_VARIABLES")])
def test_text_for_gams_and_baron(tmp_path: Path, form: str, words: str, formulation: str) -> None:
    """Both models can be written for GAMS and BARON; the MINLP holds the logarithm."""
    path = tmp_path / f"model.{form}"
    export(build(problem(), formulation), form, path)
    text = path.read_text()
    assert words in text
    assert ("log(argument" in text) == (formulation == "minlp")


def test_the_command_writes_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The format follows the name of the file; constraints and options are those of solve."""
    path = tmp_path / "iris.mps"
    assert run(["export", "iris1d:n=9", "--formulation", "miqp", "--min-size", "2", "-o", str(path)]) == 0
    assert "miqp model with 93 variables" in capsys.readouterr().err
    assert path.read_text().startswith("* Source:")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["iris.mps"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--formulation", "minlp", "--format", "lp"], "the format lp has no logarithm"),
        (["--format", "xls"], "unknown format 'xls'"),
        (["--formulation", "sdp"], "unknown formulation 'sdp'"),
        (["--logarithm", "spline"], "unknown logarithm 'spline'"),
    ],
)
def test_what_cannot_be_written_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    """One sentence, exit code 2, and no file."""
    path = tmp_path / "model.lp"
    assert run(["export", "iris1d:n=9", *options, "-o", str(path)]) == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert len(errors.strip().splitlines()) == 1
    assert not path.exists()


def test_contradictory_constraints_are_not_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 4, as everywhere."""
    path = tmp_path / "model.lp"
    assert run(["export", "iris1d:n=9", "--min-size", "4", "-o", str(path)]) == 4
    assert not path.exists()
