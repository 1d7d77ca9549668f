"""``certmix kmeans``: ``certmix solve --weights none`` without the options of a mixture."""

from __future__ import annotations

from dataclasses import replace

from certmix.cli.request import Request
from certmix.cli.solve import Output
from certmix.options import Options

# What says something about a mixture.
WITHOUT = (
    "variance",
    "variance_range",
    "precision",
    "precision_from",
    "class_column",
    "weights",
    "prior",
    "noise",
)


def kmeans_command(request: Request, options: Options, output: Output) -> int:
    """K-means: find the clustering with the least sum of squares, and prove how close to it the result is.

    The sum of squares (SSE, inertia) is that of the distances of all samples to the means of their clusters, and the
    gap is relative to it. Scale the features first where they are not in the same units (--standardize).

    The log goes to standard error, the result to standard output.

    Exit codes: 0 certified within the gap, 2 bad usage or input,
    3 stopped before that, 4 infeasible, 5 results cannot be written,
    130 interrupted.
    With 3 and 130 the best clustering found is still written.
    """
    from certmix.cli.running import run_request

    return run_request(replace(request, weights="none"), options, output)
