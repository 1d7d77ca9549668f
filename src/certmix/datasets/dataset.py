"""A prepared data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from certmix.errors import InputError
from certmix.problem import Label, Problem, labels_from


@dataclass(frozen=True, eq=False)
class Frame:
    """As much of a DataFrame as a problem looks at: pandas is not imported for it."""

    values: np.ndarray
    columns: tuple[str, ...]
    index: tuple[Any, ...] | None = None

    def to_numpy(self) -> np.ndarray:
        return self.values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype)


@dataclass(frozen=True, eq=False, kw_only=True)
class Dataset:
    """Samples with the known covariance that goes with them.

    Attributes
    ----------
    name, description : str
    data : ndarray of shape (n, d)
    feature_names : tuple of d names
    n_components : int
        How many components the paper (or the generator) uses.
    names : tuple of n names, optional
    target : ndarray of n whole numbers, optional
        True class of every sample, as a position in ``target_names``; -1 where it is unknown.
    target_names : tuple of names, optional
    precision : ndarray of shape (d, d), optional
    variance : float, optional
        The known covariance; one of the two is given.
    explained_variance : float, optional
        Share of the variance that principal components kept.
    """

    name: str
    description: str
    data: np.ndarray
    feature_names: tuple[str, ...]
    n_components: int
    names: tuple[str, ...] | None = None
    target: np.ndarray | None = None
    target_names: tuple[str, ...] = ()
    precision: np.ndarray | None = None
    variance: float | None = None
    explained_variance: float | None = None

    def __post_init__(self) -> None:
        for field in ("data", "target", "precision"):
            array = getattr(self, field)
            if array is not None:
                array = np.array(array)
                array.setflags(write=False)
                object.__setattr__(self, field, array)

    @property
    def n_samples(self) -> int:
        return int(self.data.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.data.shape[1])

    @property
    def classes(self) -> list[str | None] | None:
        """Name of every sample's true class, None where it is unknown."""
        if self.target is None:
            return None
        return [None if t < 0 else self.target_names[t] for t in self.target]

    def labels(self) -> list[Label]:
        """The known classes as constraints, class k in component k."""
        if self.target is None:
            raise InputError(f"the classes of the data set {self.name!r} are not known")
        return labels_from((None if t < 0 else int(t) for t in self.target), name="known class")

    def problem(self, **overrides: Any) -> Problem:
        """The problem that goes with the data; ``overrides`` are arguments of :class:`certmix.Problem`."""
        arguments: dict[str, Any] = {"n_components": self.n_components}
        if not {"variance", "precision", "covariance"} & overrides.keys():
            arguments |= self.covariance()
        arguments |= overrides
        return Problem(self.frame(), arguments.pop("n_components"), **arguments)

    def covariance(self) -> dict[str, Any]:
        """The argument of a problem for the known covariance."""
        known = {"precision": self.precision, "variance": self.variance}
        return {what: value for what, value in known.items() if value is not None}

    def frame(self) -> Frame:
        """The data with the names of features and samples."""
        return Frame(self.data, tuple(map(str, self.feature_names)), self.names)

    def everything(self) -> dict[str, Any]:
        """Every column by its name, the known classes as ``target``: what constraints may refer to."""
        columns: dict[str, Any] = dict(zip(map(str, self.feature_names), self.data.T, strict=True))
        return columns if self.classes is None else {**columns, "target": self.classes}

    def __repr__(self) -> str:
        return f"Dataset({self.name!r}, {self.n_samples} samples x {self.n_features} features)"


def principal_scores(data: np.ndarray, dimension: int) -> tuple[np.ndarray, float]:
    """Scores of the centred data on the first principal components, and the share of the variance they keep.

    The sign of a component is chosen so that its largest loading is positive.
    """
    centred = data - data.mean(axis=0)
    _, singular, axes = np.linalg.svd(centred, full_matrices=False)
    axes = axes[:dimension]
    largest = np.abs(axes).argmax(axis=1)
    axes = axes * np.sign(axes[np.arange(dimension), largest])[:, None]
    return centred @ axes.T, float((singular[:dimension] ** 2).sum() / (singular**2).sum())


def checked_choice(value: Any, what: str, choices: Sequence[Any]) -> Any:
    """``value`` if it is one of the choices."""
    if value not in choices:
        raise InputError(f"{what} must be one of {', '.join(map(str, choices))}, not {value!r}")
    return value


def checked_number(value: Any, what: str, least: int) -> int:
    """``value`` if it is a whole number that is large enough."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{what} must be a whole number >= {least}, not {value!r}")
    return int(value)
