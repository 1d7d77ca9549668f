"""From the record of a semidefinite search to the tree and steps of a certificate.

Every recorded node becomes a node, with its steps in their order. Leaves that the search closed without a visit,
because their bound had reached the cutoff, and leaves that it left open, get the proof of that bound as their step: it
was made in a larger domain, and holds in theirs. The layout of the arrays is described in
:mod:`certmix.verify.semidefinite`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from certmix.certificate.draft import Draft, Unproved
from certmix.engines import engine, why_not
from certmix.io.certificates import Certificate
from certmix.ledger import Ledger
from certmix.options import Options
from certmix.presolve.instance import reduce
from certmix.problem import Problem
from certmix.result import Result
from certmix.search.bounds.semidefinite.record import Recorder
from certmix.search.bounds.semidefinite.steps import Step
from certmix.verify.check import Verdict, check
from certmix.verify.semidefinite import FIELDS
from certmix.verify.tree import AT_LEAST, AT_MOST, IN, OUT

PREFIX = "semidefinite/"


def recorded(problem: Problem, result: Result, recorder: Recorder) -> tuple[Certificate, Verdict]:
    """The certificate of a search that was recorded, and the checker's verdict on it (a quick one).

    Where the checker relaxes more than the search did (bounds on weights, means tied to averages), its leaves may not
    settle.
    """
    certificate = tell(recorder, problem, result).certificate(problem, result, target_of(result))
    with threadpool_limits(1):  # many small matrices: threads would only get in each other's way
        verdict = check(certificate.document, certificate.arrays, problem.data)
    if verdict.verified:
        return certificate, verdict
    if not reduce(problem).exact:
        raise Unproved(
            "the checker takes bounds on the weights and means tied to averages for less than they are"
        )
    raise Unproved(f"its record does not convince the checker ({verdict.sentence.rstrip('.')})")


def searched(
    problem: Problem, result: Result, seconds: float, threads: int = 1
) -> tuple[Certificate, Verdict]:
    """A certificate, checked, from a semidefinite search of its own, for a result that another engine found."""
    candidate = engine("sdp")
    reason = why_not(candidate, problem)
    if reason is not None:
        raise Unproved(f"the semidefinite search cannot take the problem: {reason}")
    open_gap = 0.0 if result.closed else result.objective - result.lower_bound
    options = Options(
        gap=result.tolerances.relative,
        absolute_gap=max(result.tolerances.allowed(result.objective), open_gap),
        time_limit=max(0.0, seconds),
        threads=threads,
        certificate=True,
    )
    ledger = Ledger(problem, options.tolerances)
    ledger.offer(np.asarray(result.labels), "result")
    candidate.run(problem, ledger, options)
    bound = min(ledger.bound, result.objective)
    if not options.tolerances.closed(result.objective, bound):
        raise Unproved(f"the semidefinite search got to {ledger.bound:.10g} in {seconds:.3g} s")
    return recorded(problem, replace(result, lower_bound=bound), ledger.record)


def target_of(result: Result) -> float:
    """What the leaves are proved against.

    A hair below what the search compared with, for a checker rounds in other ways; where the result is optimal, not so
    far below that it would not be any more.
    """
    bound = result.lower_bound
    target = bound - 1e-9 * max(1.0, abs(bound), abs(result.objective))
    if result.closed:
        least = result.tolerances.needed(result.objective)
        target = min(bound, max(target, least))
    return float(target)


def tell(recorder: Recorder, problem: Problem, result: Result) -> Draft:
    """The tree of a search that was recorded."""
    if recorder.full:
        raise Unproved(f"its proof takes more than {recorder.most_bytes // 2**20} MB")
    entries = recorder.entries
    inner = {entry.parent for entry in entries}
    draft, stored = Draft(), Store()
    number: list[int] = []
    for i, entry in enumerate(entries):
        if entry.parent < 0:
            number.append(0)
        elif entry.size >= 0:
            kind = AT_MOST if entry.inside else AT_LEAST
            number.append(draft.node(number[entry.parent], kind, entry.component, entry.size))
        else:
            kind = IN if entry.inside else OUT
            number.append(draft.node(number[entry.parent], kind, entry.group, entry.component))
        steps = list(entry.steps)
        if i not in inner and not entry.closed:
            if entry.best is None:
                raise Unproved("a node was left open before anything was proved of it")
            steps.append(entry.best)
        for step in (waiting.loaded() for waiting in steps):
            if step.kind == "name":
                # Groups that are apart, in exchangeable components: the other sides are empty.
                names = (step.arrays[name].tolist() for name in ("groups", "components"))
                for group, k in zip(*names, strict=True):
                    number[i] = draft.node(number[i], IN, group, k)
            else:
                at = stored.add(step)
                draft.steps.append({"node": number[i], "kind": "semidefinite", "arrays": PREFIX, "at": at})
    draft.arrays.update(stored.arrays())
    return draft


class Store:
    """The arrays of all steps, one after another."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._parts: dict[str, list[np.ndarray]] = {field: [] for field in FIELDS}

    def add(self, step: Step) -> int:
        """Append a step unless it is there already, as the bound of several leaves; its number."""
        if step.number in self._numbers:
            return self._numbers[step.number]
        slack = step.slack()
        parts = {**step.arrays, "N2": slack[:0], "N4": slack[:0]}
        parts["N4" if slack.dtype == np.int32 else "N2"] = slack
        for field in FIELDS:
            self._parts[field].append(parts[field].ravel())
        self._numbers[step.number] = len(self._parts["T"]) - 1
        return len(self._parts["T"]) - 1

    def arrays(self) -> dict[str, np.ndarray]:
        if not self._parts["T"]:
            return {}
        types = {"N2": np.int16, "N4": np.int32}
        found = {
            PREFIX + field: np.concatenate(parts).astype(types.get(field, parts[0].dtype), copy=False)
            for field, parts in self._parts.items()
        }
        lengths = [[len(part) for part in parts] for parts in self._parts.values()]
        found[PREFIX + "length"] = np.array(lengths, dtype=np.int64).T
        return found
