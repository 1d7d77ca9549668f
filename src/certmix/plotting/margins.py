"""Margins of the samples, as ``stability.json`` tells them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from certmix.errors import InputError
from certmix.plotting.documents import understood

if TYPE_CHECKING:
    from certmix.result import Result

STABILITY = "stability.json"


@dataclass(frozen=True)
class Margins:
    """What is known of every sample: the extra cost of a clustering that parts it from its cluster.

    Attributes
    ----------
    within : how much more clusterings may cost that were compared, in nats or sums of squares
    states : ``fixed``, ``open`` or ``undecided`` for every sample
    lower, upper : ndarrays of shape (n,); infinite where there is no upper end
    goes_to : the component that each would go to, empty where it is not known
    """

    within: float
    states: tuple[str, ...]
    lower: np.ndarray
    upper: np.ndarray
    goes_to: tuple[str, ...]

    @property
    def most(self) -> float:
        """Where a picture cuts margins off."""
        return 2.0 * self.within if self.within > 0.0 else float(self.known_upper.max(initial=0.0)) or 1.0

    @property
    def known_upper(self) -> np.ndarray:
        """The upper ends, or the lower ones where there is no upper end."""
        return np.where(np.isfinite(self.upper), self.upper, self.lower)


def margins_of(result: Result, stability: Any) -> Margins:
    """The margins of a result's samples.

    Parameters
    ----------
    stability : mapping, path of a JSON file, or an object with ``to_dict``
    """
    return understood(stability, "the stability", lambda document: _margins(result, document))


def _margins(result: Result, document: Mapping[str, Any]) -> Margins:
    rows = document["samples"]
    if [str(row["name"]) for row in rows] != list(result.names):
        raise InputError("its samples are not those of the result")
    assert result.labels is not None
    names = result.component_names
    said = [_component(row["component"], names) for row in rows]
    if said != [names[k] for k in result.labels.tolist()]:
        raise InputError("it is about another clustering than the result")
    return Margins(
        float(document["within"]),
        tuple(str(row["state"]) for row in rows),
        np.array([_number(row["margin_lower"], 0.0) for row in rows]),
        np.array([_number(row["margin_upper"], math.inf) for row in rows]),
        tuple(_component(row.get("goes_to"), names) for row in rows),
    )


def _component(value: Any, names: tuple[str, ...]) -> str:
    """A component by name or position."""
    if value is None:
        return ""
    return names[value] if type(value) is int and 0 <= value < len(names) else str(value)


def _number(value: Any, missing: float) -> float:
    return missing if value is None else float(value)
