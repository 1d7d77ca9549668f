"""The summary says what was found and what is proved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from certmix.concluding import build_result
from certmix.ledger import Ledger
from certmix.problem import CannotLink, Problem
from certmix.result import Result
from certmix.solving import solve
from certmix.status import Termination, Tolerances
from certmix.summary import WIDTH


def solved(bound: float | None, **options: object) -> Result:
    data = np.array([[0.0, 1.0, 2, 3, 4, 5, 6], [0.1, 1, 2, 3, 4, 5, 7], [9.0, 9, 9, 9, 9, 9, 8.0]])
    problem = Problem(data, 2, constraints=[CannotLink(0, 2, source="row 4")], **{"variance": 1.0, **options})
    ledger = Ledger(problem, Tolerances())
    ledger.offer(np.array([0, 0, 1]), "start")
    if bound is not None:
        ledger.raise_bound(bound)
    ledger.nodes = 12
    return build_result(
        problem, ledger, engine="test", termination=Termination.NODES, certificate_level="computed"
    )


def test_header_has_every_figure():
    """Method, sizes, status, termination, objective, bound, gaps, certificate, nodes and time are there."""
    result = solved(1.0)
    text = result.summary()
    for piece in (
        "Method:",
        "test",
        "Samples:",
        "Features:",
        "Components:",
        "feasible",
        "node limit",
        "computed",
        "12",
    ):
        assert piece in text
    assert f"{result.objective:.10g}" in text
    assert f"{result.gap_absolute:.4g}" in text
    assert text.index("Gap (nats)") < text.index("Gap (relative)")
    assert "Seconds:" in text


def test_components_and_constraints_are_listed():
    """Size and weight of every component, and every constraint with its source and whether it holds."""
    text = solved(1.0).summary()
    assert "0.6667" in text
    assert "0.3333" in text
    assert "sample 0 and sample 2 may not be together (row 4)" in text
    assert "yes" in text
    assert "more feature" in text  # seven features do not fit


def test_what_a_constraint_costs_is_said_where_it_was_asked():
    """In the units of the objective, as an interval where the ends differ."""
    result = solved(1.0)
    costs = [(0.0, 3.0), (2.0, 2.0), (1.0, np.inf)]
    for cost, words in zip(costs, ("costs 0 to 3 nats", "costs 2 nats", "costs 1 nats or more"), strict=True):
        lines = tuple(replace(line, cost=cost) for line in result.constraints)
        told = replace(result, constraints=lines).summary().split()
        assert words in " ".join(word for word in told if word != "yes")  # that stands between its lines
    assert "costs" not in result.summary()


def test_every_line_fits_and_the_last_sentence_says_what_is_proved():
    """Lines are at most 78 wide; the sentence claims no more than the numbers allow."""
    for result, claim in (
        (solved(1.0), "of the optimum"),
        (solved(1e9), "proved optimal"),
        (solved(None), "not known"),
    ):
        text = result.summary()
        assert all(len(line) <= WIDTH for line in text.splitlines())
        assert claim in " ".join(text.split())
        assert ("proved optimal" in " ".join(text.split())) == (result.status == "optimal")


def test_long_names_are_cut_rather_than_the_page_widened():
    """Component names of any length keep the page's width."""
    result = solved(1.0, component_names=["a very long name of a component indeed", "b"])
    assert all(len(line) <= WIDTH for line in result.summary().splitlines())


def test_without_bound_there_are_dashes():
    """A missing bound is a dash and the certificate is none."""
    text = solved(None).summary()
    assert any(line.split()[-3:] == ["Lower", "bound:", "-"] for line in text.splitlines())
    assert "none" in text


def test_a_feature_called_size_is_told_from_the_size():
    """A feature whose name is that of another column is shown as a mean."""
    problem = Problem(pd.DataFrame({"size": [0.0, 0.1, 9.0]}), 2, variance=1.0)
    ledger = Ledger(problem, Tolerances())
    ledger.offer(np.array([0, 0, 1]), "start")
    result = build_result(problem, ledger, engine="test", termination=Termination.NODES)
    header = next(line for line in result.summary().splitlines() if line.startswith("component "))
    assert header.split() == ["component", "size", "weight", "mean", "size"]


def test_constraints_that_cannot_be_met_are_not_counted_as_none():
    """An infeasible problem has no clustering to hold against its constraints; the summary says so."""
    problem = Problem(
        np.arange(3.0)[:, None],
        2,
        variance=1.0,
        constraints=[CannotLink(0, 1), CannotLink(1, 2), CannotLink(0, 2)],
    )
    text = solve(problem).summary()
    assert "cannot be met" in text
    assert "Constraints:                        0" not in text
