"""The checker's semidefinite step: against enumeration, against the search's own proof, and against tampering."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

from brute_force import Clusterings
from certmix import MaximumSize, MinimumSize, Problem
from certmix.kernels.reduced_costs import together
from certmix.search.bounds.semidefinite.steps import Step
from certmix.search.bounds.semidefinite.warm import soft_minimum
from certmix.verify.blocks import Block, Pool, hopeless
from certmix.verify.domain import Domain
from certmix.verify.evidence import Rejected
from certmix.verify.semidefinite import least_shared, semidefinite
from random_domains import (
    State,
    best_of,
    inside,
    random_domain,
    random_state,
    root_domain,
    slack_of,
    small_instances,
    state_of,
)
from recorded_steps import evidence_of, recorded, root_of


def admitted(found: Clusterings, domain: Domain, exact: bool = True) -> np.ndarray:
    """(L,) bool: the feasible clusterings in a domain of the checker."""
    N, K = found.labels.shape[1], found.instance.n_components
    good = found.feasible & domain.allowed[np.arange(N), found.labels].all(axis=1)
    good &= ((found.sizes >= domain.low) & (found.sizes <= domain.high)).all(axis=1)
    for k in range(K):
        good &= domain.sizes[k, found.sizes[:, k]]
    i, j = domain.apart.T
    good &= ~(found.labels[:, i] == found.labels[:, j]).any(axis=1)
    return np.asarray(good)


def settled_states(first: int, count: int, seed: int) -> list[tuple[Clusterings, State, np.ndarray]]:
    """Nodes in which the method has come far."""
    states = []
    for number, found in small_instances(first, count, 61):
        rng = np.random.default_rng([number, seed])
        row = int(rng.choice(np.flatnonzero(found.feasible)))
        domain = random_domain(rng, found, row) if rng.random() < 0.6 else None
        if domain is None:
            best = int(np.argmin(found.objective))
            domain = root_domain(found.instance, found.sizes[best] == 0)
        labels = found.labels[np.argmin(np.where(inside(found, domain), found.objective, np.inf))]
        n = found.instance.n_samples
        state = state_of(domain, found.instance, soft_minimum(found.instance, labels, 1.0), labels, 2.0 * n)
        if state is not None:
            state.method.run(100)
            states.append((found, state, labels))
    return states


def random_cutoff(rng: np.random.Generator, found: Clusterings, state: State) -> float:
    values = np.sort(found.objective[inside(found, state.domain)])
    return float(values[min(len(values) - 1, int(rng.choice([0, 1, 2, 4, len(values) // 4])))])


def assert_sound(found: Clusterings, before: Domain, after: Domain, bound: float, target: float) -> None:
    """The bound holds for all that was there, and what is gone costs the target or more."""
    there = admitted(found, before)
    best, lost = best_of(found, there), best_of(found, there & ~admitted(found, after))
    assert bound <= best + slack_of(best)
    assert lost >= target - slack_of(target)


# -- enumeration ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("first", [50_000, 51_000])
def test_no_step_proves_more_than_enumeration(first: int) -> None:
    """At any multipliers, bound and exclusions agree with the list of all clusterings; honest steps are accepted."""
    accepted = 0
    for seed, found in small_instances(first, 12, 61):
        rng = np.random.default_rng([seed, 90])
        root = root_of(found.instance.problem)
        for _ in range(4):
            row = int(rng.choice(np.flatnonzero(found.feasible)))
            state = random_state(rng, found, random_domain(rng, found, row))
            if state is None:
                continue
            cutoff = random_cutoff(rng, found, state)
            step, proof, before = recorded(state, cutoff, found.labels[row])
            if not math.isfinite(proof.bound):
                continue
            after = before.copy()
            scale = float(np.abs(step.arrays["T"]).sum()) + float(np.abs(proof.level).max()) + abs(cutoff)
            target = cutoff - 1e-9 * scale
            bound = semidefinite(root, after, evidence_of(step), target)
            assert_sound(found, before, after, bound, target)
            accepted += 1
    assert accepted > 20


def test_claims_of_any_kind_are_refused_or_true() -> None:
    """Whatever exclusions a file claims, in whatever node: the step is refused, or every one of them is true."""
    refused = passed = 0
    for number, (found, state, labels) in enumerate(settled_states(60_000, 14, 91)):
        rng = np.random.default_rng([number, 92])
        root = root_of(found.instance.problem)
        step, _, before = recorded(state, random_cutoff(rng, found, state), labels)
        for _ in range(12):
            target = random_cutoff(rng, found, state) + float(rng.choice([-1.0, -0.1, 0.0, 0.1, 3.0]))
            share, M = rng.choice([0.05, 0.3]), len(step.arrays["T"])
            members = rng.random(8 * len(step.arrays["members"])) < share
            pairs = rng.random(M * (M - 1) // 2) < share
            claims = {"members": np.packbits(members), "pairs": np.packbits(pairs)}
            after = before.copy()
            try:
                bound = semidefinite(root, after, evidence_of(step, **claims), target)
            except Rejected:
                refused += 1
                continue
            passed += 1
            assert_sound(found, before, after, bound, target)
    assert refused > 10
    assert passed > 10


def test_prices_of_any_sets_are_refused_or_true() -> None:
    """Whatever sets a file has a price for: its matrices are no longer definite enough, or the bound holds."""
    refused = passed = 0
    for number, (found, state, labels) in enumerate(settled_states(60_000, 60, 91)):
        rng = np.random.default_rng([number, 96])
        root = root_of(found.instance.problem)
        step, _, before = recorded(state, random_cutoff(rng, found, state), labels)
        for _ in range(8):
            M, target = len(step.arrays["T"]), random_cutoff(rng, found, state)
            sets, price = rng.random((2, M)) < 0.5, 10.0 ** rng.uniform(-9.0, 4.0, size=2)
            changed = {"sets": np.packbits(sets), "set_price": price}
            after = before.copy()
            try:
                bound = semidefinite(root, after, evidence_of(step, **changed), target)
            except Rejected:
                refused += 1
                continue
            passed += 1
            assert_sound(found, before, after, bound, target)
    assert refused > 10
    assert passed > 10


@pytest.mark.parametrize("limits", [(1, 7), (2, 4), (3, 4), (2, 3)])
def test_no_clustering_shares_less(limits: tuple[int, int]) -> None:
    """Of all clusterings with such sizes, and for all numbers of samples in a set."""
    low, high = limits
    rules = [MinimumSize(low), MaximumSize(high)]
    K, data = 3 if low < 3 else 2, np.random.default_rng(0).normal(size=(7, 2))
    root = root_of(Problem(data, K, variance=1.0, constraints=rules))
    least = least_shared(root, Domain.of(root).possible_sizes(root))
    every = np.array(list(itertools.product(range(K), repeat=7)))
    sizes = np.stack([(every == k).sum(axis=1) for k in range(K)], axis=1)
    for w in range(8):
        mine = np.stack([(every[:, :w] == k).sum(axis=1) for k in range(K)], axis=1)
        shared = (mine * (sizes - mine) / np.maximum(sizes, 1)).sum(axis=1)
        assert least[w] <= shared[((sizes >= low) & (sizes <= high)).all(axis=1)].min()
    assert least.any() == (low > 1)


def test_the_price_of_a_set_is_not_negative() -> None:
    """Where sizes demand nothing, to be paid for what a set shares with others would cost nothing."""
    found, state, labels = settled_states(60_000, 3, 91)[0]
    root, cutoff = root_of(found.instance.problem), float(found.objective[found.feasible].max())
    step, _, before = recorded(state, cutoff, labels)
    inside = np.packbits(np.arange(len(step.arrays["T"])) == 0)
    changed = {"sets": inside, "set_price": np.array([-1.0])}
    with pytest.raises(Rejected, match="the price of a set of a step is negative"):
        semidefinite(root, before, evidence_of(step, **changed), cutoff)


# -- twins ---------------------------------------------------------------------------------------------------
def test_the_step_proves_what_the_search_proved() -> None:
    """Checker and search find the same bound and exclude the same, up to rounding."""
    compared = 0
    for number, (found, state, labels) in enumerate(settled_states(70_000, 20, 93)):
        rng = np.random.default_rng([number, 94])
        cutoff = random_cutoff(rng, found, state)
        step, proof, before = recorded(state, cutoff, labels)
        root = root_of(found.instance.problem)
        bound = semidefinite(root, before, evidence_of(step), cutoff - 1e-8 * max(1.0, abs(cutoff)))
        assert bound == pytest.approx(proof.bound, rel=1e-8, abs=1e-8)
        if proof.bound < cutoff:
            compared += 1
            assert (before.allowed <= state.domain.allowed).all()
            pairs = set(map(tuple, before.apart.tolist()))
            assert set(map(tuple, np.argwhere(state.domain.apart).tolist())) <= pairs
    assert compared > 8


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("anchored", [False, True])
def test_hopeless_pairs_are_those_that_the_kernel_finds(weighted: bool, anchored: bool) -> None:
    """The vectorised test never accepts less than the search's kernel, and never what a cheap cluster contradicts."""
    agreed = 0
    for seed in range(25):
        rng = np.random.default_rng([seed, 95])
        P = int(rng.integers(3, 8))
        weight = rng.integers(1, 5, P) if weighted else np.ones(P, dtype=np.int64)
        anchors = np.zeros(P, dtype=bool)
        if anchored:
            anchors[0] = True
            weight[0] = int(rng.integers(1, 9))
        N = rng.exponential(size=(P, P)) * (rng.random((P, P)) < 0.7)
        N = N + N.T
        apart = rng.random((P, P)) < 0.2
        apart = (apart | apart.T) & ~np.eye(P, dtype=bool)
        r, n = np.sqrt(weight), int(weight.sum())
        price = rng.normal(size=n + 1)
        zero = np.zeros(P)
        pool = Pool(
            np.array([0]), np.arange(P), weight, r, zero, np.zeros((P, 1)), np.zeros((P, 1)), np.zeros(1),
            apart, anchors, np.zeros((P, P)), 1,
        )  # fmt: skip
        block = Block(1, n, 0.0, 0.0, zero, zero, zero, np.zeros((0, 3), dtype=int), np.zeros(0), N)
        i, j = (
            np.concatenate([a, b])
            for a, b in zip(np.triu_indices(P, 1), (np.arange(P), np.full(P, -1)), strict=True)
        )
        target = float(rng.uniform(0.0, 3.0))
        ours = hopeless(pool, block, i, j, price, np.arange(1, n + 1), target)
        must = 0 if anchored else -1
        scratch = np.empty(P), np.empty(P)
        for a, b, no in zip(i, j, ours, strict=True):
            b_ = must if b < 0 and a != must else b
            kernel = (b >= 0 and apart[a, b]) or not together(
                a, b_, N, r, weight.astype(float), apart, must, price, 1, n, 0, target, *scratch
            )
            assert no or not kernel, f"seed {seed}: ({a}, {b})"
            cheap = cheapest(a, b, weight, N, apart, anchors, price)
            assert not no or cheap >= target - 1e-9, f"seed {seed}: ({a}, {b})"
            agreed += no
    assert agreed > 50


