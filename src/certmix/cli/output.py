"""What a run leaves behind: the JSON object and the files of ``--out``."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from certmix.errors import InputError
from certmix.io.atomic import write_text
from certmix.io.strict_json import dumps
from certmix.observers.snapshot import NAME as SNAPSHOT
from certmix.observers.snapshot import RESUMABLE, Snapshot, refuse_unfinished
from certmix.problem.noise import LABEL
from certmix.saving import as_dict, save

CERTIFICATE = "certificate"
STABILITY, ALTERNATIVES = "stability.json", "alternatives.json"

if TYPE_CHECKING:
    from certmix.cli.building import Asked
    from certmix.io.certificates import Certificate
    from certmix.io.transform import Transform
    from certmix.result import Result
    from certmix.sensitivity.margins import Stability


def document(result: Result, asked: Asked) -> dict[str, Any]:
    """The object that ``--json`` prints."""
    return {**as_dict(result), **_extra(asked)}


def nothing(message: str, squares: bool = False) -> dict[str, Any]:
    """The same object for a problem that contradicts itself before anything can be run."""
    empty = (
        *(("sse", "sse_lower_bound") if squares else ()),
        "penalty",
        "objective",
        "lower_bound",
        "gap_absolute",
        "gap_relative",
        "labels",
        "sizes",
        "means",
        "weights",
    )
    return {
        "status": "infeasible",
        "termination": "exhausted",
        "message": message,
        "engine": "none",
        "nodes": 0,
        "seconds": 0.0,
        "certificate": "none",
        "verification": "",
        **dict.fromkeys(empty),
    }


def _extra(asked: Asked) -> dict[str, Any]:
    """What the command line adds to a result; how the file was read joins how its data were prepared."""
    done = {**({} if asked.transform is None else asked.transform.as_dict()), **asked.table.record}
    return {
        **({"preprocessing": done} if asked.table.record else {}),
        "notes": list(asked.notes),
        "warnings": list(asked.warnings),
    }


def check_directory(directory: Path, *, overwrite: bool) -> None:
    """Refuse, before any work, to write over what an earlier run has left."""
    if directory.exists() and not directory.is_dir():
        raise InputError(f"--out {directory}: it is a file, not a directory")
    if overwrite:
        return
    refuse_unfinished(directory)
    for name in ("result.json", "path.json", SNAPSHOT):
        if (directory / name).exists():
            raise InputError(
                f"--out {directory}: it holds the result of an earlier run ({name}); name another directory, "
                f"or say --overwrite"
            )


def prepare_directory(directory: Path) -> None:
    """Make sure, before any work, that results can be written."""
    if directory.exists() and not directory.is_dir():
        raise InputError(f"--out {directory}: it is a file, not a directory")
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {directory}: it cannot be made ({error.strerror or error})") from None
    if not os.access(directory, os.W_OK | os.X_OK):
        raise InputError(f"--out {directory}: it cannot be written to")


def write_files(result: Result, asked: Asked, directory: Path, margins: Stability | None = None) -> None:
    """Write the tables and the result; what an earlier run left and this one has not is removed."""
    if result.labels is None:
        for name in ("assignments.csv", "parameters.csv"):
            (directory / name).unlink(missing_ok=True)
    else:
        rows = _assignments(result)
        rows = rows if margins is None else _with_margins(rows, margins)
        write_text(directory / "assignments.csv", as_csv(rows))
        write_text(directory / "parameters.csv", as_csv(_parameters(result, asked.transform)))
    write_text(directory / "trace.csv", as_csv(_trace(result)))
    save(result, directory / "result", extra=_extra(asked))
    if margins is None:
        for name in (STABILITY, ALTERNATIVES):
            (directory / name).unlink(missing_ok=True)
    else:
        write_text(directory / STABILITY, dumps(margins.to_dict()))
    write_certificate(result.certificate, directory / CERTIFICATE)
    if result.termination not in RESUMABLE:  # only now: until here it is what a killed run leaves
        Snapshot(directory, overwrite=True).remove()


def write_certificate(certificate: Certificate | None, stem: Path) -> None:
    """Write the two files; without a certificate what an earlier run left is removed."""
    if certificate is not None:
        certificate.save(stem)
        return
    for ending in (".json", ".npz"):
        stem.with_name(stem.name + ending).unlink(missing_ok=True)


def as_csv(rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _assignments(result: Result) -> Iterable[Sequence[Any]]:
    assert result.labels is not None
    assert result.posterior is not None
    assert result.runner_up is not None
    others = (*result.component_names, "")  # runner-up -1, with one component, is nobody
    assert result.fixed is not None
    yield "sample", "label", "component", "posterior", "runner_up", "fixed"
    columns = (result.labels, result.posterior, result.runner_up, result.fixed)
    rows = zip(result.names, *(column.tolist() for column in columns), strict=True)
    for sample, k, probability, other, fixed in rows:
        own = result.component_names[k]  # -1 is the last: noise
        yield sample, k, own, repr(probability), others[other], "yes" if fixed else "no"


def _with_margins(rows: Iterable[Sequence[Any]], margins: Stability) -> Iterable[Sequence[Any]]:
    header, *samples = rows
    yield *header, "state", "margin_lower", "margin_upper", "goes_to", "representative"
    for row, margin in zip(samples, margins.samples, strict=True):
        ends = _blank(margin.lower), _blank(margin.upper)
        yield *row, str(margin.state), *ends, margin.goes_to or "", margin.representative or ""


def _parameters(result: Result, transform: Transform | None) -> Iterable[Sequence[Any]]:
    assert result.sizes is not None
    assert result.means is not None
    assert result.weights is not None
    original = None if transform is None else transform.invert(result.means)
    weighted = not result.quantity.squares
    header = ["component", "name", "size", *["weight"] * weighted]
    header += [f"mean {f}" for f in result.feature_names]
    header += [] if transform is None else [f"original mean {f}" for f in transform.columns]
    yield header
    for k, name in enumerate(result.component_names):
        weight = [repr(float(result.weights[k]))] * weighted
        if k == result.n_clusters:  # noise has no mean
            empty = [""] * (len(header) - 3 - len(weight))
            yield [LABEL, name, int(result.sizes[k]), *weight, *empty]
            continue
        values = [*result.means[k].tolist(), *(() if original is None else original[k].tolist())]
        yield [k, name, int(result.sizes[k]), *weight, *(repr(v) for v in values)]


def _trace(result: Result) -> Iterable[Sequence[Any]]:
    yield "seconds", "incumbent", "bound"
    for point in result.trace:
        incumbent, bound = (result.quantity.shown(x) for x in (point.incumbent, point.bound))
        yield f"{point.seconds:.6f}", _blank(incumbent), _blank(bound)


def _blank(value: float) -> str:
    return repr(float(value)) if math.isfinite(value) else ""
