"""How ``engine="auto"`` decides, and why, in words for the log."""

from __future__ import annotations

import numpy as np

from certmix.engines import engine, why_not
from certmix.errors import InfeasibleError
from certmix.memory import OutOfMemory
from certmix.options import Options
from certmix.presolve.instance import reduce
from certmix.problem import Problem
from certmix.problem.constraints import CannotLink, MaximumSize, MinimumSize
from certmix.problem.features import Feature, features, tight_sizes

# The geometric bounds lose their grip as dimensions are added; the semidefinite bound does not see them.
MOST_DIMENSIONS = 4
MOST_RACED = 6  # with so many they may still win, where samples are few
# From so many samples on, parts of them prove more in the same time than the semidefinite bound on all of them.
MANY_SAMPLES = 1000
# Clusters are near a limit on sizes when they have less than three times the smallest, or four fifths of the largest.
NEAR_SMALLEST, NEAR_LARGEST = 3.0, 0.8
# With so few samples a matrix of all pairs is soon worked on. Then it may win where there are cannot-links, which
# pricing does not see and for which the matrix has zeros; and in more than two dimensions, if sizes cost nothing: else
# it needs a matrix for every interval of sizes.
FEW_SAMPLES, FLAT = 400, 2
FEW_STARTS = 2  # of a local search that only asks for sizes


def choose(problem: Problem, options: Options, *, partition: bool = True) -> tuple[str, str]:
    """The engine for a problem and the reason; without ``partition``, not ``parts``.

    - A handful of samples: ``enumerate``.
    - One dimension and nothing that ties samples together: ``dynamic`` (exact).
    - One dimension and too many samples for that: ``interval``, whose bound there does not depend on their number.
    - Sizes that are fixed, or limits on them that a good clustering without limits breaks or comes near: ``sdp``.
      Multipliers do not see sizes, so ``dual`` has to search the sets at a limit one by one, and parts have no limits.
    - A few hundred samples in up to six dimensions, with cannot-links, or in three and more with fixed weights:
      ``race``, since ``dual`` and ``sdp`` each win some of these by far.
    - Up to four dimensions (of the space that the samples lie in): ``dual``, which takes turns with ``interval``.
    - More dimensions: ``sdp``, whose bound does not depend on their number.
    - More dimensions and a thousand samples or more: ``parts``, each of which is one for ``sdp``.
    - More dimensions and what ``sdp`` does not take (thousands of samples, boxes on the means): ``dual`` when a time or
      node limit is set, since its bound may stay weak for as long as one waits; without a limit, the local search
      ``hard-em``, which proves nothing.
    """
    if why_not(engine("dynamic"), problem) is None:
        return "dynamic", "in one dimension dynamic programming is exact"
    if why_not(engine("enumerate"), problem) is None:
        return "enumerate", f"{problem.n_samples} samples can be enumerated"
    d = _dimensions(problem)
    if problem.n_features == 1 and why_not(engine("interval"), problem) is None and _on_a_line(problem):
        return (
            "interval",
            f"in one dimension it searches the cuts between {problem.n_samples:,} sorted samples",
        )
    refusal = why_not(engine("dual"), problem)
    if refusal is not None:
        return "hard-em", f"dual cannot take this problem, {refusal}: local search, no proof"
    too_much = why_not(engine("sdp"), problem)
    if too_much is None and _sizes_bind(problem):
        return "sdp", "clusters are near the limits on sizes, which its bound knows of"
    if too_much is None and d <= MOST_RACED and _may_go_either_way(problem, d):
        if options.distributed:
            return "sdp", "it can share its work with others"
        return "race", f"{problem.n_samples} samples in {d} dimensions may be easier for dual or for sdp"
    if d <= MOST_DIMENSIONS:
        return "dual", f"its bounds are strong in {d} dimension{'s' if d > 1 else ''}"
    if partition and problem.n_samples >= MANY_SAMPLES and Feature.MEAN_BOX not in features(problem):
        refusal = why_not(engine("parts"), problem)
        if refusal is None:
            return (
                "parts",
                f"{problem.n_samples:,} samples in {d} dimensions are proved part by part, each by sdp",
            )
    if too_much is None:
        return (
            "sdp",
            f"its bound does not depend on the number of dimensions, here {d}; interval narrows its nodes",
        )
    if options.time_limit is not None or options.node_limit is not None:
        return (
            "dual",
            f"it proves something in any dimension (with {d} the bound may stay weak); sdp: {too_much}",
        )
    return (
        "hard-em",
        f"in {d} dimensions sdp would prove a bound, but {too_much}: local search, no proof "
        "(a time limit asks for a bound)",
    )


def _dimensions(problem: Problem) -> int:
    """How many coordinates the samples need: few samples, or samples in a plane, need fewer than they have features."""
    if problem.n_features <= MOST_DIMENSIONS:
        return problem.n_features
    try:
        return reduce(problem).n_features
    except (InfeasibleError, OutOfMemory):
        return problem.n_features


def _may_go_either_way(problem: Problem, d: int) -> bool:
    """Whether ``sdp`` is no dearer than ``dual``, and may be the better."""
    tied = any(isinstance(c, CannotLink) for c in problem.given_constraints)
    plain = d > FLAT and problem.fixed_weights is not None
    return d > 1 and problem.n_samples <= FEW_SAMPLES and (tied or plain)


def _sizes_bind(problem: Problem) -> bool:
    """Whether sizes are all but fixed, or a good clustering without limits on them comes near the limits."""
    if Feature.SIZE not in features(problem):
        return False
    if tight_sizes(problem):
        return True
    from certmix.local.hard_em import hard_em

    others = [c for c in problem.given_constraints if not isinstance(c, MinimumSize | MaximumSize)]
    try:
        instance = reduce(problem.replace(constraints=others))
        found = hard_em(instance, restarts=FEW_STARTS)
    except (InfeasibleError, OutOfMemory):
        return False
    if found is None:
        return False
    sizes = np.bincount(instance.expand(found.labels), minlength=problem.n_components)
    K = problem.n_clusters  # noise is not one of those that may change places
    sizes, low, high = (
        np.append(np.sort(x[:K]), x[K:]) for x in (sizes, problem.size_lower, problem.size_upper)
    )
    small = (low > 1) & (sizes < NEAR_SMALLEST * low)
    large = (high < problem.n_samples) & (sizes > NEAR_LARGEST * high)
    return bool(np.any(small | large))


def _on_a_line(problem: Problem) -> bool:
    """Whether the interval engine has its bound for one dimension and many samples."""
    from certmix.search.bounds.line import MANY_SAMPLES, applies

    return problem.n_samples > MANY_SAMPLES and applies(problem) is None
