"""Sums over parts: the checker makes the parts' statements by itself, and no forgery makes them more than they are."""

from __future__ import annotations

import copy
import hashlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certmix
from certmix.certificate.draft import Unproved
from certmix.certificate.parts import PartProof, added
from certmix.certificate.prove import prove_part
from certmix.certificate.statement import state
from certmix.io.certificates import Certificate
from certmix.presolve.groups import group_samples
from certmix.problem import CannotLink, DirichletPrior, GaussianPrior, MinimumSize, MustLink, Problem
from certmix.problem.restriction import Restriction, partition_refusal
from certmix.result import Result
from certmix.verify.check import check
from certmix.verify.claims.parts import Partition
from certmix.verify.evidence import Rejected
from certmix.verify.statement import digest, read
from claims import find_truth
from soundness import draw

RNG = np.random.default_rng(5)
DATA = np.concatenate([RNG.normal(m, size=(6, 2)) for m in (0.0, 4.0)])
PARTS = [np.array([0, 1, 4, 6, 7]), np.array([2, 8, 9]), np.array([3, 5, 10, 11])]


def proofs_of(problem: Problem, parts: list[np.ndarray]) -> list[PartProof]:
    restriction = Restriction(problem)
    problems = [restriction.part(samples) for samples in parts]
    return [
        prove_part(samples, part, certmix.solve(part, "enumerate", gap=1e-9, verify=False))
        for samples, part in zip(parts, problems, strict=True)
    ]


def summed(problem: Problem, parts: list[np.ndarray]) -> Certificate:
    found = certmix.solve(problem, "enumerate", gap=1e-9, verify=False)
    return added(problem, found, proofs_of(problem, parts))[0]


@pytest.fixture(scope="module")
def problem() -> Problem:
    rules = [MustLink(6, 7), CannotLink(0, 1), CannotLink(0, 2), MinimumSize(5, 0)]
    prior = [GaussianPrior(1.0, [[2.0, 0.5], [0.5, 1.0]]), DirichletPrior(2.0)]
    return Problem(DATA, 2, variance=1.0, constraints=rules, prior=prior)


@pytest.fixture(scope="module")
def whole(problem: Problem) -> Certificate:
    return summed(problem, PARTS)


@pytest.mark.parametrize("block", range(6))
def test_two_programs_restrict_alike(block: int) -> None:
    """The checker's statement of a part is that of the problem which the engine solves, number for number."""
    for seed in range(50 * block, 50 * block + 50):
        problem = draw(seed)
        stated = state(problem)
        of = np.random.default_rng([seed, 16]).integers(0, 3, problem.n_samples)[group_samples(problem).of]
        of = np.unique(of, return_inverse=True)[1]
        if partition_refusal(problem):
            with pytest.raises(Rejected, match="below one"):
                Partition(stated, read(stated), of, of.max() + 1)
            continue
        partition, restriction = Partition(stated, read(stated), of, of.max() + 1), Restriction(problem)
        for t in range(of.max() + 1):
            samples = np.flatnonzero(of == t)
            assert np.array_equal(partition.samples(t), samples)
            assert partition.statement(t) == state(restriction.part(samples)), f"seed {seed}, part {t}"


def test_what_belongs_together_is_not_cut(problem: Problem) -> None:
    """Must-links, and implications for all components, which a statement might write as such."""
    stated = state(problem)
    of = np.array([0, 0, 1, 1, 0, 1, 0, 1, 1, 1, 0, 0])
    with pytest.raises(Rejected, match="samples 6 and 7 belong together"):
        Partition(stated, read(stated), of, 2)
    stated = {**stated, "together": [], "implications": [[7, 6, -1]]}
    with pytest.raises(Rejected, match="samples 7 and 6 belong together"):
        Partition(stated, read(stated), of, 2)


def test_a_sum_is_verified_and_told(problem: Problem, whole: Certificate) -> None:
    """Against the problem; its bound is below the optimum, its sentence says where it comes from."""
    found = certmix.verify(whole, problem)
    assert found.verified, found.sentence
    assert found.bound <= find_truth(problem).optimum
    assert "the sum of what 3 parts of the samples cost at least" in found.sentence
    assert found.nodes == 3


def test_random_problems_in_parts() -> None:
    """Composed bounds hold, whatever the options, and everything that is made is verified."""
    made = 0
    for seed in range(60):
        problem, rng = draw(seed), np.random.default_rng([seed, 17])
        if partition_refusal(problem) or find_truth(problem).infeasible:
            continue
        of = rng.integers(0, 3, problem.n_samples)[group_samples(problem).of]
        parts = [np.flatnonzero(of == t) for t in np.unique(of)]
        found = check(*vars(summed(problem, parts)).values(), problem.data)
        assert found.verified, found.sentence
        assert found.bound <= find_truth(problem).optimum * (1 + 1e-12) + 1e-9
        made += 1
    assert made > 30


