"""One flag stops a run: at its deadline, at Ctrl-C, in Python and in compiled code, and never makes a claim false."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import certmix
from certmix import Problem
from certmix.engines import Outcome
from certmix.errors import InfeasibleError
from certmix.kernels.cells import build_tree
from certmix.kernels.price_parts import Goal, Place, room_for, sums
from certmix.kernels.pricing import price
from certmix.kernels.trios import no_trios
from certmix.ledger import Ledger, Progress
from certmix.observers.base import Silent
from certmix.observers.log import PlainLog
from certmix.status import Status, Termination, Tolerances
from certmix.stopping import LATE, Abandoned, LeftAlone, Stop, attempt, attend, current, overtime, under

PROBLEM = Problem([[0.0], [0.5], [4.0], [4.5]], 2, variance=0.5)
GOOD = np.array([0, 0, 1, 1])
BEST = PROBLEM.objective.best(GOOD).value


class Played:
    """An engine that does what a test tells it."""

    name, certified = "played", True
    honours = certmix.engines.engine("interval").honours
    script = staticmethod(lambda problem, ledger, options: Outcome(Termination.EXHAUSTED))

    def refusal(self, problem: Problem) -> None:
        return None

    def run(self, problem: Problem, ledger: Ledger, options: Any) -> Outcome:
        return type(self).script(problem, ledger, options)


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run ``solve`` with an engine that follows a script."""
    import sys

    monkeypatch.setitem(sys.modules, "played", sys.modules[__name__])
    monkeypatch.setitem(certmix.engines._PLACES, "played", "played:Played")

    def run(script: Any, **options: Any) -> certmix.Result:
        monkeypatch.setattr(Played, "script", staticmethod(script))
        return certmix.solve(PROBLEM, "played", **options)

    return run


def test_work_is_done_under_the_flag() -> None:
    """What the work returns or raises comes back, and inside it the flag is the current one."""
    stop = Stop()
    assert attend(current, stop) is stop
    assert current() is not stop
    with pytest.raises(ZeroDivisionError):
        attend(lambda: 1 / 0, stop)
    assert not stop.raised


def test_the_deadline_raises_the_flag() -> None:
    """At the deadline work that asks for the flag ends, and the reason is the time."""
    stop = Stop(0.05)

    def work() -> str:
        while not current().raised:
            time.sleep(0.001)
        return "ended"

    assert attend(work, stop, 0.05) == "ended"
    assert (stop.reason, stop.left) == (Termination.TIME, 0.0)
    stop.lower(math.inf)
    assert not stop.raised
    assert stop.left == math.inf


def test_work_that_does_not_listen_is_left_alone() -> None:
    """It costs no more than the overtime, and its thread ends at its next step."""
    stop, ended = Stop(0.0), threading.Event()

    def work() -> None:
        try:
            for _ in range(2000):
                time.sleep(0.01)
        finally:
            ended.set()

    start = time.perf_counter()
    with pytest.raises(Abandoned):
        attend(work, stop, 0.0)
    assert time.perf_counter() - start < overtime(0.0)
    assert ended.wait(5.0)


def test_a_thread_that_loads_a_kernel_is_not_ended() -> None:
    """Numba's tables would be left in pieces, and the next run in the process would fail for it."""
    told: list[str] = []
    source = """
def load(told):
    import time
    try:
        for _ in range(100):
            time.sleep(0.02)
        told.append("loaded")
    except BaseException as error:
        told.append(type(error).__name__)
"""
    for name in ("numba.core.pretended", "elsewhere"):
        space: dict[str, Any] = {"__name__": name}
        exec(source, space)
        with pytest.raises(Abandoned):
            attend(lambda space=space: space["load"](told), Stop(0.05), 0.05)  # type: ignore[misc]
    until = time.perf_counter() + 60.0
    while len(told) < 2 and time.perf_counter() < until:
        time.sleep(0.05)
    assert sorted(told) == ["LeftAlone", "loaded"]


IN_KERNELS = """
import threading
import numpy as np
from certmix.kernels.cells import build_tree
from certmix.stopping import Abandoned, Stop, attend
points, ones = np.random.default_rng(0).normal(size=(20, 2)), np.ones(20)
build_tree(points, ones, ones)

def work():
    while True:
        build_tree(points, ones, ones)

def left():
    try:
        attend(work, Stop(0.0), 0.0)
    except Abandoned:
        told.append("left alone")

told, before = [], set(threading.enumerate())
mine = [threading.Thread(target=left) for _ in range(8)]
for thread in mine:
    thread.start()
for thread in mine:
    thread.join()
for thread in set(threading.enumerate()) - before:
    thread.join(30.0)
print(len(told), "ended" if set(threading.enumerate()) == before else "at work")
"""


