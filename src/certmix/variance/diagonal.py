"""One run with an unknown variance for every feature: simplices of scales, refined where the objective may be least."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np

from certmix.auto import choose
from certmix.certificate.statement import state
from certmix.engines import Engine
from certmix.engines import engine as find_engine
from certmix.ledger import Ledger
from certmix.options import Options
from certmix.problem import Problem
from certmix.problem.scale import scale_range, sum_of_squares
from certmix.search.stopping import stop_reason
from certmix.status import Termination
from certmix.variance.inner import LOOSE, TIGHT, Around
from certmix.variance.simplices import ROUNDING, Simplex, Simplices
from certmix.variance.unbounded import flat, unbounded
from certmix.verify import chords
from certmix.verify.rounding import below
from certmix.verify.statement import read

WIDER = 1e-9  # relatively, by how much the box of scales is wider than it must be
NEARLY = 0.95  # share of a corner from which on a point counts as the corner
HALVED = 0.5  # of the room that a simplex has, a corner may use so much
SHORT = 1e-9  # logarithms: a simplex is not cut any smaller


class DiagonalRun(Around):
    """Every feature has a variance of its own; without priors on means and bounds on them."""

    def __init__(self, problem: Problem, inner: Engine) -> None:
        super().__init__(problem, inner)
        self.half = 0.5 * problem.n_samples
        stated = read(json.loads(json.dumps(state(problem.at_scale(1.0)))))
        self.least, self.most = chords.least_weight_cost(stated), chords.most_weight_cost(stated)
        deviations = problem.data - problem.data.mean(axis=0)
        self.total = 0.5 * (deviations**2).sum(axis=0)  # half sums of squares of one cluster
        self.squares = np.zeros(problem.n_features)  # lower bounds of those of every clustering
        self.known: list[tuple[np.ndarray, float]] = []  # scales, and bounds of g there
        self.simplices: Simplices | None = None

    def run(self) -> Termination:
        simplices = self.simplices = self.simplices or self._whole_box()
        if simplices is None:
            self.ledger.message("no least sum of squares is proved, so nothing keeps a variance from zero")
            return stop_reason(self.ledger, self.options) or Termination.EXHAUSTED
        self.ledger.raise_bound(simplices.bound)
        while (reason := stop_reason(self.ledger, self.options)) is None and not self.infeasible:
            if not self._refine(simplices):
                break
            self.ledger.raise_bound(simplices.bound)
        return reason or stop_reason(self.ledger, self.options) or Termination.EXHAUSTED

    def local_search(self) -> None:
        """Hard EM with standardised features, and from the clusters of every single feature."""
        self.improve(sum_of_squares(self.problem).at_scale(self.scale()))
        self.settle()

    def _whole_box(self) -> Simplices | None:
        self.local_search()
        self._bound_squares()
        low, high = self._box()
        if not (np.all(np.isfinite(high)) and math.isfinite(self.least)):
            return None
        return Simplices(low, high, self.half, self.cheap)

    # -- the box ---------------------------------------------------------------------------------------------
    def _bound_squares(self) -> None:
        """What every clustering has in each feature at least: one-dimensional clustering by it alone."""
        p = self.problem
        for j in range(p.n_features):
            if self.ledger.stop.raised or self.total[j] <= 0.0:
                continue
            variance = float(2.0 * self.total[j] / p.n_samples)
            alone = sum_of_squares(p.replace(data=p.samples.original.values[:, [j]], variance=variance))
            engine = find_engine(choose(alone, self.options)[0])
            if not engine.certified:
                continue
            found = Ledger(alone, self.options.tolerances, (), self.ledger.stop)
            engine.run(alone, found, self._own_options(engine.name))
            if found.incumbent is not None:
                self.ledger.offer(found.incumbent.labels, "one feature")
                if scale_range(p)[1] == math.inf and flat(p, found.incumbent.labels, j):
                    raise unbounded(p, j)
            none = np.zeros(p.n_components)
            # The bound is of nats at this variance; one unit more for the rounding of its inverse.
            scale = (1.0 / variance) * (1.0 + ROUNDING)
            if math.isfinite(found.bound):
                self.squares[j] = chords.least_squares(found.bound, p.n_samples, p.n_components, none, scale)
        self.settle()

    def _own_options(self, name: str) -> Options:
        left = self.options.time_left(self.ledger.seconds)
        limit = None if math.isinf(left) else max(0.0, 0.1 * left)
        return replace(self.options, engine=name, time_limit=limit, certificate=None, start=None, resume=None)

    def _box(self) -> tuple[np.ndarray, np.ndarray]:
        """Scales that an optimum can have: t_j = n / (2 Q_j), with Q_j between its least and that of one cluster."""
        least, most = scale_range(self.problem)
        with np.errstate(divide="ignore"):
            low = np.clip(self.half / self.total * (1.0 - WIDER), least, most)
            high = np.clip(self.half / self.squares * (1.0 + WIDER), least, most)
        return low, np.maximum(high, low * (1.0 + WIDER))

    def cheap(self, at: np.ndarray) -> float:
        """A lower bound of g at any scales, from those at others and the least sums of squares.

        With c u <= t: g(t) is at least g(c u) plus what the rest of t costs; along a ray g is concave, and rises
        with c by at least g less the largest E.
        """
        best = _lowered(self.least, at @ self.squares)
        for scales, bound in self.known:
            c = float((at / scales).min()) * (1.0 - ROUNDING)
            if c < 1.0:
                best = max(
                    best, _lowered(c * bound, (1.0 - c) * self.least, (at - c * scales) @ self.squares)
                )
                continue
            best = max(best, _lowered(bound, (at - scales).clip(min=0.0) @ self.squares))
            if math.isfinite(self.most):
                rest = (at - c * scales).clip(min=0.0) @ self.squares
                best = max(best, _lowered(c * bound, -(c - 1.0) * self.most, rest))
        return best

    # -- refining --------------------------------------------------------------------------------------------
    def _refine(self, simplices: Simplices) -> bool:
        """Do what the lowest simplex needs; False when it cannot be made better."""
        piece = simplices.lowest()
        wanted, gap = self._gap(simplices, piece)
        corner = self._waiting(simplices, piece, gap, 0.0 if wanted else 0.5 / len(piece.corners))
        if corner is not None:
            return self._solve(simplices, corner, gap)
        if piece.shares.max() < NEARLY and not wanted:
            shares = np.where(piece.shares < 1.0 - NEARLY, 0.0, piece.shares)
            return self._solve(simplices, simplices.split(piece, shares / shares.sum()), gap)
        length, shares = simplices.longest_edge(piece)
        if length < SHORT:
            return False
        simplices.split(piece, shares)
        return True

    def _gap(self, simplices: Simplices, piece: Simplex) -> tuple[bool, float]:
        """Whether corners that are known exactly would do, and how precise a solve should be, in nats."""
        allowed = self.ledger.tolerances.allowed(self.ledger.upper)
        found, target = self.ledger.incumbent, self.ledger.cutoff
        if found is None:
            return False, TIGHT * allowed
        corners = [simplices.corners[c] for c in piece.corners]
        line = self._line(np.stack([corner.at for corner in corners]))
        bounds = np.array([corner.bound for corner in corners])
        gaps = np.array([corner.gap for corner in corners])
        best = simplices.value(piece, np.where(np.isfinite(gaps), np.minimum(bounds + gaps, line), line))
        if best >= target:
            return True, max(TIGHT * allowed, HALVED * (best - target))
        return False, max(TIGHT * allowed, LOOSE * (target - best))

    def _line(self, at: np.ndarray) -> np.ndarray:
        """What the incumbent costs at scales."""
        found = self.ledger.incumbent
        assert found is not None
        assert found.variance is not None
        squares = self.problem.objective.half_squares(found.labels, found.means)
        rest = found.value - float(np.sum(squares / found.variance + self.half * np.log(found.variance)))
        return np.asarray(at @ squares + rest)

    def _waiting(self, simplices: Simplices, piece: Simplex, gap: float, least: float) -> int | None:
        """The corner that counts most of those that are not known well enough, if it has more than a least share."""
        waiting = [
            (share, c)
            for share, c in zip(piece.shares, piece.corners, strict=True)
            if simplices.corners[c].gap > gap and share > least
        ]
        return max(waiting)[1] if waiting else None

    def _solve(self, simplices: Simplices, corner: int, gap: float) -> bool:
        """The problem at a corner's scales; False when nothing came of it."""
        at = simplices.corners[corner].at
        told = ", ".join(f"{v:.6g}" for v in 1.0 / at)
        words = f"variances {told} (solve {len(self.known) + 1})"
        found = self.solve_at(self.problem.at_scale(at), at, gap, math.inf, lambda _: -math.inf, words)
        if found is None:
            return False
        bound, value = found[0].lower_bound, found[0].objective
        self.known.append((at, bound))
        simplices.learn(corner, bound, max(gap, value - bound))
        return True


def _lowered(*terms: Any) -> float:
    """Not above the sum of the terms, each of a few operations."""
    return below(math.fsum(terms), ROUNDING * math.fsum(map(abs, terms)))
