"""The engine by parts: sound with every option, repeatable, stopped in time."""

from __future__ import annotations

import math

import numpy as np
import pytest

from certmix import Problem, solve
from certmix.engines import engine, why_not
from certmix.errors import UnsupportedError
from certmix.ledger import Ledger, Progress
from certmix.observers.base import Silent
from certmix.options import Options
from certmix.parts.run import PartsRun
from certmix.presolve.first_bound import first_bound
from certmix.presolve.instance import reduce
from certmix.problem import CannotLink, JeffreysPrior, MustLink
from certmix.status import Termination, Tolerances
from certmix.stopping import Stop, under
from random_instances import random_problem
from soundness import by_engine, find_truth, violations


def clusters(n: int, d: int, K: int, seed: int = 0, apart: float = 4.0, **settings: object) -> Problem:
    rng = np.random.default_rng([seed, 90])
    data = rng.normal(size=(n, d))
    data[:, 0] += apart * rng.integers(K, size=n)
    return Problem(data, K, **{"variance": 1.0, **settings})


@pytest.mark.parametrize("block", range(4))
def test_the_sum_is_never_above_the_optimum(block: int) -> None:
    """Random problems with every option, cut into parts of one to six groups: no claim contradicts enumeration."""
    rng = np.random.default_rng([block, 91])
    taken = 0
    for _ in range(25):
        problem = random_problem(rng, max_samples=9)
        if why_not(engine("parts"), problem) is not None:
            continue
        taken += 1
        options = Options(
            part_size=int(rng.integers(1, 7)), gap=float(rng.choice([1e-6, 1e-2])), node_limit=60, seed=block
        )
        truth = find_truth(problem)
        found = list(violations(problem, truth, by_engine(problem, "parts", options)))
        assert not found, found
    assert taken > 10


def test_the_same_seed_gives_the_same_answer() -> None:
    """With a node limit instead of a clock, and whatever the number of threads."""
    problem = clusters(120, 2, 3, apart=2.5)
    runs = [
        solve(problem, "parts", part_size=30, node_limit=150, seed=3, threads=threads, verify=False)
        for threads in (1, 1, 2)
    ]
    assert len({run.lower_bound for run in runs}) == 1
    assert len({run.objective for run in runs}) == 1


def test_parts_prove_more_than_the_first_bound() -> None:
    """Clusters that are apart are proved nearly optimal, and the trace only rises."""
    problem = clusters(300, 2, 2, apart=8.0)
    result = solve(problem, "parts", part_size=60, gap=1e-3, verify=False)
    assert result.termination is Termination.GAP
    bounds = [point.bound for point in result.trace]
    assert bounds == sorted(bounds)


def test_a_single_part_is_the_whole_problem() -> None:
    """A problem that fits into one part is solved by the engine that auto would take, and can be verified."""
    result = solve(clusters(40, 2, 2), "parts")
    assert result.certificate_level == "verified"


def test_groups_are_never_cut() -> None:
    """Samples that must be together, and implications for all components, stay in one part."""
    links = [MustLink(i, i + 1) for i in range(0, 60, 3)] + [CannotLink(0, 50)]
    problem = clusters(90, 2, 2, apart=6.0, constraints=links)
    result = solve(problem, "parts", part_size=10, gap=1e-2, verify=False)
    assert math.isfinite(result.lower_bound)
    assert result.labels is not None
    assert result.lower_bound <= result.objective


def test_a_prior_that_cannot_be_shared_is_refused() -> None:
    """The error says why."""
    with pytest.raises(UnsupportedError, match="Jeffreys"):
        solve(clusters(30, 2, 2, prior=JeffreysPrior()), "parts")


