"""``certmix stability`` and ``certmix alternatives``: their options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from certmix.cli.request import Request
from certmix.cli.solve import Output
from certmix.options import Options, option

OUTPUT = "Output"


@dataclass(frozen=True, kw_only=True)
class WithinOutput(Output):
    """Which clusterings count beside the best one."""

    within: float | None = option(
        "Delta: clusterings that cost so much more than the best one count as nearly as good. In nats, default 2; "
        "of k-means in sums of squares, default 4 SSE / (n d).",
        metavar="DELTA",
        least=0,
        panel="",
    )


@dataclass(frozen=True, kw_only=True)
class StabilityOutput(WithinOutput):
    """What is asked of all clusterings within delta, and what to do with the answers."""

    pairs: Path | None = option(
        "Pairs of samples to look at as well: CSV, two names a line.", metavar="FILE", panel=""
    )
    out: Path | None = option(
        "Write stability.json, its certificate, and the files of certmix solve, with margins in assignments.csv.",
        metavar="DIR",
        panel=OUTPUT,
    )


@dataclass(frozen=True, kw_only=True)
class AlternativesOutput(WithinOutput):
    """Which clusterings are looked for, and what to do with them."""

    limit: int = option(
        "How many clusterings are looked for beside the best one.", 10, metavar="N", least=1, panel=""
    )
    out: Path | None = option(
        "Write alternatives.json, and the files of certmix stability.", metavar="DIR", panel=OUTPUT
    )
    plot: Path | None = option(
        "Draw the clusterings and who moves: PNG, PDF or SVG.", metavar="FILE", panel=OUTPUT
    )


def stability_command(request: Request, options: Options, output: StabilityOutput) -> int:
    """Prove how sure every assignment is: what it costs at least to have a sample elsewhere.

    The problem is solved first. A sample is fixed when every clustering within --within of the one that was found
    has it together with the representative of its cluster, the member nearest to the mean; open when one is known that
    has not. The time limit is that of everything together.

    Exit codes: 0 every sample is fixed or open, and the clustering is certified within the gap, 2 bad usage or
    input, 3 stopped before that, 4 infeasible, 5 results cannot be written, 130 interrupted. With 3 and 130 what
    is known is still written.
    """
    from certmix.cli.margins import run_stability

    return run_stability(request, options, output)


def alternatives_command(request: Request, options: Options, output: AlternativesOutput) -> int:
    """List the distinct clusterings that are nearly as good as the best one, and prove when these are all.

    The problem is solved first. The time limit is that of everything together.

    Exit codes: 0 it is proved that there are no others within --within, and the clustering is certified within
    the gap, 2 bad usage or input, 3 stopped before that, or there are more than --limit, 4 infeasible, 5 results
    cannot be written, 130 interrupted. With 3 and 130 what is known is still written.
    """
    from certmix.cli.margins import run_alternatives

    return run_alternatives(request, options, output)
