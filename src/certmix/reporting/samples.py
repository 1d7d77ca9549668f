"""The samples as a report shows them: all that there is to say of each, and who is uncertain."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from certmix.errors import InputError
from certmix.plotting.margins import Margins
from certmix.plotting.plane import Plane, plane
from certmix.plotting.silhouette import silhouettes
from certmix.reporting.shapes import SHAPES
from certmix.result import Result

MOST_POINTS = 20_000
SURE = 0.95
LEAST_ROWS, MOST_ROWS = 10, 500


@dataclass(frozen=True)
class Shown:
    """A result with a clustering, its samples and, where they are known, its margins."""

    result: Result
    margins: Margins | None = None
    data: Any = None

    @cached_property
    def samples(self) -> np.ndarray | None:
        """The samples as they were clustered; None where they were not kept."""
        return self.result.data if self.data is None else np.asarray(self.data, dtype=float)

    @cached_property
    def plane(self) -> Plane | None:
        """Where the samples lie; None where they were not kept."""
        try:
            return plane(self.result, data=self.data)
        except InputError:
            return None

    @cached_property
    def silhouettes(self) -> np.ndarray | None:
        try:
            return silhouettes(self.result, data=self.data)
        except InputError:
            return None

    @cached_property
    def doubt(self) -> np.ndarray:
        """The larger, the less certain: samples that may change before those that are fixed, then by posterior."""
        posterior = np.asarray(self.result.posterior)
        if self.margins is None:
            return 1.0 - posterior
        rank = {"open": 2.0, "undecided": 1.0}
        return np.array([rank.get(state, 0.0) for state in self.margins.states]) + (1.0 - posterior)

    @cached_property
    def uncertain(self) -> np.ndarray:
        """Whether a sample is open or undecided, or has a posterior below 0.95."""
        return self.doubt > 1.0 - SURE

    @cached_property
    def rows(self) -> np.ndarray:
        """The samples of the table, least certain first."""
        most = int(np.clip(np.count_nonzero(self.uncertain), LEAST_ROWS, MOST_ROWS))
        order = np.argsort(-self.doubt, kind="stable")
        if self.margins is not None:
            order = np.lexsort((self.margins.known_upper, -np.floor(self.doubt)))
        return np.asarray(order[:most])

    @cached_property
    def drawn(self) -> np.ndarray:
        """The samples of the plane: all, or the least certain ones and a random choice of the others."""
        n = len(self.result.names)
        if n <= MOST_POINTS:
            return np.arange(n)
        first = np.argsort(-self.doubt, kind="stable")[: MOST_POINTS // 2]
        others = np.setdiff1d(np.arange(n), first)
        chosen = np.random.default_rng(0).choice(others, MOST_POINTS - len(first), replace=False)
        return np.sort(np.concatenate([first, chosen]))

    def other(self, i: int) -> str:
        """The component that a sample would go to; empty where there is none."""
        own = self.result.component_names[int(np.asarray(self.result.labels)[i])]
        if self.margins is not None and self.margins.goes_to[i] not in ("", own):
            return self.margins.goes_to[i]  # where it stays, its representative goes
        k = -1 if self.result.runner_up is None else int(self.result.runner_up[i])
        return self.result.component_names[k] if k >= 0 else ""

    def margin(self, i: int) -> str:
        """The margin of a sample in words; empty where it is not known."""
        if self.margins is None:
            return ""
        low, high = float(self.margins.lower[i]), float(self.margins.upper[i])
        if not np.isfinite(high):
            return f"at least {low:.3g}"
        return f"{low:.3g}" if high - low <= 5e-4 * max(1.0, abs(high)) else f"{low:.3g} to {high:.3g}"


def payload(shown: Shown) -> dict[str, Any]:
    """What the script of the page draws."""
    result, where = shown.result, shown.plane
    if where is None:
        return {"samples": None}
    rows = shown.drawn
    assert result.labels is not None
    assert result.posterior is not None
    margins = shown.margins
    return {
        "shapes": list(SHAPES),
        "components": list(result.component_names),
        "axes": list(where.names),
        "unit": result.quantity.unit,
        "means": _rounded(where.means, where),
        "samples": {
            "at": _rounded(where.points[rows], where),
            "row": rows.tolist(),
            "name": [result.names[i] for i in rows],
            "label": np.asarray(result.positions)[rows].tolist(),
            "posterior": [float(f"{p:.4g}") for p in result.posterior[rows]],
            "fixed": [] if result.fixed is None else np.flatnonzero(result.fixed[rows]).tolist(),
            "uncertain": np.flatnonzero(shown.uncertain[rows]).tolist(),
            "other": [shown.other(i) for i in rows],
            "margin": [] if margins is None else [shown.margin(i) for i in rows],
            "state": [] if margins is None else [margins.states[i] for i in rows],
        },
    }


def _rounded(points: np.ndarray, where: Plane) -> list[list[float]]:
    """Coordinates to less than a ten-thousandth of the extent of their axis, which is less than a pixel."""
    columns = []
    for values, all_values in zip(points.T, where.points.T, strict=True):
        extent = float(np.ptp(all_values)) or 1.0
        columns.append(np.round(values, int(5 - np.floor(np.log10(extent)))))
    return np.column_stack(columns).tolist()
