"""A comparison that was cut short goes on: runs that are over are not made again, the others go on where they were."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import certmix
from certmix.errors import InputError
from certmix.observers.base import Silent
from certmix.selection import turns
from certmix.status import Status

RNG = np.random.default_rng(7)
TWO = np.concatenate([RNG.normal(size=(12, 2)), RNG.normal(6.0, size=(12, 2))])
GIVEN = {"variance": 1.0, "engine": "interval", "threads": 1}


class Engines(Silent):
    """Which problems were begun, and by which engine."""

    def __init__(self) -> None:
        self.begun: list[tuple[int, str, int]] = []

    def started(self, problem, engine, ledger) -> None:
        self.begun.append((problem.n_components, engine, ledger.resumes))


def test_what_is_over_is_not_done_again_and_the_rest_goes_on(tmp_path: Path) -> None:
    """The folder of every number holds its run; the answer is that of a comparison that nobody disturbed."""
    whole = certmix.path(TWO, "1:3", **GIVEN)
    done = {}

    def finish(found) -> None:  # as the command line does it: files of what is over
        for row in found.rows:
            if row.result.certificate is not None and row.k == 1:
                row.result.save(tmp_path / "k1" / "result")
                row.result.certificate.save(tmp_path / "k1" / "certificate")
                done[row.k] = row.result
                (tmp_path / "k1" / "snapshot.json").unlink(missing_ok=True)

    first = certmix.path(
        TWO, "1:3", keep=tmp_path, listener=finish, certificate=True, **{**GIVEN, "node_limit": 3}
    )
    assert not first.proved
    assert done
    assert (tmp_path / "k3" / "snapshot.json").is_file()
    seen = Engines()
    again = certmix.path(TWO, "1:3", resume=tmp_path, observers=[seen], **GIVEN)
    assert again.best == whole.best == 2
    assert again.proved
    assert again.level == "verified"
    assert [row.objective for row in again.rows] == pytest.approx([row.objective for row in whole.rows])
    assert not [one for one in seen.begun if one[0] == 1], "with one component everything was done"
    assert {k for k, engine, resumes in seen.begun if engine == "interval" and resumes == 1} == {2, 3}


def test_the_run_of_another_problem_is_refused(tmp_path: Path) -> None:
    """By its digests, in words; so is a folder without any run."""
    certmix.path(TWO, "2:3", keep=tmp_path, **{**GIVEN, "node_limit": 3})
    with pytest.raises(InputError, match="cannot be resumed: it differs in"):
        certmix.path(TWO + 1e-3, "2:3", resume=tmp_path, **GIVEN)
    with pytest.raises(InputError, match="nothing to resume"):
        certmix.path(TWO, "2:3", resume=tmp_path / "k2", **GIVEN)
    result = certmix.solve(certmix.Problem(TWO, 2, variance=1.0), certificate=True)
    (tmp_path / "k2" / "snapshot.json").unlink()
    result.save(tmp_path / "k2" / "result")
    result.certificate.save(tmp_path / "k2" / "certificate")
    with pytest.raises(InputError, match=r"cannot be resumed: .*certificate"):
        certmix.path(TWO, "2:3", resume=tmp_path, **{**GIVEN, "variance": 2.0})


def test_a_forged_result_counts_only_as_far_as_its_certificate(tmp_path: Path) -> None:
    """A file that says more than the proof beside it is not believed."""
    result = certmix.solve(certmix.Problem(TWO, 2, variance=1.0), certificate=True, node_limit=1)
    (tmp_path / "k2").mkdir()
    path = result.save(tmp_path / "k2" / "result")
    result.certificate.save(tmp_path / "k2" / "certificate")
    document = json.loads(path.read_text())
    document["lower_bound"] = document["objective"]
    document["status"] = "optimal"
    path.write_text(json.dumps(document))
    found = turns.compare(
        [certmix.Problem(TWO, 2, variance=1.0)], "icl", certmix.Options(resume=tmp_path, node_limit=1)
    )
    assert found[2].status is not Status.OPTIMAL or found[2].result.verdict is not None
