"""The sections of a report that are about the clustering."""

from __future__ import annotations

import numpy as np

from certmix.plotting.means import HeatMap, heat_map
from certmix.reporting.charts import profile, ticks
from certmix.reporting.markup import Markup, joined, own_words, tag
from certmix.reporting.samples import LEAST_ROWS, MOST_ROWS, Shown
from certmix.reporting.shapes import colour_class, glyph
from certmix.reporting.tables import sortable, table
from certmix.result import Result

STATES = ("fixed", "open", "undecided")


def section(title: str, *children: Markup | str | None, anchor: str) -> Markup:
    return tag("section", tag("h2", title), *children, id=anchor)


def note(*words: Markup | str) -> Markup:
    return tag("p", *words, class_="note")


def component(shown: Shown, k: int) -> Markup:
    """The name of a component with its mark."""
    return joined(glyph(k), own_words(shown.result.component_names[k]))


def _other(shown: Shown, i: int) -> Markup:
    name = shown.other(i)
    names = shown.result.component_names
    return component(shown, names.index(name)) if name in names else own_words(name)


def clusters(shown: Shown) -> Markup:
    """Samples in the plane; the script draws them."""
    result, where = shown.result, shown.plane
    if where is None:
        return section(
            "Clusters",
            note("The samples were not kept with the result, so there is no picture of them."),
            anchor="clusters",
        )
    legend = [
        tag("button", component(shown, k), type="button", class_="key", data_component=k, aria_pressed="true")
        for k in range(result.n_components)
    ]
    axes = "Each mark is a sample."
    if where.principal:
        units = "" if result.quantity.squares else ", in units of the covariance"
        axes = f"Principal components of the samples{units}."
    few = len(shown.drawn) < len(result.names)
    thinned = (
        f" {len(shown.drawn):,} of {len(result.names):,} samples are drawn: the least certain, and a random choice."
        if few
        else ""
    )
    return section(
        "Clusters",
        tag(
            "div",
            tag("div", legend, class_="legend", role="group", aria_label="Components to show"),
            tag("label", "Find ", tag("input", type="search", id="find", placeholder="name of a sample")),
            tag("span", "", id="matches", role="status"),
            class_="controls",
        ),
        tag(
            "div",
            tag("canvas", id="plane", aria_label="Samples in two dimensions, by component", role="img"),
            tag("canvas", id="marks", aria_hidden="true"),
            tag("div", "", id="tip", role="status", hidden=True),
            class_="plane",
        ),
        tag("noscript", note("The picture needs JavaScript.")),
        note(axes, " Rings: uncertain samples. Crosses: means. Point at a sample to see more.", thinned),
        anchor="clusters",
    )


def components(shown: Shown) -> Markup:
    """Sizes and weights."""
    result = shown.result
    assert result.sizes is not None
    assert result.weights is not None
    assert result.positions is not None
    most = max(1, int(result.sizes.max()))
    weighted = not result.quantity.squares  # k-means has no weights
    head = ["component", "samples", "", *(["weight"] if weighted else []), "uncertain"]
    if shown.silhouettes is not None:
        head.append("mean silhouette")
    if shown.margins is not None:
        head.append("smallest margin")
    rows = []
    for k in range(result.n_components):
        own = result.positions == k
        bar = tag("i", class_=colour_class(k), style=f"width:{result.sizes[k] / most:.2%}")
        row: list[Markup | str] = [
            component(shown, k),
            str(result.sizes[k]),
            tag("div", bar, class_="size", title=f"{result.sizes[k] / len(own):.1%} of the samples"),
            *([f"{result.weights[k]:.4f}"] if weighted else []),
            str(np.count_nonzero(shown.uncertain[own])),
        ]
        if shown.silhouettes is not None:
            row.append(f"{shown.silhouettes[own].mean():.3f}" if own.any() else "")
        if shown.margins is not None:
            row.append(_least(shown, own))
        rows.append(row)
    return section("Components", table(head, rows), anchor="components")


def _least(shown: Shown, own: np.ndarray) -> str:
    """The smallest margin in a component."""
    assert shown.margins is not None
    rows = np.flatnonzero(own)
    return shown.margin(int(rows[shown.margins.known_upper[rows].argmin()])) if len(rows) else ""


def means(shown: Shown) -> Markup:
    """Means as a heat map, in the coordinates that were clustered and, if they differ, in those of the file."""
    result = shown.result
    assert result.means is not None
    samples = shown.samples
    parts = [_heat(shown, heat_map(result.feature_names, result.means, samples))]
    if result.transform is not None:
        original = result.transform.invert(result.means)
        parts += [
            tag("h3", "In the units of the file"),
            _heat(shown, heat_map(result.transform.columns, original)),
        ]
    words = (
        "Colour: how many standard deviations of the feature a mean lies above (orange) or below (blue) the mean of "
        "all samples."
        if samples is not None
        else "Colour: where a mean lies among the means of the feature, orange above and blue below."
    )
    return section("Means", *parts, note(words), anchor="means")


