"""The sections of a report that are about the run: what was asked, what is proved, and how to check it."""

from __future__ import annotations

import math
import shlex

import numpy as np

from certmix.reporting.charts import convergence
from certmix.reporting.markup import Markup, own_words, tag
from certmix.reporting.sections import note, section
from certmix.reporting.tables import pairs, table
from certmix.result import Result
from certmix.status import Status
from certmix.summary import gain, number, percent


def headline(result: Result) -> Markup:
    """The sentence of the proof and the figures behind it."""
    kind, word = {
        Status.OPTIMAL: ("good", "proved optimal"),
        Status.INFEASIBLE: ("bad", "infeasible"),
        Status.FEASIBLE: ("fair", "not proved optimal"),
    }.get(result.status, ("bad", "nothing found"))
    if result.status is Status.FEASIBLE and not math.isfinite(result.lower_bound):
        word = "nothing proved"
    quantity = result.quantity
    figures = [
        (quantity.name, number(quantity.shown(result.objective))),
        ("lower bound", number(quantity.shown(result.lower_bound))),
        (f"gap ({quantity.unit or 'absolute'})", number(quantity.shown(result.gap_absolute), 4)),
        ("gap (relative)", percent(result.gap_relative)),
        ("certificate", result.certificate_level),
    ]
    return tag(
        "header",
        tag("p", "certmix report", class_="kind"),
        tag("h1", own_words(_title(result))),
        tag("p", tag("strong", word, class_=f"badge {kind}"), " ", result.sentence(), class_="sentence"),
        tag(
            "div",
            [tag("div", tag("span", name), tag("b", value)) for name, value in figures],
            class_="figures",
        ),
        tag("p", _meaning(result), class_="note"),
    )


def _title(result: Result) -> str:
    words = shlex.split(result.command) if result.command else []
    one = result.quantity.group
    size = f"{len(result.names)} samples in {result.n_clusters} {one}{'s' * (result.n_clusters != 1)}"
    size += "" if result.noise is None else " and noise"
    return f"{words[2]}: {size}" if len(words) > 2 else size


def _meaning(result: Result) -> str:
    """What the level of the certificate means."""
    level = result.certificate_level
    if level == "verified":
        return "The proof was checked by a program of its own that trusts nothing of the search."
    if level == "computed":
        return "The bound was proved by certmix; the proof was not checked by another program."
    if level.startswith("attested"):
        return "The bound is taken from another solver on trust."
    return "Nothing is proved: this is the best clustering that was found."


def asked(result: Result) -> Markup:
    """What was asked: the problem, and how its data were prepared."""
    entries: list[tuple[str, Markup | str]] = list(result.model.items())
    if not entries:
        entries = [("samples", str(len(result.names))), ("features", str(len(result.feature_names)))]
        entries.append(("components", str(result.n_components)))
    if result.transform is not None:
        done = ["standardized"] if result.transform.standardized else []
        if result.transform.components is not None:
            kept = len(result.transform.components)
            done.append(
                f"first {kept} principal components ({result.transform.explained:.1%} of the variance)"
            )
        entries.append(("preparation", ", ".join(done) or "centred"))
    gap = f"{result.tolerances.relative:g} relative"
    if result.tolerances.absolute:
        gap += " or " + result.quantity.with_unit(f"{result.quantity.shown(result.tolerances.absolute):g}")
    entries.append(("gap asked for", gap))
    return section("What was asked", pairs(entries), anchor="asked")


def found(result: Result) -> Markup:
    """What was found, in figures."""
    entries: list[tuple[str, Markup | str]] = [
        ("status", str(result.status)),
        ("why it stopped", str(result.termination)),
        ("engine", result.engine),
        ("found by", result.source or "-"),
        ("nodes", f"{result.nodes:,}"),
        ("time", result.account()),
    ]
    if result.variance is not None:
        each = np.atleast_1d(result.variance).tolist()
        entries.append(("variance found", ", ".join(number(v, 8) for v in each)))
    if result.variance_interval is not None:
        low, high = (number(v, 6) for v in result.variance_interval)
        entries.append(("optimal at variances", f"from {low} to {high}" if high != "-" else f"from {low} on"))
    if result.message:
        entries.append(("message", result.message))
    return section("What was found", pairs(entries), anchor="found")


