"""The watchers: what they write, how much of it, and that they never stand in the way."""

from __future__ import annotations

import io
import math
import os
import subprocess
import sys

import numpy as np
import pytest

from certmix.compiling import MESSAGE
from certmix.concluding import build_result
from certmix.errors import InputError
from certmix.ledger import Ledger, Progress
from certmix.observers.live import LiveLine
from certmix.observers.log import PlainLog
from certmix.observers.snapshot import Snapshot
from certmix.observers.wording import duration, letter, row, share
from certmix.problem import Problem
from certmix.problem.quantity import NATS
from certmix.result import Result
from certmix.status import Termination, Tolerances


@pytest.fixture
def problem() -> Problem:
    return Problem([[0.0], [0.1], [4.0], [4.2]], 2, variance=1.0)


def play(problem: Problem, *observers, bound: float = 1.0) -> Result:
    """A little run: one incumbent, a better one, a bound."""
    ledger = Ledger(problem, Tolerances(), observers)
    for observer in observers:
        observer.started(problem, "test", ledger)
    ledger.message("a word")
    ledger.offer(np.array([0, 1, 1, 1]), "start")
    ledger.offer(np.array([0, 0, 1, 1]), "hard-em")
    ledger.raise_bound(bound)
    result = build_result(
        problem, ledger, engine="test", termination=Termination.TIME, certificate_level="computed"
    )
    for observer in observers:
        observer.finished(result)
    return result


def test_plain_log_has_banner_columns_and_a_closing_sentence(problem):
    """The log names version, engine and size, heads its columns, and ends with what is proved."""
    stream = io.StringIO()
    result = play(problem, PlainLog(stream))
    text = stream.getvalue()
    lines = text.splitlines()
    assert lines[0].startswith("certmix ")
    assert "engine test" in lines[0]
    assert lines[1] == "4 samples x 1 feature, 2 components, 0 side constraints"
    heading = next(line for line in lines if "incumbent" in line)
    for column in ("nodes", "open", "incumbent", "bound", "gap", "time"):
        assert column in heading
    assert "a word" in lines
    assert lines[-1] == result.sentence()
    assert f"{result.objective:.10g}" in text


def test_plain_log_shows_where_an_incumbent_came_from(problem):
    """A new incumbent's line begins with the letter of its source, explained once."""
    stream = io.StringIO()
    play(problem, PlainLog(stream, every=0.0))
    lines = stream.getvalue().splitlines()
    assert any(line.startswith("S") and line.endswith("S: start") for line in lines)
    assert any(line.startswith("H") and line.endswith("H: hard-em") for line in lines)


def test_plain_log_goes_to_standard_error_by_default(problem, capsys):
    """Nothing of the log reaches standard output."""
    play(problem, PlainLog())
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "certmix" in captured.err


def test_plain_log_stays_short_however_long_the_run(problem):
    """A hundred thousand steps in an hour leave a line every few seconds, and the last incumbent is among them."""
    stream = io.StringIO()
    log = PlainLog(stream)
    for i in range(100_000):
        log.progressed(Progress(i * 0.036, i, 1, 1e6 - i, 0.0))
    play(problem, log)
    assert 3600 / 5 < len(stream.getvalue().splitlines()) < 3600 / 4 + 40


def test_a_burst_of_incumbents_is_thinned_but_the_last_is_shown(problem):
    """Incumbents that follow each other within milliseconds share a line; the newest is never lost."""
    stream = io.StringIO()
    log = PlainLog(stream)
    for i in range(1000):
        log.progressed(Progress(i * 1e-4, i, 0, 2000.0 - i, 0.0, "hard-em"))
    log.finished(play(problem))
    text = stream.getvalue()
    assert "1001" in text
    assert len(text.splitlines()) < 20


def test_wording_of_figures():
    """Durations, gaps and letters as people write them; missing figures are dashes."""
    assert [duration(s) for s in (0.04, 12.34, 245, 7500)] == ["0.0 s", "12.3 s", "4m05s", "2h05m"]
    assert [share(g) for g in (0.0, 0.25, 3e-9, math.inf)] == ["0.0000 %", "25.0000 %", "3.0e-09", "-"]
    assert [letter(s) for s in ("start", "hard-em", "slsqp", "new method", "")] == ["S", "H", "Q", "N", ""]
    assert row(Progress(1.0, 0, 0, math.inf, -math.inf), NATS).split() == [
        "0",
        "0",
        "-",
        "-",
        "-",
        "1.0",
        "s",
    ]


