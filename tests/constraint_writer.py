"""Side constraints written to files that :func:`certmix.io.constraints.read_constraints` reads back."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from certmix.errors import InputError
from certmix.io.atomic import write_text
from certmix.io.constraints import COLUMNS
from certmix.problem import Problem
from certmix.problem import constraints as c


def write_constraints(
    constraints: Iterable[c.Constraint], path: str | Path, *, problem: Problem | None = None
) -> None:
    """Write side constraints to a CSV or TOML file.

    Parameters
    ----------
    constraints : iterable of Constraint
    path : path
        ``.toml`` is written as TOML, everything else as CSV.
    problem : Problem, optional
        Samples given by position are then written by name. Without it a CSV file holds the positions
        themselves, which are read back as such only where samples have no names. TOML tells names from
        positions.
    """
    path = Path(path)
    toml = path.suffix.lower() == ".toml"
    rows = [_row(item, problem) for item in constraints]
    write_text(path, _toml(rows) if toml else _csv(rows))


def _row(item: c.Constraint, problem: Problem | None) -> dict[str, Any]:
    match item:
        case c.MustLink() | c.CannotLink() | c.Counting():
            samples = list(item.samples)
        case c.Implication():
            samples = [item.sample, item.then]
        case c.Label():
            samples = [item.sample]
        case _:
            samples = []
    if problem is not None and problem.samples.named:
        samples = [problem.names[problem.samples.position(s)] for s in samples]
    row: dict[str, Any] = {"type": item.kind, "samples": samples}
    for key in ("component", "limit", "penalty"):
        value = getattr(item, key, None)
        if value is not None:
            row[key] = value
    return row


def _csv(rows: list[dict[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        for name in map(str, row["samples"]):
            if ";" in name or "\n" in name or name != name.strip() or not name:
                raise InputError(f"the sample name {name!r} cannot stand in a CSV file; write TOML instead")
        joined = ";".join(map(str, row["samples"]))
        writer.writerow([row["type"], joined, *(row.get(key, "") for key in COLUMNS[2:])])
    return out.getvalue()


def _toml(rows: list[dict[str, Any]]) -> str:
    parts = ["# side constraints\n"]
    for row in rows:
        lines = ["[[constraint]]", f"type = {_value(row['type'])}"]
        if row["samples"]:
            lines.append(f"samples = [{', '.join(map(_value, row['samples']))}]")
        lines += [f"{key} = {_value(row[key])}" for key in COLUMNS[2:] if key in row]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _value(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value) if isinstance(value, float) else str(int(value))
