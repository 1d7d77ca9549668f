"""``certmix alternatives``: its options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from certmix.cli.request import Request
from certmix.cli.stability import OUTPUT, WithinOutput
from certmix.options import Option, Options


@dataclass(frozen=True, kw_only=True)
class AlternativesOutput(WithinOutput):
    """Which clusterings are looked for, and what to do with them."""

    limit: Annotated[
        int,
        Option("How many clusterings are looked for beside the best one.", metavar="N", least=1, panel=""),
    ] = 10
    out: Annotated[
        Path | None,
        Option(
            "Write alternatives.json, and the files of certmix stability.",
            metavar="DIR",
            panel=OUTPUT,
        ),
    ] = None
    plot: Annotated[
        Path | None,
        Option("Draw the clusterings and who moves: PNG, PDF or SVG.", metavar="FILE", panel=OUTPUT),
    ] = None


def alternatives_command(request: Request, options: Options, output: AlternativesOutput) -> int:
    """List the distinct clusterings that are nearly as good as the best one, and prove when these are all.

    The problem is solved first. The time limit is that of everything together.

    Exit codes: 0 it is proved that there are no others within --within, and the clustering is certified within the
    gap, 2 bad usage or input,
    3 stopped before that, or there are more than --limit, 4 infeasible, 5 results cannot be written,
    130 interrupted.
    With 3 and 130 what is known is still written.
    """
    from certmix.cli.margins import run_alternatives

    return run_alternatives(request, options, output)
