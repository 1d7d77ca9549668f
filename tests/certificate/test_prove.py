"""Certificates of random small problems against enumeration, and of the data sets of the paper."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import certmix
from certmix.certificate import Certificate, lagrangian, prove
from certmix.certificate.prove import Unproved, make
from certmix.datasets import load, load_pam50
from certmix.errors import InfeasibleError, InputError, UnsupportedError
from certmix.problem import CannotLink, GaussianPrior, MinimumSize, Problem
from certmix.problem.features import EVERY_FEATURE, Feature
from certmix.status import Status
from certmix.verify import statement
from certmix.verify.check import check
from certmix.verifying import checked
from random_instances import random_problem
from tuned import tuned

PAM50 = Path(__file__).parents[2] / ".." / "shared" / "data" / "pam50"
# What the checker relaxes where the program does not; with these a certificate may not be had.
RELAXED = {Feature.WEIGHT_BOX, Feature.MEAN_BOX, Feature.ESTIMATORS}


def certified(problem: Problem) -> tuple[float, Certificate | None, bool] | None:
    """``(optimum by enumeration, certificate, whether it is verified)``; None when nothing is feasible."""
    try:
        result = certmix.solve(problem, "enumerate")
    except (InfeasibleError, UnsupportedError):
        return None
    if result.labels is None:
        return None
    try:
        certificate, _ = make(problem, result, time_limit=600.0)
    except Unproved:
        return result.objective, None, False
    return (
        result.objective,
        certificate,
        check(certificate.document, certificate.arrays, problem.data).verified,
    )


def test_small_problems_of_every_kind_are_certified() -> None:
    """A certificate never claims more than the optimum, and every one can be made and is verified."""
    for seed in range(120):
        problem = random_problem(np.random.default_rng(seed), wide=0.2)
        found = certified(problem)
        if found is not None:
            optimum, certificate, verified = found
            assert certificate is not None
            assert verified
            assert certificate.bound <= optimum + 1e-9 * max(1.0, abs(optimum))


# Small problems that pricing and branching settle within a second; others take longer or have no certificate.
QUICK = (202, 204, 205, 207, 209, 212, 218, 220, 222, 223, 225, 227, 228, 231, 234)


@pytest.mark.parametrize("seed", QUICK)
def test_branching_and_pricing_certify_small_problems(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """The same without enumeration at the root, so that multipliers, pricing trees and branching have to do it."""
    monkeypatch.setattr(prove, "MOST", 0)
    monkeypatch.setattr(prove.dynamic, "MOST_WORK", -1.0)
    use = EVERY_FEATURE - RELAXED
    with tuned(prove, few_groups=0), tuned(lagrangian, few_clusterings=8):
        found = certified(random_problem(np.random.default_rng(seed), max_samples=8, features=use))
    assert found is not None
    optimum, certificate, verified = found
    assert certificate is not None
    kinds = {step["kind"] for step in certificate.document["steps"]}
    assert kinds <= {"lagrangian", "enumerate"}
    assert "lagrangian" in kinds or len(certificate.arrays["tree/parent"]) > 1
    assert verified
    assert certificate.bound <= optimum + 1e-9 * max(1.0, abs(optimum))


def shaken(n: int, d: int, k: int, seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=4.0, size=(k, d))
    return Problem(centres[rng.integers(k, size=n)] + rng.normal(size=(n, d)), k, variance=1.0)


@pytest.mark.parametrize("engine", ["dual", "interval"])
@pytest.mark.parametrize("weights", ["free", "uniform"])
def test_whoever_solved_it_the_certificate_is_verified(engine: str, weights: str) -> None:
    """The proof does not depend on the engine; its bound supports the status of the result."""
    problem = shaken(40, 2, 3, 1).replace(weights=weights)
    result = certmix.solve(problem, engine, certificate=True)
    assert result.certificate is not None
    again, verdict = checked(result, problem)
    assert verdict.verified, verdict.sentence
    assert again.certificate_level == result.certificate_level == "verified"
    assert again.tolerances.closed(verdict.value, verdict.bound)
    assert verdict.value == pytest.approx(result.objective, rel=1e-12)


def test_what_would_take_long_to_enumerate_has_the_proof_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a million clusterings are looked at one by one only where there is no other proof."""
    problem = shaken(20, 2, 2, 3).replace(constraints=[CannotLink(0, 1)])
    result = certmix.solve(problem, "sdp", certificate=True)
    assert result.certificate is not None
    assert {step["kind"] for step in result.certificate.document["steps"]} == {"semidefinite"}
    assert result.certificate_level == "verified"
    few = shaken(14, 2, 2, 3).replace(constraints=[CannotLink(0, 1)])

    def unproved(*_: object) -> None:
        raise Unproved("no proof")

    monkeypatch.setattr("certmix.certificate.semidefinite.recorded", unproved)
    with tuned(prove, quick_seconds=0.0):
        result = certmix.solve(few, "sdp", certificate=True)
    assert result.certificate is not None
    assert [step["kind"] for step in result.certificate.document["steps"]] == ["enumerate"]
    assert result.certificate_level == "verified"


