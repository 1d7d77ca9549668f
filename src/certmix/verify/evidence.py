"""What a certificate offers as proof, read with distrust: every number and every array is looked at before it is used.

No type stands for another: a whole number is not ``2.0``, a list not an empty object, and true is not one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Document = Mapping[str, Any]  # a JSON object


class Rejected(Exception):
    """The certificate does not prove what it claims; the message says where and why."""


LEAST, MOST = -(2**63), 2**63 - 1  # whole numbers
LARGEST = 1e100  # floats: squares beyond overflow
MOST_BYTES = 2**30  # that a certificate can make the checker allocate at a time


def room(*shape: int, each: int = 8) -> None:
    """Refuse before it is allocated what a few bytes of a certificate, compressed or multiplied, would blow up to."""
    if math.prod(map(int, shape)) * each > MOST_BYTES:
        raise Rejected(f"to check it would take arrays of {' x '.join(map(str, shape))} numbers at a time")


def number(value: Any, what: str = "number") -> float:
    """A finite number of a JSON file, and not beyond all measure."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= LARGEST:
        raise Rejected(f"its {what} is {value!r:.80}, not a finite number of at most {LARGEST:g}")
    return float(value)


def whole(value: Any, low: int, high: int = MOST, what: str = "entry") -> int:
    """A whole number within ``low .. high``."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise Rejected(f"its {what} is {value!r:.80}, not a whole number in {low} .. {high}")
    return int(value)


def listed(value: Any, what: str = "entry", count: int | None = None) -> list[Any]:
    """A list, of so many entries, and nothing else that can be gone through."""
    if not isinstance(value, list) or len(value) != (len(value) if count is None else count):
        raise Rejected(f"its {what} is {value!r:.80}, not a list{f' of {count}' * (count is not None)}")
    return value


def rows(value: Any, *limits: tuple[int, int]) -> np.ndarray:
    """A list of rows of whole numbers, each within its limits: (m, limits)."""
    each = [listed(row, count=len(limits)) for row in listed(value)]
    found = [[whole(x, *limit) for x, limit in zip(row, limits, strict=True)] for row in each]
    return np.array(found, dtype=np.int64).reshape(-1, len(limits))


def objects(document: Document, name: str) -> list[Document]:
    """The entry of an object that is a list of objects."""
    found = document.get(name)
    if not isinstance(found, list) or not all(isinstance(one, Mapping) for one in found):
        raise Rejected(f"it lacks its {name}, or one of them is not an object")
    return found


@dataclass(frozen=True)
class Evidence:
    """The entry of one step: small numbers, and the arrays whose names begin with its prefix ``arrays``."""

    numbers: Document
    arrays: Mapping[str, np.ndarray]

    def full(self, name: str) -> str:
        return f"{self.numbers.get('arrays', '')}{name}"

    def under(self, prefix: str, numbers: Document | None = None) -> Evidence:
        """What is under a further prefix."""
        return Evidence({**(numbers or {}), "arrays": self.full(prefix)}, self.arrays)

    def floats(self, name: str, *shape: int | None) -> np.ndarray:
        """An array of floats as float64; None in the shape stands for any length."""
        array = self._array(name, "f", shape).astype(np.float64)
        if not (np.abs(array) <= LARGEST).all():
            raise Rejected(f"array {self.full(name)} holds a number that is not finite or beyond {LARGEST:g}")
        return array

    def integers(self, name: str, *shape: int | None, low: int = LEAST, high: int = MOST) -> np.ndarray:
        """An array of whole numbers as int64, all of them within ``low .. high``."""
        array = self._array(name, "iu", shape).astype(np.int64)
        if ((array < low) | (array > high)).any():
            raise Rejected(f"array {self.full(name)} holds a number outside {low} .. {high}")
        return array

    def _array(self, name: str, kinds: str, shape: tuple[int | None, ...]) -> np.ndarray:
        full = self.full(name)
        array = self.arrays.get(full)
        if not isinstance(array, np.ndarray):
            raise Rejected(f"array {full} is missing")
        if array.dtype.kind not in kinds or array.dtype.itemsize > 8:
            raise Rejected(f"array {full} has the wrong type {array.dtype}")
        room(array.size, 2)  # as eight bytes each, and what compares them
        wanted = tuple(array.shape[i : i + 1] if w is None else (w,) for i, w in enumerate(shape))
        if array.shape != sum(wanted, ()):
            raise Rejected(f"array {full} has shape {array.shape}, not {shape}")
        return array

    def whole(self, name: str, low: int, high: int) -> int:
        """A whole number of the step within ``low .. high``."""
        return whole(self.numbers.get(name), low, high, f"entry {name!r}")
