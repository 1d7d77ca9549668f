"""Rounding: proved eigenvalues, sums over very many cuts, and multipliers that are not numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from certmix.kernels.semidefinite import split_multipliers
from certmix.presolve.instance import reduce
from certmix.problem import Problem
from certmix.search.bounds.semidefinite.bound import SemidefiniteBound
from certmix.search.bounds.semidefinite.eigen import smallest_from_below
from certmix.search.bounds.semidefinite.fixing import Exclusions, members_gone, pairs_apart, sizes_left
from certmix.search.bounds.semidefinite.states import Warm
from certmix.threads import Threads
from random_domains import State, inside, random_domain, random_state, root_domain, small_instances, state_of


def is_positive_definite(matrix: list[list[Fraction]]) -> bool:
    """By elimination in exact arithmetic."""
    a = [row.copy() for row in matrix]
    for k in range(len(a)):
        if a[k][k] <= 0:
            return False
        for i in range(k + 1, len(a)):
            factor = a[i][k] / a[k][k]
            for j in range(k, len(a)):
                a[i][j] -= factor * a[k][j]
    return True


def lies_below(value: float, matrix: list[list[Fraction]]) -> bool:
    """Is the value less than the smallest eigenvalue? In exact arithmetic."""
    shifted = [
        [x - (Fraction(value) if i == j else 0) for j, x in enumerate(row)] for i, row in enumerate(matrix)
    ]
    return is_positive_definite(shifted)


def exactly(matrix: np.ndarray) -> list[list[Fraction]]:
    return [[Fraction(float(x)) for x in row] for row in matrix]


def symmetric(rng: np.random.Generator, n: int, kind: str) -> np.ndarray:
    """Exactly symmetric matrices of a kind, most of them badly conditioned."""
    a = rng.normal(size=(n, n))
    if kind == "singular":  # of low rank: the smallest eigenvalue is zero up to rounding
        a = a[:, : max(1, n // 2)]
        a = a @ a.T
    elif kind == "negative":
        a = -(a @ a.T)
    elif kind == "scaled":
        scale = 10.0 ** rng.uniform(-8, 8, n)
        a = np.outer(scale, scale) * (a @ a.T)
    elif kind == "shifted":  # a small eigenvalue beside a huge one
        a = a @ a.T + 1e12 * np.outer(np.ones(n), np.ones(n))
    elif kind == "constant":
        a = np.full((n, n), float(rng.normal()))
    elif kind == "double":
        a = np.diag(np.repeat(rng.normal(size=(n + 1) // 2), 2)[:n])
    lower = np.tril(a)
    return lower + np.tril(a, -1).T


@pytest.mark.parametrize("kind", ["plain", "singular", "negative", "scaled", "shifted", "constant", "double"])
@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_proved_eigenvalue_is_below_the_true_one(kind: str, n: int) -> None:
    """Exact elimination confirms the proved bound, and it loses next to nothing."""
    rng = np.random.default_rng([n, len(kind)])
    for _ in range(6):
        matrix = symmetric(rng, n, kind) * 10.0 ** rng.choice([-12, -6, 0, 6, 12])
        bound = smallest_from_below(matrix)
        assert lies_below(bound, exactly(matrix)) or not np.any(matrix)
        assert bound >= np.linalg.eigvalsh(matrix)[0] - 1e-12 * n * np.abs(matrix).sum(axis=1).max()


def test_proved_eigenvalue_of_zero_and_of_larger_matrices() -> None:
    """Nothing is lost on zero, and little on matrices of the size that the method sees."""
    assert smallest_from_below(np.zeros((3, 3))) == 0.0
    rng = np.random.default_rng(5)
    for n in (40, 150):
        a = rng.normal(size=(n, 5))
        matrix = a @ a.T
        bound = smallest_from_below(matrix)
        assert -1e-10 * np.trace(matrix) <= bound < 1e-12 * np.trace(matrix)


def two_points() -> State:
    """Two samples, one component: one block over one size, and no room for anything but rounding."""
    instance = reduce(Problem(np.array([[0.0], [1.0]]), 2, variance=1.0, allow_empty=True))
    domain = root_domain(instance, np.array([False, False]))
    domain.b[:] = 2.0
    state = state_of(domain, instance, np.zeros(2), np.array([0, 1]), 1.0)
    assert state is not None
    return state


def test_a_level_covers_the_rounding_of_very_many_cuts() -> None:
    """Tens of thousands of multipliers can add up with a bias; the proved eigenvalue stays below the exact one."""
    state = two_points()
    method, b, count = state.method, state.method.blocks[0], 60_000
    method.blocks[:] = [b]
    P = len(state.pools[b.pool].index)
    assert P == 2
    assert np.all(method.root == 1.0)
    b.cuts.ends = np.zeros((count, 4, 2), dtype=np.int64)
    b.cuts.ends[:, 0] = (0, 1)  # Z_01 <= Z_00
    b.cuts.signs = np.tile([1.0, -1.0, 0.0, 0.0], (count, 1))
    each = 1.0 + 0.49 * 2.0**-37  # what is beyond one gets lost once the sum has passed 2^15
    b.cuts.multiplier = np.full(count, each)
    b.u[:], b.over[:], b.under[:], b.cost[:] = 0.0, 0.0, 0.0, 0.0
    method.cover[:] = 0.0
    level = float(state.prove().level[0])
    total = count * Fraction(each)
    exact = [[-total, total / 2], [total / 2, Fraction(0)]]
    for i in range(2):
        for j in range(2):
            exact[i][j] -= Fraction(float(b.slack[i, j]))
    assert lies_below(level, exact)


BAD = [(w, x) for w in ("cover", "u", "over", "cuts") for x in (np.nan, np.inf, 1e300)]
BAD += [("cover", -np.inf), ("u", -np.inf)]  # the others are never negative


@pytest.mark.parametrize(("where", "bad"), BAD)
def test_multipliers_that_are_not_numbers_prove_nothing(where: str, bad: float) -> None:
    """Overflow in the method gives no bound, rules nothing out, and does not hang."""
    for _, found in small_instances(40_000, 2, 61, merged=1.0):
        rng = np.random.default_rng(3)
        row = int(np.argmin(found.objective))
        state = random_state(rng, found, root_domain(found.instance, found.sizes[row] == 0))
        assert state is not None
        b = state.method.blocks[0]
        if where == "cover":
            state.method.cover[0] = bad
        elif where == "u":
            b.u[0, 0] = bad
        elif where == "over":
            b.over[0] = bad
        else:
            b.cuts.separate(2.0 - np.eye(len(b.x)), np.ones(len(b.x)), 5)
            assert len(b.cuts.multiplier)
            b.cuts.multiplier[0] = bad
        with np.errstate(all="ignore"):
            proof = state.prove()
        assert proof.bound <= found.objective[row]
        before = state.domain.copy()
        cutoff = float(found.objective[row]) + 1e-6
        sizes = sizes_left(state.method, proof, cutoff)
        assert all(left.any() for left in sizes)
        pooled = (state.shape, state.method, proof, cutoff)
        gone = members_gone(*pooled)
        pairs = pairs_apart(*pooled, found.labels[row])
        Exclusions(sizes, gone, pairs).apply(state.domain, state.shape, state.method)
        after = inside(found, state.domain)
        assert after[row]
        if not np.isfinite(bad):
            assert np.array_equal(after, inside(found, before))


def test_reduced_matrices_are_exactly_symmetric() -> None:
    """The eigenvalue is proved from one half of the matrix, so the other half must be the same to the last bit."""
    for seed, found in small_instances(50_000, 8, 61, merged=1.0):
        rng = np.random.default_rng([seed, 65])
        row = int(rng.choice(np.flatnonzero(found.feasible)))
        state = random_state(rng, found, random_domain(rng, found, row))
        if state is None:
            continue
        state.method.run(20)
        for b in state.method.blocks:
            b.u += 1e-9 * rng.normal(
                size=b.u.shape
            )  # the method's own matrices may well differ in their halves
        state.prove()
        for b in state.method.blocks:
            r = state.method.root[state.pools[b.pool].index]
            force, size = b.cuts.exact(r)
            slack, reduced = np.empty((2, len(r), len(r)))
            ends = (float(b.low), float(b.high), state.method.apart[b.pool], force, size, np.empty(len(r)))
            cover = state.method.cover[state.pools[b.pool].index]
            split_multipliers(b.u, b.cost, 3.0, cover, b.over, b.under, r, *ends, 2.0**-30, slack, reduced)
            for matrix in (b.slack, force, slack, reduced):
                assert np.array_equal(matrix, matrix.T)


def test_a_node_whose_sizes_were_all_ruled_out_before_is_closed() -> None:
    """A pool without a block left (its sizes were ruled out in a parent) closes the node instead of failing."""
    rng = np.random.default_rng(11)
    instance = reduce(Problem(rng.normal(size=(8, 2)), 2, variance=np.array([1.0, 2.0])))
    labels = np.arange(8) % 2
    state = state_of(root_domain(instance, np.zeros(2, dtype=bool)), instance, np.zeros(8), labels, 16.0)
    assert state is not None
    assert len(state.pools) == 2
    state.method.blocks[:] = [b for b in state.method.blocks if b.pool == 1]
    visit = SemidefiniteBound(instance, labels).visit(
        state.domain, Warm(state.shape, state.method), -np.inf, 1e3, Threads(1)
    )
    assert not visit.open
    assert visit.bound == np.inf