def progress(result: Result) -> Markup | None:
    """Incumbent and bound over time."""
    drawn = convergence(result)
    if drawn is None:
        return None
    return section(
        "Convergence",
        drawn,
        note(
            tag("span", "best clustering", class_="sample incumbent"),
            tag("span", "lower bound", class_="sample bound"),
            f"{result.quantity.words} against seconds of the search. No clustering lies below the bound.",
        ),
        anchor="convergence",
    )


def constraints(result: Result) -> Markup | None:
    """Side constraints, the tight ones first."""
    if not result.constraints:
        return None
    order = sorted(result.constraints, key=lambda c: (c.satisfied, c.tight is not True))
    shown = order[:MOST_CONSTRAINTS]
    tight, broken = sum(c.tight is True for c in order), sum(not c.satisfied for c in order)
    costs, sources = any(c.cost is not None for c in order), any(c.source for c in order)
    rows = [
        [
            own_words(c.text),
            *([own_words(c.source)] if sources else []),
            "yes"
            if c.satisfied
            else tag("strong", "no" if c.penalty is None else "broken", class_="badge bad"),
            "" if c.tight is None or not c.satisfied else "tight" if c.tight else "slack",
            own_words(c.room if c.satisfied else ""),
            *([gain(result, c.cost)] if costs else []),
        ]
        for c in shown
    ]
    words = f"{len(order)} side constraint{'s' if len(order) > 1 else ''}, {tight} of them tight"
    words += f", {broken} broken." if broken else "."
    if len(shown) < len(order):
        words += f" The first {len(shown)} are listed; result.json has all."
    head = ["constraint", *(["from"] if sources else []), "met", "", "how tight"]
    head += ["what it costs"] if costs else []
    explained = (
        "A limit is tight when it is reached; any other constraint when a sample that it speaks of would be elsewhere "
        "on its own, at the means and weights found."
        + (" What it costs: how much better the optimum is without it." if costs else "")
    )
    return section(
        "Side constraints",
        note(words),
        table(head, rows, class_="words"),
        note(explained),
        anchor="constraints",
    )


MOST_CONSTRAINTS = 300


def proof(result: Result) -> Markup:
    """The certificate, and how to verify it."""
    entries: list[tuple[str, Markup | str]] = [("level", result.certificate_level)]
    if result.verification:
        entries.append(("proof", result.verification))
    if result.certificate is None:
        how = note("There is no certificate here. Of a proved result certmix solve --out DIR writes one.")
    else:
        document = result.certificate.document
        entries.append(("claim", str(document.get("claim", ""))))
        entries.append(("made by", str(document.get("made_by", ""))))
        digests = document.get("digests")
        for name, value in digests.items() if isinstance(digests, dict) else ():
            entries.append((f"digest of the {name}", tag("code", str(value))))
        how = tag(
            "div",
            note(
                "certmix solve with --out DIR writes certificate.json and certificate.npz. With them and the data:"
            ),
            tag("pre", tag("code", _verify(result, str(document.get("options", ""))))),
            note(
                "The checker is plain NumPy and uses nothing of the search. It needs no trust in this page: "
                "it reads the data and the certificate, and says what is proved."
            ),
        )
    return section("Certificate", pairs(entries), how, anchor="certificate")


def _verify(result: Result, options: str) -> str:
    words = shlex.split(result.command) if result.command else []
    data = shlex.quote(words[2]) if len(words) > 2 else "DATA"
    return " ".join(filter(None, ("certmix verify DIR", data, options)))


def origin(result: Result) -> Markup:
    """The command that repeats the run, and versions."""
    again = (
        tag("pre", tag("code", result.command))
        if result.command
        else note("The run was started from Python; its options are above.")
    )
    named = ", ".join(f"{name} {version}" for name, version in result.versions.items()) or "not recorded"
    return section(
        "Repeat it",
        again,
        note("In a folder that holds the files it names.") if result.command else None,
        pairs([("versions", named)]),
        anchor="repeat",
    )
