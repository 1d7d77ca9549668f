"""Proofs of parts: made where a part is solved, put together to the certificate of the whole."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import certmix
from certmix import Problem, solve
from certmix.certificate.parts import PartProof
from certmix.engines import engine, why_not
from certmix.io.npz import NestedArrays
from certmix.parts import task as parts_task
from certmix.parts.account import Part
from certmix.parts.task import PartTask
from certmix.problem import CannotLink, DirichletPrior, GaussianPrior, MinimumSize, MustLink
from certmix.problem.restriction import Restriction
from certmix.spool import Spool
from claims import find_truth
from random_instances import random_problem


@pytest.fixture(autouse=True)
def time_for_proofs(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a proof may take longer than what a run usually gives it."""
    monkeypatch.setattr(parts_task, "LEAST_BUDGET", 600.0)


def clusters(n: int, d: int, **settings: object) -> Problem:
    rng = np.random.default_rng(92)
    data = rng.normal(size=(n, d))
    data[:, 0] += 8.0 * rng.integers(2, size=n)
    return Problem(data, 2, **{"variance": 1.0, **settings})


@pytest.mark.parametrize("d", [2, 6])
def test_a_run_by_parts_is_verified(d: int, tmp_path: Path) -> None:
    """With constraints and priors; its certificate is a sum, which the checker accepts from its files alone."""
    rules = [MustLink(0, 1), CannotLink(0, 7), MinimumSize(10, 0)]
    problem = clusters(60, d, constraints=rules, prior=[GaussianPrior(0.0, 50.0), DirichletPrior(2.0)])
    result = solve(problem, "parts", part_size=20, gap=0.2, certificate=True)
    assert result.certificate_level == "verified", result.verification
    assert result.certificate is not None
    assert result.certificate.document["claim"] == "sum"
    assert result.lower_bound == result.certificate.bound
    assert all(part is not None and not isinstance(part, bytes) for part in result.certificate.arrays.parts)
    found = certmix.verify(result.certificate.save(tmp_path / "certificate"), problem)
    assert found.verified, found.sentence
    assert found.nodes >= 3


def test_random_problems_in_parts_are_verified() -> None:
    """With every option: what is verified is true, and nearly everything is."""
    rng = np.random.default_rng(93)
    levels = []
    while len(levels) < 25:
        problem = random_problem(rng, max_samples=9)
        truth = find_truth(problem)
        if why_not(engine("parts"), problem) is not None or truth.infeasible:
            continue
        result = solve(
            problem, "parts", part_size=int(rng.integers(1, 7)), gap=0.2, node_limit=200, certificate=True
        )
        levels.append(result.certificate_level)
        if result.certificate is not None:
            found = certmix.verify(result.certificate, problem)
            assert found.verified, found.sentence
            assert found.bound <= truth.optimum + truth.slack
    assert levels.count("verified") > 20


def test_proofs_that_nobody_wants_are_not_kept() -> None:
    """They are checked where they are made, the result is verified, and there is no certificate to hand out."""
    result = solve(clusters(60, 2), "parts", part_size=20, gap=1e-2)
    assert result.certificate_level == "verified", result.verification
    assert result.certificate is None
    unproved = solve(clusters(60, 2), "parts", part_size=20, gap=1e-2, verify=False)
    assert unproved.certificate_level == "computed"
    assert unproved.lower_bound == pytest.approx(result.lower_bound, rel=1e-2)


def test_a_task_is_sent_with_its_proof() -> None:
    """Question and answer can be pickled; without samples no proof is made."""
    problem = clusters(60, 2)
    samples = np.arange(0, 60, 3)
    part = Restriction(problem).part(samples)
    task = pickle.loads(pickle.dumps(PartTask(part, None, 1e-2, samples=samples, keep=True)))
    answer = pickle.loads(pickle.dumps(task()))
    assert answer.proof is not None
    assert answer.proof.verified
    assert isinstance(answer.proof.arrays, bytes)
    assert answer.proof.bound <= answer.value
    assert PartTask(part, None, 1e-2)().proof is None
    assert PartTask(part, None, 1e-2, samples=samples)().proof.arrays is None


def test_the_best_proofs_of_a_part_are_kept() -> None:
    """One that is weaker than those there are is not taken, of parts that were put together neither."""

    def proof(bound: float) -> PartProof:
        return PartProof(np.arange(2), bound, "", "", True)

    part = Part(np.arange(4), np.arange(4), 9.0, 0.0, 9.0, proofs=[proof(2.0), proof(3.0)])
    part.proved(proof(4.0))
    assert len(part.proofs) == 2
    part.proved(proof(6.0))
    assert [kept.bound for kept in part.proofs] == [6.0]
    assert part.bound == 6.0


def test_a_spool_gives_back_what_it_got() -> None:
    """In any order; what is not a part is not there."""
    spool = Spool()
    stored = [spool.put(bytes([i]) * i) for i in (3, 0, 5)]
    assert [piece.read() for piece in reversed(stored)] == [b"\x05" * 5, b"", b"\x03" * 3]
    arrays = NestedArrays({"a": np.zeros(1)}, [None])
    assert not arrays.complete
    assert arrays["a"].shape == (1,)
    for name in ("b", "parts/1/a", "parts/x/a", "parts/01/a"):
        with pytest.raises(KeyError):
            arrays[name]
    with pytest.raises(certmix.errors.InputError, match="not kept"):
        arrays["parts/0/a"]


def test_a_part_that_stays_open_is_proved_as_far_as_it_came() -> None:
    """Its bound is proved but for a small share of its gap, though the search hit a limit."""
    rng = np.random.default_rng(94)
    data = rng.normal(size=(150, 3)) + 1.2 * rng.integers(3, size=(150, 1))
    samples = np.arange(0, 150, 2)
    part = Restriction(Problem(data, 3, variance=1.0)).part(samples)
    answer = PartTask(part, None, 1e-6, node_limit=20, samples=samples, keep=True)()
    assert answer.why == "node limit"
    assert answer.bound < answer.value - 1e-6
    assert answer.proof is not None
    assert answer.proof.verified
    assert answer.bound - 0.06 * (answer.value - answer.bound) <= answer.proof.bound <= answer.bound


@pytest.mark.parametrize(("n", "K", "d", "gap", "limit"), [(40, 3, 2, 0.5, 20), (60, 4, 6, 1e-3, 1)])
def test_a_part_that_hit_a_limit_goes_on(n: int, K: int, d: int, gap: float, limit: int) -> None:
    """Its bounds never fall, it ends with the answer of one try, with a proof, and with nothing left to go on from."""
    rng = np.random.default_rng(94)
    problem = Problem(rng.normal(size=(n, d)), K, variance=1.0)
    samples = np.arange(n)
    task = PartTask(problem, None, gap, samples=samples, keep=True)
    whole, earlier, bounds, nodes = task(), None, [], 0
    assert whole.unfinished is None
    for _ in range(20):
        task = PartTask(problem, None, gap, node_limit=limit, samples=samples, keep=True, earlier=earlier)
        found = pickle.loads(pickle.dumps(task))()
        bounds.append(found.bound)
        nodes += found.nodes
        earlier = found.unfinished
        if earlier is None:
            break
    assert len(bounds) > 1
    assert bounds == sorted(bounds)
    assert found.value - found.bound <= gap
    assert found.value == pytest.approx(whole.value)
    assert found.proof is not None
    assert found.proof.bound == pytest.approx(found.bound, abs=1e-4)
    assert found.bound <= whole.value + 1e-9
    assert nodes <= whole.nodes + len(bounds)