def _heat(shown: Shown, found: HeatMap) -> Markup:
    count = len(found.values)
    head = ["feature", *(component(shown, k) for k in range(count))]
    rows = [
        tag(
            "tr",
            tag("th", own_words(name), scope="row"),
            [_cell(found.values[k, j], found.strength[k, j]) for k in range(count)],
        )
        for j, name in enumerate(found.names)
    ]
    left = found.left_out
    more = (
        note(f"{left} more features, on which the means differ less, are in parameters.csv.")
        if left
        else None
    )
    return joined(table(head, rows, class_="heat"), more)


def _cell(value: float, strength: float) -> Markup:
    side = "warm" if strength > 0 else "cool"
    share = min(1.0, abs(float(strength)) / 2.0) * 75.0
    return tag(
        "td",
        f"{value:.4g}",
        style=f"--share:{share:.0f}%",
        class_=side,
        title=f"{strength:+.2f} standard deviations",
    )


def _counted(result: Result) -> str:
    """What margins are counted in."""
    return "sums of squares" if result.quantity.squares else result.quantity.unit


def certainty(shown: Shown) -> Markup | None:
    """Margins of the samples of every component, or silhouettes."""
    result, margins = shown.result, shown.margins
    assert result.positions is not None
    if margins is not None:
        low, high, most = margins.lower, margins.known_upper, margins.most
        limits, title = (0.0, most), "Margins"
        counts = ", ".join(f"{sum(s == name for s in margins.states)} {name}" for name in STATES)
        words = (
            f"The margin of a sample is the least extra cost, in {_counted(result)}, of a clustering that parts it "
            "from its cluster. "
            f"A sample is fixed when that is proved to be more than {margins.within:g}, and open when a clustering "
            f"within it is known: {counts}. Bars are cut off at {most:g}; the pale part is not settled."
        )
    elif shown.silhouettes is not None:
        low = high = shown.silhouettes
        limits, title = (min(0.0, float(low.min())), 1.0), "Silhouettes"
        words = (
            "1 at the mean of its own component, 0 half-way to the nearest other one, negative beyond: "
            "(b - a) / max(a, b) with the distances a and b to these means"
        )
        words += "." if result.quantity.squares else ", in the metric of the covariance."
    else:
        return None
    strips = []
    for k in range(result.n_components):
        own = result.positions == k
        if not own.any():
            continue
        height = 1.2 + 8.0 * float(own.mean())
        strips.append(
            tag(
                "div",
                tag("div", component(shown, k), class_="name"),
                tag(
                    "div",
                    profile(low[own], high[own], limits),
                    class_=f"strip {colour_class(k)}",
                    style=f"height:{height:.2f}rem",
                ),
                class_="profile",
            )
        )
    span = limits[1] - limits[0]
    marks = [tag("span", f"{v:g}", style=f"left:{(v - limits[0]) / span:.2%}") for v in ticks(*limits)]
    strips.append(
        tag("div", tag("div", class_="name"), tag("div", marks, class_="across"), class_="profile axis")
    )
    return section(title, tag("div", strips, class_="profiles"), note(words), anchor="certainty")


def uncertain(shown: Shown) -> Markup:
    """The least certain samples in a table that can be sorted."""
    result, margins = shown.result, shown.margins
    assert result.positions is not None
    assert result.posterior is not None
    count = int(np.count_nonzero(shown.uncertain))
    head = [("sample", "text"), ("component", "text"), ("would go to", "text"), ("posterior", "number")]
    if margins is not None:
        head += [(f"margin ({_counted(result)})", "number"), ("state", "text")]
    if shown.silhouettes is not None:
        head.append(("silhouette", "number"))
    rows, positions = [], result.positions
    for i in shown.rows.tolist():
        cells: list[tuple[Markup | str, object]] = [
            (own_words(result.names[i]), result.names[i]),
            (component(shown, int(positions[i])), result.component_names[positions[i]]),
            (_other(shown, i), shown.other(i)),
            (f"{result.posterior[i]:.4f}", float(result.posterior[i])),
        ]
        if margins is not None:
            cells += [
                (shown.margin(i), float(margins.known_upper[i])),
                (margins.states[i], margins.states[i]),
            ]
        if shown.silhouettes is not None:
            cells.append((f"{shown.silhouettes[i]:.3f}", float(shown.silhouettes[i])))
        rows.append((i, cells))
    kind = (
        "open, undecided or with a posterior below 0.95"
        if margins is not None
        else "with a posterior below 0.95"
    )
    words = f"{count} of {len(result.names)} samples are {kind}."
    if count < LEAST_ROWS:
        words += f" The {len(rows)} least certain are listed."
    if count > MOST_ROWS:
        words += f" The {MOST_ROWS} least certain are listed; assignments.csv has all."
    return section(
        "Uncertain samples",
        note(words),
        sortable(head, rows, caption="Least certain samples"),
        anchor="uncertain",
    )
