"""Data as a matrix of numbers: whatever cannot be meant as measurements is refused in a sentence."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from certmix.errors import InputError

_KINDS = {
    "M": "dates; turn them into numbers, such as days since the first",
    "m": "time spans; turn them into numbers, such as seconds",
    "b": "truth values; write them as 0 and 1 if they are a measurement",
    "U": "texts; turn them into numbers with astype(float)",
    "S": "bytes, not numbers",
    "V": "records, not numbers; give a table (samples x features)",
    "c": "complex numbers; clustering needs real ones",
}
_TYPES: tuple[tuple[Any, str], ...] = (
    ((bool, np.bool_), "b"),
    (str, "U"),
    ((bytes, bytearray), "S"),
    (np.datetime64, "M"),
    (np.timedelta64, "m"),
    ((complex, np.complexfloating), "c"),
)


def measurements(data: Any, columns: tuple[str, ...] | None) -> np.ndarray:
    """``data`` as a fresh float64 matrix."""
    if isinstance(data, (str, os.PathLike)):
        name = os.fspath(data)
        raise InputError(f"{name!r} is a text, not data; read the file first: pandas.read_csv({name!r}), say")
    refuse_kinds(data, "MmbSVc")
    try:
        y = np.array(data, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(_not_numeric(data, columns)) from None
    if y.ndim == 1:
        y = y[:, None]
    if y.ndim != 2:
        raise InputError(f"the data must be a table (samples x features), but have {y.ndim} dimensions")
    if y.shape[0] == 0 or y.shape[1] == 0:
        raise InputError(f"the data are empty: {y.shape[0]} samples x {y.shape[1]} features")
    for where, cells in _objects(data):
        kind = next((_kind(cell) for cell in cells if _kind(cell)), None)
        if kind:
            raise InputError(f"{where} {_KINDS[kind]}")
    return np.ascontiguousarray(y)


def refuse_kinds(data: Any, kinds: str = "MmbSV") -> None:
    """Refuse what NumPy would turn into numbers that mean nothing: hidden values, dates, categories, truth values.

    Texts are left to the attempt to convert them, whose error names the first that is no number.
    """
    if hasattr(data, "toarray"):
        raise InputError("the data are a sparse matrix; give a dense array (data.toarray())")
    if np.ma.is_masked(data):
        hidden = int(np.ma.getmaskarray(data).sum())
        raise InputError(
            f"the data are a masked array with {hidden} masked value{'s' if hidden > 1 else ''}; "
            "clustering would use what the mask hides: fill the values or drop the samples first"
        )
    for where, dtype in _dtypes(data):
        name = str(dtype)
        if name == "category":
            raise InputError(f"{where} categories; turn them into numbers, or leave the column out")
        kind = "M" if name.startswith(("datetime", "period")) else getattr(dtype, "kind", "O")
        if kind in kinds:
            raise InputError(f"{where} {_KINDS[kind]}")


def _dtypes(data: Any) -> Iterator[tuple[str, Any]]:
    """What to call every part of the data in a message, and its type."""
    if hasattr(data, "columns") and hasattr(data, "dtypes"):
        for name, dtype in zip(data.columns, data.dtypes, strict=True):
            yield f"column {str(name)!r} holds", dtype
    elif hasattr(data, "dtype"):
        yield "the data are", data.dtype


def _objects(data: Any) -> Iterator[tuple[str, Any]]:
    """The cells of all parts that hold texts or anything else."""
    if hasattr(data, "columns") and hasattr(data, "dtypes"):
        for j, (name, dtype) in enumerate(zip(data.columns, data.dtypes, strict=True)):
            if getattr(dtype, "kind", "O") == "O":
                cells = data.iloc[:, j] if hasattr(data, "iloc") else data[name]  # pandas, or polars
                yield f"column {str(name)!r} holds", cells
        return
    plain = np.asarray(data)
    if plain.dtype.kind in "OUSb":
        yield "the data are", plain.ravel()


def _kind(cell: Any) -> str:
    return next((kind for types, kind in _TYPES if isinstance(cell, types)), "")


def _not_numeric(data: Any, columns: tuple[str, ...] | None) -> str:
    try:
        table = np.asarray(data, dtype=object)
        for i, row in enumerate(table):
            cells = [row] if table.ndim == 1 and hasattr(data, "dtype") else np.atleast_1d(row)
            for j, value in enumerate(cells):
                try:
                    float(value)
                except (TypeError, ValueError):
                    where = f"column {columns[j]!r}" if columns else f"column {j}"
                    return f"sample {i}, {where}: {value!r} is not a number"
    except Exception:
        pass
    return "the data cannot be read as a table of numbers (do all rows have the same length?)"
