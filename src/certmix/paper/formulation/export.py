"""A problem's model as a file for other solvers, by Pyomo's writers."""

from __future__ import annotations

import tempfile
from pathlib import Path

from certmix.errors import InfeasibleError, InputError, UnsupportedError
from certmix.hints import did_you_mean
from certmix.io.atomic import write_atomically
from certmix.paper.formulation.model import Formulation
from certmix.presolve.feasibility import check_feasible
from certmix.presolve.instance import reduce
from certmix.problem import Problem

# format -> Pyomo's name for it, and the formulations it can express
FORMATS = {
    "gms": ("gams", ("minlp", "miqp")),
    "lp": ("cpxlp", ("miqp",)),
    "mps": ("mps", ("miqp",)),
    "nl": ("nl", ("minlp", "miqp")),
    "bar": ("bar", ("minlp", "miqp")),
}
FORMULATIONS = ("miqp", "minlp")


def check_format(formulation: str, form: str) -> None:
    """Refuse what a format cannot express."""
    if formulation not in FORMULATIONS:
        raise InputError(f"unknown formulation {formulation!r}{did_you_mean(formulation, FORMULATIONS)}")
    if form not in FORMATS:
        raise InputError(f"unknown format {form!r}{did_you_mean(form, FORMATS)}")
    if formulation not in FORMATS[form][1]:
        able = [name for name, (_, formulations) in FORMATS.items() if formulation in formulations]
        raise UnsupportedError(
            f"the format {form} has no logarithm, which the {formulation} model needs; use {', '.join(able)}, "
            f"or the formulation miqp"
        )


def build(
    problem: Problem, formulation: str, *, logarithm: str = "tangent", breakpoints: int = 10
) -> Formulation:
    """The Pyomo model of a problem."""
    check_feasible(problem)
    instance = reduce(problem)
    if instance.groups.contradiction:
        raise InfeasibleError("no clustering satisfies the constraints")
    if formulation == "minlp":
        from certmix.paper.formulation.minlp import minlp

        return minlp(instance)
    from certmix.paper.formulation.approximation import first_approximation
    from certmix.paper.formulation.miqp import miqp

    approximation = first_approximation(problem, logarithm, breakpoints, adaptive=True)  # type: ignore[arg-type]
    return miqp(instance, None if approximation is None else approximation.logarithms)


def export(formulation: Formulation, form: str, path: Path) -> None:
    """Write a model; the file appears whole or not at all."""
    writer, _ = FORMATS[form]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"model.{form}"
        formulation.model.write(str(file), format=writer, io_options={"symbolic_solver_labels": True})
        content = file.read_bytes()
    if form == "lp":
        content = content.replace(b" ^ 2", b"^2")  # SCIP takes a square only without blanks
    write_atomically(path, content)
