"""Finished cells are kept with what they were made with; an interrupted study goes on where it stopped."""

from __future__ import annotations

import json

import pytest

from certmix.errors import InputError
from certmix.paper.study import runner, runs
from certmix.paper.study.cells import Cell
from certmix.paper.study.section import Section, Text
from certmix.paper.study.settings import Settings
from certmix.paper.study.store import Store
from certmix.paper.study.tables import Table
from certmix.status import Termination


def cell(key="a b/c", make=None, **options):
    return Cell(
        key, f"cell {key}", options, make or (lambda tell: {"x": 1}), lambda record: f"x = {record['x']}", 1.0
    )


def test_a_record_comes_back_as_it_was_kept(tmp_path):
    """Under a file name that any system takes, and only as JSON can say it."""
    store, asked = Store(tmp_path), cell(limit=1.0, sizes=(1, 2))
    assert store.find(asked) is None
    assert store.keep(asked, {"x": None, "y": (1, 2)}) == {"x": None, "y": [1, 2]} == store.find(asked)
    assert [p.name for p in (tmp_path / "cells").iterdir()] == ["a-b-c.json"]


@pytest.mark.parametrize("change", [{"limit": 2.0}, {"limit": 1.0, "more": 0}, {}])
def test_other_options_make_it_stale(tmp_path, change):
    """A changed, added or missing option: the record does not count."""
    store = Store(tmp_path)
    store.keep(cell(limit=1.0), {"x": 1})
    assert store.find(cell(**change)) is None
    assert store.find(cell(limit=1.0)) == {"x": 1}


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"record": 1}', '{"record": {"x": 1}}'])
def test_a_damaged_file_is_made_again(tmp_path, damage):
    """Whatever the file holds, it is no error and no record."""
    store = Store(tmp_path)
    store.keep(cell(), {"x": 1})
    store.path(cell()).write_text(damage)
    assert store.find(cell()) is None


class Played:
    """A piece of three cells that notes which were made, and can be interrupted."""

    name = "played"

    def __init__(self):
        self.made, self.stop_at = [], None

    def cells(self, settings):
        def make(key):
            def work(tell):
                if key == self.stop_at:
                    raise KeyboardInterrupt
                self.made.append(key)
                tell("working")
                return {"x": len(self.made)}

            return work

        return [cell(key, make(key), limit=settings.time_limit) for key in ("one", "two", "three", "one")]

    def section(self, settings, records):
        rows = [[key, str(record["x"])] for key, record in records.items()]
        return Section(self.name, "Played", [Text("words"), Table("played", "caption", ["key", "x"], rows)])


@pytest.fixture
def played(monkeypatch):
    piece = Played()
    monkeypatch.setattr(runner, "piece", lambda name: piece)
    monkeypatch.setattr(runner, "PIECES", ("played",))
    return piece


def test_interrupted_and_taken_up_again(tmp_path, played):
    """What is finished stays; the same call makes only the rest, and then nothing at all."""
    played.stop_at, lines = "three", []
    with pytest.raises(runner.Interrupted) as stop:
        runner.run(["played"], Settings(), tmp_path, lines.append)
    assert (stop.value.finished, stop.value.cells) == (2, 3)
    assert not (tmp_path / "report.md").exists()
    played.stop_at, lines = None, []
    assert runner.run(["played"], Settings(), tmp_path, lines.append) == ["played"]
    assert played.made == ["one", "two", "three"]
    assert sum("finished before" in line for line in lines if line.startswith("[")) == 2
    assert "    working" in lines
    runner.run(["played"], Settings(), tmp_path, lines.append)
    assert played.made == ["one", "two", "three"]


def test_another_time_limit_makes_everything_again(tmp_path, played):
    """Cells made with another limit are stale."""
    for limit in (1.0, 2.0):
        runner.run(["played"], Settings(time_limit=limit), tmp_path, lambda _: None)
    assert played.made == ["one", "two", "three"] * 2
    assert "--time-limit 2" in (tmp_path / "report.md").read_text()


def test_files_of_a_section(tmp_path, played):
    """Page in both formats, and the table as CSV."""
    runner.run(["played"], Settings(), tmp_path, lambda _: None)
    assert (tmp_path / "tables" / "played.csv").read_text() == "key,x\none,1\ntwo,2\nthree,3\n"
    for name, code in (("report.md", "`--time-limit 60`"), ("report.html", "<code>--time-limit 60</code>")):
        text = (tmp_path / name).read_text()
        assert "Played" in text
        assert code in text
    assert json.loads((tmp_path / "sections" / "played.json").read_text())["name"] == "played"


def test_bad_input_in_a_cell_names_it(tmp_path, played, monkeypatch):
    """An error in the middle is one sentence that says which run it was."""

    def fail(tell):
        raise InputError("no")

    monkeypatch.setattr(Played, "cells", lambda self, settings: [cell("bad", fail)])
    with pytest.raises(InputError, match="cell bad: no"):
        runner.run(["played"], Settings(), tmp_path, lambda _: None)


@pytest.mark.parametrize("limit", [0, -1.0, float("nan"), float("inf"), True, "10"])
def test_a_time_limit_is_a_positive_number(limit):
    """Anything else is refused."""
    with pytest.raises(InputError, match="time limit must be a number of seconds > 0"):
        Settings(time_limit=limit)


@pytest.mark.parametrize("engine", ["auto", "miqp"])
@pytest.mark.parametrize("at", [1, 2])
def test_an_interrupted_run_ends_the_study(monkeypatch, engine, at):
    """An engine returns what it had when it is interrupted; a cell must not take that for a finished run."""
    calls = []

    class Interrupted:
        termination = Termination.INTERRUPTED

    def played(*arguments, **options):
        calls.append(1)
        return Interrupted if len(calls) == at else solve(*arguments, **options)

    from certmix import solve

    monkeypatch.setattr(runs, "solve", played)
    asked = runs.engine_cell({"name": "iris1d", "n": 6}, engine, Settings(time_limit=0.5))
    if engine == "miqp" and at == 2:  # the paper's models have no run before theirs
        assert asked.make(lambda _: None)["termination"] != "interrupted"
        return
    with pytest.raises(KeyboardInterrupt):
        asked.make(lambda _: None)
