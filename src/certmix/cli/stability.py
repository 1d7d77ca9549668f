"""``certmix stability``: its options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from certmix.cli.request import Request
from certmix.cli.solve import Output
from certmix.options import Option, Options

WITHOUT = ("constraint_costs",)  # what belongs to certmix solve alone
OUTPUT = "Output"


@dataclass(frozen=True, kw_only=True)
class WithinOutput(Output):
    """Which clusterings count beside the best one."""

    within: Annotated[
        float | None,
        Option(
            "Delta: clusterings that cost so much more than the best one count as nearly as good. In nats, default 2; "
            "of k-means in sums of squares, default 4 SSE / (n d).",
            metavar="DELTA",
            least=0,
            panel="",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class StabilityOutput(WithinOutput):
    """What is asked of all clusterings within delta, and what to do with the answers."""

    pairs: Annotated[
        Path | None,
        Option(
            "Pairs of samples to look at as well: CSV, two names a line.",
            metavar="FILE",
            panel="",
        ),
    ] = None
    out: Annotated[
        Path | None,
        Option(
            "Write stability.json, its certificate, and the files of certmix solve, with margins in assignments.csv.",
            metavar="DIR",
            panel=OUTPUT,
        ),
    ] = None


def stability_command(request: Request, options: Options, output: StabilityOutput) -> int:
    """Prove how sure every assignment is: what it costs at least to have a sample elsewhere.

    The problem is solved first. A sample is fixed when every clustering within --within of the one that was found
    has it together with the representative of its cluster, the member nearest to the mean; open when one is known that
    has not. The time limit is that of everything together.

    Exit codes: 0 every sample is fixed or open, and the clustering is certified within the gap, 2 bad usage or input,
    3 stopped before that, 4 infeasible, 5 results cannot be written,
    130 interrupted.
    With 3 and 130 what is known is still written.
    """
    from certmix.cli.margins import run_stability

    return run_stability(request, options, output)
