"""The options of a run: one dataclass that the command line, ``solve`` and the estimator share.

A new option is a field of :class:`Options`, made by :func:`option`, which takes all that is known of it beside its
type: the command line makes a flag of it (:mod:`certmix.cli.flags`), ``solve`` takes it by name, and the dataclass
checks it before any work.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import cache
from numbers import Integral
from pathlib import Path
from textwrap import fill, indent
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

from certmix import memory
from certmix.errors import InputError
from certmix.errors import about as told_of
from certmix.hints import did_you_mean
from certmix.status import Tolerances

if TYPE_CHECKING:  # the command line has options before it has numbers
    from certmix.problem.quantity import Quantity

BRANCHING = ("pseudo-cost", "strong", "most-infeasible", "most-integral")
LOGARITHMS = ("tangent", "chord")
PROOF_TIME = 0.2  # share of the time limit that a search leaves for its proof
SOLVERS = ("scip", "gurobi", "copt", "baron")

_MODELS = "Models of minlp and miqp"
_PROOF = "Proof"
_MANY = "Many processes or machines"


def _engines() -> Sequence[str]:
    from certmix.engines import NAMES

    return NAMES


@dataclass(frozen=True)
class Option:
    """What is known of an option beside its name, type and default."""

    help: str
    """What it does, in words for the command line and for Python."""
    _: KW_ONLY
    more: str = ""
    """What else there is to say of it in Python."""
    unit: str = ""
    metavar: str = ""
    """What stands for its value in the help; by default the unit."""
    flags: tuple[str, ...] = ()
    """How it is written on the command line; by default like its name."""
    panel: str = "Run"
    kind: Any = None
    """What the command line reads: by default the type of the field without None; bool is a flag."""
    least: float | None = None
    choices: Sequence[str] | Callable[[], Sequence[str]] = ()
    """What it may be. A function is asked by who completes a command line, and the run itself checks the value."""
    noun: str = ""
    """What errors call it; by default its name."""
    complete: Callable[[str], list[str]] | None = None
    """What completes on the command line, where that is not one of the choices."""
    engines: tuple[str, ...] = ()
    """The engines that have it; none stands for all. The others refuse it."""
    usual: Any = None
    """What those engines take where it is not given."""
    argument: bool = False
    """Whether it stands on the command line without a flag."""
    python_only: bool = False
    """Whether the command line cannot have it."""


def option(help: str, default: Any = None, **about: Any) -> Any:
    """The field of an option, with all that is known of it."""
    return field(default=default, metadata={"option": Option(help, **about)})


@dataclass(frozen=True)
class Options:
    """Everything that can be asked of a run; every engine understands it or refuses it."""

    engine: str = option("Engine; see: certmix engines.", "auto", metavar="NAME", choices=_engines)
    _: KW_ONLY
    gap: float = option("Relative gap (UB - LB) / max(1, |UB|) that is good enough.", 1e-6, metavar="G")
    absolute_gap: float = option(
        "Absolute gap that is good enough, in nats (k-means: of the SSE).", 0.0, unit="nats", metavar="G"
    )
    target: float | None = option(
        "Stop as soon as the lower bound reaches this, whatever the gap is then.", python_only=True
    )
    time_limit: float | None = option(
        "Stop after so long, with the best clustering and bound there is.",
        more="Kept to a second, or a twentieth of it, the certificate included.",
        unit="seconds",
        least=0,
        noun="the time limit",
    )
    node_limit: int | None = option("Stop after so many nodes.", least=0)
    memory_limit: int | str | None = option(
        "Stop at so much resident memory: bytes, or 500M, 4G. Default: 80 % of what is free.",
        unit="bytes",
        kind=str,
    )
    threads: int | None = option("Default: all cores.", least=1)
    workers: int | None = option(
        "Processes on this machine that share the work, by Dask. Default: threads only.",
        least=1,
        engines=("parts", "sdp", "dual"),
        panel=_MANY,
    )
    scheduler: str | None = option(
        "Address of a Dask scheduler whose workers share the work.",
        metavar="ADDRESS",
        engines=("parts", "sdp", "dual"),
        panel=_MANY,
    )
    client: Any = option(
        "A distributed.Client whose workers share the work.",
        python_only=True,
        kind=object,
        engines=("parts", "sdp", "dual"),
    )
    seed: int = option(
        "Seed of the random starts: the same seed and node limit give the same answer.", 0, least=0
    )
    restarts: int | None = option(
        "How many starts the local methods make. Default: each engine has its own.", least=1
    )
    start: Any = option(
        "Clustering to start from: assignments.csv of an earlier run, its folder, or samples and labels.",
        more="Also n labels, or a Result whose samples are matched by name.",
        metavar="FILE",
        kind=Path,
    )
    resume: Path | None = option(
        "Go on with the unfinished run in DIR, with the same data and options; limits, gap and threads may differ.",
        more="DIR was written by certmix solve --out, or by the observer certmix.Snapshot; it is written to again. "
        "Limits are for what is still to be done.",
        metavar="DIR",
    )
    part_size: int | None = option(
        "Samples in a part of the engine parts. Default: by dimension and time.",
        metavar="N",
        least=1,
        noun="the size of a part",
        engines=("parts",),
    )
    branching: str | None = option(
        f"Branching rule of bnb: {BRANCHING[0]} (default), {', '.join(BRANCHING[1:])}.",
        metavar="RULE",
        choices=BRANCHING,
        noun="branching rule",
        engines=("bnb",),
        usual=BRANCHING[0],
    )
    solver: str | None = option(
        "Who solves the model of minlp or miqp: scip (default), or gurobi, copt, baron where installed.",
        metavar="NAME",
        choices=lambda: SOLVERS,
        engines=("minlp", "miqp"),
        usual=SOLVERS[0],
        panel=_MODELS,
    )
    logarithm: str | None = option(
        "Piecewise-linear logarithm of miqp: tangent (from below, default) or chord (from above, the paper's).",
        metavar="KIND",
        choices=LOGARITHMS,
        engines=("miqp",),
        usual=LOGARITHMS[0],
        panel=_MODELS,
    )
    breakpoints: int | None = option(
        "How many breakpoints it has at first (10).", least=2, engines=("miqp",), usual=10, panel=_MODELS
    )
    adaptive: bool | None = option(
        "Add breakpoints around the incumbent (default), or take twice as many regular ones.",
        flags=("--adaptive/--regular",),
        engines=("miqp",),
        usual=True,
        panel=_MODELS,
    )
    warm_start: bool | None = option(
        "Begin minlp and miqp with hard EM's clustering (default), or with none (the paper's protocol).",
        flags=("--warm-start/--cold-start",),
        engines=("minlp", "miqp"),
        usual=True,
        panel=_MODELS,
    )
    verify: bool | Literal["auto"] = option(
        "Whether the proof is made and checked. Default: if that takes no more than its budget.",
        "auto",
        more="True takes no budget, and no longer than the time limit; False leaves the level at computed.",
        flags=("--verify/--no-verify",),
        kind=bool,
        panel=_PROOF,
    )
    verify_budget: float = option(
        "Share of the solving time that making and checking the proof may take; a second at least.",
        0.5,
        metavar="SHARE",
        least=0,
        panel=_PROOF,
    )
    certificate: bool | None = option(
        "Whether to make a certificate, however long it takes. Default: with --out.",
        more="It is in result.certificate, for certmix.verify. None keeps the one that was made for the check, "
        "if any; False keeps none.",
        flags=("--certificate/--no-certificate",),
        panel=_PROOF,
    )

    def __post_init__(self) -> None:
        self.tolerances  # noqa: B018  (checks itself)
        with told_of("memory_limit"):
            memory.parsed(self.memory_limit)
        if not (isinstance(self.verify, bool) or self.verify == "auto"):
            raise InputError(f"verify must be True, False or 'auto', not {self.verify!r}")
        if self.certificate is not None and not isinstance(self.certificate, bool):
            raise InputError(f"certificate must be True, False or None, not {self.certificate!r}")
        for name, about in options_of(Options).items():
            if getattr(self, name) is not None:
                with told_of(name):
                    _check(name, about, getattr(self, name))

    @property
    def tolerances(self) -> Tolerances:
        return Tolerances(self.gap, self.absolute_gap, math.inf if self.target is None else self.target)

    def tolerances_of(self, quantity: Quantity) -> Tolerances:
        """The tolerances of a run, whose absolute numbers were given as people see the objective."""
        shown = self.tolerances
        return replace(
            shown,
            absolute=quantity.objective(shown.absolute),
            target=quantity.objective(shown.target),
        )

    @property
    def n_threads(self) -> int:
        available = (
            len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
        )
        return min(self.threads or available, available)

    @property
    def distributed(self) -> bool:
        """Whether other processes or machines share the work."""
        return not (self.workers is None and self.scheduler is None and self.client is None)

    def time_left(self, seconds: float) -> float:
        """What is left of the time limit after so many seconds."""
        return math.inf if self.time_limit is None else self.time_limit - seconds

    def with_time_for_proof(self, share: float, seconds: float = 0.0) -> Options:
        """The options of a search that leaves a share of the time that is left after so many seconds."""
        if self.time_limit is None:
            return self
        return replace(self, time_limit=self.time_limit - share * max(0.0, self.time_left(seconds)))

    def own(self, name: str) -> Any:
        """An option of single engines; its default where it was not given."""
        value = getattr(self, name)
        return ENGINE_OPTIONS[name].usual if value is None else value

    def refuse_unused(self, engine: str, *, automatic: bool = False) -> None:
        """Refuse options that the engine would ignore; the error names the engines that use them.

        ``automatic`` says that the engine was chosen by ``auto``.
        """
        for name, about in ENGINE_OPTIONS.items():
            if getattr(self, name) is not None and engine not in about.engines:
                who = f"the engine that auto chose, {engine}," if automatic else f"engine {engine!r}"
                raise InputError(
                    f"the option {name} (--{name.replace('_', '-')}) is of no use here: {who} does not have it, "
                    f"only {' and '.join(about.engines)}; leave it out, or choose another engine"
                )


@cache
def options_of(cls: type) -> Mapping[str, Option]:
    """The fields of a dataclass that are options, with what is known of them, their kind included."""
    hints, found = get_type_hints(cls), {}
    for f in fields(cls):
        about = f.metadata.get("option")
        if about is not None:
            found[f.name] = about if about.kind else replace(about, kind=_without_none(hints[f.name]))
    return found


def _without_none(hint: Any) -> Any:
    if get_origin(hint) in (Union, UnionType):
        return next(part for part in get_args(hint) if part is not type(None))
    return hint


def changed(options: Options, given: Mapping[str, Any]) -> Options:
    """The options with what is given instead; None stands for what is there."""
    for name in given:
        if name not in options_of(Options):
            raise TypeError(f"there is no option {name!r}{did_you_mean(name, options_of(Options))}")
    return replace(options, **{name: value for name, value in given.items() if value is not None})


def described(cls: type) -> str:
    """The options of a dataclass as a list of parameters in a docstring."""
    lines = []
    for name, about in options_of(cls).items():
        kind = getattr(about.kind, "__name__", about.kind)
        lines.append(f"{name} : {kind}")
        lines.append(indent(fill(f"{about.help} {about.more}".strip(), 106), "    "))
    return indent("\n".join(lines), "    ") + "\n"


def _check(name: str, about: Option, value: Any) -> None:
    if about.choices and not callable(about.choices) and value not in about.choices:
        noun = about.noun or name.replace("_", " ")
        raise InputError(f"unknown {noun} {value!r}{did_you_mean(str(value), about.choices)}")
    if about.least is None:
        return
    kind, what = (Integral, "whole number") if about.kind is int else ((int, float), "number")
    if isinstance(value, bool) or not isinstance(value, kind) or not float(value) >= about.least:
        of = f" of {about.unit}" if about.unit else ""
        raise InputError(f"{about.noun or name} must be a {what}{of} >= {about.least:g}, not {value!r}")


ENGINE_OPTIONS = {name: about for name, about in options_of(Options).items() if about.engines}


def checked_engine_options(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Options that only some engines have, by name."""
    for name in given or ():
        if name not in ENGINE_OPTIONS:
            raise InputError(f"unknown engine option {name!r}{did_you_mean(name, ENGINE_OPTIONS)}")
    return dict(given or {})
