"""The kernels of the semidefinite bound against their plain twins."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pytest

from certmix.kernels.cuts import sweep_cuts, violated
from certmix.kernels.profiles import profile
from certmix.kernels.reduced_costs import find_apart, together
from certmix.kernels.semidefinite import (
    point_of,
    project,
    relax_and_sum,
    row_sums,
    split_multipliers,
    update_sizes,
)
from certmix.search.bounds.semidefinite.cuts import Cuts

SEEDS = range(8)


@dataclass
class Block:
    """The arrays of one block, drawn at random."""

    y: np.ndarray
    u: np.ndarray
    cost: np.ndarray
    cover: np.ndarray
    over: np.ndarray
    under: np.ndarray
    r: np.ndarray
    low: float
    high: float
    apart: np.ndarray
    ends: np.ndarray
    signs: np.ndarray
    multiplier: np.ndarray

    @property
    def n(self) -> int:
        return len(self.r)

    @property
    def rows(self) -> np.ndarray:
        """What the multipliers of the rows take from every entry, row by row from the constraints themselves."""
        total = np.zeros((self.n, self.n))
        for s in range(self.n):
            row = np.zeros((self.n, self.n))
            row[s] = self.r  # <row, X> = (X r)_s
            diagonal = np.zeros((self.n, self.n))
            diagonal[s, s] = 1.0
            total += self.cover[s] * row
            total += self.over[s] * (self.r[s] * row - self.high * diagonal)
            total += self.under[s] * (self.low * diagonal - self.r[s] * row)
        return 0.5 * (total + total.T)

    def cut(self, c: int) -> np.ndarray:
        """The symmetric matrix of a cut in terms of X."""
        out = np.zeros((self.n, self.n))
        for (s, t), sign in zip(self.ends[c], self.signs[c], strict=True):
            part = np.zeros((self.n, self.n))
            part[s, t] = sign / (self.r[s] * self.r[t])
            out += 0.5 * (part + part.T)
        return out

    @property
    def cuts(self) -> np.ndarray:
        return sum((m * self.cut(c) for c, m in enumerate(self.multiplier)), start=np.zeros((self.n, self.n)))

    def clipped(self, w: np.ndarray) -> np.ndarray:
        x = np.maximum(w, 0.0)
        x[self.apart & ~np.eye(self.n, dtype=bool)] = 0.0
        return x


def random_cuts(rng: np.random.Generator, n: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs, triangles and anchors at random."""
    ends, signs = np.zeros((count, 4, 2), dtype=np.int64), np.zeros((count, 4))
    for c in range(count):
        i, j, k = rng.permutation(n)[:3]
        if c % 3 == 0:
            ends[c, :2], signs[c, :2] = [(i, j), (i, i)], [1.0, -1.0]
        elif c % 3 == 1:
            ends[c], signs[c] = [(i, j), (i, i), (i, k), (j, k)], [1.0, -1.0, 1.0, -1.0]
        else:
            ends[c, :2], signs[c, :2] = [(j, j), (i, j)], [1.0, -1.0]
    return ends, signs


def random_block(rng: np.random.Generator) -> Block:
    n = int(rng.integers(3, 9))
    y, u, cost = ((m + m.T) / 2 for m in rng.normal(size=(3, n, n)))
    apart = np.triu(rng.random((n, n)) < 0.2, 1)
    ends, signs = random_cuts(rng, n, 12)
    low, high = np.sort(rng.integers(1, 20, 2)).astype(float)
    return Block(
        y + 0.3,
        u,
        cost,
        0.1 * rng.normal(size=n),
        *(0.02 * rng.exponential(size=(2, n)) * (rng.random((2, n)) < 0.5)),
        np.sqrt(rng.integers(1, 6, n).astype(float)),
        low,
        high,
        apart | apart.T,
        ends,
        signs,
        0.1 * rng.exponential(size=12) * (rng.random(12) < 0.7),
    )


