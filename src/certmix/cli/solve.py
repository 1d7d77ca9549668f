"""``certmix solve``: its options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from certmix.cli.request import Request
from certmix.options import Option, Options

_OUT = "Output"


@dataclass(frozen=True, kw_only=True)
class Output:
    """What to do with the result."""

    out: Annotated[
        Path | None,
        Option(
            "Write assignments.csv, parameters.csv, trace.csv, result.json, certificate.json; "
            "snapshots while running.",
            metavar="DIR",
            panel=_OUT,
        ),
    ] = None
    overwrite: Annotated[bool, Option("Let --out replace the results of an earlier run.", panel=_OUT)] = False
    constraint_costs: Annotated[
        bool,
        Option(
            "Say what dropping each side constraint would gain: solve again without it, for the time limit once more.",
            panel=_OUT,
        ),
    ] = False
    report: Annotated[
        Path | None, Option("Write the result as one HTML page.", metavar="FILE", panel=_OUT)
    ] = None
    plot: Annotated[Path | None, Option("Draw the result: PNG, PDF or SVG.", metavar="FILE", panel=_OUT)] = (
        None
    )
    json: Annotated[bool, Option("Print the result as one JSON object.", panel=_OUT)] = False
    quiet: Annotated[bool, Option("No log.", flags=("--quiet", "-q"), panel=_OUT)] = False


def solve_command(request: Request, options: Options, output: Output) -> int:
    """Cluster a data set and prove how close to the global optimum the result is.

    The log goes to standard error, the result to standard output.

    Exit codes: 0 certified within the gap, 2 bad usage or input,
    3 stopped before that, 4 infeasible, 5 results cannot be written,
    130 interrupted.
    With 3 and 130 the best clustering found is still written.
    """
    from certmix.cli.running import run_request

    return run_request(request, options, output)
