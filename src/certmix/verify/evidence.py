"""What a certificate offers as proof, read with distrust: every array is looked at before it is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


class Rejected(Exception):
    """The certificate does not prove what it claims; the message says where and why."""


@dataclass(frozen=True)
class Evidence:
    """The entry of one step: small numbers, and the arrays whose names begin with its prefix."""

    numbers: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]
    notes: list[str] = field(default_factory=list)
    """What a step has to say about its bound, for the sentence of a rejection."""

    def has(self, name: str) -> bool:
        return self._full(name) in self.arrays

    def _full(self, name: str) -> str:
        return f"{self.numbers.get('arrays', '')}{name}"

    def floats(self, name: str, *shape: int | None) -> np.ndarray:
        """A finite array of floats as float64; None in the shape stands for any length."""
        array = self._array(name, "f", shape)
        if not np.isfinite(array).all():
            raise Rejected(f"array {self._full(name)} holds a number that is not finite")
        return array.astype(np.float64)

    def integers(
        self, name: str, *shape: int | None, low: int | None = None, high: int | None = None
    ) -> np.ndarray:
        """An array of whole numbers as int64, all of them within ``low .. high``."""
        array = self._array(name, "iu", shape).astype(np.int64)
        if array.size and (
            (low is not None and array.min() < low) or (high is not None and array.max() > high)
        ):
            raise Rejected(f"array {self._full(name)} holds a number outside {low} .. {high}")
        return array

    def _array(self, name: str, kinds: str, shape: tuple[int | None, ...]) -> np.ndarray:
        full = self._full(name)
        array = self.arrays.get(full)
        if not isinstance(array, np.ndarray):
            raise Rejected(f"array {full} is missing")
        if array.dtype.kind not in kinds or array.dtype.itemsize > 8:
            raise Rejected(f"array {full} has the wrong type {array.dtype}")
        fits = array.ndim == len(shape) and all(
            want is None or want == got for want, got in zip(shape, array.shape, strict=True)
        )
        if not fits:
            raise Rejected(f"array {full} has shape {array.shape}, not {shape}")
        return array

    def number(self, name: str, low: float, high: float) -> float:
        """A number of the step within ``low .. high``."""
        value = self.numbers.get(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
            raise Rejected(f"its entry {name!r} is {value!r}, not a number in {low} .. {high}")
        return value

    def whole(self, name: str, low: int, high: int) -> int:
        """A whole number of the step within ``low .. high``."""
        value = self.numbers.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise Rejected(f"its entry {name!r} is {value!r}, not a whole number in {low} .. {high}")
        return value