def cheapest(
    a: int,
    b: int,
    weight: np.ndarray,
    N: np.ndarray,
    apart: np.ndarray,
    anchors: np.ndarray,
    price: np.ndarray,
) -> float:
    """The cheapest cluster with a and b, by enumeration of all clusters."""
    P, best, r = len(weight), math.inf, np.sqrt(weight)
    for bits in range(1, 1 << P):
        members = (bits >> np.arange(P)) & 1 == 1
        if not members[a] or (b >= 0 and not members[b]) or (anchors & ~members).any():
            continue
        if apart[np.ix_(members, members)].any():
            continue
        m = int(weight[members].sum())
        x = r * members / np.sqrt(m)
        best = min(best, float(price[m] + x @ N @ x))
    return best


# -- tampering -----------------------------------------------------------------------------------------------
def _false_anchors(cuts: np.ndarray) -> np.ndarray:
    i, j, k = cuts
    return np.stack([np.where(k == -2, j, i), j, np.full_like(k, -2)])


def _raised(array: np.ndarray, by: float) -> np.ndarray:
    out = array.copy()
    out.flat[0] += by
    return out


Tampering = Callable[[Step], dict[str, np.ndarray]]
TAMPERINGS: dict[str, Tampering] = {
    "all T raised": lambda s: {"T": s.arrays["T"] + 1e-3},
    "one T raised": lambda s: {"T": _raised(s.arrays["T"], 1e-2)},
    "T not finite": lambda s: {"T": _raised(s.arrays["T"], math.inf)},
    "T too short": lambda s: {"T": s.arrays["T"][:-1]},
    "levels raised": lambda s: {"level": s.arrays["level"] + 1e-4},
    "levels without bound": lambda s: {"level": s.arrays["level"] + 1e120},
    "N raised": lambda s: {"N": s.slack() + 1},
    "N negative": lambda s: {"N": s.slack() - 1},
    "N of another length": lambda s: {"N": s.slack()[:-1]},
    "grain doubled": lambda s: {"grain": 2.0 * s.arrays["grain"]},
    "grain negative": lambda s: {"grain": -s.arrays["grain"]},
    "over negative": lambda s: {"over": s.arrays["over"] - np.float32(1e-3)},
    "under negative": lambda s: {"under": s.arrays["under"] - np.float32(1e-3)},
    "cuts negative": lambda s: {"cut_multiplier": -s.arrays["cut_multiplier"] - np.float32(1e-6)},
    "cuts beyond the pool": lambda s: {"cuts": s.arrays["cuts"] + np.int16(100)},
    "cuts that lack a multiplier": lambda s: {"cut_multiplier": s.arrays["cut_multiplier"][:-1]},
    "anchors that are none": lambda s: {"cuts": _false_anchors(s.arrays["cuts"])},
    "slopes changed": lambda s: {"slope": s.arrays["slope"] - 0.1},
    "a block's size dropped": lambda s: {"blocks": s.arrays["blocks"] - np.array([[0, 0, 1]], dtype=np.int32)},
    "blocks beyond n": lambda s: {"blocks": s.arrays["blocks"] + np.array([[0, 0, 500]], dtype=np.int32)},
    "blocks of no pool": lambda s: {"blocks": s.arrays["blocks"] + np.array([[9, 0, 0]], dtype=np.int32)},
    "blocks that begin at nothing": lambda s: {"blocks": s.arrays["blocks"] * np.array([[1, 0, 1]], dtype=np.int32)},
    "a candidate dropped": lambda s: {"candidates": s.arrays["candidates"] & np.uint8(127)},
    "no candidates": lambda s: {"candidates": np.zeros_like(s.arrays["candidates"])},
    "points merged": lambda s: {"point": np.where(s.arrays["point"] == 1, 0, s.arrays["point"])},
    "a point that is not there": lambda s: {"point": s.arrays["point"] + 1},
    "components in no pool": lambda s: {"pool": np.full_like(s.arrays["pool"], -1)},
    "one component in no pool": lambda s: {"pool": _raised(s.arrays["pool"], -1)},
    "pairs too short": lambda s: {"pairs": np.ones(1, dtype=np.uint8)},
}  # fmt: skip


