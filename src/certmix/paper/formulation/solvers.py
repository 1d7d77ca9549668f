"""The solvers that can take a model: what each can do, whether it is here, and how it is called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from importlib.util import find_spec
from shutil import which
from typing import TYPE_CHECKING, Protocol

import numpy as np

from certmix.errors import InputError, UnsupportedError
from certmix.hints import did_you_mean
from certmix.places import at

if TYPE_CHECKING:
    from certmix.paper.formulation.model import Formulation


class Ending(Enum):
    """Why a solver stopped."""

    FINISHED = auto()
    INFEASIBLE = auto()
    ASKED = auto()
    """The watch asked it to."""
    TIME = auto()
    NODES = auto()
    FAILED = auto()
    """Numerical trouble; what it had told before still holds."""


@dataclass(frozen=True)
class Watch:
    """Whom a solver tells what it finds, while it runs.

    Parameters
    ----------
    incumbent : called with the values of ``assign`` of every better solution, in the order of its keys
    bound : called with the solver's lower bound, nodes solved and nodes open; returns True when it should stop
    """

    incumbent: Callable[[np.ndarray], None]
    bound: Callable[[float, int, int], bool]


@dataclass(frozen=True)
class Limits:
    """What a solver is allowed.

    Parameters
    ----------
    start : whether it begins from the values that the model's variables have
    gap, absolute_gap : the solver may stop when its own solution and bound are this close; what closes the run is the
        ledger's gap, which the watch looks at
    """

    seconds: float
    nodes: int | None
    threads: int
    seed: int
    start: bool
    gap: float = 0.0
    absolute_gap: float = 0.0


class Solver(Protocol):
    """A solver's interface. The lower bound it tells is that of the model, in exact arithmetic up to ``slack``."""

    title: str
    """Name and version, as the certificate says it."""

    def slack(self, formulation: Formulation) -> float:
        """How far the bound may lie above the truth, relative to ``max(1, |bound|)``, by the solver's tolerances."""
        ...

    def refusal(self, formulation: Formulation) -> str | None:
        """Why the solver, or its licence, cannot take this model; None when it can."""
        ...

    def solve(self, formulation: Formulation, watch: Watch, limits: Limits) -> Ending: ...


@dataclass(frozen=True)
class Entry:
    """How to find a solver: its Python package, its class, and which models it takes."""

    package: str
    place: str
    formulations: tuple[str, ...]
    install: str
    program: str = ""
    """A program that will do instead of the package."""


SOLVERS = {
    "scip": Entry(
        "pyscipopt", "certmix.paper.formulation.scip:Scip", ("minlp", "miqp"), "pip install pyscipopt"
    ),
    "gurobi": Entry(
        "gurobipy",
        "certmix.paper.formulation.gurobi:Gurobi",
        ("minlp", "miqp"),
        "pip install gurobipy (12 or later)",
    ),
    "copt": Entry("coptpy", "certmix.paper.formulation.copt:Copt", ("miqp",), "pip install coptpy"),
    "baron": Entry(
        "gamspy_base",
        "certmix.paper.formulation.baron:Baron",
        ("minlp", "miqp"),
        "pip install gamspy gamspy_baron, then gamspy install solver baron (or install GAMS)",
        program="gams",
    ),
}


def solver(name: str, formulation: str) -> Solver:
    """The solver of that name."""
    require_solver(name, formulation)
    found: Solver = at(SOLVERS[name].place)()
    return found


def require_solver(name: str, formulation: str) -> None:
    """Say in one sentence why a solver cannot be had; nothing is imported to find out."""
    if name not in SOLVERS:
        raise InputError(f"unknown solver {name!r}{did_you_mean(name, SOLVERS)}")
    entry = SOLVERS[name]
    if formulation not in entry.formulations:
        able = [other for other, e in SOLVERS.items() if formulation in e.formulations]
        raise UnsupportedError(f"{name} cannot solve the {formulation} model; {' and '.join(able)} can")
    if find_spec(entry.package) is None and not (entry.program and which(entry.program)):
        raise UnsupportedError(
            f"the solver {name} needs the Python package {entry.package}, which is not installed: {entry.install}"
        )
