"""An unknown variance: how many solves and seconds the proof takes, and what EM finds.

    python benchmarks/unknown_variance.py [--starts 50] [--gap 1e-6] [--time-limit 120] [NAME ...]
    python benchmarks/unknown_variance.py --path [--pam50 FILE] [--time-limit 60] [NAME ...]

The peer is scikit-learn's EM with one spherical covariance for all components (mclust's EII), the best of many starts
by its own likelihood; and the best of its k-means runs. Both are compared by the classification likelihood of their
clusterings: the objective at the best means, weights and variance. ``worse by`` says in nats how far they are from the
optimum.

With ``--path`` numbers of components are compared instead, 1 to 8 (PAM50, from its published file, all genes: 2 to 7).
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

import certmix
from certmix.datasets import load
from certmix.datasets.pam50 import load_pam50


class TiedSpherical(GaussianMixture):
    """EM with one variance for all components and features."""

    def __init__(self, n_components: int, n_init: int) -> None:
        super().__init__(n_components, covariance_type="spherical", n_init=n_init, random_state=0)
        self.tol, self.max_iter = 1e-6, 1000

    def _m_step(self, X: np.ndarray, log_resp: np.ndarray, **more: object) -> None:
        super()._m_step(X, log_resp, **more)
        tied = float(self.weights_ @ self.covariances_)
        self.covariances_ = np.full(self.n_components, tied)
        self.precisions_cholesky_ = 1.0 / np.sqrt(self.covariances_)


def cases() -> Iterator[tuple[str, np.ndarray, int]]:
    for k in (2, 3, 4, 5):
        yield f"iris K={k}", load("iris").frame().to_numpy(), k
    for name in ("wine", "brca"):
        raw = load(name).frame().to_numpy()
        standardised = (raw - raw.mean(axis=0)) / raw.std(axis=0)
        for k in (2, 3):
            yield f"{name} (standardised) K={k}", standardised, k
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=2.5, size=(3, 10))
    yield "mixture n=200 d=10 K=3", centres[rng.integers(3, size=200)] + rng.normal(size=(200, 10)), 3


def sets(pam50: str | None) -> Iterator[tuple[str, np.ndarray, str]]:
    for name in ("iris", "wine", "brca"):
        raw = load(name).frame().to_numpy()
        yield name, raw, "1:8"
        yield f"{name} (standardised)", (raw - raw.mean(axis=0)) / raw.std(axis=0), "1:8"
    if pam50 is not None:
        yield "pam50 (standardised)", load_pam50(pam50, None).data, "2:7"


def compare(names: list[str], pam50: str | None, time_limit: float) -> None:
    print(f"{'data':<24}{'K':>5}{'best':>6}  {'proved':<10}{'possible':<20}{'seconds':>9}{'CPU':>9}")
    for name, data, counts in sets(pam50):
        if names and not any(word in name for word in names):
            continue
        before = time.process_time()
        found = certmix.path(data, counts, variance="unknown", time_limit=time_limit)
        possible = ", ".join(map(str, found.possible))
        print(
            f"{name:<24}{counts:>5}{found.best!s:>6}  {found.level if found.proved else 'no':<10}{possible:<20}"
            f"{found.seconds:>9.1f}{time.process_time() - before:>9.1f}",
            flush=True,
        )


def best_of_em(problem: certmix.Problem, starts: int) -> tuple[float, float]:
    """The objectives of the clusterings that EM and k-means find."""
    data, k = problem.data, problem.n_components
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        em = TiedSpherical(k, starts).fit_predict(data)
        kmeans = KMeans(k, n_init=starts, random_state=0).fit_predict(data)
    return tuple(float(problem.objective.best(labels.astype(int)).value) for labels in (em, kmeans))  # type: ignore[return-value]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*")
    parser.add_argument("--starts", type=int, default=50)
    parser.add_argument("--gap", type=float, default=1e-6)
    parser.add_argument("--time-limit", type=float, default=120.0)
    parser.add_argument("--path", action="store_true")
    parser.add_argument("--pam50", metavar="FILE")
    given = parser.parse_args()
    if given.path:
        compare(given.names, given.pam50, given.time_limit)
        return
    head = f"{'problem':<30}{'objective':>13}{'gap':>9}{'variance':>10}{'solves':>8}{'seconds':>9}{'CPU':>7}"
    print(head + f"{'EM worse by':>13}{'k-means':>9}")
    for name, data, k in cases():
        if given.names and not any(word in name for word in given.names):
            continue
        problem = certmix.Problem(data, k, variance="unknown")
        start, before = time.perf_counter(), time.process_time()
        result = certmix.solve(problem, gap=given.gap, time_limit=given.time_limit, verify=False)
        seconds, cpu = time.perf_counter() - start, time.process_time() - before
        solves = (
            0 if result.envelope is None else len(result.envelope)
        )  # the least sum of squares for the first row
        em, kmeans = (value - result.objective for value in best_of_em(problem, given.starts))
        print(
            f"{name:<30}{result.objective:>13.5f}{result.gap_relative:>9.1e}{result.variance:>10.5f}{solves:>8}"
            f"{seconds:>9.1f}{cpu:>7.1f}{em:>13.4f}{kmeans:>9.4f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
