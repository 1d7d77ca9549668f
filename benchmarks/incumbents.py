"""How reliably and how fast does hard EM find the best known values?

    python benchmarks/incumbents.py [--seeds 20] [--restarts R] [--data DIR] [--large] [NAME ...]

For every instance: the best known value, the value found, the processor time of one batch of restarts
(median over the seeds, compiled code warm) and the share of seeds that found the best known value to a
relative 1e-7 (values known to fewer digits: to those). ``--data`` is a directory with ``ruspini.csv`` and
``pam50/``; without it those are left out.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from certmix.datasets import Dataset, load
from certmix.local.hard_em import default_restarts, hard_em
from certmix.presolve.instance import reduce
from certmix.problem import CannotLink, MaximumSize, MinimumSize, MustLink, Problem

# SSE of the optimal k-means clusterings for k = 2 … 6.
KMEANS_IRIS = (152.347951760358, 78.8514414261460, 57.2284732142857, 46.4461820512821, 39.0399872460872)
KMEANS_RUSPINI = (89337.832142857, 51063.4750456705, 12881.0512361466, 10126.7197881828, 8575.40687645688)

Case = tuple[str, Problem, float | None]


def built_in() -> Iterator[Case]:
    """The instances that need no file."""
    yield "iris1d", load("iris1d").problem(), 280.0197
    yield "iris1d n=45 sigma=.2", load("iris1d", n=45, sigma=0.2).problem(), 194.945547
    yield "iris1d n=45 sigma=.4", load("iris1d", n=45, sigma=0.4).problem(), 85.361502
    yield "wine", load("wine").problem(), 1366.8512244670
    yield "brca", load("brca").problem(), 1566.4003302
    brca = load("brca", rounded=False)
    yield "brca unrounded", brca.problem(), 1554.58051
    yield "brca constrained", brca.problem(constraints=some_links(brca)), None
    iris = load("iris")
    for k, value in ((3, 693.03972), (4, 612.16436), (5, 581.34300)):
        yield f"iris K={k}", iris.problem(n_components=k), value
    yield "iris K=3 constrained", iris.problem(constraints=some_links(iris)), None
    sizes = [MinimumSize(30), MaximumSize(30)]
    yield "iris K=5 balanced", iris.problem(n_components=5, constraints=sizes), None
    for k, sse in enumerate(KMEANS_IRIS, start=2):
        problem = iris.problem(n_components=k, variance=1.0, weights="uniform")
        yield f"k-means iris k={k}", problem, sse / 2 + 150 * np.log(k)
    rng = np.random.default_rng(0)
    for d, K in ((2, 4), (3, 3)):
        centres = rng.normal(scale=2, size=(K, d))
        data = centres[rng.integers(K, size=300)] + rng.normal(size=(300, d))
        yield f"overlapping d={d} K={K}", Problem(data, K, variance=1.0), None


def some_links(data: Dataset) -> list[CannotLink | MustLink | MinimumSize]:
    """20 cannot-links across classes, 20 must-links within them, at least 10 in every component."""
    rng = np.random.default_rng(0)
    apart: list[CannotLink] = []
    together: list[MustLink] = []
    while len(apart) < 20 or len(together) < 20:
        i, j = (int(x) for x in rng.choice(data.n_samples, 2, replace=False))
        if data.target[i] != data.target[j] and len(apart) < 20:
            apart.append(CannotLink(i, j))
        elif data.target[i] == data.target[j] and len(together) < 20:
            together.append(MustLink(i, j))
    return [*apart, *together, MinimumSize(10)]


def from_files(folder: Path) -> Iterator[Case]:
    """Ruspini and pam50-4d."""
    ruspini = np.loadtxt(folder / "ruspini.csv", delimiter=",", skiprows=1)
    for k, sse in enumerate(KMEANS_RUSPINI, start=2):
        yield f"k-means ruspini k={k}", Problem(ruspini, k, weights="uniform"), sse / 2 + 75 * np.log(k)
    pam50 = load("pam50", path=folder / "pam50")
    yield "pam50-4d labels", pam50.problem(constraints=pam50.labels()), None
    yield "pam50-4d", pam50.problem(), None


def large() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    for n in (100_000, 1_000_000):
        centres = rng.uniform(-8, 8, size=(5, 3))
        yield (
            f"mixture n={n}",
            Problem(centres[rng.integers(5, size=n)] + rng.normal(size=(n, 3)), 5, variance=1.0),
            None,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="only instances whose name contains one of these")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--restarts", type=int)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--large", action="store_true")
    arguments = parser.parse_args()
    cases = [*built_in()]
    if arguments.data:
        cases += from_files(arguments.data)
    if arguments.large:
        cases += large()
    print(
        f"{'instance':24s} {'best known':>17s} {'found':>17s} {'restarts':>8s} {'seconds':>8s} {'hits':>7s}"
    )
    for name, problem, known in cases:
        if arguments.names and not any(part in name for part in arguments.names):
            continue
        instance = reduce(problem)
        count = arguments.restarts or default_restarts(instance)
        hard_em(instance, restarts=1)  # compile or load
        values, seconds = [], []
        seeds = min(arguments.seeds, 2) if problem.n_samples >= 50_000 else arguments.seeds
        for seed in range(seeds):
            clock = time.process_time()
            found = hard_em(instance, restarts=count, seed=seed)
            seconds.append(time.process_time() - clock)
            values.append(np.inf if found is None else found.value)
        target = min(values) if known is None else known
        hits = sum(v <= target + max(1e-7 * abs(target), 6e-5 * (name == "iris1d")) for v in values)
        shown = f"{'-':>17s}" if known is None else f"{known:17.9f}"
        print(
            f"{name:24s} {shown} {min(values):17.9f} {count:8d} {np.median(seconds):8.3f} {hits:3d}/{seeds}",
            flush=True,
        )


if __name__ == "__main__":
    main()