@pytest.fixture(scope="module")
def honest() -> list[tuple[Clusterings, Step, Domain, float]]:
    """Steps with cuts and more than two super-points, their domains, and the largest target that they prove."""
    steps = []
    for found, state, labels in settled_states(80_000, 40, 96):
        step, _, before = recorded(state, math.inf, labels)
        root = root_of(found.instance.problem)
        bound = semidefinite(root, before.copy(), evidence_of(step), math.inf)
        if len(step.arrays["T"]) > 3 and len(step.arrays["cut_multiplier"]) > 2 and step.slack().max() > 0:
            steps.append((found, step, before, bound))
    assert len(steps) >= 5
    return steps[:8]


def test_honest_steps_reach_their_target(honest: list[tuple[Clusterings, Step, Domain, float]]) -> None:
    """Untampered, each of these steps settles a node: what the next test rejects is the tampering."""
    for found, step, before, target in honest:
        root = root_of(found.instance.problem)
        assert semidefinite(root, before.copy(), evidence_of(step), target) >= target


@pytest.mark.parametrize("how", TAMPERINGS)
def test_tampered_steps_settle_nothing(
    how: str, honest: list[tuple[Clusterings, Step, Domain, float]]
) -> None:
    """A step that was tampered with is refused, or does not reach its target any more and excludes only the truth."""
    harmless = 0
    for found, step, before, target in honest:
        root = root_of(found.instance.problem)
        after = before.copy()
        try:
            bound = semidefinite(root, after, evidence_of(step, **TAMPERINGS[how](step)), target)
        except Rejected:
            continue
        assert_sound(found, before, after, bound, target)
        harmless += bound >= target
    assert harmless <= 1, "raising a number that does not matter may change nothing, but not everywhere"


