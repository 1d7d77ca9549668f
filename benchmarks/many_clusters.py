"""K-means with many clusters in the plane, ``auto``: points in a square, drilled boards, roads, very different sizes.

    python benchmarks/many_clusters.py [--points 1000] [--clusters 10 20 30 40 50] [--time-limit 60] [--gap 1e-4]
                                       [--kinds square board roads sizes] [--seeds 0 1] [--threads 2]
    python benchmarks/many_clusters.py --tsplib gr666.tsp u1060.tsp --clusters 10 50

The second takes the points of files of TSPLIB as they are, latitudes and longitudes too. Prints the sum of squares,
what is left of the gap, and seconds by the clock and of the processor. Kernels should be compiled before
(``certmix compile``).
"""

from __future__ import annotations

import argparse
import itertools
import time
from pathlib import Path

import numpy as np

import certmix


def square(n: int, rng: np.random.Generator) -> np.ndarray:
    """Points drawn uniformly."""
    return rng.uniform(size=(n, 2))


def board(n: int, rng: np.random.Generator) -> np.ndarray:
    """Holes in rows and blocks of several pitches."""
    holes: list[list[float]] = []
    while len(holes) < n:
        rows, columns, pitch = rng.integers(1, 9), rng.integers(1, 12), rng.choice([1.0, 1.27, 2.54, 5.0])
        grid = np.stack(np.meshgrid(np.arange(columns), np.arange(rows)), axis=-1).reshape(-1, 2)
        holes += np.round(grid * pitch + rng.uniform(0.0, 100.0, size=2), 2).tolist()
    return np.array(holes[:n])


def roads(n: int, rng: np.random.Generator) -> np.ndarray:
    """Points along straight roads between junctions."""
    junctions = rng.uniform(0.0, 100.0, size=(max(6, n // 40), 2))
    ends, share = rng.integers(len(junctions), size=(2, n)), rng.uniform(size=(n, 1))
    along = share * junctions[ends[0]] + (1.0 - share) * junctions[ends[1]]
    return along + rng.normal(scale=0.5, size=(n, 2))


def sizes(n: int, rng: np.random.Generator) -> np.ndarray:
    """Forty Gaussian clusters, few large and many small ones, narrow and wide."""
    cluster = rng.choice(40, size=n, p=rng.dirichlet(np.full(40, 0.5)))
    centre, spread = rng.uniform(0.0, 100.0, size=(40, 2)), rng.uniform(0.5, 6.0, size=40)
    return centre[cluster] + rng.normal(size=(n, 2)) * spread[cluster, None]


KINDS = {"square": square, "board": board, "roads": roads, "sizes": sizes}


def tsplib(path: Path) -> np.ndarray:
    """The coordinates of a file."""
    _, _, rows = path.read_text().partition("NODE_COORD_SECTION")
    return np.array([row.split()[1:3] for row in rows.splitlines() if len(row.split()) == 3], dtype=float)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=list(KINDS))
    parser.add_argument(
        "--tsplib", type=Path, nargs="*", default=[], help="files, instead of points that are made"
    )
    parser.add_argument("--points", type=int, nargs="*", default=[1000])
    parser.add_argument("--clusters", type=int, nargs="*", default=[10, 20, 30, 40, 50])
    parser.add_argument("--seeds", type=int, nargs="*", default=[0])
    parser.add_argument("--gap", type=float, default=1e-4, help="of the sum of squares")
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--threads", type=int)
    asked = parser.parse_args()
    print("| points | n | K | seed | SSE | gap | nodes | seconds | of the processor |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    made = [] if asked.tsplib else itertools.product(asked.kinds, asked.points, asked.seeds)
    sets = [(path.stem, "", tsplib(path)) for path in asked.tsplib]
    sets += [(kind, seed, KINDS[kind](n, np.random.default_rng([seed, n]))) for kind, n, seed in made]
    for (kind, seed, data), K in itertools.product(sets, asked.clusters):
        clock, used = time.perf_counter(), time.process_time()
        model = certmix.CertifiedKMeans(
            K, gap=asked.gap, time_limit=asked.time_limit, verify=False, threads=asked.threads
        ).fit(data)
        clock, used = time.perf_counter() - clock, time.process_time() - used
        print(
            f"| {kind} | {len(data):,} | {K} | {seed} | {model.inertia_:.7g} | {model.gap_:.1e} | "
            f"{model.result_.nodes} | {clock:.1f} | {used:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
