"""The options of a run, checked before any work."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from certmix import memory
from certmix.errors import InputError
from certmix.hints import did_you_mean
from certmix.status import Tolerances

BRANCHING = ("pseudo-cost", "strong", "most-infeasible", "most-integral")
LOGARITHMS = ("tangent", "chord")


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options that every engine understands.

    Parameters
    ----------
    gap, absolute_gap : float
        Stop as soon as the relative gap ``(UB - LB) / max(1, |UB|)`` or the absolute gap in nats is reached.
    time_limit : float, optional
        Seconds.
    node_limit : int, optional
    memory_limit : int or str, optional
        Bytes of resident memory of the process, or a text like ``4G``. Default: 80 % of what the machine or container
        has free when the run starts, beyond what the process takes already.
    threads : int, optional
        Default: all cores that this process may use.
    seed : int
        The same seed and node limit give the same answer.
    restarts : int, optional
        How many starts the local methods make; each engine has its own default.
    start : array of n labels, optional
        A clustering to start from.
    branching : str
        How ``bnb`` chooses the variable to branch on: one of :data:`BRANCHING`.
    solver : str
        Who solves the model of ``minlp`` or ``miqp``: one of :data:`certmix.paper.formulation.solvers.SOLVERS`.
    logarithm : str
        How ``miqp`` replaces the logarithm: ``tangent`` (from below) or ``chord`` (from above, as in the paper).
    breakpoints : int
        How many breakpoints that piecewise-linear function has at first.
    adaptive : bool
        Whether breakpoints are added around the incumbent, or twice as many regular ones taken.
    warm_start : bool
        Whether ``minlp`` and ``miqp`` begin with hard EM's clustering, or with nothing (the paper's protocol).
    certificate : bool
        Whether the engine shall leave a record of its proof in the ledger, for a certificate.
    """

    gap: float = 1e-6
    absolute_gap: float = 0.0
    time_limit: float | None = None
    node_limit: int | None = None
    memory_limit: Any = None
    threads: int | None = None
    seed: int = 0
    restarts: int | None = None
    start: Any = None
    branching: str = BRANCHING[0]
    solver: str = "scip"
    logarithm: Any = LOGARITHMS[0]
    breakpoints: int = 10
    adaptive: bool = True
    warm_start: bool = True
    certificate: bool = False

    def __post_init__(self) -> None:
        Tolerances(self.gap, self.absolute_gap)
        if self.time_limit is not None and not (_is_number(self.time_limit) and self.time_limit >= 0):
            raise InputError(f"the time limit must be a number of seconds >= 0, not {self.time_limit!r}")
        memory.parsed(self.memory_limit)
        if self.branching not in BRANCHING:
            raise InputError(
                f"unknown branching rule {self.branching!r}{did_you_mean(str(self.branching), BRANCHING)}"
            )
        if self.logarithm not in LOGARITHMS:
            raise InputError(
                f"unknown logarithm {self.logarithm!r}{did_you_mean(str(self.logarithm), LOGARITHMS)}"
            )
        for name, least in (
            ("node_limit", 0),
            ("threads", 1),
            ("seed", 0),
            ("restarts", 1),
            ("breakpoints", 2),
        ):
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
                raise InputError(f"{name} must be a whole number >= {least}, not {value!r}")

    @property
    def tolerances(self) -> Tolerances:
        return Tolerances(self.gap, self.absolute_gap)

    @property
    def n_threads(self) -> int:
        available = (
            len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
        )
        return min(self.threads or available, available)

    def time_left(self, seconds: float) -> float:
        """What is left of the time limit after so many seconds."""
        return math.inf if self.time_limit is None else self.time_limit - seconds


# Options that only some engines use; limits, threads and seed are there for all.
USED_BY = {
    "branching": ("bnb",),
    "solver": ("minlp", "miqp"),
    "logarithm": ("miqp",),
    "breakpoints": ("miqp",),
    "adaptive": ("miqp",),
    "warm_start": ("minlp", "miqp"),
}


def refuse_unused(engine: str, given: Mapping[str, Any], *, automatic: bool = False) -> None:
    """Refuse options that the engine would ignore; the error names the engines that use them.

    Parameters
    ----------
    given : mapping
        Options of :data:`USED_BY`, None where one was not given.
    automatic : bool
        Whether the engine was chosen by ``auto``.
    """
    for name, value in given.items():
        if value is not None and engine not in USED_BY[name]:
            users = " and ".join(USED_BY[name])
            who = f"the engine that auto chose, {engine}," if automatic else f"engine {engine!r}"
            raise InputError(
                f"the option {name} (--{name.replace('_', '-')}) is of no use here: {who} does not have it, "
                f"only {users}; leave it out, or choose another engine"
            )


def checked_engine_options(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Options that only some engines have, by name."""
    for name in given or ():
        if name not in USED_BY:
            raise InputError(f"unknown engine option {name!r}{did_you_mean(name, USED_BY)}")
    return dict(given or {})


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and not math.isnan(value)
