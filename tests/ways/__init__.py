"""The ways in which the soundness program solves a problem: every engine, and the bare loop with every bound.

A problem is solved in a few ways only, drawn at random: the cheap ones often, the slow ones seldom, so that over many
problems every way is taken thousands of times (the models for SCIP a few hundred times). Every way draws its gaps,
starts and limits from its own generator, so that a run depends on nothing but the seed of the problem. Each family of
ways has a module; :data:`WAYS` has them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from certmix.problem import Problem
from certmix.search.bounds import pricer
from certmix.search.bounds.line import applies
from claims import Claim, Truth
from ways import sensitivity
from ways.drawing import Draw, Way, always, taken_by
from ways.engines import auto, certificate, counted, elsewhere, engine_way, model_way, raced, resumed, stopped
from ways.loops import (
    before_any_work,
    counting_way,
    dual_loop_way,
    forgetful_semidefinite_bound,
    interval_bound,
    line_bound,
    loop_way,
    relaxation_bound,
    resumed_loop,
    semidefinite_bound,
    split_semidefinite_bound,
)
from ways.masses import masses
from ways.models import (
    few_clusterings,
    few_with_own_variances,
    kmeans,
    noisy,
    unknown_diagonal,
    unknown_variance,
    weighted,
)
from ways.softlinks import combined, few_combined, soft_links

WAYS = (
    loop_way("interval loop", 0.55, interval_bound, always),
    loop_way("line loop", 1.0, line_bound, lambda problem, _: applies(problem) is None),
    engine_way("dynamic", 1.0),
    engine_way("interval", 0.25),
    engine_way("dual", 0.2),
    Way("auto", 0.1, auto, always),
    dual_loop_way("dual loop", 0.06, pricer.CELLS_FROM),
    dual_loop_way("dual loop, cells", 0.04, 1),
    engine_way("sdp", 0.06),
    loop_way("sdp loop", 0.15, semidefinite_bound, taken_by("sdp")),
    Way("spread", 0.04, elsewhere, always),
    engine_way("bnb", 0.04),
    loop_way("bnb loop", 0.1, relaxation_bound, taken_by("bnb")),
    model_way("minlp", 0.003),
    model_way("miqp", 0.003),
    engine_way("hard-em", 0.04, limited=0.0),
    engine_way("kmeans", 0.02, limited=0.0),
    engine_way("em", 0.01, limited=0.0),
    engine_way("variational", 0.02, limited=0.0),
    engine_way("slsqp", 0.003, limited=0.0),
    engine_way("annealing", 0.003, limited=0.0),
    loop_way("sdp loop, split", 0.06, split_semidefinite_bound, taken_by("sdp")),
    # With so little room for open nodes, the loop dives most of the time.
    loop_way("interval loop, diving", 0.1, interval_bound, always, open_bytes=1500),
    loop_way("sdp loop, diving", 0.05, forgetful_semidefinite_bound, taken_by("sdp"), open_bytes=1500),
    Way("first bound", 1.0, before_any_work, always),
    Way("stopped", 0.2, stopped, always),
    Way("certificate", 0.5, certificate, always),
    counting_way("counting loop", 0.1),
    Way("counted", 0.1, counted, taken_by("dual")),
    Way("resumed", 0.1, resumed, always),
    Way("resumed loop", 0.2, resumed_loop, always),
    engine_way("parts", 0.2),
    Way("unknown variance", 0.3, unknown_variance, few_clusterings),
    Way("k-means", 0.2, kmeans, always),
    Way("weighted", 0.2, weighted, lambda problem, _: problem.n_samples <= 9),
    Way("unknown diagonal", 0.3, unknown_diagonal, few_with_own_variances),
    Way("margins", 0.1, sensitivity.margins, sensitivity.few_clusterings),
    Way("alternatives", 0.05, sensitivity.others, sensitivity.few_clusterings),
    Way("constraint costs", 0.05, sensitivity.costs, sensitivity.has_constraints),
    Way(
        "soft links",
        0.2,
        soft_links,
        lambda problem, truth: problem.n_samples > 2 and few_clusterings(problem, truth),
    ),
    Way("noise", 0.2, noisy, lambda problem, _: problem.n_samples <= 9),
    Way("race", 0.1, raced, taken_by("race")),
    Way("masses", 0.3, masses, lambda problem, _: problem.n_samples <= 9),
    Way("combined", 0.2, combined, few_combined),
)
NAMES = tuple(way.name for way in WAYS)
BY_CLOCK = frozenset({"stopped"})
"""Ways that end when the clock says so: they need not repeat what they did."""


def drawn_ways(
    seed: int, problem: Problem, truth: Truth, seconds: float, only: frozenset[str] | None = None
) -> Iterator[tuple[str, Callable[[], Claim]]]:
    """The ways in which the problem of a seed is solved: those drawn for it, or all of the given names."""
    numbers = np.random.default_rng([seed, 21]).random(len(WAYS))
    for index, way in enumerate(WAYS):
        if numbers[index] >= way.often if only is None else way.name not in only:
            continue
        if way.applies(problem, truth):
            draw = Draw(problem, truth, np.random.default_rng([seed, 22, index]), seconds)
            yield way.name, lambda way=way, draw=draw: way.run(draw)