def mutated(rng: np.random.Generator, step: Step) -> dict[str, np.ndarray]:
    """One array of a step with something wrong in it."""
    field = str(rng.choice([*(name for name in step.arrays if name not in ("packed", "about")), "N"]))
    array = np.array(step.slack() if field == "N" else step.arrays[field])
    if array.size == 0:
        return {field: np.ones(3, dtype=array.dtype)}
    at = int(rng.integers(array.size))
    way = int(rng.integers(6))
    if way == 0:
        array.flat[at] = -array.flat[at] if array.dtype.kind in "if" else 255 - array.flat[at]
    elif way == 1:
        array = array.astype(np.float64)
        array.flat[at] += rng.choice([1, 2, 100])
        array = array.astype(step.slack().dtype if field == "N" else step.arrays[field].dtype)
    elif way == 2:
        array = array[::-1].copy()
    elif way == 3:
        array = rng.permutation(array.ravel()).reshape(array.shape)
    elif way == 4:
        array = np.full_like(array, array.flat[at])
    else:
        factor = rng.choice([0, 2, 3]) if array.dtype.kind != "f" else rng.choice([0.5, 1.001, 2.0, 10.0])
        array = (array * factor).astype(array.dtype)
    return {field: array}


def test_no_mutation_proves_what_is_false(honest: list[tuple[Clusterings, Step, Domain, float]]) -> None:
    """Hundreds of damaged steps: refused, or bound and exclusions still agree with enumeration."""
    rng = np.random.default_rng(99)
    refused = 0
    for found, step, before, _ in honest:
        root = root_of(found.instance.problem)
        values = np.sort(found.objective[admitted(found, before)])
        for _ in range(40):
            after, target = (
                before.copy(),
                float(rng.choice(values[:20])) + float(rng.choice([-1.0, 0.0, 1e-3])),
            )
            damage = {**mutated(rng, step), **(mutated(rng, step) if rng.random() < 0.3 else {})}
            try:
                bound = semidefinite(root, after, evidence_of(step, **damage), target)
            except Rejected:
                refused += 1
                continue
            assert_sound(found, before, after, bound, target)
    assert refused > 100


