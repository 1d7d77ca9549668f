r"""Dynamic programming in one dimension.

**Clusters are intervals.** Fix the means, the weights and the *sizes* of the components of any clustering.
With a shared precision P its cost is then a constant minus :math:`P \sum_i y_i \mu_{z_i}`, and by the
rearrangement inequality the sum is largest when samples and means are sorted alike: the component with the
smallest mean takes the smallest samples, and so on. The exchange keeps means, weights and sizes, so priors,
boxes and size limits stay satisfied, and re-optimising the parameters afterwards can only help. Hence some
optimal clustering consists of intervals of the sorted sample, in some order of the components. The argument
needs equal variances (otherwise a sum of :math:`y_i^2` remains) and means that are free within their boxes
(tied to averages they would move with the exchange).

**The programme.** Interchangeable components are counted, not told apart. A state says how many components
of every class have been placed; ``best[state][j]`` is the least cost of the first j samples in them. With
one class this is the classical O(K n^2) recursion; with K different components there are 2^K states. The
entropy is concave in the size, so the cost is *not* Monge and the divide-and-conquer short-cuts for k-means
would be wrong; what is used instead is that the scatter of a growing cluster never falls, which ends the
inner loop early.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from certmix import memory
from certmix.engines import Outcome
from certmix.ledger import Ledger
from certmix.options import Options
from certmix.presolve.first_bound import first_bound
from certmix.presolve.instance import reduce
from certmix.presolve.tables import entropy_tables
from certmix.problem import Problem, interchangeable
from certmix.problem.features import Feature
from certmix.rounding import EPS
from certmix.status import Termination

MOST_WORK = 2e10
MOST_STATE = 1e8
_STRIDE = 256  # prefixes in one piece of work


class DynamicProgramming:
    """Exact in one dimension with a shared variance; the lower bound is the value less its rounding."""

    name = "dynamic"
    certified = True
    honours: frozenset[Feature] = frozenset(
        {
            Feature.SIZE,
            Feature.FIXED_WEIGHTS,
            Feature.MEAN_BOX,
            Feature.DIRICHLET,
            Feature.GAUSSIAN,
            Feature.ESTIMATORS,
            Feature.ALLOW_EMPTY,
        }
    )

    def refusal(self, problem: Problem) -> str | None:
        if problem.n_features != 1:
            return f"it needs one dimension, and the data have {problem.n_features}"
        if "means" in problem.estimators and (problem.prior.on_means or problem.has_mean_box):
            return "it does not handle means that are tied to averages under a prior or a box"
        members = np.bincount(interchangeable(problem))
        states = math.prod(int(m) + 1 for m in members)
        n = problem.n_samples
        if states * len(members) * 0.5 * n * n > MOST_WORK or states * n > MOST_STATE:
            return f"{n:,} samples and {problem.n_components} components are too many for dynamic programming"
        return None

    def run(self, problem: Problem, ledger: Ledger, options: Options) -> Outcome:
        ledger.raise_bound(first_bound(reduce(problem)), whole=True)
        ledger.phase = "dynamic programming"
        programme = _Programme.of(problem)
        labels = np.empty(problem.n_samples, dtype=np.int64)
        labels[programme.order] = np.arange(problem.n_samples) * problem.n_components // problem.n_samples
        ledger.offer(labels, "equal intervals")
        with ThreadPoolExecutor(options.n_threads) as pool:
            for _ in programme.layers(pool, options.n_threads):
                ledger.nodes += 1
                ledger.progress()
                if options.time_left(ledger.seconds) <= 0:
                    return Outcome(Termination.TIME)
        if math.isinf(programme.value):
            return Outcome(Termination.EXHAUSTED, infeasible=True)
        ledger.offer(programme.labels(), "dynamic programming")
        ledger.raise_bound(programme.value - programme.rounding(ledger.upper))
        return Outcome(Termination.EXHAUSTED)


@dataclass
class _Programme:
    """The tables of the recursion.

    Attributes
    ----------
    order : (n,), the samples from smallest to largest
    classes : tuple, the components of every class
    best, origin, chosen : (number of states, n + 1)
        Least cost of a prefix, where its last cluster starts, and the class of that cluster.
    """

    problem: Problem
    order: np.ndarray
    y: np.ndarray
    classes: tuple[tuple[int, ...], ...]
    entropy: np.ndarray
    best: np.ndarray
    origin: np.ndarray
    chosen: np.ndarray

    @classmethod
    def of(cls, problem: Problem) -> _Programme:
        kinds = interchangeable(problem)
        classes = tuple(tuple(map(int, np.flatnonzero(kinds == c))) for c in range(int(kinds.max()) + 1))
        order = np.argsort(problem.data[:, 0], kind="stable")
        n, states = problem.n_samples, math.prod(len(c) + 1 for c in classes)
        memory.require(16.0 * states * (n + 1), "the tables of the dynamic programme")
        best = np.full((states, n + 1), np.inf)
        best[0, 0] = 0.0
        return cls(
            problem=problem,
            order=order,
            y=np.ascontiguousarray(problem.data[order, 0]),
            classes=classes,
            entropy=entropy_tables(problem)[0],
            best=best,
            origin=np.full((states, n + 1), -1, dtype=np.int32),
            chosen=np.full((states, n + 1), -1, dtype=np.int32),
        )

    @property
    def value(self) -> float:
        """The optimum, infinite when no clustering satisfies the size limits."""
        return float(self.best[-1, -1])

    def layers(self, pool: ThreadPoolExecutor, threads: int) -> Iterator[None]:
        """Fill the tables; yields between pieces of work, so that a run can stop."""
        for state in itertools.product(*(range(len(c) + 1) for c in self.classes)):
            for c, used in enumerate(state):
                if used:
                    yield from self._extend(
                        self._number(state), self._number(_without(state, c)), c, pool, threads
                    )

    def _number(self, state: tuple[int, ...]) -> int:
        number = 0
        for used, members in zip(state, self.classes, strict=True):
            number = number * (len(members) + 1) + used
        return number

    def _extend(
        self, state: int, before: int, c: int, pool: ThreadPoolExecutor, threads: int
    ) -> Iterator[None]:
        """Let a component of class c take the last interval of every prefix."""
        from certmix.kernels.dynamic import extend_layer

        problem, k, n = self.problem, self.classes[c][0], self.problem.n_samples
        previous = self.best[before]
        least = np.minimum.accumulate(previous)

        prior = (
            problem.prior.precision[k],
            problem.prior.mean[k],
            problem.mean_lower[k],
            problem.mean_upper[k],
        )
        quadratic = [float(x.ravel()[0]) for x in (problem.covariance.of(k), *prior)]
        sizes = int(problem.size_lower[k]), int(problem.size_upper[k])
        component = *quadratic, self.entropy[k], *sizes
        places = self.best[state], self.origin[state], self.chosen[state]

        def work(start: int) -> None:
            end = min(start + _STRIDE, n + 1)
            extend_layer(self.y, previous, least, *places, c, start, end, component)

        starts = range(0, n + 1, _STRIDE)
        batch = max(threads, int(2e8 / (_STRIDE * (n + 1))))  # a fraction of a second at a time
        for first in range(0, len(starts), batch):
            list(pool.map(work, starts[first : first + batch]))
            yield

    def labels(self) -> np.ndarray:
        """The optimal clustering, read off backwards."""
        left = [list(members) for members in self.classes]
        state = tuple(len(members) for members in self.classes)
        labels = np.empty(self.problem.n_samples, dtype=np.int64)
        j = self.problem.n_samples
        while any(state):
            number = self._number(state)
            c, i = int(self.chosen[number, j]), int(self.origin[number, j])
            labels[self.order[i:j]] = left[c].pop()
            state, j = _without(state, c), i
        return labels

    def rounding(self, upper: float) -> float:
        r"""How far the computed value can lie above the optimum.

        *Scatter.* For a cluster of m sorted samples of length L the kernel sums :math:`u = y_i - y_{last}`,
        exact to one rounding each, with compensation, so the computed scatter errs by less than
        :math:`10\,\epsilon \sum u^2`. Now :math:`\sum u^2 \le m L^2`, and the scatter, at least that of the
        two ends, is at least :math:`L^2/2`: the error is at most :math:`20\, m \epsilon` times the scatter.
        The terms of prior and box are differences of the same quantities and of :math:`\mu - m_k`, which
        adds at most :math:`16\,\epsilon\,\Lambda_k D_k (D_k + R)` for the prior, :math:`D_k` being the
        farthest that a mean can be from the prior's and R the range of the data. Altogether, for the
        optimal clustering, at most :math:`(20 n + 8K + 64)\,\epsilon` times its quadratic cost, which is at
        most ``upper`` minus the least entropy.

        *Entropy and sums.* A few :math:`\epsilon` times the largest entries of the tables.
        """
        problem = self.problem
        n, K = problem.n_samples, problem.n_components
        least, largest, far = 0.0, 0.0, 0.0
        for k in range(K):
            own = self.entropy[k, problem.size_lower[k] : problem.size_upper[k] + 1]
            own = own[np.isfinite(own)]
            least += float(own.min())
            largest += float(np.abs(own).max()) + n + float(problem.prior.alpha[k]) + 40.0
            if problem.prior.precision[k][0, 0] > 0:
                ends = np.array([self.y[0], self.y[-1], problem.prior.mean[k, 0]])
                ends = np.clip(ends, problem.mean_lower[k, 0], problem.mean_upper[k, 0])
                distance = float(np.abs(ends - problem.prior.mean[k, 0]).max())
                spread = float(self.y[-1] - self.y[0])
                far += float(problem.prior.precision[k][0, 0]) * distance * (distance + spread)
        quadratic = max(0.0, 1.001 * (upper - least))
        return EPS * ((20 * n + 8 * K + 64) * quadratic + 16 * far + (2 * K + 8) * largest)


def _without(state: tuple[int, ...], c: int) -> tuple[int, ...]:
    return (*state[:c], state[c] - 1, *state[c + 1 :])
