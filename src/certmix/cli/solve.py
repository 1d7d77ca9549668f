"""``certmix solve``: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from certmix.cli.commands import among
from certmix.cli.parsing import number, whole
from certmix.cli.request import Request
from certmix.options import BRANCHING, LOGARITHMS

_RUN = "Run"
_FORMULATION = "Models of minlp and miqp"
_OUT = "Output"


def _engines(incomplete: str) -> list[str]:
    from certmix.engines import NAMES

    return among(NAMES)(incomplete)


def solve_command(
    request: Request,
    engine: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="See: certmix engines.",
            rich_help_panel=_RUN,
            autocompletion=_engines,
        ),
    ] = "auto",
    gap: Annotated[
        float,
        typer.Option(
            metavar="G", help="Relative gap that is good enough.", rich_help_panel=_RUN, parser=number
        ),
    ] = 1e-6,
    absolute_gap: Annotated[
        float,
        typer.Option(
            metavar="G",
            help="Absolute gap, in nats, that is good enough.",
            rich_help_panel=_RUN,
            parser=number,
        ),
    ] = 0.0,
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Stop after so long.", rich_help_panel=_RUN, parser=number),
    ] = None,
    node_limit: Annotated[
        int | None,
        typer.Option(metavar="N", help="Stop after so many nodes.", rich_help_panel=_RUN, parser=whole),
    ] = None,
    memory_limit: Annotated[
        str | None,
        typer.Option(
            metavar="BYTES",
            help="Stop at so much memory: 500M, 4G. Default: 80 % of what is free.",
            rich_help_panel=_RUN,
        ),
    ] = None,
    threads: Annotated[
        int | None, typer.Option(metavar="N", help="Default: all cores.", rich_help_panel=_RUN, parser=whole)
    ] = None,
    seed: Annotated[
        int, typer.Option(metavar="N", help="Seed of the random starts.", rich_help_panel=_RUN, parser=whole)
    ] = 0,
    start: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Clustering to start from: assignments.csv of an earlier run, or samples and labels.",
            rich_help_panel=_RUN,
        ),
    ] = None,
    branching: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help=f"Branching rule of bnb: {BRANCHING[0]} (default), {', '.join(BRANCHING[1:])}.",
            rich_help_panel=_RUN,
            autocompletion=among(BRANCHING),
        ),
    ] = None,
    solver: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Who solves the model of minlp or miqp: scip (default), or gurobi, copt, baron where installed.",
            rich_help_panel=_FORMULATION,
            autocompletion=among(("scip", "gurobi", "copt", "baron")),
        ),
    ] = None,
    logarithm: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="Piecewise-linear logarithm of miqp: tangent (from below, default) or chord (from above, the "
            "paper's).",
            rich_help_panel=_FORMULATION,
            autocompletion=among(LOGARITHMS),
        ),
    ] = None,
    breakpoints: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="How many breakpoints it has at first (10).",
            rich_help_panel=_FORMULATION,
            parser=whole,
        ),
    ] = None,
    adaptive: Annotated[
        bool | None,
        typer.Option(
            "--adaptive/--regular",
            help="Add breakpoints around the incumbent (default), or take twice as many regular ones.",
            rich_help_panel=_FORMULATION,
        ),
    ] = None,
    warm_start: Annotated[
        bool | None,
        typer.Option(
            "--warm-start/--cold-start",
            help="Begin minlp and miqp with hard EM's clustering (default), or with none (the paper's protocol).",
            rich_help_panel=_FORMULATION,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write assignments.csv, parameters.csv, trace.csv, result.json, certificate.json; "
            "snapshots while running.",
            rich_help_panel=_OUT,
        ),
    ] = None,
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite", help="Let --out replace the results of an earlier run.", rich_help_panel=_OUT
        ),
    ] = False,
    certificate: Annotated[
        bool | None,
        typer.Option(
            "--certificate/--no-certificate",
            help="Whether to make a certificate. Default: with --out or --verify.",
            rich_help_panel=_OUT,
        ),
    ] = None,
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Check the certificate at once.", rich_help_panel=_OUT),
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print the result as one JSON object.", rich_help_panel=_OUT)
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No log.", rich_help_panel=_OUT)] = False,
) -> int:
    """Cluster a data set and prove how close to the global optimum the result is.

    The log goes to standard error, the result to standard output.

    Exit codes: 0 certified within the gap, 2 bad usage or input,
    3 stopped before that, 4 infeasible, 5 results cannot be written,
    130 interrupted.
    With 3 and 130 the best clustering found is still written.
    """
    from certmix.cli.running import Run, run_request

    run = Run(
        engine=engine,
        gap=gap,
        absolute_gap=absolute_gap,
        time_limit=time_limit,
        node_limit=node_limit,
        memory_limit=memory_limit,
        threads=threads,
        seed=seed,
        start=start,
        branching=branching,
        solver=solver,
        logarithm=logarithm,
        breakpoints=breakpoints,
        adaptive=adaptive,
        warm_start=warm_start,
        out=out,
        overwrite=overwrite,
        certificate=(out is not None or verify) if certificate is None else certificate,
        verify=verify,
        json=json,
        quiet=quiet,
    )
    return run_request(request, run)
