r"""The safe bound of a node of the branch and bound over assignments: a Lagrangian in closed form.

At a node every mean lies in a box :math:`B_k`, every size in :math:`[a_k, b_k]`, every group in one of its candidate
components, and the constraints on assignments are rows :math:`Rz \le r`. Give every undecided group its own copy of
the means, and let :math:`\lambda_{gk}` be multipliers of "copy = means", :math:`\beta_k` of "size = sum of weights",
:math:`\nu \ge 0` of the rows. Whatever their values,

.. math::
    \sum_k \min_{\mu \in B_k} \Big[ \sum_{g\ \mathrm{in}\ k} \tfrac{w_g}2 |x_g - \mu|^2
        + \tfrac{\gamma_k}2 |\mu - m_k|^2 - \sum_g \lambda_{gk} \mu \Big]
    + \sum_k \min_{a_k \le m \le b_k} \big[ h_k(m) - \beta_k m \big] - \nu' r
    + \sum_g \min_k \Big[ c_{gk} + \min_{\mu \in B_k} \big( \tfrac{w_g}2 |x_g - \mu|^2 + \lambda_{gk} \mu \big)
        + \sum_{l \ne k} \min_{\mu \in B_l} \lambda_{gl} \mu \Big],
    \qquad c_{gk} = \mathrm{scatter}_{gk} + w_g \beta_k + (R'\nu)_{gk}

is at most the cost of every clustering in the node: all minima are over boxes or short lists, so it is evaluated
exactly but for rounding, and no solver has to be trusted. The best multipliers give the value of the convex
relaxation in :mod:`certmix.paper.bnb.relaxation_model`, whose solver supplies them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from certmix.presolve.instance import Instance
from certmix.presolve.rows import side_rows
from certmix.rounding import EPS

SLACK = 1e-12


@dataclass
class Domain:
    """What a node admits."""

    lo: np.ndarray  # (K, d)
    hi: np.ndarray  # (K, d)
    a: np.ndarray  # (K,)
    b: np.ndarray  # (K,)
    candidates: np.ndarray  # (N, K) bool: components that groups may be in

    def copy(self) -> Domain:
        return Domain(self.lo.copy(), self.hi.copy(), self.a.copy(), self.b.copy(), self.candidates.copy())


@dataclass(frozen=True)
class Multipliers:
    """``mean`` (N, K, d) of the copies of the means, ``size`` (K,) of the sizes, ``rows`` (R,) >= 0 of the rows."""

    mean: np.ndarray
    size: np.ndarray
    rows: np.ndarray


@dataclass(frozen=True)
class Dual:
    """A bound on the instance's cost, and what can be read off it.

    Attributes
    ----------
    value : the bound, rounding subtracted
    cost : (N, K), what each choice of a group adds; infinite for what it may not choose
    weight, pull : (K, d), the quadratic ``weight/2 mu^2 - pull mu`` in the means
    blur : (K, d), bound on the rounding of ``pull``
    mean : (K, d), its minimiser in the box
    """

    value: float
    cost: np.ndarray
    weight: np.ndarray
    pull: np.ndarray
    blur: np.ndarray
    mean: np.ndarray


class SideRows:
    """Conflicts, implications and counts as rows ``matrix z <= right`` over z flattened, (g, k) at ``g K + k``."""

    def __init__(self, instance: Instance) -> None:
        self.matrix, self.right = side_rows(instance).binding(instance.allowed).at_most()
        self.transposed = self.matrix.T.tocsr()
        self.absolute = abs(self.transposed)

    def __len__(self) -> int:
        return len(self.right)


class Decomposition:
    """Evaluates the Lagrangian of one instance, and removes with it what reaches a cutoff."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.rows = SideRows(instance)
        K = instance.n_components
        system = np.zeros(K, dtype=np.int64) if instance.shared else np.arange(K)
        self.points = np.ascontiguousarray(instance.points[system].transpose(1, 0, 2))  # (N, K, d)
        self.scatter = np.ascontiguousarray(instance.scatter[system].T)  # (N, K)
        self.weight = instance.weight.astype(np.float64)
        terms = 2 * instance.n_groups + 2 * K * instance.n_features + len(self.rows) + 64
        self._rounding = terms * EPS

    def evaluate(self, domain: Domain, given: Multipliers) -> Dual:
        """The bound with given multipliers, lowered by a bound on the rounding of all sums behind it."""
        i, w, x = self.instance, self.weight, self.points
        lo, hi = domain.lo, domain.hi
        reach = np.maximum(np.abs(lo), np.abs(hi))
        candidate = domain.candidates
        undecided = candidate.sum(axis=1) > 1
        copied = (candidate & undecided[:, None])[:, :, None]
        lam = np.where(copied, given.mean, 0.0)
        rows = np.maximum(given.rows, 0.0)
        N, K = candidate.shape
        # The means: decided groups, prior, and the multipliers of the copies.
        held = np.where(candidate & ~undecided[:, None], w[:, None], 0.0)  # (N, K)
        gamma, prior = i.prior_weight, i.prior_mean
        weight = held.sum(axis=0)[:, None] + gamma
        lam_sum = lam.sum(axis=0)
        pull = np.einsum("gk,gkj->kj", held, x) + gamma * prior + lam_sum
        size_of_pull = (
            np.einsum("gk,gkj->kj", held, np.abs(x)) + np.abs(gamma * prior) + np.abs(lam).sum(axis=0)
        )
        centre = np.where(
            weight > 0, pull / np.where(weight > 0, weight, 1.0), np.where(pull > 0, np.inf, -np.inf)
        )
        mean = np.clip(centre, lo, hi)
        squares = 0.5 * np.einsum("gk,gkj->kj", held, (x - mean) ** 2) + 0.5 * gamma * (mean - prior) ** 2
        value = float(squares.sum() - (lam_sum * mean).sum())
        # A minimiser that is off by rounding costs at most the derivative's rounding times the width of the box.
        magnitude = float(squares.sum() + 3.0 * ((size_of_pull + weight * reach) * reach).sum())
        # The sizes.
        for k in range(K):
            sizes = np.arange(int(domain.a[k]), int(domain.b[k]) + 1)
            table = i.entropy[k, sizes]
            priced = table - given.size[k] * sizes
            best = int(np.argmin(priced))
            value += float(priced[best])
            magnitude += abs(float(priced[best])) + 2.0 * abs(float(given.size[k])) * float(domain.b[k])
        # The groups.
        price = (self.rows.transposed @ rows).reshape(N, K)
        linear = self.scatter + w[:, None] * given.size + price
        value -= float(rows @ self.rows.right)
        magnitude += float(rows @ np.abs(self.rows.right)) + float((self.rows.absolute @ rows).sum())
        own = np.clip(x - lam / w[:, None, None], lo, hi)
        near = np.where(copied, 0.5 * w[:, None, None] * (x - own) ** 2 + lam * own, 0.0)
        away = np.minimum(lam * lo, lam * hi)
        cost = linear + near.sum(axis=2) + (away.sum(axis=(1, 2))[:, None] - away.sum(axis=2))
        cost[~candidate] = np.inf
        value += float(cost.min(axis=1).sum())
        terms = np.abs(near) + (w[:, None, None] * np.abs(x) + 3.0 * np.abs(lam)) * reach
        chosen = np.where(candidate, np.abs(linear) + np.abs(w[:, None] * given.size) + np.abs(price), 0.0)
        magnitude += float(np.where(copied, terms, 0.0).sum() + chosen.sum())
        value -= self._rounding * magnitude
        return Dual(value, cost, weight, pull, self._rounding * size_of_pull, mean)

    def tighten(self, domain: Domain, dual: Dual, cutoff: float) -> bool:
        """Remove, in place, candidates and parts of boxes that lift the bound to the cutoff.

        A group that takes k costs ``cost[g, k]`` instead of its cheapest choice; a mean that moves away from its
        minimiser costs the quadratic's rise. Valid under every constraint. True when enough changed to bound again.
        """
        if not np.isfinite(cutoff):
            return False
        rest = cutoff - dual.value
        candidate = domain.candidates
        cost = np.where(candidate, dual.cost, 0.0)
        lifted = dual.value + (cost - dual.cost.min(axis=1, keepdims=True))
        dropped = candidate & (lifted - SLACK * (1.0 + np.abs(lifted)) >= cutoff)
        domain.candidates = candidate & ~dropped
        before = domain.hi - domain.lo
        heavy = dual.weight > 0
        full = np.where(heavy, dual.weight, 1.0)
        bar = dual.pull / full
        reach = np.sqrt(2.0 * rest / full + (dual.mean - bar) ** 2) * (1.0 + 1e-9)
        reach += 2.0 * dual.blur / full + 1e-12 * (np.abs(bar) + np.abs(dual.mean))
        domain.lo = np.where(heavy, np.maximum(domain.lo, bar - reach), domain.lo)
        domain.hi = np.where(heavy, np.minimum(domain.hi, bar + reach), domain.hi)
        shrunk = bool(np.any(domain.hi - domain.lo < 0.8 * before))
        return bool(dropped.any()) or shrunk
