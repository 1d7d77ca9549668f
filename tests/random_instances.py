"""Random small problems for the soundness tests: every option of the problem, in every combination, with
nasty data.

Most options appear with moderate probability, so that plain problems, single options and thick mixtures all
occur. Side constraints usually agree with a planted clustering; now and then they are drawn blindly and may
contradict each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from certmix.problem import (
    CannotLink,
    Constraint,
    Covering,
    DirichletPrior,
    GaussianPrior,
    Implication,
    JeffreysPrior,
    Label,
    MaximumSize,
    MinimumSize,
    MustLink,
    Packing,
    Partitioning,
    Problem,
)
from certmix.problem.features import EVERY_FEATURE, Feature


def random_problem(
    rng: np.random.Generator,
    *,
    max_samples: int = 9,
    max_components: int = 3,
    features: Iterable[Feature] | None = None,
    dimension: int | None = None,
    wide: float = 0.0,
) -> Problem:
    """A random problem, possibly infeasible.

    Parameters
    ----------
    rng : Generator
    max_samples, max_components : int
    features : iterable of Feature, optional
        Draw only from what an engine honours; every feature by default.
    dimension : int, optional
        Number of columns; 1 to 3 at random by default.
    wide : float
        Share of problems whose samples need fewer coordinates than there are columns (:meth:`_Draw.widen`). A
        generator of their own decides, so that all other problems are those of ``wide = 0``.
    """
    draw = _Draw(rng, EVERY_FEATURE if features is None else frozenset(features))
    draw.wide = wide > 0 and bool(rng.spawn(1)[0].random() < wide)
    return draw.problem(max_samples, max_components, dimension)


class _Draw:
    """One draw: the generator, what may be used, and what has been decided so far."""

    wide = False

    def __init__(self, rng: np.random.Generator, features: frozenset[Feature]) -> None:
        self.rng = rng
        self.features = features
        # How much is asked for: nothing beside the basics, a little, or a thick mixture.
        self.density = float(rng.choice([0.0, 0.6, 1.0, 1.6], p=[0.15, 0.3, 0.35, 0.2]))

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def wants(self, feature: Feature, probability: float) -> bool:
        return feature in self.features and self.chance(min(0.9, probability * self.density))

    def problem(self, max_samples: int, max_components: int, dimension: int | None) -> Problem:
        rng = self.rng
        self.d = int(rng.integers(1, 4)) if dimension is None else dimension
        self.n = int(
            rng.integers(1, 4) if self.chance(0.08) else rng.integers(min(3, max_samples), max_samples + 1)
        )
        self.n = min(self.n, max_samples)
        if self.wide:
            self.n = int(rng.integers(min(6, max_samples), min(9, max_samples) + 1))
            self.d = int(rng.integers(8, 31) if self.chance(0.7) else rng.integers(2, 8))
        self.allow_empty = self.wants(Feature.ALLOW_EMPTY, 0.2)
        self.K = int(
            rng.integers(1, (max_components if self.allow_empty else min(max_components, self.n)) + 1)
        )
        if self.chance(0.5):  # one component is dull
            self.K = max(self.K, min(2, max_components, self.n))
        data, self.planted = self.data()
        self.low, self.high = data.min(axis=0), data.max(axis=0)
        self.scale = float(np.max(self.high - self.low)) or 1.0
        self.names = [f"S{i}" for i in range(self.n)] if self.chance(0.2) else None
        return Problem(
            data,
            self.K,
            **self.covariance(),
            **self.weights(),
            mean_bounds=self.mean_bounds() if self.wants(Feature.MEAN_BOX, 0.25) else None,
            prior=self.prior(),
            estimators=self.estimators,
            allow_empty=self.allow_empty,
            constraints=self.constraints(),
            names=self.names,
        )

    # -- data ------------------------------------------------------------------------------------------------
    def data(self) -> tuple[np.ndarray, np.ndarray]:
        """The samples and a clustering that the side constraints may be planted on."""
        rng, n, d = self.rng, self.n, self.d
        planted = self.surjection()
        centres = rng.normal(scale=rng.choice([0.5, 2.0, 6.0]), size=(self.K, d))
        kinds: dict[str, Callable[[], np.ndarray]] = {
            "clusters": lambda: centres[planted] + rng.normal(size=(n, d)),
            "noise": lambda: rng.normal(size=(n, d)),
            "grid": lambda: rng.integers(-2, 3, size=(n, d)).astype(float),  # ties
            "duplicates": lambda: rng.normal(size=(max(2, n // 3), d))[rng.integers(0, max(2, n // 3), n)],
            "collinear": lambda: rng.normal(size=(n, 1)) @ rng.uniform(0.5, 2.0, size=(1, d)),
            "outlier": lambda: np.concatenate([rng.normal(scale=0.1, size=(n - 1, d)), np.full((1, d), 9.0)]),
            "mirrored": lambda: (
                np.sort(np.linspace(-1, 1, n))[:, None] * rng.choice([-1.0, 1.0], size=(1, d))
            ),
            "exponential": lambda: rng.exponential(size=(n, d)) ** 2,
        }
        y = kinds[rng.choice(list(kinds))]()
        y = self.widen(y) if self.wide else y
        y = y * rng.choice([1.0, 1.0, 1.0, 1e-3, 50.0])
        y = y + rng.choice([0.0, 0.0, 0.0, 10.0, -1e3, 1e5])
        if n > 1 and not self.wide:
            constant = np.ptp(y, axis=0) == 0
            y[0, constant] += 1.0
        return y, planted

    def widen(self, y: np.ndarray) -> np.ndarray:
        """As they are, if there are as many columns; or near a line or a plane; or with constant columns or copies."""
        rng, (n, d) = self.rng, y.shape
        kinds = ("line", "plane", "nearly a plane", "constant columns", "copies")
        kind = rng.choice(("any", *kinds) if d >= n else kinds, p=(0.5, *[0.1] * 5) if d >= n else None)
        if kind == "constant columns":
            return np.where(rng.random(d) < rng.uniform(0.2, 1.0), y[0], y)
        if kind == "copies":
            return y[:, rng.integers(0, max(1, d // 2), d)]
        if kind != "any":
            rank = 1 if kind == "line" else 2
            y = y[:, :rank] @ rng.normal(size=(rank, d))
        if kind == "nearly a plane":  # about as far from it as decides whether a direction counts
            y = y + 10.0 ** rng.uniform(-9, -3) * rng.normal(size=(n, d))
        return y

    def surjection(self) -> np.ndarray:
        """Random labels that use every component where there are samples enough."""
        labels = self.rng.integers(0, self.K, self.n)
        few = min(self.K, self.n)
        labels[self.rng.permutation(self.n)[:few]] = self.rng.permutation(self.K)[:few]
        return labels

    # -- covariance, weights, priors, boxes ------------------------------------------------------------------
    def covariance(self) -> dict[str, Any]:
        rng, K, d = self.rng, self.K, self.d
        unit = 10.0 ** rng.uniform(-1.5, 1.0) * self.scale**2 / 4  # from crisp to hopeless overlap
        if self.wants(Feature.PER_COMPONENT, 0.2):
            if self.chance(0.4):
                return {"variance": unit * rng.uniform(0.3, 3.0, K)}
            return {"covariance": np.stack([unit * self.positive_definite() for _ in range(K)])}
        if self.chance(0.4):
            return {"variance": unit}
        if self.chance(0.4):
            return {"precision": np.diag(rng.uniform(0.3, 3.0, d)) / unit}
        return {"precision": self.positive_definite() / unit}

    def positive_definite(self) -> np.ndarray:
        root = self.rng.normal(size=(self.d, self.d)) + np.eye(self.d)
        return np.asarray(root @ root.T + 0.1 * np.eye(self.d))

    def weights(self) -> dict[str, Any]:
        rng, K, n = self.rng, self.K, self.n
        self.estimators = [e for e in ("weights", "means") if self.wants(Feature.ESTIMATORS, 0.15)]
        self.fixed = self.wants(Feature.FIXED_WEIGHTS, 0.3)
        if self.fixed:
            if "weights" in self.estimators:  # pi_k = n_k / n needs whole numbers
                if n < K:
                    self.estimators.remove("weights")
                    return {"weights": "uniform"}
                return {"weights": np.bincount(self.surjection(), minlength=K) / n}
            return {
                "weights": "uniform" if self.chance(0.5) else rng.dirichlet(np.full(K, 2.0)) * 0.9 + 0.1 / K
            }
        if not self.wants(Feature.WEIGHT_BOX, 0.2):
            return {}
        inside = np.maximum(rng.dirichlet(np.full(K, 3.0)), K == 1)  # one weight is one, not a little less
        lower, upper = inside * rng.uniform(0, 1, K), inside + (1 - inside) * rng.uniform(0, 0.8, K)
        choices: list[tuple[Any, Any]] = [
            (lower, upper),
            (lower, None),
            (None, upper),
            (inside.min() * rng.uniform(), 1.0),
            (None, min(1.0, inside.max() * 1.1)),
            (np.where(np.arange(K) == 0, lower, 0.0), 1.0),
        ]
        return {"weight_bounds": choices[rng.integers(len(choices))]}

    def prior(self) -> list[Any]:
        rng, K = self.rng, self.K
        parts: list[Any] = []
        if self.wants(Feature.DIRICHLET, 0.3):
            proper = (
                self.allow_empty and not self.fixed
            )  # alpha < 1 has no optimum when a component may be empty
            low = 1.0 if proper else 0.2
            choices: list[Any] = [
                DirichletPrior(rng.uniform(low, 4.0)),
                DirichletPrior(rng.uniform(low, 4.0, K)),
                DirichletPrior(np.where(rng.random(K) < 0.5, 1.0, rng.uniform(low, 10.0, K))),
            ]
            if not proper:
                choices += [JeffreysPrior(), "jeffreys", DirichletPrior(rng.uniform(0.05, 1.0, K))]
            parts.append(choices[rng.integers(len(choices))])
        if self.wants(Feature.GAUSSIAN, 0.3):
            parts.append(self.gaussian_prior())
        if self.chance(0.2):
            parts.append("flat")
        return parts

    def gaussian_prior(self) -> GaussianPrior:
        rng, K, d = self.rng, self.K, self.d
        strength = 10.0 ** rng.uniform(-2, 1) * self.scale**2
        means: list[Any] = [
            0.0,
            rng.uniform(self.low, self.high),
            rng.uniform(self.low - 1, self.high + 1, (K, d)),
        ]
        covariances: list[Any] = [
            strength,
            strength * self.positive_definite(),
            strength * np.stack([self.positive_definite() for _ in range(K)]),
            strength * np.diag(rng.uniform(0.2, 2.0, d)),
        ]
        return GaussianPrior(means[rng.integers(len(means))], covariances[rng.integers(len(covariances))])

    def mean_bounds(self) -> tuple[Any, Any]:
        """Loose, tight, one-sided and degenerate boxes, with and without the data's hull."""
        rng, K, d = self.rng, self.K, self.d
        margin = self.scale * rng.choice([0.0, 0.5, -0.2])
        a, b = np.sort(
            rng.uniform(self.low - 0.3 * self.scale, self.high + 0.3 * self.scale, (2, K, d)), axis=0
        )
        open_below, open_above = np.where(self.chance(0.5), -np.inf, a), np.where(self.chance(0.5), np.inf, b)
        middle = 0.5 * (self.low + self.high)
        choices: list[tuple[Any, Any]] = [
            (np.minimum(self.low - margin, middle), np.maximum(self.high + margin, middle)),
            (float(self.low.min()), float(self.high.max())),
            (a[0], b[0]),
            (a, b),
            (np.where(rng.random((K, d)) < 0.5, -np.inf, a), np.where(rng.random((K, d)) < 0.5, np.inf, b)),
            (open_below, open_above),
            (None, b[0]),
            (a, np.where(rng.random((K, d)) < 0.3, a, b)),  # some coordinates of the means are known
        ]
        return choices[rng.integers(len(choices))]

    # -- side constraints ------------------------------------------------------------------------------------
    def constraints(self) -> list[Constraint]:
        if self.chance(0.12):  # drawn blindly: now and then infeasible
            self.planted = None
        makers: list[tuple[Feature, Callable[[], Constraint | None]]] = [
            (Feature.MUST_LINK, self.must_link),
            (Feature.CANNOT_LINK, self.cannot_link),
            (Feature.IMPLICATION, self.implication),
            (Feature.LABEL, self.label),
            (Feature.SIZE, self.size),
            (Feature.COUNTING, self.counting),
        ]
        made: list[Constraint | None] = []
        for feature, make in makers:
            if self.wants(feature, 0.22):
                made += [make() for _ in range(int(self.rng.choice([1, 1, 2, 3])))]
        found = [c for c in made if c is not None]
        self.rng.shuffle(found)  # type: ignore[arg-type]
        return found

    def ref(self, i: int) -> Any:
        return int(i) if self.names is None else self.names[i]

    def some(self, least: int, most: int) -> np.ndarray:
        """Between ``least`` and ``most`` different samples."""
        count = int(self.rng.integers(least, max(least, min(most, self.n)) + 1))
        return self.rng.permutation(self.n)[:count]

    def component(self) -> int:
        return int(self.rng.integers(self.K))

    def must_link(self) -> Constraint | None:
        if self.planted is not None:
            same = np.flatnonzero(self.planted == self.rng.choice(self.planted))
            members = self.rng.permutation(same)[: self.rng.integers(2, 4)]
        else:
            members = self.some(2, 3)
        return MustLink(*map(self.ref, members)) if len(members) > 1 else None

    def cannot_link(self) -> Constraint | None:
        members = self.some(2, 3)
        if self.planted is not None:
            members = members[np.unique(self.planted[members], return_index=True)[1]]
        return CannotLink(*map(self.ref, members)) if len(members) > 1 else None

    def implication(self) -> Constraint | None:
        if self.n < 2:
            return None
        i, j = self.some(2, 2)
        if self.planted is None or self.planted[i] == self.planted[j]:
            return Implication(self.ref(i), self.ref(j), None if self.chance(0.4) else self.component())
        others = np.flatnonzero(np.arange(self.K) != self.planted[i])
        return Implication(self.ref(i), self.ref(j), int(self.rng.choice(others)))

    def label(self) -> Constraint:
        i = int(self.rng.integers(self.n))
        return Label(self.ref(i), self.component() if self.planted is None else int(self.planted[i]))

    def size(self) -> Constraint:
        rng, n, K = self.rng, self.n, self.K
        component = None if self.chance(0.4) else self.component()
        if self.planted is None:
            limit = int(rng.integers(0, n + 2))
            return MinimumSize(limit, component) if self.chance(0.5) else MaximumSize(limit, component)
        sizes = np.bincount(self.planted, minlength=K)
        here = sizes if component is None else sizes[component]
        if self.chance(0.5):
            return MinimumSize(max(0, int(np.min(here) - rng.integers(0, 2))), component)
        return MaximumSize(int(np.max(here) + rng.integers(0, 2)), component)

    def counting(self) -> Constraint:
        rng = self.rng
        members, component = self.some(1, 5), self.component()
        refs = [self.ref(i) for i in members]
        if self.planted is None:
            kind = (Packing, Partitioning, Covering)[rng.integers(3)]
            return kind(refs, component, int(rng.integers(0, len(members) + 1)))
        count = int(np.count_nonzero(self.planted[members] == component))
        choices: list[Constraint] = [
            Packing(refs, component, count + int(rng.integers(0, 2))),
            Partitioning(refs, component, count),
            Covering(refs, component, max(0, count - int(rng.integers(0, 2)))),
        ]
        return choices[rng.integers(3)]
