"""Exchanges between parts against the same sums, added up slowly."""

from __future__ import annotations

import numpy as np
import pytest

from certmix.kernels.exchanges import distance, exchange, pull, tally


def sums_of(given: dict[str, np.ndarray], part: np.ndarray, count: int) -> np.ndarray:
    """The twin of ``tally``: weight and moments of every part, by cluster and by posterior."""
    points, label, weight = given["points"], given["label"], given["weight"]
    K, d = given["hard"].shape
    found = np.zeros((count, 2, K, d + 1))
    for t in range(count):
        for k in range(K):
            x = points[given["system"][k]][part == t]
            own = weight[part == t] * (label[part == t] == k)
            soft = weight[part == t] * given["posterior"][part == t, k]
            for h, mass, centre in ((0, own, given["hard"][k]), (1, soft, given["soft"][k])):
                found[t, h, k, :d] = mass @ (x - centre)
                found[t, h, k, d] = mass.sum()
    return found


def squares(sums: np.ndarray, scale: np.ndarray) -> float:
    return float(np.einsum("thkj,thkj,hk->", sums, sums, scale))


def drawn(seed: int, N: int = 40, K: int = 3, d: int = 2, own: bool = False) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    posterior = rng.dirichlet(np.full(K, 0.3), size=N)
    posterior[posterior < 0.05] = 0.0
    return {
        "points": rng.normal(size=(K if own else 1, N, d)),
        "system": np.arange(K) if own else np.zeros(K, dtype=np.int64),
        "posterior": posterior,
        "weight": rng.integers(1, 4, size=N).astype(float),
        "label": rng.integers(K, size=N),
        "hard": rng.normal(size=(K, d)),
        "soft": rng.normal(size=(K, d)),
        "scale": rng.uniform(0.5, 2.0, size=(2, K)),
    }


def kernel_arrays(given: dict[str, np.ndarray]) -> list[np.ndarray]:
    return [given[name] for name in ("points", "system", "posterior", "weight")]


@pytest.mark.parametrize("own", [False, True])
def test_sums_and_changes_agree_with_the_twin(own: bool) -> None:
    """The sums are those added up slowly, and what an exchange gains is how the squares of two parts change."""
    given = drawn(1, own=own)
    N = len(given["label"])
    part = np.arange(N) % 2
    sums = np.zeros((2, 2, 3, 3))
    tally(*kernel_arrays(given), given["label"], given["hard"], given["soft"], part, sums)
    slow = sums_of(given, part, 2)
    assert np.allclose(sums, slow)
    for a in np.flatnonzero(part == 0):
        for b in np.flatnonzero((part == 1) & (given["label"] == given["label"][a])):
            changed = part.copy()
            changed[a], changed[b] = 1, 0
            expected = squares(sums_of(given, changed, 2), given["scale"]) - squares(slow, given["scale"])
            rest = given["hard"], given["soft"], given["scale"]
            k, apart = given["label"][a], sums[0] - sums[1]
            step = pull(*kernel_arrays(given), *rest, apart, k, a) - pull(
                *kernel_arrays(given), *rest, apart, k, b
            )
            away = distance(*kernel_arrays(given), *rest, k, a, b, np.inf)
            assert np.isclose(2.0 * (away - step), expected, atol=1e-10)
            part_of_it = distance(*kernel_arrays(given), *rest, k, a, b, 0.5 * away)
            assert 0.5 * away <= part_of_it <= away + 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_exchanges_bring_parts_together(seed: int) -> None:
    """Every group stays in its cluster, parts keep their numbers of groups, and the squares fall."""
    given = drawn(seed, own=seed % 2 == 1)
    N, K, count = len(given["label"]), 3, 4
    part = np.arange(N) % count
    order = np.lexsort((given["label"], part))
    for name in ("posterior", "weight", "label"):
        given[name] = given[name][order]
    given["points"] = np.ascontiguousarray(given["points"][:, order])
    part = part[order]
    cells = np.cumsum(np.bincount(part * K + given["label"], minlength=count * K)).reshape(count, K)
    start = np.concatenate([np.concatenate([[0], cells[:-1, -1]])[:, None], cells], axis=1)
    before = sums_of(given, part, count)
    sums, members = before.copy(), np.arange(N)
    pairs = np.array([(s, t) for s in range(count) for t in range(s)])
    given_last = (
        given["scale"],
        members,
        start,
        sums,
        pairs,
        3 + 20 * (seed // 2),
        np.zeros(1, dtype=np.uint8),
    )
    made = exchange(*kernel_arrays(given), given["hard"], given["soft"], *given_last)
    assert made > 0
    assert np.array_equal(np.sort(members), np.arange(N))
    assert np.array_equal(given["label"][members], given["label"])
    changed = np.empty(N, dtype=np.int64)
    changed[members] = part
    after = sums_of(given, changed, count)
    assert np.allclose(sums, after), "the sums are kept up to date"
    assert squares(after, given["scale"]) < squares(before, given["scale"])
