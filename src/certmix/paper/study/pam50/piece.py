"""The breast cancer experiment as a piece of the study."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from certmix.paper.study import metrics, paper
from certmix.paper.study.alignment import aligned
from certmix.paper.study.cells import Cell, Record
from certmix.paper.study.pam50 import assignment, gaps
from certmix.paper.study.pam50.classifier import centroids_of, classified, median_centred
from certmix.paper.study.pam50.data import Expression, read
from certmix.paper.study.pam50.profiles import Profiles
from certmix.paper.study.runs import engine_cell, gap_words
from certmix.paper.study.section import Block, Bullets, Figure, Heading, Section, Text
from certmix.paper.study.settings import Settings
from certmix.paper.study.tables import percent, seconds
from certmix.problem import Problem

ENGINES = ("auto", "miqp")
OURS, FREE, MIQP = "certmix", "certmix without labels", "MIQP (SCIP)"
PUBLISHED, OWN = "PAM, published centroids", "PAM, centroids of the known"


class Pam50:
    """PAM50, with and without the known labels, beside the PAM classifier."""

    name = "pam50"

    def cells(self, settings: Settings) -> list[Cell]:
        expression = _read(settings)
        return [
            _cell(expression, engine, labels, settings)
            for engine in ENGINES
            for labels in (gaps.WITH, gaps.WITHOUT)
        ]

    def section(self, settings: Settings, records: Mapping[str, Record]) -> Section:
        expression = _read(settings)
        runs = {
            (engine, labels): records[_cell(expression, engine, labels, settings).key]
            for engine in ENGINES
            for labels in (gaps.WITH, gaps.WITHOUT)
        }
        title = "PAM50: certified clustering of breast cancer samples"
        assignments = _assignments(expression, runs)
        if OURS not in assignments:
            words = "Within the time limit certmix found no clustering, so there is nothing to compare."
            return Section(
                self.name, title, [Text(_preparation(expression)), Text(words), gaps.gap_table(runs)]
            )
        pam = assignments[PUBLISHED] if PUBLISHED in assignments else assignments[OWN]
        ours = runs["auto", gaps.WITH]
        profiles = _profiles(expression, pam, ours)
        apart = assignment.differing(pam, assignments[OURS])
        blocks: list[Block] = [
            Text(_preparation(expression)),
            Heading("Gap against time"),
            Text(_gap_words(runs)),
            Figure(
                "pam50-gap",
                "Relative gap against seconds, with the known labels (solid) and without (dashed).",
                lambda: gaps.draw(runs, settings.time_limit),
            ),
            gaps.gap_table(runs),
            Heading("Figure 2: assignments"),
            Figure(
                "pam50-assignments",
                "Subtypes by method. Samples are in the order of their known subtype, the others in that of certmix's.",
                lambda: assignment.draw_bars(
                    expression, {assignment.KNOWN: expression.target, **assignments}, OURS
                ),
            ),
            assignment.agreement_table(expression, assignments),
            Bullets(_agreement_words(expression, assignments, pam)),
            Heading("Samples that PAM and certmix assign differently"),
            Text(_differing_words(expression, pam, assignments[OURS])),
            assignment.differing_table(expression, pam, assignments[OURS], np.array(ours["posterior"])),
            Heading("Figure 3 and the supplement: expression profiles"),
            *_profile_blocks(expression, profiles, apart, settings),
        ]
        return Section(self.name, title, blocks)


def _read(settings: Settings) -> Expression:
    assert settings.pam50 is not None
    return read(settings.pam50)


def _cell(expression: Expression, engine: str, labels: str, settings: Settings) -> Cell:
    def problem() -> Problem:
        constraints = expression.reduced.labels() if labels == gaps.WITH else []
        return expression.reduced.problem(constraints=constraints)

    data = {"name": expression.reduced.name, "digest": expression.digest}
    return engine_cell(data, engine, settings, problem=problem, variant=labels, verify=engine == "auto")


def _assignments(expression: Expression, runs: Mapping[tuple[str, str], Record]) -> dict[str, np.ndarray]:
    """Subtype of every sample by every method that has one."""
    centred = median_centred(expression.matrix)
    K, target = len(expression.subtypes), expression.target
    found: dict[str, np.ndarray] = {}
    if expression.centroids is not None:
        found[PUBLISHED] = classified(centred, expression.centroids)
    found[OWN] = classified(centred, centroids_of(centred, target, K))
    for name, key in (
        (OURS, ("auto", gaps.WITH)),
        (FREE, ("auto", gaps.WITHOUT)),
        (MIQP, ("miqp", gaps.WITH)),
    ):
        if runs[key]["labels"] is not None:
            labels = np.array(runs[key]["labels"])
            # with the known labels component k is subtype k; without them it has to be found out
            found[name] = aligned(labels, target, K)[labels] if name == FREE else labels
    return found


def _profiles(expression: Expression, pam: np.ndarray, ours: Record) -> Profiles:
    centred = median_centred(expression.matrix)
    averages = centroids_of(centred, expression.target, len(expression.subtypes))
    return Profiles(expression, centred, averages, pam, np.array(ours["labels"]), np.array(ours["runner_up"]))


# -- words -------------------------------------------------------------------------------------------------------
def _preparation(expression: Expression) -> str:
    known = expression.known
    explained = expression.reduced.explained_variance or 0.0
    text = (
        f"{len(known)} samples ({paper.printed('pam50/samples')} in the paper), {len(expression.genes)} genes "
        f"({paper.printed('pam50/genes')}), {known.sum()} of known subtype ({paper.printed('pam50/known')}), "
        f"{percent(expression.missing, 2)} of the values missing ({paper.printed('pam50/missing')} %). Missing values "
        "become 0, genes are standardised, and the first four principal components keep "
        f"{percent(explained)} of the variance ({paper.printed('pam50/explained')} %); each is scaled to unit "
        "variance. The precision is the average of those of the known subtypes. PAM gets the 50 genes themselves, "
        "each minus its median, and leaves missing values out."
    )
    if expression.centroids is None:
        text += " The file with the published centroids is not beside the matrix, so PAM has only its own."
    return text


def _gap_words(runs: Mapping[tuple[str, str], Record]) -> str:
    ours, free = runs["auto", gaps.WITH], runs["auto", gaps.WITHOUT]
    text = (
        f"certmix has a gap of {gap_words(ours['gap_relative'])} after {seconds(ours['seconds'])} s with the labels "
        f"and of {gap_words(free['gap_relative'])} after {seconds(free['seconds'])} s without them, where the paper "
        f"has {paper.printed('pam50/gap-with-labels')} % and {paper.printed('pam50/gap-without-labels')} %."
    )
    if ours["seconds"] < free["seconds"]:
        text += " As in the paper, the labels make the problem easier."
    return text


def _agreement_words(
    expression: Expression, assignments: Mapping[str, np.ndarray], pam: np.ndarray
) -> list[str]:
    known, target = expression.known, expression.target
    ours = assignments[OURS]
    hits = {name: metrics.accuracy(labels, target) for name, labels in assignments.items()}
    which = PUBLISHED if PUBLISHED in assignments else OWN
    words = [
        f"Accuracy on the known: PAM {percent(hits[which])} (paper: {paper.printed('pam50/accuracy-pam')} %), certmix "
        f"with labels {percent(hits[OURS])} ({paper.printed('pam50/accuracy-map')} %; by construction: labels are "
        "constraints)."
        + (f" Without the labels certmix gets {percent(hits[FREE])} right." if FREE in hits else ""),
        f"Concordance of certmix and PAM on the unknown: {percent(metrics.concordance(ours[~known], pam[~known]))} "
        f"({int((ours[~known] == pam[~known]).sum())} of {(~known).sum()}); the paper has "
        f"{paper.printed('pam50/concordance-minlp-pam')} % for its MINLP, whose clustering was not proved optimal. "
        f"That {paper.printed('pam50/concordance-minlp-miqp')} % of the MINLP's assignments are the MIQP's cannot be "
        "compared: here there is one certified optimum.",
    ]
    if expression.assignments is not None:
        words.append(_file_words(expression, pam))
    return words


def _file_words(expression: Expression, pam: np.ndarray) -> str:
    """What the file of PAM assignments agrees with."""
    assert expression.assignments is not None
    known, filed = expression.known, expression.assignments
    same_known, same_other = (int((filed[rows] == pam[rows]).sum()) for rows in (known, ~known))
    text = (
        f"The file of PAM assignments beside the matrix agrees with our PAM on {same_known} of {known.sum()} known "
        f"samples and on {same_other} of {(~known).sum()} unknown ones."
    )
    counts = [np.bincount(labels[~known], minlength=len(expression.subtypes)) for labels in (filed, pam)]
    if same_other < 0.9 * (~known).sum() and np.array_equal(counts[0], counts[1]):
        text += (
            " It gives every subtype as many unknown samples as our PAM does: its rows for these samples seem to be "
            "in another order than their names, so it is not used."
        )
    return text


def _differing_words(expression: Expression, pam: np.ndarray, ours: np.ndarray) -> str:
    apart = assignment.differing(pam, ours)
    inside = [i for i in apart if expression.known[i]]
    text = (
        f"{len(apart)} samples, {len(inside)} of them of known subtype; the paper lists "
        f"{paper.printed('pam50/differing')} for its MIQP, which had a gap of "
        f"{paper.printed('pam50/gap-with-labels')} %."
    )
    names = expression.subtypes
    pairs = [[names[pam[i]], names[ours[i]]] for i in inside]
    printed = paper.rows("pam50/differing-pairs")
    for first in range(len(printed) - len(pairs) + 1):
        if pairs and printed[first : first + len(pairs)] == pairs:
            return text + (
                f" Those of known subtype are, in the same order and with the same assignments, the paper's samples "
                f"{first + 1} to {first + len(pairs)}."
            )
    return text


def _profile_blocks(
    expression: Expression, profiles: Profiles, apart: np.ndarray, settings: Settings
) -> list[Block]:
    chosen = []
    for id in ("pam50/figure3/known", "pam50/figure3/unknown"):
        chosen += _like(expression, profiles, paper.rows(id))[:1]
    blocks: list[Block] = [
        Text(
            "Black: the sample; solid: the average of the subtype that certmix gives it; dashed: that of PAM's subtype "
            "(where the two agree, of certmix's second choice). Averages are over the samples of known subtype, after "
            "subtracting each gene's median. The paper numbers its samples by its own list, so those of its Figure 3 "
            "are found by their assignments: "
            + "; ".join(_figure3_words(expression, profiles, id) for id in ("known", "unknown"))
            + "."
        )
    ]
    if chosen:
        caption = "Figure 3: profiles of the samples with the assignments of the paper's samples 13 and 24."
        blocks.append(Figure("pam50-profiles", caption, lambda: profiles.draw(chosen)))
    for i in expression.positions(settings.samples):
        name = "".join(c if c.isalnum() or c in "-_." else "-" for c in expression.samples[i])
        blocks.append(
            Figure(f"pam50-profile-{name}", profiles.title(i), lambda i=i: profiles.draw([i]))  # type: ignore[misc]
        )
    if len(apart):
        caption = (
            "The supplement: every sample that PAM and certmix assign differently, numbered as in the table."
        )
        blocks.append(Figure("pam50-supplement", caption, lambda: profiles.draw_many(list(apart))))
    return blocks


def _like(expression: Expression, profiles: Profiles, wanted: list[str | None]) -> list[int]:
    """Samples with these assignments: known subtype (None: not known), PAM, certmix."""
    names = expression.subtypes
    known = [names[t] if t >= 0 else None for t in expression.target]
    return [
        i
        for i in range(len(known))
        if [known[i], names[profiles.pam[i]], names[profiles.certmix[i]]] == wanted
    ]


def _figure3_words(expression: Expression, profiles: Profiles, which: str) -> str:
    known, pam, ours = paper.rows(f"pam50/figure3/{which}")
    found = [expression.samples[i] for i in _like(expression, profiles, [known, pam, ours])]
    listed = [str(i) for i, pair in enumerate(paper.rows("pam50/differing-pairs"), 1) if pair == [pam, ours]]
    what = f"subtype {known or 'unknown'}, PAM {pam}, certmix {ours}"
    theirs = f" (the paper's list has this pair at {', '.join(listed)})"
    return f"{what}: {', '.join(found) if found else 'none here'}{theirs}"
