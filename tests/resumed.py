"""Runs that are cut short again and again, each time taken up from what is on disk; for the soundness program."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from certmix.io.states import StateFiles, read_state
from certmix.io.strict_json import dumps, loads
from certmix.ledger import Ledger
from certmix.observers.snapshot import Snapshot
from certmix.options import Options
from certmix.presolve.instance import Instance, reduce
from certmix.problem import Problem
from certmix.result import Result
from certmix.search.bounds.base import Bound
from certmix.search.loop import search
from certmix.solving import solve
from certmix.state import State
from certmix.status import Termination

MOST_PIECES = 4


def pieces(rng: np.random.Generator, options: Options) -> list[Options]:
    """The options of a run cut in pieces: a few nodes each, at times with another gap; the last one as it was."""
    found = []
    for _ in range(int(rng.integers(1, MOST_PIECES + 1))):
        gap = options.gap if rng.random() < 0.7 else float(rng.choice([1e-9, 1e-4, 1e-2, 0.2]))
        found.append(replace(options, node_limit=int(rng.integers(1, 30)), gap=gap))
    return [*found, options]


def cut_short(problem: Problem, directory: Path, engine: str, **options: Any) -> Result:
    """A run that ends after a few nodes and can be resumed."""
    given = {"node_limit": 3, "restarts": 1, **options}
    return solve(problem, engine, observers=[Snapshot(directory, every=0.0)], **given)


def through_files(state: State, directory: Path) -> State:
    """A state after it was written and read again."""
    files = StateFiles(directory / "state")
    entry = loads(dumps(dict(files.write(state))))
    files.tidy()
    return read_state(directory / "state", entry)


def searched_in_pieces(
    problem: Problem,
    make_bound: Callable[[Instance, Ledger, Options], Bound],
    options: Options,
    rng: np.random.Generator,
) -> tuple[Ledger, Termination]:
    """The bare loop, every piece with a new ledger and a new bound that know nothing but what was written.

    The ledgers begin without the bounds of the earlier ones, so that the tree alone has to cover everything.
    """
    state, labels = State(), options.start
    with tempfile.TemporaryDirectory() as directory:
        for piece in pieces(rng, options):
            ledger = Ledger(problem, piece.tolerances)
            if labels is not None:
                ledger.offer(labels, "start")
            ledger.resumed = state
            reason = search(make_bound(reduce(problem), ledger, piece), ledger, piece)
            assert ledger.resumable is not None
            state = through_files(ledger.resumable.state(), Path(directory))
            labels = None if ledger.incumbent is None else ledger.incumbent.labels
    return ledger, reason


def solved_in_pieces(problem: Problem, engine: str, options: Options, rng: np.random.Generator) -> Result:
    """An engine through the front door, resumed from its folder; its bound never goes down on the way."""
    with tempfile.TemporaryDirectory() as directory:
        first, *rest = pieces(rng, options)
        snapshot = Snapshot(directory, every=0.0)
        result = solve(problem, engine, options=first, verify=False, observers=[snapshot])
        for count, piece in enumerate(rest, start=1):
            before = result
            result = solve(problem, engine, options=piece, verify=False, resume=directory)
            assert result.lower_bound >= before.lower_bound, "the bound went down"
            slack = 1e-12 * max(
                1.0, abs(before.objective)
            )  # scored anew, perhaps with components in another order
            assert result.objective <= before.objective + slack, "the incumbent became worse"
            assert result.resumes == count
            assert result.nodes >= before.nodes
            assert result.seconds >= before.seconds
    return result