def test_files_are_read_part_by_part(problem: Problem, whole: Certificate, tmp_path: Path) -> None:
    """One NPZ file in the NPZ file for every part, of which one is in memory at a time."""
    path = whole.save(tmp_path / "certificate")
    loaded = Certificate.load(path)
    assert certmix.verify(path, problem).verified
    assert set(loaded.arrays.own) == {"incumbent/labels", "incumbent/means", "incumbent/weights", "partition"}
    assert len(loaded.arrays.parts) == 3
    assert set(loaded.arrays) == set(whole.arrays)
    loaded.arrays["parts/0/tree/parent"]
    loaded.arrays["parts/2/tree/parent"]
    assert loaded.arrays._last[0] == 2
    assert "parts/3/tree/parent" not in loaded.arrays
    assert certmix.verify(tmp_path, DATA).verified
    assert not certmix.verify(tmp_path, DATA + 1e-9).verified


def test_known_parts_are_those_of_this_problem(problem: Problem) -> None:
    """What was verified counts for the same statement, samples and bound, and for no other."""
    found = certmix.solve(problem, "enumerate", gap=1e-9, verify=False)
    proofs = proofs_of(problem, PARTS)
    bare = [PartProof(p.samples, p.bound, p.statement, p.data, True) for p in proofs]
    certificate, verdict = added(problem, found, bare)
    assert verdict.verified
    assert verdict.nodes == 0
    assert not certificate.complete
    assert not certmix.verify(certificate, problem).verified
    known = {(p.statement, p.data, p.bound) for p in bare}
    document = copy.deepcopy(dict(certificate.document))
    assert check(document, certificate.arrays, DATA, known).verified
    document["parts"][1]["bound"] = math.nextafter(bare[1].bound, math.inf)
    assert not check(document, certificate.arrays, DATA, known).verified
    for wrong in (
        {"statement": bare[0].statement},
        {"data": bare[0].data},
        {"verified": False},
    ):
        others = [*bare[:1], PartProof(**{**vars(bare[1]), **wrong}), *bare[2:]]
        with pytest.raises(Unproved):
            added(problem, found, others)


def swapped(document: dict[str, Any], arrays: dict[str, np.ndarray], problem: Problem) -> None:
    document["parts"][0], document["parts"][1] = document["parts"][1], document["parts"][0]


def of(samples: list[int], part: int) -> Callable[..., None]:
    """Move some samples to a part."""

    def change(document: dict[str, Any], arrays: dict[str, np.ndarray], problem: Problem) -> None:
        arrays["partition"] = arrays["partition"].copy()
        arrays["partition"][samples] = part

    return change


def put(**entries: Any) -> Callable[..., None]:
    return lambda document, arrays, problem: document.update(entries)


def without(document: dict[str, Any], arrays: dict[str, np.ndarray], problem: Problem) -> None:
    """The part with the smallest bound is left out, its samples with it."""
    arrays["partition"] = np.delete(arrays["partition"], PARTS[2])
    document["parts"].pop()


def raised(document: dict[str, Any], arrays: dict[str, np.ndarray], problem: Problem) -> None:
    """The sum rounded to nearest, where that is up: a bound is lowered a little until it is."""
    parts = document["parts"]
    while math.fsum([*(part["bound"] for part in parts), -math.fsum(part["bound"] for part in parts)]) >= 0:
        parts[0]["bound"] = math.nextafter(parts[0]["bound"], -math.inf)
    document["bound"] = math.fsum(part["bound"] for part in parts)


