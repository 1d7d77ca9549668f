"""``certmix export``: a problem as a model file for other solvers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from certmix.cli import problem_options as o
from certmix.cli.parsing import whole
from certmix.cli.request import Request, build
from certmix.options import LOGARITHMS, Options

_MODEL_FILE = "Model file"


def export_command(
    data: o.Data,
    out: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Where to write the model.", rich_help_panel=_MODEL_FILE
        ),
    ],
    n_components: o.NComponents = None,
    formulation: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="miqp (piecewise-linear logarithm) or minlp (Problem 1 as it is).",
            rich_help_panel=_MODEL_FILE,
        ),
    ] = "miqp",
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="gms, lp, mps, nl or bar. Default: how FILE ends.",
            rich_help_panel=_MODEL_FILE,
        ),
    ] = None,
    logarithm: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            help="Logarithm of miqp: tangent (from below) or chord (from above).",
            rich_help_panel=_MODEL_FILE,
        ),
    ] = LOGARITHMS[0],
    breakpoints: Annotated[
        int,
        typer.Option(metavar="N", help="Its breakpoints.", rich_help_panel=_MODEL_FILE, parser=whole),
    ] = 10,
    columns: o.Columns = None,
    name_column: o.NameColumn = None,
    header: o.Header = None,
    transpose: o.Transpose = False,
    standardize: o.Standardize = False,
    pca: o.Pca = None,
    variance: o.Variance = None,
    precision: o.Precision = None,
    precision_from: o.PrecisionFrom = None,
    class_column: o.ClassColumn = None,
    weights: o.Weights = "free",
    prior: o.Prior = None,
    constraints: o.Constraints = None,
    label_column: o.LabelColumn = None,
    min_size: o.MinSize = None,
    max_size: o.MaxSize = None,
) -> int:
    """Write the paper's model of a problem as a file for other solvers.

    The optimum of the minlp is that of the problem; the optimum of the miqp
    is a lower bound with tangents, an approximation with chords.
    """
    request = Request(
        data=data,
        n_components=n_components,
        columns=columns,
        name_column=name_column,
        header=header,
        transpose=transpose,
        standardize=standardize,
        pca=pca,
        variance=variance,
        precision=precision,
        precision_from=precision_from,
        class_column=class_column,
        weights=weights,
        constraints=constraints,
        label_column=label_column,
        min_size=min_size,
        max_size=max_size,
        prior=tuple(prior or ()),
    )
    Options(logarithm=logarithm, breakpoints=breakpoints)  # a bad option is told before the data are read

    from certmix.formulation.export import build as build_model
    from certmix.formulation.export import check_format, export

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
