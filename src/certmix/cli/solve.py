"""``certmix solve`` and ``certmix kmeans``: their options."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from certmix.cli.request import Request
from certmix.options import Options, option

_OUT = "Output"


@dataclass(frozen=True, kw_only=True)
class Output:
    """What to do with the result."""

    out: Path | None = option(
        "Write assignments.csv, parameters.csv, trace.csv, result.json, certificate.json; "
        "snapshots while running.",
        metavar="DIR",
        panel=_OUT,
    )
    overwrite: bool = option("Let --out replace the results of an earlier run.", False, panel=_OUT)
    constraint_costs: bool = option(
        "Say what dropping each side constraint would gain: solve again without it, for the time limit once more.",
        False,
        panel=_OUT,
    )
    report: Path | None = option("Write the result as one HTML page.", metavar="FILE", panel=_OUT)
    plot: Path | None = option("Draw the result: PNG, PDF or SVG.", metavar="FILE", panel=_OUT)
    json: bool = option("Print the result as one JSON object.", False, panel=_OUT)
    quiet: bool = option("No log.", False, flags=("--quiet", "-q"), panel=_OUT)


def solve_command(request: Request, options: Options, output: Output) -> int:
    """Cluster a data set and prove how close to the global optimum the result is.

    The log goes to standard error, the result to standard output.

    Exit codes: 0 certified within the gap, 2 bad usage or input, 3 stopped before that, 4 infeasible, 5 results
    cannot be written, 130 interrupted. With 3 and 130 the best clustering found is still written.
    """
    from certmix.cli.running import run_request

    return run_request(request, options, output)


def kmeans_command(request: Request, options: Options, output: Output) -> int:
    """K-means: find the clustering with the least sum of squares, and prove how close to it the result is.

    The sum of squares (SSE, inertia) is that of the distances of all samples to the means of their clusters, and the
    gap is relative to it. Scale the features first where they are not in the same units (--standardize).

    The log goes to standard error, the result to standard output.

    Exit codes: 0 certified within the gap, 2 bad usage or input, 3 stopped before that, 4 infeasible, 5 results
    cannot be written, 130 interrupted. With 3 and 130 the best clustering found is still written.
    """
    from certmix.cli.running import run_request

    return run_request(replace(request, weights="none"), options, output)
