"""A clustering to start from, in a file: ``assignments.csv`` of an earlier run, or any table of samples and labels.

The header names the columns. ``sample`` (or ``name``, ``id``) matches rows with samples; without it rows are in the
order of the samples. ``component`` (or ``label``, ``cluster``) is a component's name or number.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from certmix.errors import InputError
from certmix.io.files import read_text
from certmix.io.text import split_rows
from certmix.problem import Problem
from certmix.problem.samples import Samples

ASSIGNMENTS = "assignments.csv"  # of a folder that a run has written
SAMPLE = ("sample", "name", "id")
COMPONENT = ("component", "label", "cluster")
_MOST_NAMED = 3


def read_start(path: str | Path, problem: Problem) -> np.ndarray:
    """The labels that a file gives to the samples of a problem; what does not fit is an :class:`InputError`."""
    path = Path(path)
    path = path / ASSIGNMENTS if path.is_dir() else path
    rows, lines = split_rows(path.name, read_text(path), ",")
    header = [cell.strip().lower() for cell in rows[0]]
    sample = next((header.index(name) for name in SAMPLE if name in header), None)
    columns = [header.index(name) for name in COMPONENT if name in header]
    if not columns:
        raise InputError(
            f"{path.name}, line {lines[0]}: no column is called {' or '.join(COMPONENT)}; it has {', '.join(header)}"
        )
    for line, row in zip(lines[1:], rows[1:], strict=True):
        if len(row) != len(header):
            raise InputError(f"{path.name}, line {line}: {len(row)} cells, but the header has {len(header)}")
    samples = problem.samples.original
    labels = np.full(samples.n_samples, -1, dtype=np.int64)
    components = _components(path, lines[1:], rows[1:], columns, problem)
    for order, (line, row) in enumerate(zip(lines[1:], rows[1:], strict=True)):
        position = order if sample is None else _position(path, line, row[sample], samples)
        if position >= samples.n_samples:
            raise InputError(
                f"{path.name}, line {line}: more rows than the {samples.n_samples} samples; "
                f"a column called sample would say which is which"
            )
        if labels[position] >= 0:
            raise InputError(f"{path.name}, line {line}: {samples.sample(position)} stands there twice")
        labels[position] = components[order]
    missing = [samples.sample(i) for i in np.flatnonzero(labels < 0).tolist()]
    if missing:
        more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
        raise InputError(f"{path.name} has no label for {', '.join(missing[:_MOST_NAMED])}{more}")
    return labels


def _position(path: Path, line: int, name: str, samples: Samples) -> int:
    try:
        return samples.position(name)
    except InputError as error:
        raise InputError(f"{path.name}, line {line}: {error}") from None


def _components(
    path: Path, lines: Sequence[int], rows: Sequence[list[str]], columns: Sequence[int], problem: Problem
) -> list[int]:
    """By the column of names; where one of its names is unknown here, by the column of numbers."""
    fault: InputError | None = None
    for column in columns:
        found: list[int] = []
        try:
            for row in rows:
                found.append(problem.component(row[column]))
        except InputError as error:
            fault = InputError(f"{path.name}, line {lines[len(found)]}: {error}")
            continue
        return found
    assert fault is not None
    raise fault
