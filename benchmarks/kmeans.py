"""K-means with proof, beside scikit-learn's KMeans and k-means-constrained, on twenty sets.

    python benchmarks/kmeans.py [--time-limit 60] [--gap 1e-4] [--starts 50] [NAME ...]
    python benchmarks/kmeans.py --published [--ruspini FILE]

Ten sets without limits, against the best of many starts of KMeans; ten with limits on sizes, against the best of many
starts of k-means-constrained (``pip install k-means-constrained``; left out where it is not installed). ``worse by`` is
how far the other's clustering lies above ours, relatively: never below zero, and what lies between zero and the gap is
proved. With ``--published`` the optima that the literature has for iris and Ruspini's points (x,y in a CSV file).
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

import certmix

# Optima in the literature of exact methods (du Merle, Hansen, Jaumard and Mladenovic 2000 and those after them).
PUBLISHED = {
    "iris": (152.347951760358, 78.8514414261460, 57.2284732142857, 46.4461820512821, 39.0399872460872),
    "ruspini": (89337.832142857, 51063.4750456705, 12881.0512361466, 10126.7197881828, 8575.40687645688),
}  # with 2 to 6 clusters


@dataclass(frozen=True)
class Case:
    name: str
    data: np.ndarray
    k: int
    sizes: tuple[int, int] | None = None  # smallest and largest


def cases() -> Iterator[Case]:
    """Real sets (standardised but for iris), and mixtures."""
    iris, scale = load_iris().data, StandardScaler().fit_transform
    wine, cancer, diabetes = (scale(load().data) for load in (load_wine, load_breast_cancer, load_diabetes))
    digits = load_digits().data[:300]
    flat, wide = mixture(200, 2, 4, 3.0), mixture(300, 10, 3, 2.0)
    for k in (2, 3, 4):
        yield Case("iris", iris, k)
    for name, data, k in (
        ("wine", wine, 2),
        ("wine", wine, 3),
        ("breast cancer", cancer, 2),
        ("diabetes", diabetes[:150], 2),
        ("digits", digits[:, digits.std(axis=0) > 0], 3),
        ("mixture d=2", flat, 4),
        ("mixture d=10", wide, 3),
    ):
        yield Case(name, data, k)
    for name, data, k, sizes in (
        ("iris", iris, 3, (50, 50)),
        ("iris", iris, 3, (40, 60)),
        ("iris", iris, 2, (70, 80)),
        ("iris", iris, 4, (30, 45)),
        ("wine", wine, 3, (55, 65)),
        ("wine", wine, 2, (80, 98)),
        ("mixture d=2", flat, 4, (50, 50)),
        ("mixture d=2", flat, 4, (40, 55)),
        ("mixture d=10", wide, 3, (100, 100)),
        ("breast cancer", cancer, 2, (250, 319)),
    ):
        yield Case(name, data, k, sizes)


def mixture(n: int, d: int, k: int, apart: float) -> np.ndarray:
    rng = np.random.default_rng([n, d])
    return rng.normal(scale=apart / np.sqrt(d) * 1.5, size=(k, d))[rng.integers(k, size=n)] + rng.normal(
        size=(n, d)
    )


def peer(case: Case, starts: int) -> tuple[str, float, float]:
    """Who it is, the sum of squares that it finds, and the seconds that it takes."""
    begin = time.perf_counter()
    if case.sizes is None:
        found = KMeans(case.k, n_init=starts, random_state=0).fit(case.data)
        return "KMeans", float(found.inertia_), time.perf_counter() - begin
    # In a process of its own: its solver and that of certmix cannot both be loaded.
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(constrained, (case, starts))


def constrained(case: Case, starts: int) -> tuple[str, float, float]:
    try:
        from k_means_constrained import KMeansConstrained
    except ImportError:
        return "(not installed)", float("nan"), 0.0
    assert case.sizes is not None
    low, high = case.sizes
    begin = time.perf_counter()
    found = KMeansConstrained(case.k, size_min=low, size_max=high, n_init=starts, random_state=0).fit(
        case.data
    )
    return "k-means-constrained", squares(case.data, found.labels_), time.perf_counter() - begin


def squares(data: np.ndarray, labels: np.ndarray) -> float:
    return float(
        sum(((data[labels == k] - data[labels == k].mean(axis=0)) ** 2).sum() for k in np.unique(labels))
    )


def row(case: Case, starts: int, gap: float, time_limit: float) -> str:
    low, high = case.sizes or (None, None)
    model = certmix.CertifiedKMeans(
        case.k, min_size=low, max_size=high, gap=gap, time_limit=time_limit, verify=True
    ).fit(case.data)
    who, value, seconds = peer(case, starts)
    n, d = case.data.shape
    sizes = "" if case.sizes is None else f"{low} to {high}" if low != high else f"{low}"
    result = model.result_
    return (
        f"| {case.name} | {n} x {d} | {case.k} | {sizes} | {model.inertia_:.8g} | {model.gap_:.1e} | "
        f"{result.certificate_level} | {result.engine} | {result.seconds:.2f} | {who} | "
        f"{value / model.inertia_ - 1:.1e} | {seconds:.2f} |"
    )


def published(ruspini: str | None, gap: float, time_limit: float) -> None:
    """What is proved beside the optima that are known."""
    sets = {"iris": load_iris().data}
    if ruspini is not None:
        sets["ruspini"] = np.loadtxt(ruspini, delimiter=",", skiprows=1)
    print("| set | k | published | SSE | lower bound | certificate | engine | CPU seconds |")
    print("| --- | ---: | ---: | ---: | ---: | --- | --- | ---: |")
    for name, data in sets.items():
        for k, value in enumerate(PUBLISHED[name], start=2):
            begin = time.process_time()
            model = certmix.CertifiedKMeans(k, gap=gap, time_limit=time_limit, verify=True).fit(data)
            result = model.result_
            print(
                f"| {name} | {k} | {value:.9g} | {model.inertia_:.9g} | {model.inertia_lower_bound_:.9g} | "
                f"{result.certificate_level} | {result.engine} | {time.process_time() - begin:.2f} |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("names", nargs="*", help="only cases whose names begin so")
    parser.add_argument("--sizes", action="store_true", help="only cases with limits on sizes")
    parser.add_argument("--starts", type=int, default=50, help="of the others")
    parser.add_argument("--gap", type=float, default=1e-4)
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--published", action="store_true", help="beside optima of the literature")
    parser.add_argument("--ruspini", metavar="FILE", help="Ruspini's points, which are not packaged")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.published:
        published(asked.ruspini, asked.gap, asked.time_limit)
        return
    print(
        "| set | n x d | k | sizes | SSE | gap | certificate | engine | seconds | other | worse by | its seconds |"
    )
    print("| --- | --- | ---: | --- | ---: | ---: | --- | --- | ---: | --- | ---: | ---: |")
    for case in cases():
        if asked.sizes and case.sizes is None:
            continue
        if not asked.names or any(case.name.startswith(name) for name in asked.names):
            print(row(case, asked.starts, asked.gap, asked.time_limit), flush=True)


if __name__ == "__main__":
    main()
