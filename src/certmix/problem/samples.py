"""The samples: a validated matrix and the samples' names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from certmix.errors import InputError
from certmix.problem.constraints import Row, is_blank
from certmix.problem.measurements import measurements

# A feature with a larger share of the variance decides the clustering alone.
NEARLY_ALL = 0.95
LARGEST = 1e100  # of a value: squares beyond overflow


class Samples:
    """Validated data with names.

    Parameters
    ----------
    data : array-like of shape (n, d), a pandas DataFrame, or a sequence of n numbers (d = 1)
    names : sequence of n names, optional
        Default: the index of a DataFrame (or Series), otherwise the positions ``0 .. n-1``.
    gaps : bool
        Whether values may be missing: they are not a number, and stay so.
    elsewhere : bool
        Whether values of other samples are missing, of which these are a part.
    """

    elsewhere = False

    def __init__(
        self,
        data: Any,
        names: Sequence[Any] | None = None,
        *,
        gaps: bool = False,
        elsewhere: bool = False,
    ) -> None:
        self.elsewhere = elsewhere
        columns = getattr(data, "columns", None)
        index = getattr(data, "index", None)
        if names is None and index is not None and not callable(index):
            names = index
        self.given_names: list[Any] | None = None if names is None else list(names)
        self.columns: tuple[str, ...] | None = None if columns is None else tuple(str(c) for c in columns)
        self.values = measurements(data, self.columns)
        n = self.values.shape[0]
        given = self.given_names
        self._integer_names = given is not None and all(map(_is_whole, given))
        self.named = given is not None and not (self._integer_names and given == list(range(n)))
        if given is None:
            self.names: tuple[str, ...] = tuple(map(str, range(n)))
        else:
            self.names = tuple(map(str, given))
            self._check_names(n, given)
        self._check_values(gaps)
        self.values.setflags(write=False)

    @cached_property
    def gaps(self) -> np.ndarray | None:
        """Which values are missing, (n, d); None where none is, here or elsewhere."""
        found = np.isnan(self.values)
        return found if self.elsewhere or found.any() else None

    @cached_property
    def filled(self) -> np.ndarray:
        """The values, each missing one replaced by the mean of its feature. It counts for nothing."""
        if self.gaps is None:
            return self.values
        there = ~self.gaps
        first = self.values[there.argmax(axis=0), np.arange(self.n_features)]
        first = np.where(there.any(axis=0), first, 0.0)
        away = np.where(there, self.values - first, 0.0)  # of a constant feature: exactly its value
        found = np.where(there, self.values, first + away.sum(axis=0) / np.maximum(there.sum(axis=0), 1))
        found.setflags(write=False)
        return found

    @property
    def n_samples(self) -> int:
        return int(self.values.shape[0])

    @property
    def original(self) -> Samples:
        """The samples as they were given, where these are copies of them (:mod:`certmix.problem.copies`)."""
        return self

    @cached_property
    def first(self) -> np.ndarray:
        """(n,), where each of the samples as they were given is."""
        return np.arange(self.n_samples)

    def ref(self, i: int) -> Row:
        """How a constraint speaks of the sample at a position, whatever names there are."""
        return Row(i, self.n_samples)

    def copies(self, rows: Iterable[int]) -> list[int]:
        """The positions of all copies of samples."""
        return list(rows)

    def expand(self, labels: np.ndarray) -> np.ndarray:
        """Labels of the copies from labels of the samples."""
        return np.asarray(labels)

    @property
    def n_features(self) -> int:
        return int(self.values.shape[1])

    @cached_property
    def constant(self) -> tuple[int, ...]:
        """The features that have one value only."""
        return tuple(np.flatnonzero(self.filled.min(axis=0) == self.filled.max(axis=0)).tolist())

    @cached_property
    def dominating(self) -> tuple[int, float] | None:
        """The feature that has nearly all of the variance, and its share; None when there is none."""
        variance = self.filled.var(axis=0)
        j = int(variance.argmax())
        share = float(variance[j] / variance.sum()) if variance[j] > 0 else 0.0
        return (j, share) if share > NEARLY_ALL and self.n_features > 1 + len(self.constant) else None

    def feature(self, j: int) -> str:
        """How to call column ``j`` in a message."""
        return f"column {self.columns[j]!r}" if self.columns else f"column {j}"

    def sample(self, i: int) -> str:
        """How to call sample ``i`` in a message."""
        return self.names[i] if self.named else f"sample {i}"

    @cached_property
    def _positions(self) -> dict[str, int]:
        """Position of every name; blanks around a name do not matter where this leaves no doubt."""
        exact = {name: i for i, name in enumerate(self.names)}
        trimmed: dict[str, int] = {}
        for i, name in enumerate(self.names):
            if name != name.strip():
                trimmed[name.strip()] = -1 if name.strip() in trimmed else i
        return {name: i for name, i in trimmed.items() if i >= 0} | exact

    def position(self, ref: Any) -> int:
        """The position of a sample given by name or position.

        A string is a name. A :class:`Row` is a position, always. A whole number is a position, unless the
        samples' own names are whole numbers. Anything else (a date, say) is looked up by the text that it prints as.
        """
        if isinstance(ref, Row):
            if ref.total != self.n_samples:
                raise InputError(f"the column has {ref.total} values, but there are {self.n_samples} samples")
            return int(ref)
        if _is_whole(ref):
            if self._integer_names and self.named:
                found = self._positions.get(str(ref))
            else:
                found = int(ref) if 0 <= ref < self.n_samples else None
            if found is None:
                raise InputError(f"there is no sample {int(ref)}; {self._known()}")
            return found
        found = self._positions.get(str(ref), self._positions.get(str(ref).strip()))
        if found is None:
            close = difflib.get_close_matches(str(ref), self.names[:20000], n=1) if self.named else []
            hint = f"; did you mean {close[0]!r}?" if close else f"; {self._known()}"
            raise InputError(f"there is no sample named {ref!r}{hint}")
        return found

    def _known(self) -> str:
        if self.named:
            return f"the {self.n_samples} samples are named {self.names[0]!r} … {self.names[-1]!r}"
        return f"the samples have no names, they are numbered 0 to {self.n_samples - 1}"

    def _check_names(self, n: int, given: list[Any]) -> None:
        if len(self.names) != n:
            raise InputError(f"{len(self.names)} sample names were given for {n} samples")
        for i, name in enumerate(given):
            if is_blank(name):
                raise InputError(f"the sample at position {i} has a blank name")
        if len(set(self.names)) < n:
            seen: dict[str, int] = {}
            for i, name in enumerate(self.names):
                if name in seen:
                    raise InputError(
                        f"the sample name {name!r} stands twice (positions {seen[name]} and {i}); names must "
                        f"differ: change them, or number the samples (frame.reset_index(drop=True))"
                    )
                seen[name] = i

    def _check_values(self, gaps: bool) -> None:
        y = self.values
        bad = np.argwhere(~np.isfinite(y) & ~(np.isnan(y) & gaps))
        if len(bad):
            i, j = bad[0]
            more = f" ({len(bad)} such values in all)" if len(bad) > 1 else ""
            keep = ", or keep it missing (missing='keep')" if np.isnan(y[i, j]) else ""
            raise InputError(
                f"{self.sample(i)}, {self.feature(j)}: the value is {y[i, j]}{more}; fill or drop it first{keep}"
            )
        if gaps:
            y[np.isnan(y)] = np.nan  # all alike, in their bits too
            if (empty := np.isnan(y).all(axis=1)).any():
                raise InputError(f"{self.sample(int(empty.argmax()))} has no value at all; drop it first")
            if not self.elsewhere and (empty := np.isnan(y).all(axis=0)).any():
                raise InputError(f"{self.feature(int(empty.argmax()))} has no value at all; leave it out")
        if np.nanmax(np.abs(y)) > LARGEST:
            i, j = np.argwhere(np.abs(y) > LARGEST)[0]
            raise InputError(
                f"{self.sample(i)}, {self.feature(j)}: the value is {y[i, j]:.3g}, beyond what can be squared; "
                "rescale the data first"
            )


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
