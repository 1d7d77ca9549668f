"""``certmix path``: its options."""

from __future__ import annotations

import pathlib
from dataclasses import dataclass

from certmix.cli.request import Request
from certmix.cli.solve import Output
from certmix.options import Options, option


@dataclass(frozen=True, kw_only=True)
class PathOutput(Output):
    """What to compare, and what to do with it."""

    k: str = option(
        "Numbers of components: 1:8 (both included), or 2,3,5.",
        "1:8",
        flags=("-k", "--k"),
        metavar="LO:HI",
        panel="",
    )
    out: pathlib.Path | None = option(
        "Write path.json, path.csv, certificate.json, and the files of certmix solve in a folder for every K.",
        metavar="DIR",
        panel="Output",
    )
    plot: pathlib.Path | None = option(
        "Draw the intervals against K: PNG, PDF or SVG.", metavar="FILE", panel="Output"
    )


def path_command(request: Request, options: Options, output: PathOutput) -> int:
    """Compare numbers of components and prove which one is the best.

    For every K the ICL of the best clustering lies between two numbers, and a K is proved the best when its upper one
    is below the lower ones of all others. The time limit is that of all runs together.

    Exit codes: 0 proved, and the best clustering certified within the gap, 2 bad usage or input, 3 stopped before
    that, 4 infeasible with every K, 5 results cannot be written, 130 interrupted. With 3 and 130 what is known is
    still written.
    """
    from certmix.cli.comparing import run_path

    return run_path(request, options, output)
