"""The engines: what each can honour, and where it lives. Nothing is imported before it is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from certmix.errors import InputError, UnsupportedError
from certmix.hints import did_you_mean
from certmix.places import at
from certmix.problem import Problem
from certmix.problem.features import Feature, features
from certmix.status import Termination

if TYPE_CHECKING:
    from certmix.ledger import Ledger
    from certmix.options import Options


@dataclass(frozen=True)
class Outcome:
    """How an engine's run ended; what it found and proved is in the ledger."""

    termination: Termination
    infeasible: bool = False
    certificate_level: str = "computed"
    """Level of the lower bound's proof: ``computed``, ``attested by …`` or ``none``."""


class Engine(Protocol):
    """An engine finds clusterings and, where it can, proves bounds."""

    name: str
    certified: bool
    """Whether the engine proves a lower bound."""
    honours: frozenset[Feature]

    def refusal(self, problem: Problem) -> str | None:
        """Why this engine cannot take this problem, beyond features; None when it can."""
        ...

    def run(self, problem: Problem, ledger: Ledger, options: Options) -> Outcome: ...


# name -> module:object. Engines of the paper's wing are known by their names only: nothing here imports it.
_PLACES = {
    "dynamic": "certmix.exact.dynamic:DynamicProgramming",
    "enumerate": "certmix.exact.enumeration:Enumeration",
    "interval": "certmix.search.engines:IntervalEngine",
    "dual": "certmix.search.engines:DualEngine",
    "bnb": "certmix.paper.bnb.engine:BranchAndBound",
    "minlp": "certmix.paper.formulation.engine:MinlpEngine",
    "miqp": "certmix.paper.formulation.engine:MiqpEngine",
    "sdp": "certmix.search.sdp_engine:SemidefiniteEngine",
    "race": "certmix.search.race:RaceEngine",
    "parts": "certmix.parts.engine:PartsEngine",
    "hard-em": "certmix.local.engine:HardEMEngine",
    "kmeans": "certmix.local.engine:KMeansStart",
    "em": "certmix.local.engine:SoftEM",
    "variational": "certmix.paper.local.engine:VariationalEM",
    "slsqp": "certmix.paper.local.engine:Slsqp",
    "annealing": "certmix.paper.local.engine:Annealing",
    "bandi": "certmix.paper.local.engine:Bandi",
}
NAMES = ("auto", *_PLACES)


def refuse_early(options: Options) -> None:
    """Refuse an engine that there is not, and options that it would ignore, before any data are read."""
    if options.engine != "auto":
        _known(options.engine)
        options.refuse_unused(options.engine)


def engine(name: str) -> Engine:
    """The engine of that name."""
    found: Engine = at(_known(name))()
    return found


def _known(name: str) -> str:
    """Where the engine of that name lives."""
    if name not in _PLACES:
        raise InputError(f"unknown engine {name!r}{did_you_mean(name, NAMES)}")
    return _PLACES[name]


def why_not(candidate: Engine, problem: Problem) -> str | None:
    """What of the problem an engine cannot honour; None when it can take the problem."""
    missing = features(problem) - candidate.honours
    if missing:
        return "it does not handle " + " or ".join(sorted(missing))
    return candidate.refusal(problem)


def require(candidate: Engine, problem: Problem, options: Options) -> None:
    """Refuse before any work when the engine cannot honour the problem, and name those that can.

    An engine that depends on its options, such as a solver to be installed, looks at them in its method ``check``.
    """
    reason = why_not(candidate, problem)
    if reason is None:
        getattr(candidate, "check", lambda _: None)(options)
        return
    able = [name for name in _PLACES if name != candidate.name and why_not(engine(name), problem) is None]
    advice = f"engines that can: {', '.join(able)}" if able else "no other engine can either"
    raise UnsupportedError(f"engine {candidate.name!r} cannot solve this problem: {reason} ({advice})")