def test_links_sizes_and_labels_are_certified() -> None:
    """A problem with side constraints of several kinds, small enough to be quick, too large to be enumerated."""
    problem = shaken(22, 2, 3, 5)
    free = certmix.solve(problem).labels
    first, second, third = (np.flatnonzero(free == k).tolist() for k in range(3))
    rules = [
        CannotLink(first[0], second[0]),
        CannotLink(second[1], third[0]),
        MinimumSize(min(map(len, (first, second, third)))),
        certmix.MustLink(third[1], third[2]),
        certmix.Label(first[1], 1),
    ]
    problem = problem.replace(constraints=rules)
    result = certmix.solve(problem, certificate=True)
    assert result.certificate is not None
    assert certmix.verify(result.certificate, problem).verified
    assert certmix.verify(result.certificate, problem.data, rules).verified
    fewer = certmix.verify(result.certificate, problem.data, rules[1:])
    assert not fewer.verified
    assert "apart" in fewer.sentence
    other = certmix.verify(result.certificate, problem.replace(constraints=rules[:-1]))
    assert not other.verified


def test_an_unfinished_run_is_certified_for_what_it_proved() -> None:
    """A bound short of optimality is a claim like any other."""
    problem = shaken(40, 2, 3, 1)
    result = certmix.solve(problem, "dual", gap=1e-2, certificate=True)
    assert result.certificate is not None
    assert certmix.verify(result.certificate, problem.data).verified
    early = certmix.solve(problem, "interval", node_limit=2)
    assert early.status is Status.FEASIBLE
    found, _ = make(problem, early)
    assert found.bound >= early.lower_bound - 1e-8 * abs(early.lower_bound)
    assert check(found.document, found.arrays, problem.data).verified


def test_the_level_stays_where_the_certificate_says_less() -> None:
    """A verified certificate with a weaker bound, or another clustering, does not lift the level of a result."""
    problem = shaken(12, 2, 2, 3)
    result = certmix.solve(problem, certificate=True)
    assert result.certificate is not None
    document = {**result.certificate.document, "bound": result.objective - 1.0}
    weaker = replace(
        result, certificate=Certificate(document, result.certificate.arrays), certificate_level="computed"
    )
    again, verdict = checked(weaker, problem)
    assert verdict.verified
    assert again.certificate_level == "computed"
    assert checked(result, problem.data + 1.0)[0].certificate_level == "computed"
    with pytest.raises(ValueError, match="no certificate"):
        checked(replace(result, certificate=None), problem)


def test_files_come_back_as_they_were(tmp_path: Path) -> None:
    """Saved and loaded, the certificate is the same, and verified from a path, an array or a name."""
    problem = load("iris1d").problem()
    certificate = certmix.solve(problem, certificate=True).certificate
    assert certificate is not None
    path = certificate.save(tmp_path / "certificate")
    again = Certificate.load(path)
    assert again.document == certificate.document
    assert set(again.arrays) == set(certificate.arrays)
    assert all((again.arrays[name] == array).all() for name, array in certificate.arrays.items())
    assert certmix.verify(path, problem.data).verified
    assert certmix.verify(str(tmp_path), "iris1d").verified
    np.save(tmp_path / "data.npy", problem.data)
    assert certmix.verify(path, tmp_path / "data.npy").verified


