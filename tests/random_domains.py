"""Random nodes of the semidefinite bound with random multipliers, on instances small enough to enumerate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from brute_force import Clusterings
from certmix.presolve.arrays import instance_arrays
from certmix.presolve.instance import Instance, reduce
from certmix.problem import CannotLink, DirichletPrior, GaussianPrior, Label, MinimumSize, MustLink, Problem
from certmix.problem.features import EVERY_FEATURE, Feature
from certmix.search.bounds.semidefinite.admm import Method
from certmix.search.bounds.semidefinite.contraction import Contraction, Region, contract
from certmix.search.bounds.semidefinite.crossings import Crossing, costs
from certmix.search.bounds.semidefinite.pools import ComponentPool, pools_of
from certmix.search.bounds.semidefinite.refining import refine
from certmix.search.bounds.semidefinite.safe import Proof, prove
from certmix.search.bounds.semidefinite.states import Warm
from certmix.search.bounds.semidefinite.warm import cold_start, warm_start
from certmix.threads import Threads
from random_instances import random_problem

HONOURED = EVERY_FEATURE - {Feature.MEAN_BOX}
ROUNDING = 1e-9


def merged_problem(
    rng: np.random.Generator, groups: int = 6, scale: float = 1.0, offset: float = 0.0
) -> Problem:
    """Up to four components and groups of very different weights: what a node looks like after contraction."""
    K, d = int(rng.integers(2, 5)), int(rng.integers(1, 5))
    group = np.concatenate([np.arange(groups), rng.integers(0, groups, rng.integers(0, 12))])
    group = np.sort(group)
    n = len(group)
    centres = rng.normal(scale=rng.choice([0.5, 2.0, 5.0]), size=(groups, d))
    data = (centres[group] + rng.normal(scale=rng.choice([0.1, 1.0]), size=(n, d))) * scale + offset
    links: list[Any] = [
        MustLink(*map(int, np.flatnonzero(group == g))) for g in range(groups) if (group == g).sum() > 1
    ]
    first = np.searchsorted(group, np.arange(groups))
    if rng.random() < 0.4:
        i, j = rng.permutation(groups)[:2]
        links.append(CannotLink(int(first[i]), int(first[j])))
    if rng.random() < 0.3:
        links.append(Label(int(first[rng.integers(groups)]), int(rng.integers(K))))
    if rng.random() < 0.2:
        links.append(MinimumSize(2))
    settings: dict[str, Any] = {}
    if rng.random() < 0.3:
        settings["weights"] = "uniform"
    prior: list[Any] = []
    if rng.random() < 0.3:
        prior.append(DirichletPrior(float(rng.uniform(0.3, 3.0))))
    if rng.random() < 0.3:
        prior.append(GaussianPrior(data[rng.integers(n)], float(scale**2 * 10.0 ** rng.uniform(-2, 2))))
    variance = scale**2 * (rng.uniform(0.5, 2.0, K) if rng.random() < 0.2 else 1.0)
    return Problem(data, K, variance=variance, prior=prior, constraints=links, **settings)


def small_instances(
    first: int, count: int, name: int, merged: float = 0.5
) -> Iterator[tuple[int, Clusterings]]:
    """Random feasible instances without mean boxes, with all their clusterings."""
    seed, made = first, 0
    while made < count:
        rng = np.random.default_rng([seed, name])
        seed += 1
        if rng.random() < merged:
            problem = merged_problem(rng, groups=int(rng.integers(4, 7)))
        else:
            problem = random_problem(rng, max_samples=6, max_components=3, features=HONOURED)
        instance = reduce(problem)
        if instance.groups.contradiction or instance.n_components**instance.n_groups > 1100:
            continue
        found = Clusterings(instance, instance_arrays(instance))
        if found.feasible.any():
            made += 1
            yield seed - 1, found


def inside(found: Clusterings, domain: Region) -> np.ndarray:
    """(L,) bool: the feasible clusterings that a domain admits."""
    N = found.labels.shape[1]
    good = found.feasible & domain.allowed[np.arange(N), found.labels].all(axis=1)
    good &= ((found.sizes >= domain.a) & (found.sizes <= domain.b)).all(axis=1)
    same = found.labels[:, :, None] == found.labels[:, None, :]
    return np.asarray(good & ~(same & domain.apart & ~np.eye(N, dtype=bool)).any(axis=(1, 2)))


def best_of(found: Clusterings, chosen: np.ndarray) -> float:
    return float(found.objective[chosen].min(initial=np.inf))


def slack_of(value: float) -> float:
    return ROUNDING * max(1.0, abs(value)) if np.isfinite(value) else 0.0


def root_domain(instance: Instance, empty: np.ndarray) -> Region:
    """Everything with the given components empty and the others not."""
    N, n = instance.n_groups, instance.n_samples
    a = np.maximum(instance.size_lower, 1).astype(np.float64)
    b = np.minimum(instance.size_upper, n).astype(np.float64)
    a[empty] = b[empty] = 0.0
    apart = np.zeros((N, N), dtype=bool)
    i, j = instance.conflicts[:, 0], instance.conflicts[:, 1]
    apart[i, j] = apart[j, i] = True
    return Region(instance.allowed & ~empty, a, b, apart)


def random_domain(rng: np.random.Generator, found: Clusterings, row: int) -> Region:
    """A domain around one clustering: fewer candidates, narrower sizes, some pairs apart."""
    labels, sizes = found.labels[row], found.sizes[row]
    domain = root_domain(found.instance, sizes == 0)
    N, K = found.instance.n_groups, found.instance.n_components
    keep = rng.choice([0.3, 0.7, 1.0, 1.0])
    for g in range(N):
        domain.allowed[g] &= (rng.random(K) < keep) | (np.arange(K) == labels[g])
    for k in np.flatnonzero(sizes > 0):
        if rng.random() < 0.3:
            domain.a[k] = max(domain.a[k], sizes[k] - rng.integers(0, 3))
        if rng.random() < 0.3:
            domain.b[k] = min(domain.b[k], sizes[k] + rng.integers(0, 3))
    differ = labels[:, None] != labels
    marked = differ & (rng.random((N, N)) < rng.choice([0.0, 0.3, 0.8]))
    domain.apart |= marked | marked.T
    return domain


@dataclass
class State:
    """A node with the method in it."""

    domain: Region
    shape: Contraction
    pools: list[ComponentPool]
    method: Method
    constant: float
    instance: Instance

    def prove(self) -> Proof:
        instance = self.instance
        terms = instance.n_groups + instance.n_features
        return prove(self.method, self.constant, instance.error, terms, grain=2.0**-30)


def state_of(
    domain: Region, instance: Instance, T: np.ndarray, labels: np.ndarray, sigma: float
) -> State | None:
    """The method as a visit starts it; None where a visit would not (nothing left, or everything decided)."""
    if not domain.propagate(instance, instance_arrays(instance)) or np.all(domain.decided() >= 0):
        return None
    shape = contract(domain, instance)
    pools = pools_of(domain, shape, instance)
    if any(not p.sizes.any() or len(p.index) == 0 for p in pools):
        return None
    method = cold_start(shape, pools, T, labels, sigma, Threads(1), np.inf)
    return State(domain, shape, pools, method, float(instance.entropy[domain.b <= 0, 0].sum()), instance)


def random_state(rng: np.random.Generator, found: Clusterings, domain: Region) -> State | None:
    """Random multipliers of all kinds, near what is sensible or far from it."""
    instance = found.instance
    chosen = found.labels[rng.choice(np.flatnonzero(found.feasible))]
    size = float(np.abs(found.objective[found.feasible]).max()) / instance.n_groups + 1.0
    T = size * rng.normal(size=instance.n_groups) * rng.choice([0.0, 0.1, 1.0, 30.0])
    sigma = float(10.0 ** rng.uniform(-2, 2)) * instance.n_samples
    state = state_of(domain, instance, T, chosen, sigma)
    if state is None:
        return None
    method = state.method
    method.run(int(rng.choice([1, 3, 40])))
    if rng.random() < 0.5:
        refine(method, 0.0, np.inf)
    for b in method.blocks:
        scramble(rng, b.cuts, method.root[state.pools[b.pool].index])
    if rng.random() < 0.5:
        method.run(int(rng.choice([1, 10])))
    if rng.random() < 0.5:
        disturb(rng, method, float(10.0 ** rng.uniform(-4, 1)))
    if rng.random() < 0.5:
        price_sets(rng, method, size)
    return state


def price_sets(rng: np.random.Generator, method: Method, size: float) -> None:
    """Random sets of super-points, at random prices."""
    count, M = int(rng.integers(1, 4)), len(method.root)
    prices = size * rng.exponential(size=count) * rng.choice([0.1, 1.0, 10.0])
    method.crossings = [Crossing(rng.random(M) < rng.choice([0.2, 0.5]), float(price)) for price in prices]
    for b in method.blocks:
        b.cost = costs(method, b.pool, b.high, b.slope)


def scramble(rng: np.random.Generator, cuts: Any, r: np.ndarray) -> None:
    """Add cuts that some random matrix violates, and give all cuts random multipliers."""
    P = len(r)
    for _ in range(int(rng.integers(0, 3))):
        z = rng.exponential(size=(P, P))
        cuts.separate((z + z.T) * np.outer(r, r), r, 50)
    share = rng.random(len(cuts.multiplier)) < rng.choice([0.0, 0.5, 1.0])
    cuts.multiplier[:] = share * rng.exponential(size=len(share)) * 10.0 ** rng.uniform(-4, 1)
    cuts.force = cuts.exact(r)[0]


def disturb(rng: np.random.Generator, method: Method, by: float) -> None:
    """Multipliers of no origin: symmetric where they are symmetric, nonnegative where they must be."""
    method.cover = method.cover + by * rng.normal(size=len(method.cover))
    for b in method.blocks:
        P = len(b.over)
        noise = by * rng.normal(size=(P, P))
        b.u = b.u + 0.5 * (noise + noise.T)
        b.over = b.over + by * rng.exponential(size=P) * (rng.random(P) < 0.5)
        b.under = b.under + by * rng.exponential(size=P) * (rng.random(P) < 0.5)


def narrowed(rng: np.random.Generator, state: State, row: np.ndarray) -> State | None:
    """A child of a node that still admits the clustering ``row``, started from where its parent stopped."""
    domain, instance = state.domain.copy(), state.instance
    for g in rng.permutation(instance.n_groups)[: rng.integers(1, 4)]:
        domain.allowed[g] = np.arange(instance.n_components) == row[g]
    if not domain.propagate(instance, instance_arrays(instance)) or np.all(domain.decided() >= 0):
        return None
    shape = contract(domain, instance)
    pools = pools_of(domain, shape, instance)
    if any(not p.sizes.any() or len(p.index) == 0 for p in pools):
        return None
    most = sum(b.x.size for b in state.method.blocks) * float(rng.choice([0.3, 0.7, np.inf]))
    method = warm_start(shape, pools, Warm(state.shape, state.method), Threads(1), most)
    return State(domain, shape, pools, method, state.constant, instance)
