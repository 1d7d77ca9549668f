"""Missing values: refused, kept, left out with their sample or feature, or filled; counted and recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from certmix.errors import InputError

POLICIES = ("error", "keep", "drop-samples", "drop-features", "mean", "median")


@dataclass(frozen=True)
class Treated:
    """A matrix without missing values, unless they are kept.

    Attributes
    ----------
    values : the matrix that is left
    samples, features : masks of what was kept
    record : what was done, for the result
    note : the same in words, or nothing
    """

    values: np.ndarray
    samples: np.ndarray
    features: np.ndarray
    record: dict[str, Any] | None = None
    note: str = ""


def treat(values: np.ndarray, columns: tuple[str, ...], policy: str, path: Any) -> Treated:
    """Do with missing values (NaN) what the policy says; ``error`` leaves them for others to refuse."""
    if policy not in POLICIES:
        raise InputError(f"--missing {policy!r}: choose from {', '.join(POLICIES)}")
    n, d = values.shape
    every, all_columns = np.ones(n, dtype=bool), np.ones(d, dtype=bool)
    gaps = np.isnan(values)
    if policy == "error" or not gaps.any():
        return Treated(values, every, all_columns)
    count, touched = int(gaps.sum()), gaps.any(axis=0)
    record: dict[str, Any] = {"policy": policy, "values": count}
    found = f"{count} missing value{'s' if count > 1 else ''} in {touched.sum()} of {d} columns"
    if policy == "keep":
        note = f"{found}: distances and means are over what is there"
        return Treated(values, every, all_columns, record, note)
    if policy == "drop-samples":
        keep = ~gaps.any(axis=1)
        if not keep.any():
            raise InputError(f"{path}: every sample has a missing value; --missing drop-samples leaves none")
        record["samples"] = int(n - keep.sum())
        return Treated(
            values[keep], keep, all_columns, record, f"{found}: {n - keep.sum()} of {n} samples left out"
        )
    if policy == "drop-features":
        if touched.all():
            raise InputError(f"{path}: every column has a missing value; --missing drop-features leaves none")
        record["features"] = [name for name, gone in zip(columns, touched, strict=True) if gone]
        note = f"{found}: {touched.sum()} of {d} features left out"
        return Treated(values[:, ~touched], every, ~touched, record, note)
    empty = gaps.all(axis=0)
    if empty.any():
        raise InputError(f"{path}: column {columns[int(empty.argmax())]!r} has no value at all; leave it out")
    centre = np.nanmean if policy == "mean" else np.nanmedian
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused later
        fill = centre(values, axis=0)
    record["filled"] = {
        name: {"values": int(gaps[:, j].sum()), "by": float(fill[j])}
        for j, name in enumerate(columns)
        if touched[j] and np.isfinite(fill[j])
    }
    return Treated(
        np.where(gaps, fill, values), every, all_columns, record, f"{found}: filled by the {policy}"
    )
