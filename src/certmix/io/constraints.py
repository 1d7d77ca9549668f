"""Side constraints in files: CSV for spreadsheets, TOML for people who write by hand.

CSV has one constraint a line under the header ``type,samples,component,limit,penalty``, in any order of columns
(columns that no line needs may be left out); the samples are separated by semicolons::

    type,samples,component,limit,penalty
    must-link,S1;S9,,,
    cannot-link,S1;S2,,,2.5
    implication,S2;S3,Basal,,
    label,S4,Basal,,
    min-size,,,10,
    packing,S5;S6;S7,LumA,2,
    same-value,batch,,,

The types are must-link, cannot-link, implication ("if the first sample is in the component then so is the
second"; in every component when none is given), label, min-size, max-size (of one component or of all),
packing, partitioning, covering, and two that name a column of the data instead of samples: same-value and
label-column. A must-link or cannot-link with a penalty may be broken at that cost. Blank lines and lines that start
with ``#`` are skipped. Messages count lines as an editor does: the header is line 1 when it stands first.

TOML has the same as tables, and shorthands::

    must-link = [["S1", "S9"], ["S2", "S3"]]
    label = { S4 = "Basal" }
    min-size = 10
    same-component-column = "batch"

    [[constraint]]
    type = "packing"
    samples = ["S5", "S6", "S7"]
    component = "LumA"
    limit = 2
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from certmix.errors import InputError
from certmix.hints import did_you_mean
from certmix.io.files import read_text
from certmix.problem import constraints as c

COLUMNS = ("type", "samples", "component", "limit", "penalty")
LONGEST = 18  # digits of a number that can be a position or a limit
DEEPEST = 20


@dataclass(frozen=True)
class Form:
    """What a type of constraint takes: how many samples, whether a component, a limit, a penalty."""

    of: type[c.Constraint] | None  # None for those that name a column
    fewest: int
    most: int | None
    component: str  # "needed", "optional" or "none"
    limit: bool
    penalty: bool = False


FORMS: dict[str, Form] = {
    "must-link": Form(c.MustLink, 2, None, "none", False, penalty=True),
    "cannot-link": Form(c.CannotLink, 2, None, "none", False, penalty=True),
    "implication": Form(c.Implication, 2, 2, "optional", False),
    "label": Form(c.Label, 1, 1, "needed", False),
    "min-size": Form(c.MinimumSize, 0, 0, "optional", True),
    "max-size": Form(c.MaximumSize, 0, 0, "optional", True),
    "packing": Form(c.Packing, 1, None, "needed", True),
    "partitioning": Form(c.Partitioning, 1, None, "needed", True),
    "covering": Form(c.Covering, 1, None, "needed", True),
    "same-value": Form(None, 1, 1, "none", False),
    "label-column": Form(None, 1, 1, "none", False),
}
ALIASES = {"same-component-column": "same-value"}


@dataclass(frozen=True)
class Entry:
    """One constraint as it stands in a file."""

    type: str
    samples: tuple[str | int, ...]
    component: str | int | None
    limit: Any
    source: str
    penalty: Any = None


def read_constraints(
    path: str | Path, *, table: Mapping[str, Sequence[Any]] | None = None
) -> list[c.Constraint]:
    """Read side constraints from a CSV or TOML file (see :mod:`certmix.io.constraints` for the forms).

    Parameters
    ----------
    path : path
        ``.toml`` is read as TOML, everything else as CSV (tabs instead of commas will do).
    table : mapping from column name to one value per sample, optional
        The data's columns (a DataFrame will do), for the types that name a column.

    Returns
    -------
    list of Constraint
        Each remembers where it stands ("line 3"), which explanations of contradictions refer to.

    Raises
    ------
    InputError
        Names the file and the line.
    """
    path = Path(path)
    text = read_text(path)
    entries = _toml_entries(path, text) if path.suffix.lower() == ".toml" else _csv_entries(path, text)
    found: list[c.Constraint] = []
    for entry in entries:
        try:
            found += _built(entry, table)
        except InputError as error:
            raise InputError(f"{path.name}, {entry.source}: {error}") from None
    return found


def _built(entry: Entry, table: Mapping[str, Sequence[Any]] | None) -> list[c.Constraint]:
    """The constraint objects of one entry, checked against the form of its type."""
    kind = _type(entry.type)
    form = FORMS[kind]
    number = len(entry.samples)
    if number < form.fewest or (form.most is not None and number > form.most):
        raise InputError(f"{kind} takes {_how_many(form)}, but {number or 'none'} {_are(number)} given")
    if form.component == "none" and entry.component is not None:
        raise InputError(f"{kind} takes no component, but {entry.component!r} is given")
    if form.component == "needed" and entry.component is None:
        raise InputError(f"{kind} needs a component")
    if not form.limit and entry.limit is not None:
        raise InputError(f"{kind} takes no limit, but {entry.limit!r} is given")
    if not form.penalty and entry.penalty is not None:
        raise InputError(f"{kind} takes no penalty, but {entry.penalty!r} is given; only links do")
    if form.of is None:
        return _from_column(kind, entry, table)
    if form.limit:
        limit = _whole(kind, entry.limit)
    of, where, samples = form.of, entry.source, entry.samples
    if issubclass(of, c.Linking):
        return [of(*samples, penalty=_penalty(entry.penalty), source=where)]
    if issubclass(of, c.SizeLimit):
        return [of(limit, entry.component, source=where)]
    if issubclass(of, c.Implication):
        return [of(samples[0], samples[1], entry.component, source=where)]
    assert entry.component is not None
    if issubclass(of, c.Label):
        return [of(samples[0], entry.component, source=where)]
    assert issubclass(of, c.Counting)
    return [of(samples, entry.component, limit, source=where)]


def _type(written: str) -> str:
    kind = written.strip().lower().replace("_", "-").replace(" ", "-")
    kind = ALIASES.get(kind, kind)
    if kind in FORMS:
        return kind
    if not kind:
        raise InputError("the type of the constraint is missing")
    raise InputError(f"unknown type {written!r}{did_you_mean(kind, FORMS)}")


def _how_many(form: Form) -> str:
    if form.of is None:
        return "the name of one column"
    if form.most == 0:
        return "no samples"
    exact = "exactly" if form.most == form.fewest else "at least"
    return f"{exact} {form.fewest} sample{'' if form.fewest == 1 else 's'}"


def _are(number: int) -> str:
    return "is" if number < 2 else "are"


def _whole(kind: str, limit: Any) -> int:
    if limit is None:
        raise InputError(f"{kind} needs a limit")
    try:
        number = float(limit)
        if isinstance(limit, bool) or number != int(number) or number < 0:
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"the limit must be a whole number >= 0, not {limit!r}") from None
    return int(number)


def _penalty(written: Any) -> Any:
    """A penalty as a number; what is none is left for the constraint to refuse."""
    try:
        return float(written) if isinstance(written, str) else written
    except ValueError:
        return written


def _from_column(kind: str, entry: Entry, table: Mapping[str, Sequence[Any]] | None) -> list[c.Constraint]:
    name = str(entry.samples[0])
    if table is None:
        raise InputError(f"{kind} names the column {name!r}, but the data's columns are not at hand")
    if name not in table:
        raise InputError(f"the data have no column {name!r}{did_you_mean(name, table)}")
    called = f"{entry.source}, column {name}"
    if kind == "same-value":
        return list(c.same_value(table[name], name=called))
    return [replace(label, source=called) for label in c.labels_from(table[name])]


# -- CSV -----------------------------------------------------------------------------------------------------
def _csv_entries(path: Path, text: str) -> Iterator[Entry]:
    header: list[str] = []
    for line, cells in _csv_records(path, text):
        if not header:
            header = _header(path, cells)
            continue
        where = f"line {line}"
        if len(cells) > len(header) and any(cells[len(header) :]):
            raise InputError(
                f"{path.name}, {where}: {len(cells)} cells, but the header names only {len(header)} columns "
                f"(samples are separated by semicolons)"
            )
        yield _csv_entry(path, dict(zip(header, cells, strict=False)), where)
    if not header:
        raise InputError(f"{path.name}: the file has no header; the first line must be {','.join(COLUMNS)}")


def _csv_records(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and trimmed cells of every record that is neither blank nor a comment."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    lines = ["" if line.lstrip().startswith("#") else line for line in lines]
    first = next((line for line in lines if line.strip()), "")
    tabbed = "\t" in first and "," not in first
    reader = csv.reader(lines, delimiter="\t" if tabbed else ",", strict=True, skipinitialspace=True)
    start = 1
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError(f"{path.name}, line {start}: {error}; look for an open quotation mark") from None
        trimmed = [cell.strip() for cell in cells]
        if any(trimmed):
            yield start, trimmed
        start = reader.line_num + 1


def _header(path: Path, cells: list[str]) -> list[str]:
    header = [cell.lower() for cell in cells]
    while header and not header[-1]:
        header.pop()
    for name in header:
        if ";" in name:
            raise InputError(f"{path.name}: the header's columns must be separated by commas, not semicolons")
        if name not in COLUMNS:
            raise InputError(
                f"{path.name}: unknown column {name!r} in the header{did_you_mean(name, COLUMNS)}"
            )
        if header.count(name) > 1:
            raise InputError(f"{path.name}: the column {name!r} stands twice in the header")
    if "type" not in header:
        raise InputError(f"{path.name}: the header has no column 'type'; expected {','.join(COLUMNS)}")
    return header


def _csv_entry(path: Path, cells: dict[str, str], where: str) -> Entry:
    written = cells.get("samples", "")
    samples = tuple(part.strip() for part in written.split(";")) if written else ()
    if not all(samples):
        raise InputError(f"{path.name}, {where}: a sample's name is missing in {written!r}")
    named = cells.get("component", "")
    component = _component(named) if named else None
    limit, penalty = (cells.get(name, "") or None for name in ("limit", "penalty"))
    return Entry(cells["type"], samples, component, limit, where, penalty)


def _component(written: str) -> str | int:
    """A component as it is written: digits are its number."""
    return int(written) if written.isdecimal() and len(written) <= LONGEST else written


# -- TOML ----------------------------------------------------------------------------------------------------
def _toml_entries(path: Path, text: str) -> Iterator[Entry]:
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # beside its own: numbers too long, nesting too deep
        raise InputError(f"{path.name}: not valid TOML: {error}") from None
    _check_extent(path, document)
    for key, value in document.items():
        try:
            yield from _tables(value) if key == "constraint" else _shorthand(key, value)
        except InputError as error:
            raise InputError(f"{path.name}, {error}") from None


def _check_extent(path: Path, document: Any) -> None:
    """Refuse nesting and whole numbers beyond all use, which could not even be shown in an error."""
    waiting = [(document, 0)]
    while waiting:
        value, depth = waiting.pop()
        if depth > DEEPEST:
            raise InputError(f"{path.name}: its tables are nested more than {DEEPEST} deep")
        if isinstance(value, int) and abs(value) >= 10**LONGEST:
            raise InputError(f"{path.name}: it holds a whole number of more than {LONGEST} digits")
        inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        waiting += [(item, depth + 1) for item in inside]


def _tables(value: Any) -> Iterator[Entry]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise InputError("constraint: must be tables, each under a line [[constraint]]")
    for number, item in enumerate(value, start=1):
        where = f"constraint {number}"
        for key in item:
            if key not in (*COLUMNS, "column"):
                raise InputError(f"{where}: unknown key {key!r}{did_you_mean(key, (*COLUMNS, 'column'))}")
        if not isinstance(item.get("type", ""), str):
            raise InputError(f"{where}: the type must be text, not {item['type']!r}")
        if "samples" in item and "column" in item:
            raise InputError(f"{where}: give samples or a column, not both")
        samples = item.get("samples", item.get("column", []))
        yield Entry(
            item.get("type", ""),
            _refs(samples if isinstance(samples, list) else [samples], where),
            None if "component" not in item else _ref(item["component"], "component", where),
            _limit(item.get("limit"), where),
            where,
            item.get("penalty"),
        )


def _shorthand(key: str, value: Any) -> Iterator[Entry]:
    kind = ALIASES.get(key, key)
    if kind not in FORMS:
        known = ("constraint", *FORMS, *ALIASES)
        raise InputError(f"{key}: unknown key{did_you_mean(key, known)}")
    form = FORMS[kind]
    if form.of is None:
        for name in value if isinstance(value, list) else [value]:
            yield Entry(kind, _refs([name], key), None, None, key)
    elif kind in ("must-link", "cannot-link", "implication"):
        if not isinstance(value, list) or not value:
            raise InputError(f"{key}: must be a list of lists of samples")
        sets = value if isinstance(value[0], list) else [value]
        for number, members in enumerate(sets, start=1):
            where = f"{key} {number}" if len(sets) > 1 else key
            if not isinstance(members, list):
                raise InputError(f"{where}: must be a list of samples, not {members!r}")
            yield Entry(kind, _refs(members, where), None, None, where)
    elif kind == "label":
        if not isinstance(value, dict):
            raise InputError(f"{key}: must be a table such as {{ S1 = 0 }}")
        for sample, component in value.items():
            where = f"{key} of {sample}"
            yield Entry(kind, (sample,), _ref(component, "component", where), None, where)
    elif kind in ("min-size", "max-size"):
        limits = value if isinstance(value, dict) else {None: value}
        for name, limit in limits.items():
            where = key if name is None else f"{key} of {name}"
            component = None if name is None else _component(name)
            yield Entry(kind, (), component, _limit(limit, where), where)
    else:
        raise InputError(f"{key}: has no shorthand; write it as a [[constraint]] table")


def _refs(values: list[Any], where: str) -> tuple[str | int, ...]:
    return tuple(_ref(value, "sample", where) for value in values)


def _ref(value: Any, what: str, where: str) -> str | int:
    """A name or a position."""
    if isinstance(value, bool) or not isinstance(value, (str, int)) or not str(value).strip():
        raise InputError(f"{where}: a {what} must be a name or a whole number, not {value!r}")
    return value


def _limit(value: Any, where: str) -> Any:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise InputError(f"{where}: the limit must be a whole number >= 0, not {value!r}")
    return value
