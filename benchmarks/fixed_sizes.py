"""K-means with the size of every cluster fixed, ``auto``: sixteen mixtures of 150 to 250 samples, 4 to 13 features.

    python benchmarks/fixed_sizes.py [--time-limit 60] [--gap 1e-4] [--seed 0] [--threads 2] [--only 0 5]

Half of them have equal sizes, half very different ones; the sizes are those that the samples were drawn with. Prints
what is left of the gap, and seconds by the clock and of the processor. Kernels should be compiled before
(``certmix compile``).
"""

from __future__ import annotations

import argparse
import itertools
import time

import numpy as np

import certmix
from certmix import MaximumSize, MinimumSize, Problem

FEATURES, CLUSTERS, SAMPLES = (4, 7, 9, 13), (3, 4, 5, 6), (150, 180, 210, 250)
DISTANCE = 3.0  # standard deviations between the nearest two means


def problem(number: int, seed: int) -> tuple[str, Problem]:
    """The instance with a number from 0 to 15, in words and as a problem."""
    a, b = divmod(number, 4)
    d, K, n = FEATURES[a], CLUSTERS[b], SAMPLES[(a + b) % 4]
    rng = np.random.default_rng([seed, number])
    means = rng.normal(size=(K, d))
    means *= DISTANCE / min(np.linalg.norm(p - q) for p, q in itertools.combinations(means, 2))
    equal = number % 2 == 0
    sizes = np.full(K, n // K) if equal else 5 + rng.multinomial(n - 5 * K, rng.dirichlet(np.full(K, 2.0)))
    sizes[0] += n - sizes.sum()
    data = np.repeat(means, sizes, axis=0) + rng.normal(size=(n, d))
    limits = [limit(int(m), k) for k, m in enumerate(sizes) for limit in (MinimumSize, MaximumSize)]
    name = f"{n} x {d}, K={K}, sizes {'/'.join(map(str, sizes.tolist()))}"
    return name, Problem(data, K, weights="none", constraints=limits)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--only", type=int, nargs="*", default=range(16), help="numbers from 0 to 15")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--gap", type=float, default=1e-4, help="of the sum of squares")
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--threads", type=int)
    asked = parser.parse_args()
    print("| | instance | engine | gap | nodes | seconds | of the processor |")
    print("| ---: | --- | --- | ---: | ---: | ---: | ---: |")
    for number in asked.only:
        name, made = problem(number, asked.seed)
        clock, used = time.perf_counter(), time.process_time()
        result = certmix.solve(
            made, gap=asked.gap, time_limit=asked.time_limit, verify=False, threads=asked.threads
        )
        clock, used = time.perf_counter() - clock, time.process_time() - used
        left = (result.objective - result.lower_bound) / result.objective
        print(
            f"| {number} | {name} | {result.engine} | {left:.1e} | {result.nodes} | {clock:.1f} | {used:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