def test_what_the_best_clustering_has_cannot_be_excluded(
    honest: list[tuple[Clusterings, Step, Domain, float]],
) -> None:
    """With a target above the best clustering, every member and every pair of that clustering is refused."""
    tried = 0
    for found, step, before, _ in honest:
        root = root_of(found.instance.problem)
        row = int(np.argmin(np.where(admitted(found, before), found.objective, np.inf)))
        labels, target = found.labels[row], float(found.objective[row]) + 0.01
        point, M = step.arrays["point"], len(step.arrays["T"])
        claims = []
        for g in range(root.N):
            members = np.zeros((int(step.arrays["pool"].max()) + 1, M), dtype=bool)
            members[step.arrays["pool"][labels[g]], point[g]] = True
            claims.append({"members": np.packbits(members), "pairs": np.zeros(0, dtype=np.uint8)})
        first, second = np.triu_indices(M, 1)
        nobody = np.zeros_like(step.arrays["members"])
        for g, h in np.argwhere(np.triu(np.ones((root.N, root.N)), 1)).tolist():
            if labels[g] == labels[h] and point[g] != point[h]:
                pair = {int(point[g]), int(point[h])}
                bits = np.array(
                    [{a, b} == pair for a, b in zip(first.tolist(), second.tolist(), strict=True)]
                )
                claims.append({"members": nobody, "pairs": np.packbits(bits)})
        for claim in claims:
            tried += 1
            with pytest.raises(Rejected):
                semidefinite(root, before.copy(), evidence_of(step, **claim), target)
    assert tried > 40