def test_packing_is_quick_compression_and_repeatable() -> None:
    """The archive is an ordinary NPZ file, compressed, and the same bytes every time."""
    arrays = {"a/b": np.zeros((300, 50)), "c": np.arange(7, dtype=np.int8), "empty": np.zeros(0)}
    content = Certificate({}, arrays).packed()
    assert content == Certificate({}, arrays).packed()
    assert len(content) < 0.05 * arrays["a/b"].nbytes
    with np.load(io.BytesIO(content), allow_pickle=False) as again:
        assert {name: again[name].tolist() for name in again.files} == {
            k: v.tolist() for k, v in arrays.items()
        }


@pytest.mark.parametrize("damage", ["cut", "text", "version", "format", "digest", "gone", "pickle", "list"])
def test_damaged_files_are_told_in_one_sentence(tmp_path: Path, damage: str) -> None:
    """Whatever is wrong with the files, it is an InputError, and no certificate is verified."""
    certificate = certmix.solve(shaken(8, 2, 2, 0), certificate=True).certificate
    assert certificate is not None
    path = certificate.save(tmp_path / "c")
    npz, document = tmp_path / "c.npz", json.loads(path.read_text())
    if damage == "cut":
        npz.write_bytes(npz.read_bytes()[:-40])
    elif damage == "text":
        path.write_text(path.read_text()[:-20])
    elif damage in ("version", "format"):
        path.write_text(json.dumps({**document, damage: 99}))
    elif damage == "digest":
        path.write_text(json.dumps({**document, "arrays": {}}))
    elif damage == "gone":
        npz.unlink()
    elif damage == "list":
        path.write_text("[1, 2]")
    else:
        import hashlib

        with npz.open("wb") as stream:
            np.savez(stream, x=np.array([{"a": 1}], dtype=object))
        document["arrays"]["sha256"] = hashlib.sha256(npz.read_bytes()).hexdigest()
        path.write_text(json.dumps(document))
    with pytest.raises(InputError):
        Certificate.load(path)
    assert not certmix.verify(path, shaken(8, 2, 2, 0).data).verified


def test_attested_and_unproved_results_have_no_certificate() -> None:
    """A local search proves nothing, so there is nothing to certify; the level says so."""
    problem = shaken(12, 2, 2, 0)
    result = certmix.solve(problem, "hard-em", certificate=True)
    assert result.certificate is None
    assert result.certificate_level == "none"
    attested = replace(certmix.solve(problem), certificate_level="attested by SCIP 10.0")
    with pytest.raises(Unproved, match="attested"):
        make(problem, attested)


def test_large_full_matrices_get_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the checker would refuse for its full matrices is not made; that the matrices are large is the reason."""
    data = shaken(12, 3, 2, 0).data
    full = Problem(data, 2, precision=np.eye(3) + 0.1)
    prior = Problem(data, 2, variance=1.0, prior=GaussianPrior(0.0, np.eye(3) + 0.1))
    monkeypatch.setattr(statement, "MOST_FULL", 2)
    for problem in (full, prior):
        with pytest.raises(Unproved, match="3 x 3 numbers are too large to check"):
            make(problem, certmix.solve(problem, "enumerate"))
    assert certmix.solve(Problem(data, 2, variance=1.0), certificate=True).certificate is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["brca", "iris"])
def test_data_sets_of_the_paper(name: str) -> None:
    """The four-dimensional iris and the breast cancer data are verified at the root, in kilobytes."""
    problem = load(name).problem()
    result = certmix.solve(problem, certificate=True)
    assert result.certificate is not None
    assert certmix.verify(result.certificate, problem).verified
    assert len(result.certificate.packed()) < 100_000


@pytest.mark.slow
@pytest.mark.skipif(not PAM50.exists(), reason="the PAM50 matrix is not here")
@pytest.mark.parametrize("labels", [True, False])
def test_pam50_is_verified(labels: bool) -> None:
    """Four principal components of PAM50, with known labels and without."""
    data = load_pam50(PAM50)
    problem = data.problem(constraints=data.labels() if labels else ())
    result = certmix.solve(problem, certificate=True)
    assert result.certificate is not None
    assert certmix.verify(result.certificate, problem).verified