FORGERIES: dict[str, Callable[..., Any]] = {
    "a sample in no part": of([3], -1),
    "a sample in a part that is not there": of([3], 3),
    "a sample in another part": of([3], 1),
    "a part without samples": of(PARTS[2].tolist(), 1),
    "a part twice": lambda d, a, p: d["parts"].append(d["parts"][0]),
    "evidence for a subset": without,
    "a part fewer": lambda d, a, p: d["parts"].pop(),
    "a group that is cut": of([7], 1),
    "two parts' proofs exchanged": swapped,
    "a part's bound": lambda d, a, p: d["parts"][1].update(bound=d["parts"][1]["bound"] + 1e-6),
    "a sum rounded up": raised,
    "a larger sum": lambda d, a, p: d.update(bound=d["bound"] + 1e-9),
    "another clustering": lambda d, a, p: a.update({"incumbent/labels": 1 - a["incumbent/labels"]}),
    "a clustering that breaks a rule": lambda d, a, p: a.update(
        {"incumbent/labels": a["incumbent/labels"] * 0}
    ),
    "another value": lambda d, a, p: d.update(objective=d["objective"] - 1e-3),
    "another claim": put(claim="bound"),
    "no parts": put(parts=[]),
    "parts that are none": put(parts=[None] * 3),
    "no list of parts": put(parts={"0": {}}),
    "no partition": lambda d, a, p: a.pop("partition"),
    "a partition of numbers that are not whole": lambda d, a, p: a.update(partition=a["partition"] * 1.0),
    "no steps": lambda d, a, p: d["parts"][0].pop("steps"),
    "a statement without its rules": lambda d, a, p: d["statement"].update(apart=[]),
    "a part without its tree": lambda d, a, p: a.pop("parts/1/tree/parent"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forgeries_are_rejected(name: str, whole: Certificate, problem: Problem) -> None:
    """In a sentence."""
    document, arrays = copy.deepcopy(dict(whole.document)), dict(whole.arrays)
    assert check(document, arrays, DATA).verified
    FORGERIES[name](document, arrays, problem)
    found = check(document, arrays, DATA)
    assert not found.verified
    assert found.sentence.startswith("Rejected: ")


def test_damaged_files_are_rejected_or_true(problem: Problem, whole: Certificate, tmp_path: Path) -> None:
    """Bytes changed or cut out of the NPZ file, its digest put right: never an error, never a bound that is not one."""
    optimum = find_truth(problem).optimum
    path = whole.save(tmp_path / "certificate")
    npz, text = path.with_suffix(".npz"), path.read_text()
    content, rng, seen = npz.read_bytes(), np.random.default_rng(3), set()
    for _ in range(80):
        damaged = bytearray(content)
        place = int(rng.integers(len(content)))
        if rng.random() < 0.3:
            del damaged[place : place + int(rng.integers(1, 40))]
        else:
            damaged[place] ^= int(rng.integers(1, 256))
        npz.write_bytes(damaged)
        old, new = (hashlib.sha256(some).hexdigest() for some in (content, bytes(damaged)))
        path.write_text(text.replace(old, new))
        found = certmix.verify(path, problem)
        seen.add(found.verified)
        assert not found.verified or found.bound <= optimum
    assert False in seen


@pytest.mark.parametrize("rules", [(), (MinimumSize(3),)], ids=["no empty components", "sizes of the whole"])
def test_stronger_parts_are_rejected(rules: tuple[Any, ...]) -> None:
    """Bounds of parts in which no component may be empty, or in which sizes are not relaxed, are no bounds."""
    problem = Problem(DATA, 2, variance=1.0, constraints=rules)
    parts = [np.arange(6), np.arange(6, 12)]
    whole = summed(problem, parts)
    document, arrays = copy.deepcopy(dict(whole.document)), dict(whole.arrays)
    for t, samples in enumerate(parts):
        part = Problem(DATA[samples], 2, variance=1.0, constraints=rules)
        found = certmix.solve(part, "enumerate", gap=1e-9, certificate=True).certificate
        assert found is not None
        document["parts"][t] = {"bound": found.bound, "steps": found.document["steps"]}
        assert found.bound > whole.document["parts"][t]["bound"] + 0.1
        arrays |= {f"parts/{t}/{name}": a for name, a in found.arrays.items()}
    found = check(document, arrays, DATA)
    assert "part 0 fails" in found.sentence


def test_priors_are_shared_out(problem: Problem) -> None:
    """A part gets its share of the log prior: with all of it in each part, the sum would be too large."""
    stated = state(problem)
    partition = Partition(stated, read(stated), np.array([0] * 8 + [1] * 4), 2)
    for t, share in enumerate((8 / 12, 4 / 12)):
        part = read(partition.statement(t))
        assert part.alpha == pytest.approx(1.0 + share, rel=1e-14)
        assert (part.alpha < 1.0 + share).all()
        assert part.prior_precision == pytest.approx(share * problem.prior.precision[:], rel=1e-13)


def test_the_same_parts_in_another_order(problem: Problem, whole: Certificate) -> None:
    """The numbers of the parts mean nothing."""
    other = summed(problem, PARTS[::-1])
    assert other.bound == pytest.approx(whole.bound, rel=1e-14)
    assert check(other.document, other.arrays, DATA).verified
    assert digest(other.document["statement"]) == digest(whole.document["statement"])


def test_a_result_is_not_needed_to_be_optimal(problem: Problem) -> None:
    """Any clustering will do; the sentence tells how far it is from the bound."""
    found = certmix.solve(problem, "hard-em")
    assert isinstance(found, Result)
    certificate, verdict = added(problem, found, proofs_of(problem, PARTS))
    assert verdict.verified
    assert verdict.gap >= 0
    assert certificate.objective == found.objective


def test_parts_inside_of_parts_without_end_are_rejected(whole: Certificate) -> None:
    """One part with all samples, in itself, and so on: the checker says no, it does not break off."""
    depth, within = 2000, {"bound": 0.0, "steps": []}
    for _ in range(depth):
        within = {"bound": 0.0, "parts": [within]}
    one = np.zeros(len(DATA), dtype=np.int64)
    arrays = {"parts/0/" * level + "partition": one for level in range(depth + 1)}
    arrays |= {name: a for name, a in whole.arrays.items() if name.startswith("incumbent/")}
    assert not check({**whole.document, "bound": 0.0, "parts": [within]}, arrays, DATA).verified
