"""``certmix export``: a problem as a model file for other solvers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from certmix.cli.building import build
from certmix.cli.commands import among
from certmix.cli.parsing import whole
from certmix.cli.request import Request
from certmix.options import LOGARITHMS, Options

_MODEL_FILE = "Model file"


def export_command(
    request: Request,
    out: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Where to write the model.", rich_help_panel=_MODEL_FILE
        ),
    ],
    formulation: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="miqp (piecewise-linear logarithm) or minlp (Problem 1 as it is).",
            rich_help_panel=_MODEL_FILE,
            autocompletion=among(("miqp", "minlp")),
        ),
    ] = "miqp",
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="gms, lp, mps, nl or bar. Default: how FILE ends.",
            rich_help_panel=_MODEL_FILE,
            autocompletion=among(("gms", "lp", "mps", "nl", "bar")),
        ),
    ] = None,
    logarithm: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            help="Logarithm of miqp: tangent (from below) or chord (from above).",
            rich_help_panel=_MODEL_FILE,
            autocompletion=among(LOGARITHMS),
        ),
    ] = LOGARITHMS[0],
    breakpoints: Annotated[
        int,
        typer.Option(metavar="N", help="Its breakpoints.", rich_help_panel=_MODEL_FILE, parser=whole),
    ] = 10,
) -> int:
    """Write the paper's model of a problem as a file for other solvers.

    The optimum of the minlp is that of the problem; the optimum of the miqp
    is a lower bound with tangents, an approximation with chords.
    """
    Options(logarithm=logarithm, breakpoints=breakpoints)  # a bad option is told before the data are read

    from certmix.paper.formulation.export import build as build_model
    from certmix.paper.formulation.export import check_format, export

    form = form or out.suffix.removeprefix(".")
    check_format(formulation, form)
    asked = build(request)
    for line in (*(f"note: {n}" for n in asked.notes), *(f"warning: {w}" for w in asked.warnings)):
        print(line, file=sys.stderr)
    found = build_model(asked.problem, formulation, logarithm=logarithm, breakpoints=breakpoints)
    export(found, form, out)
    model = found.model
    print(
        f"{out}: {formulation} model with {model.nvariables():,} variables and {model.nconstraints():,} constraints",
        file=sys.stderr,
    )
    return 0
