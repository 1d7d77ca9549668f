"""Results as dictionaries and files: nothing is lost, nothing infinite reaches JSON, damage is noticed."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest

from certmix import saving
from certmix.concluding import build_result
from certmix.errors import InputError
from certmix.io.strict_json import dumps
from certmix.ledger import Ledger
from certmix.problem import MustLink, Problem
from certmix.result import Result
from certmix.saving import as_dict, save
from certmix.status import Status, Termination, Tolerances

KEYS = [
    "status",
    "termination",
    "objective",
    "lower_bound",
    "gap_absolute",
    "gap_relative",
    "engine",
    "nodes",
    "seconds",
    "labels",
    "sizes",
    "means",
    "weights",
    "certificate",
]


def make(bound: float | None = 1.0, labels: list[int] | None = None, **options: object) -> Result:
    """A result of four samples in two components, with a bound or without."""
    problem = Problem(
        [[0.0, 1.0], [0.1, 1.2], [4.0, 4.0], [4.5, 4.1]],
        2,
        variance=1.0,
        names=["a", "b", "c", "d"],
        constraints=[MustLink("a", "b", source="row 1")],
    )
    ledger = Ledger(problem, Tolerances())
    if labels is None:
        labels = [0, 0, 1, 1]
    if labels:
        ledger.offer(np.array(labels), "start")
    if bound is not None:
        ledger.raise_bound(bound)
    ledger.nodes = 7
    return build_result(
        problem, ledger, engine="test", termination=Termination.TIME, certificate_level="computed", **options
    )


def assert_same(a: Result, b: Result) -> None:
    for field in dataclasses.fields(Result):
        if field.name == "problem":  # which no file holds
            continue
        left, right = getattr(a, field.name), getattr(b, field.name)
        if isinstance(left, np.ndarray):
            np.testing.assert_array_equal(left, right)
            assert left.dtype == right.dtype
        else:
            assert left == right, field.name


RESULTS = {
    "with bound": make,
    "optimal": lambda: make(1e9),  # the ledger caps it at the incumbent
    "without bound": lambda: make(None),
    "nothing found": lambda: make(1.0, []),
    "infeasible": lambda: make(
        None, [], infeasible=True, message="S1 and S2 must be together but may not be"
    ),
}


@pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)
def test_save_and_load_give_the_same_result(tmp_path, result):
    """Whatever the state of a run, what is loaded equals what was saved, to the last bit."""
    found = result()
    (tmp_path / "deep").mkdir()
    path = found.save(tmp_path / "deep" / "run1")
    assert path == tmp_path / "deep" / "run1.json"
    assert_same(found, Result.load(path))
    assert_same(found, Result.load(tmp_path / "deep" / "run1"))
    assert sorted(p.name for p in path.parent.iterdir()) == ["run1.json", "run1.npz"]


@pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)
def test_json_is_strict_and_has_the_promised_keys(result):
    """Every promised key is there, and missing or infinite numbers are null."""
    text = dumps(result().to_dict())

    def refuse(constant):
        raise AssertionError(constant)

    document = json.loads(text, parse_constant=refuse)
    assert set(KEYS) <= document.keys()
    assert document == result().to_dict() | {"seconds": document["seconds"], "trace": document["trace"]}


def test_statuses_of_the_samples_above():
    """The five results are what their names say."""
    found = [RESULTS[name]().status for name in RESULTS]
    assert found == [Status.FEASIBLE, Status.OPTIMAL, Status.FEASIBLE, Status.UNKNOWN, Status.INFEASIBLE]
    assert as_dict(make(None))["lower_bound"] is None
    assert as_dict(make(None))["certificate"] == "none"
    assert as_dict(make(1.0))["gap_absolute"] == pytest.approx(make().objective - 1.0)


def test_a_dictionary_alone_can_be_loaded(tmp_path):
    """A single JSON file with the arrays inside (a snapshot) loads without an NPZ file."""
    found = make()
    (tmp_path / "snapshot.json").write_text(dumps(as_dict(found)))
    assert_same(
        dataclasses.replace(found, data=None, precision=None), Result.load(tmp_path / "snapshot.json")
    )


def test_extra_entries_survive_and_do_not_disturb(tmp_path):
    """More entries in the JSON file are written and ignored by loading."""
    path = save(make(), tmp_path / "r", extra={"warnings": ["a"]})
    assert json.loads(path.read_text())["warnings"] == ["a"]
    Result.load(path)


def test_saving_replaces_in_one_step(tmp_path, monkeypatch):
    """When writing fails half-way, the old file is untouched and nothing is left lying about."""
    path = save(make(), tmp_path / "r")
    before = path.read_bytes()

    def fail(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("certmix.io.atomic.os.replace", fail)
    with pytest.raises(InputError, match="No space left"):
        save(make(2.0), tmp_path / "r")
    assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.json", "r.npz"]


def edit(change):
    """Damage the JSON file by a change of its document."""

    def damage(directory):
        path = directory / "r.json"
        document = json.loads(path.read_text())
        change(document)
        path.write_text(json.dumps(document))

    return damage


def edit_inline(change):
    """The same for a file that holds its arrays itself."""

    def damage(directory):
        document = as_dict(make())
        change(document)
        (directory / "r.json").write_text(json.dumps(document))

    return damage


def cut(name):
    def damage(directory):
        content = (directory / name).read_bytes()
        (directory / name).write_bytes(content[: len(content) // 2])

    return damage


DAMAGE = {
    "no file": (lambda d: (d / "r.json").unlink(), "no file"),
    "no arrays": (lambda d: (d / "r.npz").unlink(), "r.npz are missing"),
    "half a file": (cut("r.json"), "not JSON"),
    "half the arrays": (cut("r.npz"), "does not belong"),
    "empty": (lambda d: (d / "r.json").write_text(""), "not JSON"),
    "a list": (lambda d: (d / "r.json").write_text("[]"), "not a result"),
    "not text": (lambda d: (d / "r.json").write_bytes(b"\xff\xfe"), "not JSON"),
    "NaN": (lambda d: (d / "r.json").write_text('{"objective": NaN}'), "NaN"),
    "another format": (edit(lambda x: x.update(format="other")), "not a result"),
    "a later version": (edit(lambda x: x.update(version=99)), "version 99"),
    "an entry is gone": (edit(lambda x: x.pop("engine")), "'engine' is missing"),
    "unknown status": (edit(lambda x: x.update(status="great")), "great"),
    "a status that the numbers deny": (edit(lambda x: x.update(status="optimal")), "contradicts"),
    "a text for a number": (edit(lambda x: x.update(objective="low")), "'low' stands where a number"),
    "names are no list": (edit(lambda x: x.update(names="abcd")), "names is not a list"),
    "too few names": (edit(lambda x: x["names"].pop()), "shape"),
    "trace of pairs": (edit(lambda x: x.update(trace=[[1, 2]])), "damaged"),
    "negative gap": (edit(lambda x: x["tolerances"].update(relative=-1)), "relative gap"),
    "label too high": (edit_inline(lambda x: x.update(labels=[0, 0, 1, 2])), "label does not lie"),
    "half a label": (edit_inline(lambda x: x.update(labels=[0, 0, 1, 0.5])), "not whole"),
    "no label": (edit_inline(lambda x: x.update(labels=None)), "objective without labels"),
    "runner-up too low": (edit_inline(lambda x: x.update(runner_up=[0, 0, 1, -2])), "runner-up"),
}


@pytest.mark.parametrize(("damage", "message"), DAMAGE.values(), ids=DAMAGE)
def test_damaged_files_are_refused(tmp_path, damage, message):
    """Every kind of damage is an InputError that names the file."""
    save(make(), tmp_path / "r")
    damage(tmp_path)
    with pytest.raises(InputError, match=message) as caught:
        Result.load(tmp_path / "r")
    assert "r.json" in str(caught.value)


def test_a_pickle_in_the_arrays_is_never_opened(tmp_path):
    """An NPZ file with objects in it is refused even when its digest fits."""
    import hashlib

    save(make(), tmp_path / "r")
    np.savez(tmp_path / "r.npz", labels=np.array([{}], dtype=object))
    digest = hashlib.sha256((tmp_path / "r.npz").read_bytes()).hexdigest()
    edit(lambda x: x["arrays"].update(sha256=digest))(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        Result.load(tmp_path / "r")


def test_infinite_gap_is_null():
    """A gap that is not known is null, not a number."""
    document = as_dict(make(None))
    assert document["gap_absolute"] is None
    assert document["gap_relative"] is None
    assert math.isinf(make(None).gap_absolute)


def test_arrays_that_are_too_large_are_not_read(tmp_path, monkeypatch):
    """What an NPZ file would take in memory is looked at before any of it is unpacked."""
    make().save(tmp_path / "r")
    monkeypatch.setattr(saving, "MOST_BYTES", 16)
    with pytest.raises(InputError, match="holds arrays of more than 16 bytes"):
        Result.load(tmp_path / "r")
