"""What the multipliers prove about a node, against all clusterings in it: at any multipliers, converged or not."""

from __future__ import annotations

import numpy as np
import pytest

from brute_force import Clusterings
from certmix.search.bounds.semidefinite.fixing import Exclusions, members_gone, pairs_apart, sizes_left
from certmix.search.bounds.semidefinite.safe import Proof
from certmix.search.bounds.semidefinite.warm import soft_minimum
from random_domains import (
    State,
    best_of,
    inside,
    narrowed,
    random_domain,
    random_state,
    root_domain,
    slack_of,
    small_instances,
    state_of,
)

COUNT = 40
DOMAINS = 4


def assert_proof_holds(seed: int, found: Clusterings, state: State) -> None:
    """The bound and every price stay below what they speak about."""
    proof = state.prove()
    admitted = inside(found, state.domain)
    best = best_of(found, admitted)
    assert proof.bound <= best + slack_of(best), f"seed {seed}"
    for p, pool in enumerate(state.pools):
        for m in range(found.instance.n_samples + 1):
            with_m = admitted & (found.sizes[:, pool.components] == m).any(axis=1)
            value = best_of(found, with_m)
            assert proof.prices[p, m] <= value + slack_of(value), f"seed {seed}, pool {p}, size {m}"
    for row in np.flatnonzero(admitted)[:200]:
        assert_clusters_pay(seed, found, state, proof, row)


def assert_clusters_pay(seed: int, found: Clusterings, state: State, proof: Proof, row: int) -> None:
    """On top of its size's price a cluster pays for all its pairs, and still costs no more than it costs."""
    value = float(found.objective[row])
    for p, pool in enumerate(state.pools):
        r = state.method.root[pool.index]
        for k in pool.components:
            m = int(found.sizes[row, k])
            x = r * (found.labels[row][state.shape.first[pool.index]] == k) / np.sqrt(m)
            for b in state.method.blocks:
                if b.pool == p and b.low <= m <= b.high:
                    paid = proof.prices[p, m] + x @ b.slack @ x
                    assert paid <= value + slack_of(value), f"seed {seed}, component {k}"


@pytest.mark.parametrize("first", range(0, 4000, 1000))
def test_no_multipliers_prove_more_than_the_best_clustering(first: int) -> None:
    """The bound of a node, and its prices of sizes, never exceed the best clustering (with that size) in the node."""
    proved = 0
    for seed, found in small_instances(first, COUNT // 4, 61):
        rng = np.random.default_rng([seed, 62])
        for _ in range(DOMAINS):
            domain = random_domain(rng, found, int(rng.choice(np.flatnonzero(found.feasible))))
            state = random_state(rng, found, domain)
            if state is not None:
                proved += 1
                assert_proof_holds(seed, found, state)
    assert proved > COUNT // 4


def test_a_child_started_from_its_parent_proves_no_more_than_its_best_clustering() -> None:
    """Merged super-points, moved cuts and inherited multipliers and blocks still give bounds."""
    proved = 0
    for seed, found in small_instances(10_000, 20, 61, merged=0.8):
        rng = np.random.default_rng([seed, 63])
        for _ in range(DOMAINS):
            row = int(rng.choice(np.flatnonzero(found.feasible)))
            state = random_state(rng, found, random_domain(rng, found, row))
            child = None if state is None else narrowed(rng, state, found.labels[row])
            if child is None:
                continue
            proved += 1
            assert_proof_holds(seed, found, child)
            child.method.run(10)
            assert_proof_holds(seed, found, child)
    assert proved > 12


def test_the_bound_of_a_tiny_root_comes_close() -> None:
    """With many iterations the bound at the root reaches most of the optimum: it is not sound by being empty."""
    shares = []
    for _, found in small_instances(20_000, 10, 61, merged=1.0):
        best = int(np.argmin(found.objective))
        instance, labels = found.instance, found.labels[best]
        T = soft_minimum(instance, labels, 1.0)
        state = state_of(
            root_domain(instance, found.sizes[best] == 0), instance, T, labels, 2.0 * instance.n_samples
        )
        if state is None:
            continue
        for _ in range(30):
            state.method.run(10)
        optimum = best_of(found, inside(found, state.domain))
        spread = float(np.median(found.objective[found.feasible])) - optimum
        shares.append((optimum - state.prove().bound) / max(spread, 1e-3 * abs(optimum)))
    assert np.median(shares) < 0.2


def survivors(found: Clusterings, state: State) -> np.ndarray:
    """The clusterings that the domain and the sizes of the pools still admit."""
    good = inside(found, state.domain)
    for pool in state.method.pools:
        good &= pool.sizes[found.sizes[:, pool.components].astype(np.int64)].all(axis=1)
    return good


@pytest.mark.parametrize("step", ["sizes", "members", "pairs", "all"])
def test_exclusion_keeps_everything_below_the_cutoff(step: str) -> None:
    """Sizes, members and pairs are ruled out only when every clustering with them costs the cutoff or more."""
    dropped = 0
    for seed, found in small_instances(30_000, 15, 61):
        rng = np.random.default_rng([seed, 64])
        for _ in range(DOMAINS):
            row = int(rng.choice(np.flatnonzero(found.feasible)))
            domain = random_domain(rng, found, row)
            labels = found.labels[row]
            state = random_state(rng, found, domain)
            if rng.random() < 0.6:  # where the bound is good, most is ruled out
                best = found.labels[np.argmin(np.where(inside(found, domain), found.objective, np.inf))]
                labels, n = best, found.instance.n_samples
                state = state_of(
                    domain, found.instance, soft_minimum(found.instance, best, 1.0), best, 2.0 * n
                )
            if state is None:
                continue
            state.method.run(100)
            before = survivors(found, state)
            values = np.sort(found.objective[before])
            place = min(len(values) - 1, int(rng.choice([1, 2, 4, len(values) // 4])))
            cutoff = float(values[place]) + float(rng.choice([0.0, 1e-6]))
            proof = state.prove()
            pooled = state.shape, state.method, proof, cutoff
            M = len(state.shape.root)
            sizes, gone = [p.sizes for p in state.pools], np.zeros_like(state.shape.allowed)
            pairs = np.zeros((M, M), dtype=bool)
            if step in ("sizes", "all"):
                sizes = sizes_left(state.method, proof, cutoff)
            if step in ("members", "all"):
                gone = members_gone(*pooled)
            if step in ("pairs", "all"):
                pairs = pairs_apart(*pooled, labels)
            alive = all(left.any() for left in sizes)
            if alive:
                Exclusions(sizes, gone, pairs).apply(state.domain, state.shape, state.method)
            dropped += int(gone.any()) + int(pairs.sum())
            after = survivors(found, state) if alive else np.zeros_like(before)
            dropped += int(before.sum() - after.sum())
            lost = best_of(found, before & ~after)
            assert lost >= cutoff - slack_of(cutoff), f"seed {seed}: lost {lost} below {cutoff}"
    assert dropped > 0
