"""Semidefinite steps as a search would record them, and what the checker says to them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np

from certmix.certificate.semidefinite import PREFIX, Store, target_of, tell
from certmix.certificate.statement import state as stated
from certmix.concluding import build_result
from certmix.ledger import Ledger
from certmix.options import Options
from certmix.presolve.instance import reduce
from certmix.problem import Problem
from certmix.result import Result
from certmix.search.bounds.semidefinite import record, steps
from certmix.search.bounds.semidefinite.bound import SemidefiniteBound
from certmix.search.bounds.semidefinite.contraction import Region
from certmix.search.bounds.semidefinite.fixing import Exclusions, members_gone, pairs_apart, sizes_left
from certmix.search.bounds.semidefinite.safe import Proof, prove
from certmix.search.engines import first_incumbent
from certmix.search.loop import Search
from certmix.threads import Threads
from certmix.verify import statement
from certmix.verify.domain import Domain
from certmix.verify.evidence import Evidence
from certmix.verify.root import Root
from random_domains import State


def root_of(problem: Problem) -> Root:
    return Root(statement.read(json.loads(json.dumps(stated(problem)))), problem.data)


def checkers_domain(domain: Region, n_samples: int) -> Domain:
    """The domain of a node of the search, as the checker holds it."""
    low, high = domain.a.astype(np.int64), domain.b.astype(np.int64)
    sizes = np.ones((domain.allowed.shape[1], n_samples + 1), dtype=bool)
    return Domain(domain.allowed.copy(), low, high, np.argwhere(domain.apart), sizes)


def recorded(state: State, cutoff: float, labels: np.ndarray) -> tuple[steps.Step, Proof, Domain]:
    """The step of a state, its proof, and the domain in which it was made; the state's own domain is narrowed."""
    instance, domain, method = state.instance, state.domain, state.method
    before = checkers_domain(domain, instance.n_samples)
    grain = steps.grain_for(1.0, cutoff, 1.0, instance.n_components, len(state.shape.root))
    terms = instance.n_groups + instance.n_features
    proof = prove(method, state.constant, instance.error, terms, grain)
    note = record.NodeNote(record.Recorder(), record.RecordedNode(-1))
    note.proved(state.shape, method, proof)
    sizes = sizes_left(method, proof, cutoff)
    if proof.bound >= cutoff or not all(left.any() for left in sizes):
        note.closed()
    else:
        given = (state.shape, method, proof, cutoff)
        gone, pairs = members_gone(*given), pairs_apart(*given, labels)
        note.excluded(gone, pairs)
        Exclusions(sizes, gone, pairs).apply(domain, state.shape, method)
    return note.entry.steps[0], proof, before


def evidence_of(step: steps.Step, **changed: np.ndarray) -> Evidence:
    """A step as the checker reads it, some arrays (of steps.Step, or N) replaced."""
    if "N" in changed:
        slack = changed.pop("N").astype(np.int32)
        packed = np.frombuffer(steps.zlib.compress(slack.tobytes()), dtype=np.uint8)
        about = np.array([1.0, True, step.bound])
        step = replace(step, arrays={**step.arrays, "packed": packed, "about": about})
    store = Store()
    store.add(replace(step, arrays={**step.arrays, **changed}))
    return Evidence({"arrays": PREFIX, "at": 0}, store.arrays())


def searched(
    problem: Problem, *, threads: int = 1, recorder: record.Recorder | None = None, **settings: Any
) -> tuple[Result, record.Recorder]:
    """The engine's search with its proof written down."""
    options = Options(threads=threads, restarts=1, **settings)
    ledger = Ledger(problem, options.tolerances)
    instance = reduce(problem)
    first_incumbent(instance, ledger, options)
    recorder = recorder or record.Recorder()
    labels = None if ledger.incumbent is None else ledger.incumbent.labels
    with Threads(threads) as workers:
        bound = SemidefiniteBound(instance, labels, threads=workers, recorder=recorder)
        reason = Search(bound, ledger, options, largest_batch=threads).run()
    assert reason is not None
    return (
        build_result(problem, ledger, engine="sdp", termination=reason, certificate_level="computed"),
        recorder,
    )


def certified(problem: Problem, result: Result, recorder: record.Recorder) -> Any:
    return tell(recorder, problem, result).certificate(problem, result, target_of(result))
