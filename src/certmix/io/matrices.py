"""Precision and covariance matrices from files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from certmix.errors import InputError
from certmix.io.cells import some
from certmix.io.files import existing_file, read_source
from certmix.io.grid import load_npy
from certmix.io.text import decode, is_number, separator, split_rows


def read_matrix(path: str | Path, columns: Sequence[str]) -> np.ndarray:
    """A precision or covariance matrix from CSV, TSV or NPY.

    A text file holds d rows of d numbers. It may have a header and a first column of names, which must then
    be the data's columns in the same order. An NPY file may also hold one matrix for each component, shape
    (K, d, d).
    """
    source = read_source(existing_file(path))
    if source.kind in (".parquet", ".xlsx"):
        raise InputError(f"{path}: a matrix is read from CSV, TSV or NPY")
    if source.kind == ".npy":
        array = load_npy(source)
        if array.dtype.kind not in "fiu":
            raise InputError(f"{path} holds {array.dtype} values; a matrix must hold real numbers")
        with np.errstate(invalid="ignore"):  # a signalling NaN, refused later
            return array.astype(np.float64)
    text = decode(source, None)
    rows, lines = split_rows(source, text, separator(source, text))
    if not all(is_number(cell) for cell in rows[0]):
        header, rows, lines = [cell.strip() for cell in rows[0]], rows[1:], lines[1:]
        if rows and not is_number(rows[0][0]):
            _same_names(path, "the first column", [row[0].strip() for row in rows], columns)
            header, rows = header[1:], [row[1:] for row in rows]
        _same_names(path, "the header", header, columns)
    d = len(columns)
    for row, line in zip(rows, lines, strict=True):
        if len(row) != d:
            raise InputError(f"{path}, line {line}: {len(row)} numbers, but the data have {d} features")
        for j, cell in enumerate(row):
            if not is_number(cell):
                raise InputError(f"{path}, line {line}, column {j + 1}: {cell!r} is not a number")
    if len(rows) != d:
        raise InputError(f"{path} has {len(rows)} rows of numbers, but the data have {d} features")
    return np.array(rows, dtype=np.float64)


def _same_names(path: str | Path, what: str, found: list[str], columns: Sequence[str]) -> None:
    if found != list(columns):
        raise InputError(
            f"{path}: {what} ({some(found)}) does not name the data's columns ({some(columns)}) in order"
        )