def test_parts_find_better_clusterings() -> None:
    """From a poor start, local search from the means of a part finds what the start is far from."""
    problem = clusters(300, 2, 2, apart=8.0)
    poor = (np.arange(300) % 2).astype(np.int64)
    ledger = Ledger(problem, Tolerances(1e-3))
    ledger.offer(poor, "start")
    run = PartsRun(reduce(problem), ledger, Options(part_size=60, threads=1, verify=True))
    reason = run.run()
    assert ledger.source == "parts"
    assert ledger.closed or reason is None, "two parts of a poor partition may leave the whole to be solved"
    assert ledger.upper < 0.5 * problem.objective.best(poor).value


class Stopper(Silent):
    """Raises the flag once a part has been worked on."""

    def __init__(self, stop: Stop) -> None:
        self.stop = stop

    def progressed(self, progress: Progress) -> None:
        if progress.nodes > 0:
            self.stop.hoist(Termination.INTERRUPTED)


def test_a_run_that_is_stopped_keeps_what_it_has() -> None:
    """The flag is raised while parts are worked on: the run ends by itself, with the bounds of the parts."""
    problem, stop = clusters(400, 3, 3, apart=3.0), Stop()
    ledger = Ledger(problem, Tolerances(1e-6), [Stopper(stop)], stop)
    with under(stop):
        outcome = engine("parts").run(problem, ledger, Options(part_size=50, threads=2))
    assert outcome.termination is Termination.INTERRUPTED
    assert ledger.bound > first_bound(reduce(problem))


def two_clusters(n: int, d: int = 5) -> Problem:
    rng = np.random.default_rng(82)
    data = rng.normal(size=(n, d))
    data[:, 0] += 3.2 * rng.integers(2, size=n)
    return Problem(data, 2, variance=1.0)


def test_a_partition_that_leaves_a_gap_is_closed() -> None:
    """Parts alone stay below; what is left after contraction is solved. No certificate holds its bound."""
    problem = two_clusters(80)
    result = solve(problem, "parts", part_size=20, gap=1e-6, threads=1)
    assert result.status == "optimal"
    assert result.certificate_level == "computed"
    assert "reaches" in result.verification
    assert result.objective == pytest.approx(solve(problem, "sdp", threads=1).objective, rel=1e-6)


def test_a_certificate_that_is_asked_for_is_not_given_away() -> None:
    """Then nothing is contracted: parts are put together instead, and the answer is verified."""
    result = solve(two_clusters(40), "parts", part_size=10, gap=1e-6, threads=1, certificate=True)
    assert result.status == "optimal"
    assert result.certificate_level == "verified", result.verification


def test_who_asks_for_a_certificate_has_proofs_of_all_parts() -> None:
    """Also where the gap is closed before every part was looked at, as it may be where soft links add penalties."""

    class Hasty(Ledger):
        closed = property(lambda self: self.nodes > 0)

    problem = clusters(120, 2, 2)
    for wanted in (True, None):
        ledger = Hasty(problem, Tolerances(1e-3))
        ledger.offer((problem.data[:, 0] > 2.0).astype(np.int64), "start")
        PartsRun(reduce(problem), ledger, Options(part_size=20, threads=1, certificate=wanted)).run()
        assert ledger.nodes > 0
        if wanted:
            assert sorted(np.concatenate([proof.samples for proof in ledger.record])) == list(range(120))
        else:
            assert ledger.record is None


def test_without_a_time_limit_parts_have_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds of a part are a number that a clock can be compared with, whether there is a limit or not."""
    problem, given = clusters(300, 2, 2, apart=8.0), []
    task = PartsRun._task
    monkeypatch.setattr(PartsRun, "_task", lambda run, job, s: given.append(s) or task(run, job, s))
    for limit in (None, 50.0):
        ledger = Ledger(problem, Tolerances(1e-3))
        ledger.offer((np.arange(300) % 2).astype(np.int64), "start")
        PartsRun(reduce(problem), ledger, Options(part_size=60, threads=1, time_limit=limit)).run()
        assert given
        assert all(seconds == math.inf if limit is None else 0.0 <= seconds <= limit for seconds in given)
        given.clear()