def test_first_run_says_that_it_compiles(tmp_path):
    """With an empty cache of compiled kernels the log says why the run is slow to begin; the next run does not."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "certmix", "solve", "iris1d:n=15", "--engine", "dynamic"]
    logs = [subprocess.run(command, env=environment, capture_output=True, text=True).stderr for _ in range(2)]
    assert [log.count(MESSAGE) for log in logs] == [1, 0]


def test_live_line_leaves_a_clean_terminal(problem):
    """The live line ends with the closing sentence and can be closed twice."""
    stream = io.StringIO()
    with LiveLine(stream) as live:
        result = play(problem, live)
        live.close()
    assert result.sentence() in stream.getvalue()
    assert "a word" in stream.getvalue()


def test_live_line_says_the_important_first(problem):
    """Time and gap stand before the counts, and what is not known is a dash."""
    live = LiveLine(io.StringIO())
    assert "working" in live._line().plain
    live.progressed(Progress(1.0, 1234, 56, 700.0, -math.inf))
    text = live._line().plain
    assert "bound -" in text
    assert text.index("gap") < text.index("incumbent") < text.index("nodes 1234")


def test_live_line_closes_when_a_run_fails(problem):
    """An error in the middle of a run gives the terminal back."""
    live = LiveLine(io.StringIO())
    live.started(problem, "test", Ledger(problem, Tolerances()))
    with pytest.raises(InputError), live:
        problem.component("absent")
    assert live._live is None


def test_snapshot_holds_the_newest_incumbent_and_bound(problem, tmp_path):
    """After every new incumbent the file holds it; it loads as a result, and says in the end why the run stopped."""
    snapshot = Snapshot(tmp_path / "out", every=0.0, share=math.inf)
    result = play(problem, snapshot)
    found = Result.load(snapshot.path)
    assert found.objective == result.objective
    assert found.lower_bound == 1.0
    assert found.termination is result.termination is Termination.TIME
    np.testing.assert_array_equal(found.labels, result.labels)
    assert [p.name for p in snapshot.path.parent.iterdir()] == ["snapshot.json"]
    snapshot.remove()
    snapshot.remove()
    assert not snapshot.path.exists()


def test_snapshot_is_written_for_every_incumbent_but_rarely_for_bounds(problem, tmp_path, monkeypatch):
    """A thousand bounds in a moment cost one writing at most; an incumbent is written at once."""
    snapshot = Snapshot(tmp_path, share=math.inf)
    written = []
    monkeypatch.setattr("certmix.io.atomic.write_text", lambda path, text: written.append(text))
    ledger = Ledger(problem, Tolerances(), [snapshot])
    snapshot.started(problem, "test", ledger)
    ledger.raise_bound(-5.0)
    assert len(written) == 1  # whose run it is; no clustering yet
    written.clear()
    ledger.offer(np.array([0, 1, 1, 1]), "start")
    ledger.offer(np.array([0, 0, 1, 1]), "hard-em")
    assert len(written) == 2
    for i in range(1000):
        ledger.raise_bound(-4.0 + i / 1000)
    assert len(written) <= 3


def test_the_first_incumbent_is_written_however_slow_writing_is(problem, tmp_path):
    """Before it the file holds no clustering at all, so pacing begins with the second."""
    snapshot = Snapshot(tmp_path, share=1e-12)
    ledger = Ledger(problem, Tolerances(), [snapshot])
    snapshot.started(problem, "test", ledger)
    snapshot._pace._cost = 1.0
    ledger.offer(np.array([0, 1, 1, 1]), "start")
    assert Result.load(snapshot.path).labels is not None


def test_snapshot_does_not_call_a_cut_run_optimal_without_numbers(problem, tmp_path):
    """The status in a snapshot is decided by the same comparison as everywhere: far bound, not optimal."""
    snapshot = Snapshot(tmp_path, every=0.0)
    play(problem, snapshot, bound=-100.0)
    assert Result.load(snapshot.path).status == "feasible"
