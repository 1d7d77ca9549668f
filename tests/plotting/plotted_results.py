"""Results to report on, made without a search."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from certmix.concluding import build_result
from certmix.ledger import Ledger
from certmix.problem import Label, MinimumSize, MustLink, Problem
from certmix.result import Result
from certmix.status import Termination, Tolerances

HOSTILE = (
    "<script>window.evil = 1</script>",
    "</script><img src=x onerror='window.evil = 2'>",
    "\"'><svg onload=window.evil=3>",
    "]]>--><!--",
    "\u202edlrow",
    "$body ${data} {{x}}",
)


def solved(n: int = 60, d: int = 3, K: int = 2, *, names: tuple[str, ...] = (), rules: bool = True) -> Result:
    """Separate groups and one sample half-way between two of them; hostile names where names are given."""
    rng = np.random.default_rng(3)
    labels = np.arange(n) % K
    data = rng.normal(size=(n, d)) + 6.0 * labels[:, None]
    data[1] = 3.1
    named = [*names, *(f"S{i}" for i in range(len(names), n))]
    columns = [f"gene {j}" for j in range(d)]
    if names:
        columns[0] = names[0]
    import pandas as pd

    constraints = [MustLink(0, K), MinimumSize(n // K), Label(0, 0)] if rules else []
    problem = Problem(
        pd.DataFrame(data, columns=columns, index=named), K, variance=1.0, constraints=constraints
    )
    ledger = Ledger(problem, Tolerances())
    ledger.offer(np.roll(labels, K), "start") if not rules else None
    ledger.offer(labels, "hard-em")
    ledger.raise_bound(ledger.upper - 0.5)
    result = build_result(
        problem, ledger, engine="test", termination=Termination.TIME, certificate_level="computed"
    )
    trace = tuple(
        replace(point, seconds=0.1 * i) for i, point in enumerate(result.trace)
    )  # not how busy we are
    return replace(result, seconds=1.0, trace=trace, command="certmix solve 'my data.csv' -k 2")


def alternatives_document(result: Result) -> dict[str, Any]:
    """What certmix alternatives writes: the second sample moves, or the second and the third."""
    assert result.labels is not None
    clusterings = []
    for count, extra in enumerate((0.0, 0.25, 1.5)):
        labels, moved = result.labels.tolist(), range(1, 1 + count)
        for i in moved:
            labels[i] = (labels[i] + 1) % result.n_components
        clusterings.append({"objective": result.objective + extra, "extra": extra, "labels": labels})
    return {"within": 2.0, "objective": result.objective, "complete": True, "clusterings": clusterings}


def margins_document(result: Result) -> dict[str, Any]:
    """What certmix stability writes: the second sample is open, the third undecided, all others are fixed."""
    assert result.labels is not None
    samples = []
    for i, (name, label) in enumerate(zip(result.names, result.labels.tolist(), strict=True)):
        state = {1: "open", 2: "undecided"}.get(i, "fixed")
        low, high = {"open": (0.25, 0.25), "undecided": (0.5, 3.0)}.get(state, (2.5, 4.0))
        other = (label + 1) % result.n_components
        samples.append(
            {
                "name": name,
                "component": label,
                "representative": result.names[label],
                "state": state,
                "margin_lower": low,
                "margin_upper": high,
                "goes_to": other,
            }
        )
    return {"within": 2.0, "objective": result.objective, "samples": samples}