def blocks() -> list[Block]:
    return [random_block(np.random.default_rng([seed, 71])) for seed in SEEDS]


@pytest.mark.parametrize("b", blocks())
def test_row_sums(b: Block) -> None:
    """Sums, diagonal and movable part of the matrix that is left after all multipliers and clipping."""
    sums, free, diagonal = np.empty((3, b.n))
    force = b.cuts
    row_sums(
        b.y,
        force,
        b.cover,
        b.over,
        b.under,
        b.r,
        b.low,
        b.high,
        b.apart,
        np.empty(b.n),
        sums,
        free,
        diagonal,
    )
    x = b.clipped(b.y - force - b.rows)
    np.testing.assert_allclose(sums, x @ b.r, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(diagonal, np.diag(x), rtol=1e-12, atol=1e-12)
    share = np.where(np.eye(b.n) > 0, 1.0, 0.5) * (x > 0)
    np.testing.assert_allclose(free, share @ b.r**2, rtol=1e-12)


@pytest.mark.parametrize("b", blocks())
def test_size_multipliers_step_up_where_a_row_is_violated(b: Block) -> None:
    """One projected step per row, against the vector formula; they stay nonnegative. A fixed size is one row."""
    rng = np.random.default_rng(b.n)
    sums, free, diagonal = rng.exponential(size=(3, b.n))
    over, under = b.over.copy(), b.under.copy()
    update_sizes(sums, free, diagonal, b.r, b.low, b.high, over, under)
    w = b.r**2
    curve = w * np.maximum(free, 0.5 * w)
    too_large, too_small = b.r * sums - b.high * diagonal, b.low * diagonal - b.r * sums
    if b.low < b.high:
        np.testing.assert_allclose(over, np.maximum(0, b.over + too_large / (curve + b.high**2)), rtol=1e-12)
        np.testing.assert_allclose(under, np.maximum(0, b.under + too_small / (curve + b.low**2)), rtol=1e-12)
    assert np.all(over >= 0.0)
    assert np.all(under >= 0.0)
    over, under = b.over.copy(), b.under.copy()
    update_sizes(sums, free, diagonal, b.r, b.high, b.high, over, under)
    net = b.over - b.under + too_large / (curve + b.high**2)
    np.testing.assert_allclose(over, np.maximum(0, net), rtol=1e-12)
    np.testing.assert_allclose(under, np.maximum(0, -net), rtol=1e-12)


def swept(b: Block, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One pass over the cuts with dense matrices: multipliers, what is left of w, and what was taken in all."""
    multiplier, force, w = b.multiplier.copy(), b.cuts, w.copy()
    for c in range(len(multiplier)):
        a = b.cut(c)
        new = max(0.0, multiplier[c] + (a * np.maximum(w, 0.0)).sum() / (a * a).sum())
        w -= (new - multiplier[c]) * a
        force = force + (new - multiplier[c]) * a
        multiplier[c] = new
    return multiplier, w, force


@pytest.mark.parametrize("b", blocks())
def test_cut_matrix_and_sweep(b: Block) -> None:
    """Matrices of the cuts added up, and one pass of coordinate ascent on their multipliers."""
    force, size = Cuts(b.ends, b.signs, b.multiplier, np.zeros((0, 0))).exact(b.r)
    np.testing.assert_allclose(force, b.cuts, rtol=1e-12, atol=1e-14)
    absolute = sum((m * np.abs(b.cut(c)) for c, m in enumerate(b.multiplier)), start=np.zeros((b.n, b.n)))
    np.testing.assert_allclose(size, absolute, rtol=1e-12, atol=1e-14)
    multiplier, w = b.multiplier.copy(), b.y.copy()
    sweep_cuts(b.ends, b.signs, multiplier, b.r, w, force)
    for have, want in zip((multiplier, w, force), swept(b, b.y), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-10, atol=1e-12)
    assert np.all(multiplier >= 0.0)


@pytest.mark.parametrize("b", blocks())
def test_project(b: Block) -> None:
    """X is what the rows, after a step on sizes, and swept cuts leave of Y, clipped; U is the rest, and may be Y."""
    multiplier, force = b.multiplier.copy(), b.cuts
    before, z = np.random.default_rng(1).normal(size=(2, b.n, b.n))
    x, u, held = before.copy(), b.y.copy(), np.empty(b.n)
    over, under = b.over.copy(), b.under.copy()
    sums, free, diagonal, scratch = np.empty((4, b.n))
    rows = (b.cover, over, under, b.r, b.low, b.high, b.apart)
    row_sums(b.y, force, *rows, scratch, sums, free, diagonal)
    stepped = replace(b, over=over.copy(), under=under.copy())
    update_sizes(sums, free, diagonal, b.r, b.low, b.high, stepped.over, stepped.under)
    work = (np.empty((b.n, b.n)), *np.empty((4, b.n)))
    change, distance = project(u, z, *rows, b.ends, b.signs, multiplier, force, *work, x, u, held)
    np.testing.assert_allclose(over, stepped.over)
    np.testing.assert_allclose(under, stepped.under)
    start = b.y - b.cuts - stepped.rows
    start[b.apart] = 0.0
    want_multiplier, w, want_force = swept(b, start)
    want = b.clipped(w)
    np.testing.assert_allclose(multiplier, want_multiplier, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(force, want_force, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(x, want, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(u, b.y - want, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(held, want @ b.r, rtol=1e-10, atol=1e-12)
    assert change == pytest.approx(((want - before) ** 2).sum())
    assert distance == pytest.approx(((want - z) ** 2).sum())


@pytest.mark.parametrize("b", blocks())
def test_relaxed_in_place(b: Block) -> None:
    """U becomes what is projected onto the rows, and the sums are those of that matrix."""
    x, z = np.random.default_rng(3).normal(size=(2, b.n, b.n))
    u, rows = b.u.copy(), (b.cover, b.over, b.under, b.r, b.low, b.high, b.apart)
    sums, want = np.empty((4, b.n)), np.empty((4, b.n))
    relax_and_sum(z, x, u, 1.6, b.cuts, *rows, *sums)
    np.testing.assert_allclose(u, 1.6 * z - 0.6 * x + b.u, rtol=1e-12, atol=1e-14)
    row_sums(u, b.cuts, *rows, *want)
    np.testing.assert_allclose(sums, want)


@pytest.mark.parametrize("b", blocks())
def test_points_that_are_projected(b: Block) -> None:
    """X - U - (C + offset I) / sigma."""
    x = np.random.default_rng(2).normal(size=(b.n, b.n))
    out = np.empty((b.n, b.n))
    point_of(x, b.u, b.cost, 0.7, 3.0, out)
    np.testing.assert_allclose(out, x - b.u - (b.cost + 0.7 * np.eye(b.n)) / 3.0, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("b", blocks())
@pytest.mark.parametrize("sigma", [0.1, 30.0])
def test_split_multipliers(b: Block, sigma: float) -> None:
    """N is nonnegative but for pairs apart, in whole grains; S + N is cost, rows and cuts; the size covers all."""
    slack, reduced = np.empty((2, b.n, b.n))
    force, size = Cuts(b.ends, b.signs, b.multiplier, np.zeros((0, 0))).exact(b.r)
    grain = 2.0**-4
    squared, largest = split_multipliers(
        b.u,
        b.cost,
        sigma,
        b.cover,
        b.over,
        b.under,
        b.r,
        b.low,
        b.high,
        b.apart,
        force,
        size,
        np.empty(b.n),
        grain,
        slack,
        reduced,
    )
    full = b.cost + sigma * (b.rows + b.cuts)
    want = sigma * (b.rows + b.cuts - b.u)
    want = np.where(b.apart, want, np.maximum(want, 0.0))
    np.testing.assert_allclose(slack, want, rtol=1e-10, atol=(0.5 + 1e-9) * grain)
    assert np.array_equal(slack, np.rint(slack / grain) * grain)
    assert largest == np.abs(slack).max()
    assert np.all(slack[~b.apart] >= 0.0)
    np.testing.assert_allclose(reduced + slack, full, rtol=1e-10, atol=1e-11 * sigma)
    least = np.abs(b.cost) + sigma * (np.abs(b.rows) + size) + np.abs(slack)
    assert squared >= 0.999 * (least**2).sum()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("per_row", [1, 3, 100])
def test_violated_finds_the_worst_cuts_of_every_row(seed: int, per_row: int) -> None:
    """For every i the most violated pairs and triangles, by trying all of them."""
    rng = np.random.default_rng([seed, 72])
    n, least = 7, 0.05
    z = rng.exponential(size=(n, n)) * (rng.random((n, n)) < 0.7)
    z = z + z.T
    r = np.sqrt(rng.integers(1, 6, n).astype(float))
    turn = int(rng.integers(5))
    found, values = np.empty((n * per_row, 3), dtype=np.int64), np.empty(n * per_row)
    count = violated(z * np.outer(r, r), r, least, per_row, len(r), turn, found, values)
    for i in range(n):
        near = [j for j in range(n) if j != i and z[i, j] > least]
        all_values = {(j, -1): z[i, j] - z[i, i] for j in near}
        all_values |= {
            (j, k): z[i, j] + z[i, k] - z[i, i] - z[j, k] for j, k in itertools.combinations(near, 2)
        }
        want = sorted((v for v in all_values.values() if v > least), reverse=True)[:per_row]
        mine = np.flatnonzero(found[:count, 0] == i)
        np.testing.assert_allclose(sorted(values[mine], reverse=True), want, rtol=1e-9)
        for at in mine:
            assert all_values[(int(found[at, 1]), int(found[at, 2]))] == pytest.approx(values[at])


@pytest.mark.parametrize("seed", SEEDS)
def test_profile(seed: int) -> None:
    """The cheapest sizes that add up to n, and the cheapest others beside a given size, by trying all sizes."""
    rng = np.random.default_rng([seed, 73])
    n, count = int(rng.integers(3, 9)), rng.integers(1, 3, int(rng.integers(1, 3)))
    costs = np.where(rng.random((len(count), n + 1)) < 0.3, np.inf, rng.normal(size=(len(count), n + 1)))
    alone = np.empty_like(costs)
    total = profile(costs, count, alone)
    pool = np.repeat(np.arange(len(count)), count)
    best, others = np.inf, np.full_like(costs, np.inf)
    for sizes in itertools.product(range(n + 1), repeat=len(pool)):
        if sum(sizes) != n:
            continue
        each = costs[pool, list(sizes)]
        best = min(best, each.sum())
        for c, m in enumerate(sizes):
            others[pool[c], m] = min(others[pool[c], m], np.delete(each, c).sum())
    np.testing.assert_allclose(total, best, rtol=1e-12)
    np.testing.assert_allclose(alone, others, rtol=1e-12)


@dataclass
class Pricing:
    """A random question: can i and j be together?"""

    slack: np.ndarray
    weight: np.ndarray
    apart: np.ndarray
    must: int
    price: np.ndarray
    low: int
    high: int
    cutoff: float

    @property
    def r(self) -> np.ndarray:
        return np.sqrt(self.weight)

    def ask(self, i: int, j: int, size: int = 0) -> bool:
        n = len(self.weight)
        return bool(
            together(
                i,
                j,
                self.slack,
                self.r,
                self.weight,
                self.apart,
                self.must,
                self.price,
                self.low,
                self.high,
                size,
                self.cutoff,
                np.empty(n),
                np.empty(n),
            )
        )

    def answer(self, i: int, j: int) -> bool:
        """The same in plain words: the cheapest fractional filling, sample by sample."""
        R = np.outer(self.r, self.r) * self.slack
        pair = [i] if j < 0 else [i, j]
        away = self.apart[pair].any(axis=0)
        away[pair] = False
        if self.must >= 0 and away[self.must]:
            return False
        free = [p for p in range(len(self.weight)) if p not in pair and not away[p]]
        each = sorted(x for p in free for x in [R[pair, p].sum() / self.weight[p]] * int(self.weight[p]))
        start = int(self.weight[pair].sum())
        base = R[i, j] if j >= 0 else 0.0
        for m in range(max(self.low, start), min(self.high, start + len(each)) + 1):
            if self.price[m] + 2.0 / m * (base + sum(each[: m - start])) < self.cutoff:
                return True
        return False

    def some_cluster(self, i: int, j: int) -> bool:
        """Is there a cluster with i and j that costs less than the cutoff? By trying all."""
        R = np.outer(self.r, self.r) * self.slack
        pair = [i] if j < 0 else [i, j]
        for members in itertools.product([False, True], repeat=len(self.weight)):
            S = np.array(members)
            m = int(self.weight[S].sum())
            if not S[pair].all() or not self.low <= m <= self.high or (self.must >= 0 and not S[self.must]):
                continue
            if not self.apart[np.ix_(S, S)].any() and self.price[m] + R[np.ix_(S, S)].sum() / m < self.cutoff:
                return True
        return False


def random_pricing(rng: np.random.Generator) -> Pricing:
    n = int(rng.integers(2, 8))
    slack = rng.exponential(size=(n, n)) * (rng.random((n, n)) < 0.6)
    weight = rng.integers(1, 5, n).astype(float)
    apart = np.triu(rng.random((n, n)) < 0.2, 1)
    total = int(weight.sum())
    low, high = np.sort(rng.integers(1, total + 1, 2))
    price = np.where(rng.random(total + 1) < 0.2, np.inf, rng.normal(size=total + 1))
    return Pricing(
        np.triu(slack) + np.triu(slack, 1).T,
        weight,
        apart | apart.T,
        int(rng.integers(-1, n)),
        price,
        int(low),
        int(high),
        float(rng.uniform(-1, 4)),
    )


def test_together_is_the_cheapest_fractional_filling() -> None:
    """The kernel gives the plain answer, and never denies a pair that some cluster below the cutoff holds."""
    yes = no = 0
    for seed in range(150):
        q = random_pricing(np.random.default_rng([seed, 74]))
        n = len(q.weight)
        i = seed % n
        for j in (-1, (i + 1) % n):
            if j >= 0 and q.apart[i, j]:
                continue
            have = q.ask(i, j)
            assert have == q.answer(i, j), f"seed {seed}"
            assert have or not q.some_cluster(i, j), f"seed {seed}"
            yes, no = yes + have, no + (not have)
    assert min(yes, no) > 20


def test_the_quick_test_never_contradicts_the_exact_one() -> None:
    """With a size to look at first the answer is the same, and all pairs at once are answered as one by one."""
    for seed in range(150):
        rng = np.random.default_rng([seed, 75])
        q = random_pricing(rng)
        n = len(q.weight)
        rows, columns = np.array(
            [(i, j) for i in range(n) for j in range(-1, n) if j != i and not (j >= 0 and j < i)]
        ).T
        size = int(rng.integers(q.low, q.high + 1))
        result = np.zeros(len(rows), dtype=bool)
        common = (q.slack, q.r, q.weight, q.apart, q.must, q.price)
        find_apart(
            0,
            len(rows),
            rows,
            columns,
            *common,
            q.low,
            q.high,
            size,
            q.cutoff,
            result,
        )
        for i, j, have in zip(rows.tolist(), columns.tolist(), result, strict=True):
            if j >= 0 and q.apart[i, j]:
                assert not have
                continue
            assert have == q.ask(i, j) == q.ask(i, j, size)
