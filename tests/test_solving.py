"""``solve`` wires the parts together; whatever happens in an engine, the result tells the truth."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

import certmix
from certmix import CannotLink, InputError, Label, MustLink, Problem, UnsupportedError
from certmix.engines import Outcome
from certmix.observers.base import Silent
from certmix.options import Options
from certmix.problem.features import EVERY_FEATURE, Feature
from certmix.solving import Run
from certmix.status import Status, Termination


class Played:
    """An engine that does what a test tells it."""

    name, certified = "played", True
    honours = EVERY_FEATURE
    script = staticmethod(lambda problem, ledger, options: Outcome(Termination.EXHAUSTED))

    def refusal(self, problem):
        return None

    def run(self, problem, ledger, options):
        return type(self).script(problem, ledger, options)


@pytest.fixture
def play(monkeypatch):
    """Run ``solve`` with an engine that follows a script."""
    import sys

    monkeypatch.setitem(sys.modules, "played", sys.modules[__name__])
    monkeypatch.setitem(certmix.engines._PLACES, "played", "played:Played")

    def run(script, problem=None, **options):
        monkeypatch.setattr(Played, "script", staticmethod(script))
        return certmix.solve(problem or PROBLEM, "played", **options)

    return run


PROBLEM = Problem([[0.0], [0.5], [4.0], [4.5]], 2, variance=0.5)
GOOD = np.array([0, 0, 1, 1])
BEST = PROBLEM.objective.best(GOOD).value


def test_enumeration_closes_a_small_problem():
    """The optimum of four samples is found and proved."""
    result = certmix.solve(PROBLEM, "enumerate", verify=False)
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(BEST)
    assert result.lower_bound <= result.objective
    assert result.certificate_level == "computed"


def test_auto_says_why(capsys):
    """``auto`` names the engine it chose and the reason in the log."""
    result = certmix.solve(PROBLEM, verbose=True)
    assert result.status is Status.OPTIMAL
    assert f"engine: {result.engine}, because" in capsys.readouterr().err


def test_an_engines_word_is_not_enough(play):
    """An engine that says it has finished without a bound has proved nothing."""

    def script(problem, ledger, options):
        ledger.offer(GOOD, "test")
        return Outcome(Termination.GAP)

    result = play(script)
    assert result.status is Status.FEASIBLE
    assert result.certificate_level == "none"
    assert math.isinf(result.gap_absolute)


def test_an_interrupted_run_keeps_what_it_had(play):
    """Ctrl-C in an engine: the incumbent and the bound are in the result, which is not called optimal."""

    def script(problem, ledger, options):
        ledger.offer(GOOD, "test")
        ledger.raise_bound(BEST - 1)
        raise KeyboardInterrupt

    result = play(script)
    assert result.termination is Termination.INTERRUPTED
    assert result.status is Status.FEASIBLE
    assert result.gap_absolute == pytest.approx(1)
    np.testing.assert_array_equal(result.labels, GOOD)


def test_infeasible_labels_are_not_taken(play):
    """What an engine offers is checked against the constraints before it counts."""

    def script(problem, ledger, options):
        assert not ledger.offer(GOOD, "test")
        return Outcome(Termination.CONVERGED, certificate_level="none")

    result = play(script, PROBLEM.replace(constraints=[CannotLink(0, 1)]))
    assert result.status is Status.UNKNOWN
    assert result.labels is None
    assert "Nothing was found" in result.sentence()


def test_limits_reach_the_engine(play):
    """Every option arrives as it was given; where a proof is to follow, a fifth of the time is kept for it."""
    seen = []

    def script(problem, ledger, options):
        seen.append(options)
        return Outcome(Termination.TIME)

    given = {"gap": 0.1, "absolute_gap": 0.2, "time_limit": 3.0, "node_limit": 4}
    play(script, **given, threads=1, seed=6, restarts=7, verify=False)
    play(script, **given)
    options, shorter = seen
    assert shorter.time_limit == pytest.approx(0.8 * 3.0)
    assert (options.gap, options.absolute_gap, options.time_limit, options.node_limit) == (0.1, 0.2, 3.0, 4)
    assert (options.threads, options.seed, options.restarts) == (1, 6, 7)


@pytest.mark.parametrize(("gap", "status"), [(0.5, Status.OPTIMAL), (1e-3, Status.FEASIBLE)])
def test_optimal_is_decided_by_the_gap(play, gap, status):
    """The same incumbent and bound are optimal or not according to the tolerance that was asked for."""

    def script(problem, ledger, options):
        ledger.offer(GOOD, "test")
        ledger.raise_bound(BEST - 0.1)
        return Outcome(Termination.NODES)

    assert play(script, gap=gap).status is status


def test_contradictory_constraints_are_a_result_not_an_error():
    """The status is infeasible, and the message names the two constraints."""
    constraints = [MustLink(0, 1, source="row 3"), CannotLink(0, 1, source="row 12")]
    result = certmix.solve(PROBLEM.replace(constraints=constraints))
    assert result.status is Status.INFEASIBLE
    assert "row 3" in result.message
    assert "row 12" in result.message
    assert result.labels is None


def test_an_engine_that_cannot_is_refused_before_any_work(play, monkeypatch):
    """The error names what is missing and engines that can."""
    monkeypatch.setattr(Played, "honours", EVERY_FEATURE - {Feature.CANNOT_LINK})

    def script(problem, ledger, options):
        raise AssertionError("it ran")

    with pytest.raises(UnsupportedError, match=r"cannot-link.*engines that can: .*enumerate"):
        play(script, PROBLEM.replace(constraints=[CannotLink(0, 1)]))


def test_start_is_offered_first(play):
    """A clustering to start from is the first incumbent; one that breaks a constraint is refused."""
    result = play(lambda *_: Outcome(Termination.TIME), start=[0, 0, 1, 1])
    assert result.source == "start"
    assert result.objective == pytest.approx(BEST)
    with pytest.raises(InputError, match="start violates"):
        play(lambda *_: None, PROBLEM.replace(constraints=[CannotLink(0, 1)]), start=[0, 0, 1, 1])
    with pytest.raises(InputError, match="labels must be 4"):
        play(lambda *_: None, start=[0, 1])


def test_observers_see_the_whole_run(play):
    """Started once, told of the incumbent and the bound, and given the result at the end."""
    events = []

    class Watch(Silent):
        def started(self, problem, engine, ledger):
            events.append(engine)

        def progressed(self, progress):
            events.append((progress.source, progress.bound))

        def finished(self, result):
            events.append(result.status)

    def script(problem, ledger, options):
        ledger.offer(GOOD, "test")
        ledger.raise_bound(0.0)
        return Outcome(Termination.TIME)

    play(script, observers=[Watch()])
    assert events == ["played", ("test", -math.inf), ("", 0.0), Status.FEASIBLE]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "magic"}, "'magic'"),
        ({"gap": -1}, "relative gap"),
        ({"gap": "small"}, "relative gap"),
        ({"absolute_gap": math.nan}, "absolute gap"),
        ({"time_limit": -1}, "time limit"),
        ({"node_limit": 1.5}, "node_limit"),
        ({"threads": 0}, "threads"),
        ({"seed": -1}, "seed"),
        ({"restarts": 0}, "restarts"),
        ({"seed": True}, "seed"),
    ],
)
def test_bad_options_are_refused_before_any_work(options, message):
    """Every wrong option is an InputError that names it."""
    with pytest.raises(InputError, match=message):
        certmix.solve(PROBLEM, **options)


def test_interchangeable_components_are_numbered_by_their_means(play):
    """The same clustering with its components swapped is the same result; one that a label pins keeps its number."""
    starts = ([0, 0, 1, 1], [1, 1, 0, 0])
    one, other = (play(lambda *_: Outcome(Termination.TIME), start=start) for start in starts)
    assert one.labels.tolist() == other.labels.tolist() == [0, 0, 1, 1]
    np.testing.assert_array_equal(one.means, other.means)
    assert one.means[0, 0] < one.means[1, 0]
    pinned = PROBLEM.replace(constraints=[Label(0, 1)])
    assert play(lambda *_: Outcome(Termination.TIME), pinned, start=[1, 1, 0, 0]).labels.tolist() == [
        1,
        1,
        0,
        0,
    ]


# -- options of single engines -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("engine", "options", "words"),
    [
        ("dynamic", {"solver": "gurobi"}, ["solver", "'dynamic'", "minlp and miqp"]),
        ("dual", {"branching": "strong"}, ["branching", "'dual'", "only bnb"]),
        ("minlp", {"logarithm": "tangent"}, ["logarithm", "'minlp'", "only miqp"]),
        ("hard-em", {"warm_start": True}, ["warm_start", "--warm-start", "'hard-em'"]),
        ("auto", {"adaptive": False}, ["adaptive", "auto chose, dynamic", "only miqp"]),
    ],
)
def test_options_that_an_engine_does_not_use_are_refused(engine, options, words):
    """An option that would be ignored is an error that names it, the engine, and the engines that use it."""
    problem = Problem(np.array([0.0, 0.1, 4.0]), 2, variance=1.0)
    with pytest.raises(InputError) as error:
        certmix.solve(problem, engine, **options)
    for word in words:
        assert word in str(error.value)


def test_to_wait_for_another_turn_is_not_to_search() -> None:
    """The seconds of a run that goes on are those of its searches."""
    options = Options(engine="interval", node_limit=1)
    run = Run(Problem(np.random.default_rng(4).normal(size=(14, 2)), 3, variance=0.1), options)
    first = run.search(options)
    time.sleep(0.05)
    run.take_up(options)
    assert run.ledger.seconds_before == pytest.approx(first.seconds, abs=0.01)
