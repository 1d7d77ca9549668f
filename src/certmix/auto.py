"""How ``engine="auto"`` decides, and why, in words for the log."""

from __future__ import annotations

from certmix.engines import engine, why_not
from certmix.problem import Problem


def choose(problem: Problem) -> tuple[str, str]:
    """The engine for a problem and the reason.

    One dimension and nothing that ties samples together: dynamic programming. A handful of samples: enumeration.
    Otherwise the local search, which finds but does not prove.
    """
    if why_not(engine("dynamic"), problem) is None:
        return "dynamic", "one dimension: dynamic programming is exact"
    if why_not(engine("enumerate"), problem) is None:
        return "enumerate", f"{problem.n_samples} samples can be enumerated"
    return "hard-em", "no certified engine takes this problem yet: local search, no proof"
