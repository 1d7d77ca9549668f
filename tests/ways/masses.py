"""Missing values and weights of samples that are not whole numbers, by every engine and bound that takes them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from certmix.errors import InfeasibleError
from certmix.problem import Problem
from certmix.result import Result
from certmix.search.bounds import pricer
from certmix.solving import solve
from certmix.status import Status, Termination
from claims import Claim, find_truth
from masses import with_masses
from ways.drawing import Draw, always, by_engine, taken_by
from ways.engines import certified
from ways.loops import dual_loop_way, interval_bound, loop_way

ENGINES = ("interval", "dual", "parts", "hard-em", "enumerate")
LOOPS = (
    loop_way("masses", 1.0, interval_bound, always),
    dual_loop_way("masses", 1.0, pricer.CELLS_FROM),
    dual_loop_way("masses", 1.0, 1),
)


def masses(draw: Draw) -> Claim:
    """Values that are missing, or samples that count as much as one likes, against enumeration."""
    rng = draw.rng
    try:
        problem = with_masses(draw.problem, rng)
    except InfeasibleError:  # fixed weights that are no shares of so many samples
        return Claim(
            "masses", math.inf, -math.inf, None, Status.UNKNOWN, Termination.TIME, (), draw.options(), 0.0
        )
    truth = find_truth(problem)
    inside = replace(draw, problem=problem, truth=truth)
    loops = [way for way in LOOPS if way.applies(problem, truth)]
    if draw.chance(0.5):
        return replace(loops[rng.integers(len(loops))].run(inside), about=(problem, truth))
    able = [name for name in ENGINES if taken_by(name)(problem, truth)]
    name = str(rng.choice([*able, "auto"]))
    more = {"part_size": int(rng.integers(1, 7))} if name == "parts" else {}
    if draw.chance(0.6) and name != "hard-em":
        claim = certified(inside, name, **more)
    else:
        options = replace(inside.options(node_limit=draw.few_nodes(0.2)), target=None, **more)
        claim = by_engine(problem, name, options, _finite)
    seen = replace(claim.options, absolute_gap=problem.quantity.objective(claim.options.absolute_gap))
    return replace(claim, way="masses", options=seen, about=(problem, truth))


def _finite(problem: Problem, *given: Any, **options: Any) -> Result:
    """The result, which has all means, also those of features of which nothing is known in a cluster."""
    result = solve(problem, *given, **options)
    assert result.means is None or np.isfinite(result.means[: problem.n_clusters]).all()
    return result