def test_a_kernel_that_nobody_waits_for_does_not_take_the_process_with_it() -> None:
    """Its caller ends the thread: Numba follows a null pointer where an exception comes while it makes the answer."""
    done = subprocess.run([sys.executable, "-c", IN_KERNELS], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "8 ended\n")


@pytest.mark.parametrize("name", ["SIGINT"])
def test_an_interruption_is_heard_while_a_kernel_works(name: str) -> None:
    """Ctrl-C in the middle of a long pricing: the kernel returns at once, and what it returns is a bound."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(4000, 3))
    weight, zero = np.ones(4000), np.zeros(3)
    cost = -rng.uniform(0.5, 3.0, 4000)
    tree, table = build_tree(points, weight, weight), np.zeros(4001)
    box = points.min(axis=0), points.max(axis=0)
    place = Place(points, weight, weight, cost, zero, zero, *box, table, True, 1300.0, 1340.0)
    stop, nothing = Stop(), sums(place, np.zeros(4000, dtype=bool))

    def priced(nodes: int) -> tuple[float, float, int, bool]:
        goal = Goal(np.inf, 1e-9, nodes, np.inf, current().flag, False)
        return price(tree, cost, place, nothing, goal, room_for(4, 3), no_trios(4000))[:4]

    priced(2)  # compiled

    def interrupt() -> None:
        time.sleep(0.3)
        os.kill(os.getpid(), getattr(signal, name))

    # Jobs in the background of a shell begin with this signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=interrupt, daemon=True).start()
    start = time.perf_counter()
    try:
        bound, best, nodes, complete = attend(lambda: priced(10**9), stop)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.perf_counter() - start < 5.0
    assert stop.reason is Termination.INTERRUPTED
    assert not complete
    assert nodes < 10**9
    assert bound <= best


def test_the_program_waits_at_its_end_for_work_that_was_left_alone() -> None:
    """Native code that comes back to an interpreter which is gone would abort the program."""
    script = """
import sys, time
from certmix.stopping import LATE, Abandoned, Stop, attend

def work():
    try:
        time.sleep(2.0)
    finally:
        sys.stdout.write("ended")
        sys.stdout.flush()

try:
    attend(work, Stop(0.1), 0.1)
except Abandoned:
    sys.stdout.write("left alone, ")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "left alone, ended"


def test_no_bound_counts_once_the_flag_is_up() -> None:
    """A bound may come from a kernel that was cut short; a clustering is checked by itself."""
    stop = Stop()
    ledger = Ledger(PROBLEM, Tolerances(), stop=stop)
    ledger.raise_bound(BEST - 2)
    stop.hoist(Termination.TIME)
    ledger.raise_bound(BEST + 100)
    assert ledger.bound == BEST - 2
    assert ledger.offer(GOOD, "test")


def test_the_last_word_of_a_stopped_engine_is_not_believed(play: Any) -> None:
    """An engine whose kernels were cut short may think that it has seen everything, or that nothing is feasible."""

    def script(problem: Problem, ledger: Ledger, options: Any) -> Outcome:
        ledger.offer(GOOD, "test")
        ledger.stop.hoist(Termination.TIME)
        ledger.raise_bound(math.inf)
        return Outcome(Termination.EXHAUSTED, infeasible=True)

    result = play(script)
    assert (result.status, result.termination) == (Status.FEASIBLE, Termination.TIME)
    assert result.lower_bound < result.objective


def test_an_engine_that_does_not_listen(play: Any) -> None:
    """The run ends in time with what the ledger had; what the engine says later changes nothing."""
    said = threading.Event()

    def script(problem: Problem, ledger: Ledger, options: Any) -> Outcome:
        ledger.offer(GOOD, "test")
        ledger.raise_bound(BEST - 1)
        try:
            while True:
                time.sleep(0.01)
        finally:
            ledger.raise_bound(BEST + 1)
            ledger.message("too late")
            said.set()

    heard: list[str] = []

    class Listener(Silent):
        def message(self, text: str) -> None:
            heard.append(text)

    start = time.perf_counter()
    result = play(script, time_limit=0.1, certificate=True, observers=[Listener()])
    assert time.perf_counter() - start < 0.1 + overtime(0.1)
    assert said.wait(5.0)
    assert result.termination is Termination.TIME
    assert result.lower_bound == BEST - 1
    assert result.certificate is None
    assert "too late" not in heard


