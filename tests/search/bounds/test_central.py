"""Interior points for many components: how few rounds they take, and the planes that close what they leave."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_matrix

from certmix import solve
from certmix.local.hard_em import hard_em
from certmix.options import Options
from certmix.presolve.instance import reduce
from certmix.problem import Problem
from certmix.search.bounds import central as central_module
from certmix.search.bounds.central import CentralAscent
from certmix.search.bounds.counting import CountingBound, sides_of
from certmix.search.bounds.dual import DualBound
from certmix.search.bounds.interior import LinearProgram, Point, central
from certmix.search.bounds.sides import Side, Sides
from certmix.threads import Threads
from tuned import tuned


@pytest.mark.parametrize("seed", range(6))
def test_a_central_point_is_nearly_the_best(seed: int) -> None:
    """Its value is within twice what was wanted of the optimum that a simplex method finds, and no row is broken."""
    rng = np.random.default_rng(seed)
    rows, cost = rng.integers(0, 2, size=(30, 12)).astype(float), rng.uniform(1.0, 3.0, size=30)
    gain, low, high = rng.uniform(0.5, 1.0, size=12), np.full(12, -1.0), np.full(12, 2.0)
    exact = -linprog(-gain, rows, cost, bounds=list(zip(low, high, strict=True))).fun
    start = Point(np.zeros(12), np.full(30, 0.5), np.full(12, 0.1), np.full(12, 0.1))
    for wanted in (1e-1, 1e-4):
        found = central(
            LinearProgram(csr_matrix(rows), cost, gain, low, high), start, wanted, np.zeros(12), np.zeros(12)
        )
        assert found is not None
        assert exact - 3.0 * wanted <= found.value <= exact + 1e-4
        assert np.all(rows @ found.point.y <= cost + 1e-4)
        assert np.all((low < found.point.y) & (found.point.y < high))


@pytest.mark.parametrize("seed", range(6))
def test_rows_far_from_their_price_have_no_say(seed: int) -> None:
    """With many times as many rows as variables the answer is that of all rows, and none of them is broken."""
    rng = np.random.default_rng(seed)
    rows, cost = rng.integers(0, 2, size=(400, 12)).astype(float), rng.uniform(1.0, 6.0, size=400)
    gain, low, high = rng.uniform(0.5, 1.0, size=12), np.full(12, -1.0), np.full(12, 2.0)
    start = Point(
        np.zeros(12), np.full(300, 0.5), np.full(12, 0.1), np.full(12, 0.1)
    )  # the last hundred are new
    exact = -linprog(-gain, rows, cost, bounds=list(zip(low, high, strict=True))).fun
    still = np.zeros(12)
    found = central(LinearProgram(csr_matrix(rows), cost, gain, low, high), start, 1e-4, still, still)
    assert found is not None
    assert exact - 3e-4 <= found.value <= exact + 1e-4
    assert np.all(rows @ found.point.y <= cost + 1e-4)
    assert found.point.rows.shape == (400,)
    assert 0 < np.count_nonzero(found.point.rows) < 200
    np.testing.assert_allclose(
        found.point.rows @ rows + found.point.lower * -1 + found.point.upper, gain, atol=1e-2
    )


@pytest.mark.parametrize("seed", range(6))
def test_a_start_that_is_neither_central_nor_kept_is_mended(seed: int) -> None:
    """Far from balanced complementarities, with rows broken by more than the whole box: a few steps all the same."""
    rng = np.random.default_rng(seed)
    rows, cost = rng.integers(0, 2, size=(400, 60)).astype(float), rng.uniform(-3.0, 20.0, size=400)
    rows = np.hstack([rows, np.ones((400, 1))])  # the price that all of them have in common
    gain = np.append(rng.uniform(0.3, 0.5, size=60), 1.0)
    low, high = np.append(np.full(60, -1.0), -np.inf), np.append(np.full(60, 2.0), np.inf)
    exact = -linprog(-gain, rows, cost, bounds=list(zip(low, high, strict=True))).fun
    y = np.append(np.where(rng.uniform(size=60) < 0.5, 2.0 - 1e-6, -1.0 + 1e-6), 30.0)
    start = Point(
        y, 10.0 ** rng.uniform(-9, 0, 300), 10.0 ** rng.uniform(-9, 0, 61), 10.0 ** rng.uniform(-9, 0, 61)
    )
    still = np.zeros(61)
    found = central(LinearProgram(csr_matrix(rows), cost, gain, low, high, 1), start, 1e-4, still, still)
    assert found is not None
    assert found.gap <= 2e-4
    assert exact - 3e-4 <= found.value <= exact + 1e-4
    assert np.all(rows @ found.point.y <= cost + 1e-4)
    assert np.all((low < found.point.y) & (found.point.y < high))


def begun(n: int, K: int, seed: int, gap: float) -> tuple[DualBound, float]:
    problem = Problem(np.random.default_rng(seed).uniform(size=(n, 2)), K, weights="none")
    instance = reduce(problem)
    found = hard_em(instance)
    assert found is not None
    bound = DualBound(instance, instance.expand(found.labels), allowed=gap * found.value)
    bound.advance_root(found.value * (1.0 - gap), np.inf)
    return bound, found.value


def test_few_rounds_suffice() -> None:
    """Two hundred groups in twenty clusters take some dozens of rounds at most, where vertices took hundreds."""
    bound, value = begun(200, 20, 0, 1e-4)
    assert isinstance(bound.root_ascent, CentralAscent)
    assert bound.root_bound >= value * (1.0 - 1e-3)
    assert bound.root_ascent.iterations <= 60


@pytest.fixture
def no_trios() -> Iterator[None]:
    """Ascents without prices for trios: then planes have more to do."""
    with tuned(central_module, most_trios=0):
        yield


@pytest.mark.usefixtures("no_trios")
@pytest.mark.parametrize("count", [1, 2])
def test_children_are_the_sides_of_a_plane(count: int) -> None:
    """A node that falls short is split by a plane; its children have no smaller bounds, and close the gap."""
    bound, value = begun(80, 16, 13, 1e-4)
    bound.threads = Threads(count)
    counting = CountingBound(bound)
    cutoff = value * (1.0 - 1e-4)
    explored = counting.explore(counting.root(), cutoff)
    assert explored.open.all()
    children = counting.branch(explored)
    one, other = (sides_of(children, i).all[-1] for i in range(2))
    assert (one.axis, one.at, one.least) == (other.axis, other.at, other.least)
    assert {one.left, other.left} == {True, False}
    again = counting.explore(children, cutoff)
    assert np.all(again.nodes.bound >= children.bound)
    assert again.nodes.bound.min() > children.bound.min() + 5e-4 * value


def test_cells_between_planes_cover_the_box() -> None:
    """Every point of the box is in a cell that is on the left of the planes that the point is on the left of."""
    sides = Sides(
        (Side(0, 0.3, 1, True), Side(1, -0.2, 2, False), Side(0, 0.6, 1, False), Side(1, 5.0, 1, True))
    )
    cells = sides.cells(np.array([0.0, -1.0]), np.array([1.0, 1.0]))
    assert len(cells) == 6
    for x in itertools.product(np.linspace(0.01, 0.99, 9), np.linspace(-0.99, 0.99, 9)):
        (mine,) = [cell for cell in cells if np.all(cell.lo < x) and np.all(x < cell.hi)]
        assert mine.inside.tolist() == [float(x[side.axis] <= side.at) for side in sides.all]
    assert sides.numbers.tolist() == [1.0, 1.0, 0.0, 1.0]


def test_units_do_not_matter_to_planes() -> None:
    """Data in other units: the same nodes and the same clustering."""
    data = np.random.default_rng(13).uniform(size=(80, 2))
    runs = [
        solve(
            Problem(factor * data, 16, weights="none"),
            "dual",
            options=Options(gap=1e-4, time_limit=60),
            verify=False,
        )
        for factor in (1.0, 2.0**-5, 2.0**10)
    ]
    assert len({run.nodes for run in runs}) == 1
    assert all(np.array_equal(run.labels, runs[0].labels) for run in runs)


@pytest.mark.usefixtures("no_trios")
def test_sets_of_other_nodes_cost_what_they_do_in_their_cell() -> None:
    """A mean that a plane held back in one node is free in another: there its set costs less, and is not known yet."""
    bound, value = begun(80, 16, 13, 1e-4)
    counting, cutoff = CountingBound(bound), value * (1.0 - 1e-4)
    nodes = counting.root()
    for _ in range(2):
        nodes = counting.branch(counting.explore(nodes, cutoff))
    sides = Sides(sides_of(nodes, 0).all[:1])
    ascent = counting.ascent(sides, nodes["multipliers"][0], nodes["prices"][0, :1], cutoff)
    for (members, i), cost in zip(ascent.master.sets(), ascent.master.costs(), strict=True):
        full = bound.pricer.full_cost(ascent.classes[i], members) if members.any() else 0.0
        assert ascent.unit * cost + ascent.offset[members].sum() == pytest.approx(full)
