"""The result of a run: immutable, printable, savable."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from certmix.errors import InputError
from certmix.hints import did_you_mean
from certmix.ledger import TracePoint
from certmix.mixture import log_joint, most_probable, probabilities
from certmix.problem import Problem
from certmix.problem.measurements import measurements
from certmix.problem.noise import Noise
from certmix.problem.quantity import NATS, Quantity
from certmix.problem.satisfaction import Satisfaction
from certmix.saving import as_dict, copied, copies, read, save
from certmix.status import Status, Termination, Tolerances, decide
from certmix.summary import summary

if TYPE_CHECKING:
    import pandas as pd

    from certmix.io.certificates import Certificate
    from certmix.io.transform import Transform
    from certmix.verify.check import Verdict


LOST = 1e-4  # share of an open gap that a proof may lose
_ARRAYS = ("labels", "means", "weights", "posterior", "runner_up", "fixed", "envelope", "sample_weight")


@dataclass(frozen=True, eq=False)
class Result:
    """What was found and what was proved.

    Attributes
    ----------
    status : Status
        ``optimal``, ``feasible``, ``infeasible`` or ``unknown``: how good the answer is.
    termination : Termination
        Why the run stopped; independent of how good the answer is.
    objective, lower_bound : float
        Value of the clustering, and a proved lower bound on the value of every clustering. Infinite (positive or
        negative) where there is none.
    labels : ndarray of shape (n,), or None
        Component of every sample; -1 for noise.
    means, weights : ndarrays of shape (K, d) and (K,), or None
        With noise there is one weight more, the last.
    posterior : ndarray of shape (n,), or None
        Probability of the assigned component given the sample, at the found means and weights; 1 where ``fixed``.
        Of k-means: with equal weights, at the variance that fits the clustering.
    runner_up : ndarray of shape (n,), or None
        The most probable other component of every sample (-1 when K = 1, and where ``fixed``).
    fixed : bool ndarray of shape (n,), or None
        Whether the side constraints alone leave the sample no other component: a known label, or one that follows from
        labels by links, implications and sizes.
    constraints : tuple of Satisfaction
        Every side constraint in words and whether the labels satisfy it.
    trace : tuple of TracePoint
        (seconds, incumbent, bound) over the run.
    certificate_level : str
        ``verified`` (the checker has confirmed the certificate), ``computed`` (proved by this program, not checked by
        another), ``attested by …`` (taken from a solver on trust) or ``none``.
    data, precision : ndarrays of shape (n, d), and (1, d, d) or (K, d, d) (diagonals of large diagonal ones), or None
        The samples as they were clustered and the known precision: what plots and :meth:`predict` need.
    transform : Transform, or None
        How the command line prepared the data (``--standardize``, ``--pca``).
    certificate : Certificate, or None
        The proof as data, where one was asked for and made; ``certmix.verify(result.certificate, data)`` checks it.
    verdict : Verdict, or None
        What the checker said, where the level is ``verified``; ``lower_bound`` is then the bound that it confirmed.
    verification : str
        How long the proof took to make and to check, or why it is not verified; empty where there was nothing to prove.
    variance : float, ndarray of shape (d,), or None
        The variance that was found with the clustering, where it was unknown; or one for every feature.
    variance_interval : (lower, upper), or None
        Between which the variance was unknown and the clustering is proved optimal, to within the gap that was asked
        for: at every known variance in it no clustering is better by more.
    envelope : ndarray of shape (m, 2), or None
        Of an unknown variance: eta = 1 / (2 variance), and a lower bound of ``eta W + E`` over all clusterings, W their
        sum of squares and E all that does not depend on the variance.
    model : mapping
        The problem in words: its size, covariance, weights, priors and boxes.
    versions : mapping
        The versions of the program and of the packages that computed the result.
    command : str
        The command that repeats the run, where there was one; files without their folders.
    quantity : Quantity
        What the objective is called and counted in, and how it is shown: nats, or the sum of squares of k-means.
    noise : Noise, or None
        How dense the noise is, where there is a component of noise: the last of ``component_names``, ``weights`` and
        ``sizes``, at the position that ``runner_up`` has for it. It has no mean.
    sample_weight : ndarray of shape (n,), or None
        How much each counts, where they have weights. Whole numbers (integers) are copies, which a certificate is
        about; any others (floats) multiply what a sample costs, and sizes count each sample once.
    resumes : int
        How often the run was taken up again after it had been cut short; ``seconds`` and ``nodes`` are those of all.
    problem : Problem, or None
        What was solved; a result that was loaded from a file does not have it.
    """

    status: Status
    termination: Termination
    engine: str
    objective: float
    lower_bound: float
    labels: np.ndarray | None
    means: np.ndarray | None
    weights: np.ndarray | None
    posterior: np.ndarray | None
    runner_up: np.ndarray | None
    names: tuple[str, ...]
    component_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    constraints: tuple[Satisfaction, ...]
    trace: tuple[TracePoint, ...]
    nodes: int
    seconds: float
    tolerances: Tolerances
    certificate_level: str = "none"
    message: str = ""
    source: str = ""
    """Where the incumbent came from."""
    certificate: Certificate | None = None
    fixed: np.ndarray | None = None
    data: np.ndarray | None = None
    precision: np.ndarray | None = None
    transform: Transform | None = None
    verdict: Verdict | None = None
    verification: str = ""
    resumes: int = 0
    variance: float | np.ndarray | None = None
    variance_interval: tuple[float, float] | None = None
    envelope: np.ndarray | None = None
    model: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    problem: Problem | None = None
    quantity: Quantity = NATS
    sample_weight: np.ndarray | None = None
    noise: Noise | None = None

    def __post_init__(self) -> None:
        for name in _ARRAYS:
            array = getattr(self, name)
            if array is not None:
                array = np.array(array)
                array.setflags(write=False)
                object.__setattr__(self, name, array)

    @property
    def gap_absolute(self) -> float:
        """``UB - LB`` in nats."""
        return Tolerances.gap_absolute(self.objective, self.lower_bound)

    @property
    def gap_relative(self) -> float:
        """``(UB - LB) / max(1, |UB|)``."""
        return Tolerances.gap_relative(self.objective, self.lower_bound)

    @property
    def penalty(self) -> float:
        """What the soft links cost that the clustering breaks, as people see the objective, which holds it."""
        return math.fsum(c.broken_at for c in self.constraints)

    @property
    def sse(self) -> float | None:
        """The sum of squares of k-means, without :attr:`penalty`; None for a mixture."""
        return self._without_penalty(self.objective) if self.quantity.squares else None

    @property
    def sse_lower_bound(self) -> float | None:
        """No clustering has a smaller sum of squares, of those whose broken links cost no more; None for a mixture.

        Without soft links that is every clustering. With them the bound is one of the sum of squares and penalties
        together, and this is what it leaves for the former.
        """
        if not self.quantity.squares:
            return None
        found = self._without_penalty(self.lower_bound)
        return math.nextafter(found, 0.0) if self.penalty and math.isfinite(found) else found

    def _without_penalty(self, objective: float) -> float:
        shown = self.quantity.shown(objective)
        if not math.isfinite(shown):
            return shown
        return max(0.0, math.fsum((shown, *(-c.broken_at for c in self.constraints))))

    @property
    def closed(self) -> bool:
        """Whether the bound is as good as was asked for: the gap is closed, or the target reached."""
        return self.tolerances.closed(self.objective, self.lower_bound)

    @property
    def n_components(self) -> int:
        """The number of components, noise included."""
        return len(self.component_names)

    @property
    def n_clusters(self) -> int:
        """The number of components that have a mean: all but the noise."""
        return self.n_components - (self.noise is not None)

    @property
    def positions(self) -> np.ndarray | None:
        """The component of every sample by its position: that of noise is the last."""
        return None if self.labels is None else np.asarray(self.labels % self.n_components)

    @property
    def sizes(self) -> np.ndarray | None:
        """How many samples each component holds, copies counted."""
        if self.positions is None:
            return None
        return np.bincount(self.positions, copies(self.sample_weight), self.n_components).astype(np.int64)

    @property
    def n_copies(self) -> int:
        """How many samples there are, copies counted."""
        counts = copies(self.sample_weight)
        return len(self.names) if counts is None else int(counts.sum())

    def sentence(self) -> str:
        """What is proved, in one sentence."""
        if self.status is Status.INFEASIBLE:
            return f"Infeasible: {self.message or 'no clustering satisfies the constraints.'}"
        if self.labels is None:
            return f"Nothing was found before the run stopped ({self.termination})."
        show = self.quantity.shown
        found = f"The clustering found has {self.quantity.name} {show(self.objective):.10g}"
        if self.sse is not None and self.penalty:
            found += f" (SSE {self.sse:.10g}, penalties {self.penalty:.6g})"
        if not math.isfinite(self.lower_bound):
            return f"{found}; how far it is from the optimum is not known ({self.termination})."
        if self.status is Status.OPTIMAL:
            gap = self.quantity.with_unit(f"{show(self.gap_absolute):.3g}")
            return f"{found} and is proved optimal to within {gap} ({self.gap_relative:.2g} relative)."
        gap = self.quantity.with_unit(f"{show(self.gap_absolute):.4g}")
        return (
            f"{found}; no clustering is better than {show(self.lower_bound):.10g}, so it is within "
            f"{gap} ({100 * self.gap_relative:.3g} %) of the optimum ({self.termination})."
        )

    def account(self) -> str:
        """How long the search took, and what became of its proof."""
        again = f" (resumed {self.resumes} time{'s' * (self.resumes > 1)})" if self.resumes else ""
        proof = f", {self.verification}" if self.verification else ""
        return f"solved in {self.seconds:.3g} s{again}{proof}"

    def judged(self, verdict: Verdict) -> Result:
        """The result with the level that a verdict on its certificate gives it.

        The level becomes ``verified``, and the bound the verified one, only if the certificate supports what the
        result says: the same clustering, and a bound from which the same status follows, hardly weaker than the
        result's where it is not optimal.
        """
        assert self.certificate is not None
        if self.certificate_level == "verified":  # by an earlier verdict
            return replace(self, certificate_level="computed", verdict=None).judged(verdict)
        if not verdict.verified:
            return self
        if self.certificate.infeasible or self.status is Status.INFEASIBLE:
            same = self.certificate.infeasible and self.status is Status.INFEASIBLE
            return replace(self, certificate_level="verified", verdict=verdict) if same else self
        bound = min(verdict.bound, self.objective)
        slack = max(1e-9 * max(1.0, abs(self.lower_bound)), LOST * self.gap_absolute)
        enough = self.tolerances.closed(self.objective, bound) or bound >= self.lower_bound - slack
        own = np.asarray(copied(self.positions, self.sample_weight))
        same = np.array_equal(self.certificate.arrays["incumbent/labels"], own)
        status = decide(self.objective, bound, self.tolerances)
        # Where the verified bound settles what the search had left open, so much the better.
        if not (same and enough and status in (self.status, Status.OPTIMAL)):
            return self
        return replace(self, status=status, certificate_level="verified", lower_bound=bound, verdict=verdict)

    def predict(self, rows: Any) -> np.ndarray:
        """The most probable component of new samples, each on its own; side constraints are not about them.

        Parameters
        ----------
        rows : array-like of shape (m, d) or DataFrame
            Samples in original coordinates: what the command line did to the data is done to them. The columns of a
            DataFrame are found by name. Values may be missing (NaN) where the covariance is diagonal.
        """
        return most_probable(self._log_joint(rows), self.n_clusters)

    def predict_proba(self, rows: Any) -> np.ndarray:
        """Posterior probability of every component for new samples, (m, K), noise last; see :meth:`predict`."""
        return probabilities(self._log_joint(rows))

    def _log_joint(self, rows: Any) -> np.ndarray:
        if self.means is None or self.weights is None:
            raise InputError("there is no clustering to predict with: " + self.sentence())
        if self.precision is None:
            raise InputError("the result does not hold the precision that predicting needs")
        columns = self.feature_names if self.transform is None else self.transform.columns
        known = getattr(rows, "columns", None)
        if known is not None:
            missing = [name for name in columns if name not in known]
            if missing:
                raise InputError(
                    f"the samples have no column {missing[0]!r}{did_you_mean(missing[0], known)}"
                )
            rows = rows[list(columns)]
        data = measurements(rows, columns)
        if data.shape[1] != len(columns):
            raise InputError(f"the samples have {data.shape[1]} features where {len(columns)} are expected")
        if self.transform is not None:
            data = self.transform.apply(data)
        return log_joint(data, self.means, self.weights, self.precision, self.noise)

    def summary(self) -> str:
        """A table in the manner of statsmodels."""
        return summary(self)

    def to_pandas(self) -> pd.DataFrame:
        """One row per sample: label, component name, posterior probability, runner-up, whether it was fixed."""
        import pandas as pd

        if self.labels is None or self.posterior is None or self.runner_up is None:
            raise ValueError("there is no clustering to show: " + self.sentence())
        component = np.array(self.component_names, dtype=object)
        runner = np.array([*self.component_names, ""], dtype=object)[self.runner_up]
        return pd.DataFrame(
            {
                "label": self.labels,
                "component": component[self.labels],
                "posterior": self.posterior,
                "runner_up": runner,
                "fixed": np.zeros(len(self.labels), dtype=bool) if self.fixed is None else self.fixed,
            },
            index=pd.Index(self.names, name="sample"),
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON (missing numbers are None)."""
        return as_dict(self)

    def save(self, path: str | Path) -> Path:
        """Write ``PATH.json`` and ``PATH.npz``."""
        return save(self, path)

    @staticmethod
    def load(path: str | Path) -> Result:
        """Read what :meth:`save` or ``certmix solve --out DIR`` wrote: a file, or the directory.

        The certificate beside it comes with it. A directory that holds only the snapshot of a run that was cut short
        gives that.
        """
        return Result(**read(path))

    def __repr__(self) -> str:
        show = self.quantity.shown
        gap = self.quantity.with_unit(f"{show(self.gap_absolute):.3g}")
        return (
            f"Result({self.status}, {self.quantity.name}={show(self.objective):.10g}, "
            f"lower_bound={show(self.lower_bound):.10g}, gap={gap}, engine={self.engine!r}, {self.termination})"
        )