def test_a_busy_engine_is_heard_of(play: Any) -> None:
    """While an engine says nothing, observers still hear how things stand and what is being done."""
    seen: list[Progress] = []

    class Watcher(Silent):
        def progressed(self, progress: Progress) -> None:
            seen.append(progress)

    def script(problem: Problem, ledger: Ledger, options: Any) -> Outcome:
        ledger.phase = "thinking"
        time.sleep(2.5)
        return Outcome(Termination.EXHAUSTED)

    play(script, observers=[Watcher()])
    assert len(seen) >= 1
    assert all(p.phase == "thinking" for p in seen)


def test_the_log_is_never_silent_for_long() -> None:
    """However many lines there are, the next one comes within five seconds, and says what is being done."""
    import io

    stream = io.StringIO()
    log = PlainLog(stream)
    for second in range(1000):
        log.progressed(Progress(float(second), 0, 0, 2.0, 1.0, phase="pricing"))
    lines = stream.getvalue().splitlines()
    assert len(lines) > 1000 / 6
    assert lines[-1].endswith("pricing")


@pytest.mark.parametrize("engine", ["interval", "dual", "sdp", "race", "bnb", "hard-em", "em"])
@pytest.mark.parametrize("seconds", [0.0, 0.001, 0.3])
def test_every_engine_ends_in_time(engine: str, seconds: float) -> None:
    """Kernels once compiled, a run takes no longer than the limit and a second."""
    rng = np.random.default_rng(1)
    data = rng.normal(size=(400, 3))
    certmix.solve(Problem(data[:40], 3, variance=1.0), engine, node_limit=3, time_limit=60.0)  # compiled
    start = time.perf_counter()
    result = certmix.solve(Problem(data, 3, variance=1.0), engine, time_limit=seconds)
    assert time.perf_counter() - start < seconds + 2.0  # a busy machine may need a moment
    assert result.status in (Status.FEASIBLE, Status.UNKNOWN)


def test_flags_nest() -> None:
    """The current flag is that of the innermost run."""
    outer, inner = Stop(), Stop()
    with under(outer):
        with under(inner):
            assert current() is inner
        assert current() is outer


def test_a_thread_is_not_ended_by_what_ends_the_interpreter() -> None:
    """SystemExit in a thread, printed by C code, shuts the whole program down; Exception would be caught on the way."""
    assert not issubclass(LeftAlone, SystemExit | Exception)


def test_a_thread_that_is_left_alone_at_its_last_step_ends_without_a_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Last(threading.Event):
        def set(self) -> None:
            super().set()
            raise LeftAlone

    said: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", said.append)
    monkeypatch.setattr(
        "certmix.stopping.threading",
        SimpleNamespace(Event=Last, Thread=threading.Thread, Lock=threading.Lock),
    )
    threads = set(threading.enumerate())
    assert attend(lambda: 1, Stop()) == 1
    for thread in set(threading.enumerate()) - threads:
        thread.join(5.0)
    assert said == []


def test_a_thread_that_has_the_number_of_one_that_has_ended_is_not_ended() -> None:
    """Work that ends while its time is looked at has ended; the system may have given its number to another thread."""
    go_on, finish = threading.Event(), threading.Event()
    before = set(threading.enumerate())

    class Slow(Stop):
        def look(self) -> bool:
            """The first look is in time; during the second the work ends, and others begin."""
            if not self.raised:
                self.hoist(Termination.TIME)
            elif not go_on.is_set():
                go_on.set()
                for thread in set(threading.enumerate()) - before:
                    thread.join()
                others.extend(threading.Thread(target=wait) for _ in range(4))
                for thread in others:
                    thread.start()
                time.sleep(2 * LATE)
            return True

    def wait() -> None:
        while not finish.is_set():  # in Python, where an exception from outside would be heard
            time.sleep(0.01)
        unharmed.append(threading.get_ident())

    others: list[threading.Thread] = []
    unharmed: list[int] = []
    try:
        assert attend(lambda: go_on.wait() and 7, Slow()) == 7
    finally:
        finish.set()  # a test that fails ends too
    for thread in others:
        thread.join()
    assert len(unharmed) == len(others)


@pytest.mark.parametrize("error", [InfeasibleError("nothing"), MemoryError(), Abandoned()])
def test_work_that_comes_to_nothing_says_nothing(error: Exception) -> None:
    """And what is said once the flag is up does not count; what nobody expects is not hidden."""

    def fail() -> int:
        raise error

    def late() -> int:
        stop.hoist(Termination.TIME)
        return 7

    stop = Stop(math.inf)
    assert attempt(lambda: 7, stop, math.inf) == 7
    assert attempt(fail, stop, math.inf) is None
    with pytest.raises(ZeroDivisionError):
        attempt(lambda: 1 // 0, stop, math.inf)
    assert attempt(late, stop, math.inf) is None
