"""States of runs as files: what comes back, what is written once, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from certmix.errors import InputError
from certmix.io.states import MOST_FILES, StateFiles, read_state
from certmix.state import State

STATE = State(
    {"a": 1, "text": "x", "list": [1, 2]},
    {"sub/real": np.array([1.5, np.inf, -np.inf]), "sub/whole": np.arange(6, dtype=np.int8).reshape(2, 3)},
    {"part/0": {"labels": np.array([0, 1, 1]), "bound": np.array(2.5), "none": np.zeros((0, 3))}},
)


def same(one: State, other: State) -> bool:
    def plain(arrays: object) -> object:
        assert isinstance(arrays, dict)
        return {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in arrays.items()}

    assert one.kept.keys() == other.kept.keys()
    assert all(plain(one.kept[name]) == plain(other.kept[name]) for name in one.kept)
    return one.numbers == other.numbers and plain(one.arrays) == plain(other.arrays)


def files_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_a_state_comes_back(tmp_path: Path) -> None:
    """Numbers, arrays and bundles, with their types and shapes, through JSON and NPZ files."""
    files = StateFiles(tmp_path / "snapshot")
    entry = json.loads(json.dumps(files.write(STATE)))
    assert same(read_state(tmp_path / "snapshot", entry), STATE)


def test_parts_of_a_state() -> None:
    """What was joined under a name is found under it; nothing is found under another."""
    joined = State.joined(one=STATE, two=State({"b": 2}))
    assert same(joined.of("one"), STATE)
    assert joined.of("two").numbers == {"b": 2}
    assert not joined.of("three")


def test_bundles_are_written_once_and_files_that_do_not_count_are_removed(tmp_path: Path) -> None:
    """A later state adds a file for what is new; arrays are replaced; nothing is written where nothing changed."""
    files = StateFiles(tmp_path / "snapshot")
    files.write(STATE)
    files.tidy()
    first = files_in(tmp_path)
    files.write(STATE)
    files.tidy()
    assert files_in(tmp_path) == first
    more = State({}, {"other": np.ones(3)}, {**STATE.kept, "part/1": {"labels": np.array([1])}})
    entry = files.write(more)
    files.tidy()
    assert len(files_in(tmp_path)) == 3
    assert entry["kept"][0]["file"] in first
    assert same(read_state(tmp_path / "snapshot", entry), more)


def test_many_bundles_become_one_file(tmp_path: Path) -> None:
    """However often a state grows, there are never more files than a few."""
    files, kept = StateFiles(tmp_path / "snapshot"), {}
    for i in range(2 * MOST_FILES):
        kept[str(i)] = {"number": np.array([i])}
        entry = files.write(State(kept=dict(kept)))
        files.tidy()
    assert len(files_in(tmp_path)) <= MOST_FILES + 1
    assert same(read_state(tmp_path / "snapshot", entry), State(kept=kept))


def test_a_new_process_leaves_the_files_of_the_old_one_alone(tmp_path: Path) -> None:
    """What the JSON file speaks of stays until there is a new state, and numbers of files are not used again."""
    entry = StateFiles(tmp_path / "snapshot").write(STATE)
    (tmp_path / ".snapshot-9.npz.abc.part").write_text("half a file")
    later = StateFiles(tmp_path / "snapshot", entry)
    later.tidy()
    assert same(read_state(tmp_path / "snapshot", entry), STATE)
    assert files_in(tmp_path) == ["snapshot-1.npz", "snapshot-2.npz"]
    new = later.write(State({"a": 2}))
    assert same(read_state(tmp_path / "snapshot", entry), STATE), "as long as the old entry counts"
    later.tidy()
    assert read_state(tmp_path / "snapshot", new).numbers == {"a": 2}
    later.remove()
    assert files_in(tmp_path) == []


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    """A file that was changed, is missing, or lies elsewhere is an error in words, never half a state."""
    files = StateFiles(tmp_path / "snapshot")
    entry = json.loads(json.dumps(files.write(STATE)))
    wrong = json.loads(json.dumps(entry))
    wrong["arrays"]["file"] = "../snapshot-2.npz"
    for damaged in (wrong, {}, {**entry, "kept": None}):
        with pytest.raises(InputError, match="damaged"):
            read_state(tmp_path / "snapshot", damaged)
    path = tmp_path / entry["arrays"]["file"]
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(InputError, match="does not belong"):
        read_state(tmp_path / "snapshot", entry)
    path.unlink()
    with pytest.raises(InputError, match="missing"):
        read_state(tmp_path / "snapshot", entry)


def test_nothing_is_pickled(tmp_path: Path) -> None:
    """Objects cannot be stored."""
    things = np.array([object()])
    for state in (State(arrays={"x": things}), State(kept={"a": {"x": things}})):
        with pytest.raises((ValueError, TypeError)):
            read_state(tmp_path / "snapshot", StateFiles(tmp_path / "snapshot").write(state))
