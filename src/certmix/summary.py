"""A result as a page of text, in the manner of statsmodels."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from certmix.status import Status

if TYPE_CHECKING:
    from certmix.result import Result

WIDTH = 78
_MOST_FEATURES = 5
_MOST_CONSTRAINTS = 20


def summary(result: Result) -> str:
    """Header block, components, side constraints, and one sentence that says what is proved."""
    what = "k-means" if result.quantity.squares else "Gaussian mixture"
    parts = [_title(f"Certified {what} clustering"), _header(result)]
    if result.labels is not None:
        parts += [_rule("="), *_components(result), *_variance(result)]
    if result.constraints:
        parts += [_rule("="), *_constraints(result)]
    parts += [_rule("="), textwrap.fill(result.sentence(), WIDTH)]
    if result.verification and result.certificate_level != "verified":
        words = f"{result.verification[0].upper()}{result.verification[1:]}"
        parts.append(textwrap.fill(f"{words.rstrip('.')}.", WIDTH))
    return "\n".join(parts)


def number(value: float, digits: int = 10) -> str:
    """A number for people; a dash where there is none."""
    return f"{value:.{digits}g}" if math.isfinite(value) else "-"


def percent(value: float) -> str:
    """A relative gap: a percentage, or in powers of ten when it is tiny."""
    if not math.isfinite(value):
        return "-"
    return f"{100 * value:.4g} %" if value >= 1e-5 or value == 0 else f"{value:.3g}"


def _title(text: str) -> str:
    return f"{text.center(WIDTH).rstrip()}\n{_rule('=')}"


def _rule(sign: str) -> str:
    return sign * WIDTH


def _header(result: Result) -> str:
    left = [
        ("Method:", result.engine),
        ("Samples:", _sample_count(result)),
        ("Features:", str(len(result.feature_names))),
        (f"{result.quantity.group.capitalize()}s:", _component_count(result)),
        ("Status:", str(result.status)),
        ("Termination:", str(result.termination)),
        ("Constraints:", _constraint_count(result)),
    ]
    quantity = result.quantity
    right = [
        (f"{quantity.name[0].upper()}{quantity.name[1:]}:", number(quantity.shown(result.objective))),
        ("Lower bound:", number(quantity.shown(result.lower_bound))),
        (
            f"Gap ({quantity.unit or 'absolute'}):",
            number(quantity.shown(result.gap_absolute), 4),
        ),
        ("Gap (relative):", percent(result.gap_relative)),
        ("Certificate:", result.certificate_level),
        ("Nodes:", str(result.nodes)),
        ("Seconds:", f"{result.seconds:.3g}"),
    ]
    half = (WIDTH - 4) // 2
    rows = [f"{_entry(*a, half)}    {_entry(*b, half)}" for a, b in zip(left, right, strict=True)]
    return "\n".join(rows)


def _entry(name: str, value: str, width: int) -> str:
    room = width - len(name) - 1
    return f"{name} {value if len(value) <= room else value[: room - 1] + '…':>{room}}"


def _sample_count(result: Result) -> str:
    weight, n = result.sample_weight, len(result.names)
    if weight is None:
        return str(n)
    return f"{n} (for {result.n_copies})" if weight.dtype.kind == "i" else f"{n} (weight {weight.sum():.6g})"


def _component_count(result: Result) -> str:
    return f"{result.n_clusters}{'' if result.noise is None else ' and noise'}"


def _constraint_count(result: Result) -> str:
    if result.labels is None:
        return "cannot be met" if result.status is Status.INFEASIBLE else "-"
    violated = sum(not c.satisfied and c.penalty is None for c in result.constraints)
    broken = sum(not c.satisfied for c in result.constraints) - violated
    said = [f"{violated} violated"] * bool(violated) + [f"{broken} broken for {result.penalty:.6g}"] * bool(
        broken
    )
    return f"{len(result.constraints)}" + (f" ({', '.join(said)})" if said else "")


def _components(result: Result) -> list[str]:
    assert result.sizes is not None
    assert result.means is not None
    assert result.weights is not None
    shown = min(len(result.feature_names), _MOST_FEATURES)
    squares = result.quantity.squares  # k-means has no weights
    own = [result.quantity.group, "size", *([] if squares else ["weight"])]
    header = [*own, *(f"mean {name}" if name in own else name for name in result.feature_names[:shown])]
    means = [[f"{x:.4g}" for x in mean[:shown]] for mean in result.means]
    means += [["-"] * shown] * (result.n_components - len(means))
    rows = [
        [name, str(size), *([] if squares else [f"{weight:.4f}"]), *mean]
        for name, size, weight, mean in zip(
            result.component_names, result.sizes, result.weights, means, strict=True
        )
    ]
    lines = table(header, rows)
    hidden = len(result.feature_names) - shown
    if hidden:
        lines.append(f"({hidden} more feature{'s' if hidden > 1 else ''}: see result.means)")
    return lines


def _variance(result: Result) -> list[str]:
    """The variance that was found, and for which known ones the clustering is optimal too."""
    if result.variance is None:
        return []
    if isinstance(result.variance, np.ndarray):
        each = ", ".join(
            f"{name} {number(float(v), 6)}"
            for name, v in zip(result.feature_names, result.variance, strict=True)
        )
        return [_rule("-"), textwrap.fill(f"Variances found with the clustering: {each}.", WIDTH)]
    said = f"Variance {number(result.variance, 8)}, found with the clustering."
    if result.variance_interval is not None:
        low, high = (number(v, 6) for v in result.variance_interval)
        upto = f"from {low} to {high}" if math.isfinite(result.variance_interval[1]) else f"from {low} on"
        if low != high:  # as far as they are printed
            said += f" At every variance {upto} the same clustering is optimal to within the same gap."
    return [_rule("-"), textwrap.fill(said, WIDTH)]


def _constraints(result: Result) -> list[str]:
    # Violated ones first: they are what a reader looks for.
    order = sorted(result.constraints, key=lambda c: (c.satisfied, -c.broken_at))
    lines = ["side constraints".ljust(WIDTH - 10) + "satisfied".rjust(10), _rule("-")]
    for item in order[:_MOST_CONSTRAINTS]:
        text = item.text + (f" ({item.source})" if item.source else "")
        text += "" if item.cost is None else f": costs {gain(result, item.cost, result.quantity.unit)}"
        wrapped = textwrap.wrap(text, WIDTH - 10) or [""]
        lines.append(
            wrapped[0].ljust(WIDTH - 10)
            + ("yes" if item.satisfied else "NO" if item.penalty is None else "broken").rjust(10)
        )
        lines += wrapped[1:]
    hidden = len(order) - _MOST_CONSTRAINTS
    if hidden > 0:
        worst = "" if order[_MOST_CONSTRAINTS].satisfied is False else ", all satisfied"
        lines.append(f"({hidden} more{worst}: see result.constraints)")
    return lines


def gain(result: Result, cost: tuple[float, float] | None, unit: str = "") -> str:
    """What dropping a constraint would gain; empty where that is not known."""
    if cost is None:
        return ""
    low, high = (result.quantity.shown(end) for end in cost)
    most, more = (f" to {high:.4g}", "") if math.isfinite(high) else ("", " or more")
    near = high - low <= 1e-3 * max(1.0, high)
    return f"{low:.4g}{'' if near else most} {unit}".rstrip() + more


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table: the first column to the left, the others to the right, each as wide as it must be."""
    cells = [header, *rows]
    widths = [max(len(row[j]) for row in cells) for j in range(len(header))]
    while sum(widths) + 2 * (len(widths) - 1) > WIDTH:
        widths[widths.index(max(widths))] -= 1  # the widest column gives way
    cells = [[_cut(cell, width) for cell, width in zip(row, widths, strict=True)] for row in cells]
    spare = (WIDTH - sum(widths)) // max(1, len(widths) - 1)
    widths = [widths[0], *(w + min(spare, 4) for w in widths[1:])]
    lines = [
        (
            row[0].ljust(widths[0])
            + "".join(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))
        )
        for row in cells
    ]
    return [lines[0], _rule("-"), *lines[1:]]


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
