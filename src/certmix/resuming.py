"""Going on with a run that was cut short: whose run it was, and what is taken over from it.

Everything is in the folder that :class:`certmix.observers.snapshot.Snapshot` writes: clustering, bound and trace in
``snapshot.json``, the state of the engine in files beside it. A run goes on only if problem, engine and the engine's
own options are the same, by their digests; limits, gaps, threads and seeds may differ. Nothing is pickled.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from certmix._version import __version__
from certmix.certificate.comparing import PARTS
from certmix.certificate.statement import state as stated
from certmix.errors import InputError
from certmix.io.pairs import json_of, read_document
from certmix.io.states import read_state
from certmix.ledger import Ledger
from certmix.observers.snapshot import NAME
from certmix.options import ENGINE_OPTIONS, Options
from certmix.problem import Problem
from certmix.result import Result
from certmix.saving import FORMAT, RESULT, VERSION, read
from certmix.state import State
from certmix.verify.statement import data_digest
from certmix.verifying import verify

WHO_WORKS = ("workers", "scheduler", "client", "part_size")  # options of engines that may differ, like limits


@dataclass(frozen=True)
class Unfinished:
    """A run that was cut short, as its folder tells of it."""

    directory: Path
    fields: Mapping[str, Any]
    """Of its result so far."""
    run: Mapping[str, Any]
    """Whose run it was: :func:`identity`."""
    entry: Mapping[str, Any] | None
    state: State

    @property
    def engine(self) -> str:
        return str(self.fields["engine"])

    @classmethod
    def read(cls, directory: str | Path) -> Unfinished:
        """The run in a folder; an error in words where there is none to go on with."""
        directory = Path(directory)
        require_unfinished(directory)
        stem = directory / Path(NAME).stem
        fields = read(json_of(stem))
        document = read_document(stem, FORMAT, VERSION)
        run, entry = document.get("run"), document.get("state")
        if not isinstance(run, dict) or not isinstance(run.get("problem"), dict):
            raise InputError(f"{json_of(stem)} does not say whose run it was: it cannot be resumed")
        return cls(directory, fields, run, entry, State() if entry is None else read_state(stem, entry))

    def refuse_another(self, own: Mapping[str, Any]) -> None:
        """An error that says what differs, where the run is not of this problem, engine and program."""
        if own["digest"] == self.run.get("digest"):
            return
        there, here = self.run["problem"], own["problem"]
        parts = [part for part in here if there.get(part) != here[part]]
        parts += [
            f"{name.replace('_', ' ')} ({self.run.get(name)!r} there, {own[name]!r} here)"
            for name in ("engine", "options", "certmix")
            if self.run.get(name) != own[name]
        ]
        raise InputError(
            f"the run in {str(self.directory)!r} cannot be resumed: it differs in {', '.join(parts) or 'its digest'}"
        )

    def restore(self, ledger: Ledger) -> None:
        """Begin where the run was: its clustering, bound, trace, nodes and seconds."""
        fields = self.fields
        ledger.seconds_before, ledger.nodes = fields["seconds"], fields["nodes"]
        ledger.resumes = fields["resumes"] + 1
        ledger.resumed, ledger.resumed_from = self.state, self.entry
        if fields["labels"] is not None:
            ledger.offer(fields["labels"], fields["source"] or "resumed")
        ledger.raise_bound(fields["lower_bound"], whole=True)
        ledger.trace = list(fields["trace"])

    def told(self) -> str:
        """For the log."""
        how = "goes on" if self.state else "begins anew, with the clustering and the bound that are known"
        return f"resumed after {self.fields['seconds']:.3g} s: the engine {how}"


def finished(directory: Path, problem: Problem) -> Result | None:
    """The result that a folder holds, if the checker confirms its certificate; None where there is nothing to confirm.

    One of another problem is an error in words.
    """
    if not (directory / RESULT).is_file() or (directory / NAME).is_file():
        return None
    result = Result.load(directory)
    if result.certificate is None:
        return None
    verdict = verify(result.certificate, problem)
    if not verdict.verified:
        raise InputError(f"the run in {str(directory)!r} cannot be resumed: {verdict.sentence}")
    result = replace(result, problem=problem, certificate_level="computed").judged(verdict)
    return result if result.certificate_level == "verified" else None


def require_unfinished(directory: Path) -> None:
    """An error in words where a folder holds no run that could be resumed."""
    if not (directory / NAME).is_file():
        finished = (directory / RESULT).is_file()
        why = "its run is finished" if finished else f"there is no {NAME}"
        raise InputError(f"there is nothing to resume in {str(directory)!r}: {why}")


def identity(problem: Problem, engine: str, options: Options) -> dict[str, Any]:
    """Whose run this is: digests of all that has to be the same for another run to go on with it."""
    parts: dict[str, str] = {}
    for entry, value in stated(problem).items():
        part = next((part for part, entries in PARTS.items() if entry in entries), entry.replace("_", " "))
        parts[part] = _digest([parts.get(part), value])
    names = [name for name in ENGINE_OPTIONS if name not in WHO_WORKS]
    own = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    about = {
        "problem": {"data": data_digest(problem.data), **parts},
        "engine": engine,
        "options": own,
        "certmix": __version__,
    }
    return {**about, "digest": _digest(about)}


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, allow_nan=False).encode()).hexdigest()
