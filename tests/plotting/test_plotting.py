"""The plots draw what they say; the figures are checked through the artists, not by eye."""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from certmix.concluding import build_result
from certmix.errors import InputError
from certmix.ledger import Ledger
from certmix.plotting import plot_clusters, plot_sizes, plot_trace
from certmix.problem import Problem
from certmix.result import Result
from certmix.status import Termination, Tolerances


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def solved(d: int, labels: list[int] | None = None, bound: float | None = 1.0) -> tuple[Problem, Result]:
    data = np.random.default_rng(0).normal(size=(6, d)) + np.repeat([[0.0], [4.0]], 3, axis=0)
    problem = Problem(data, 2, variance=1.0, component_names=["low", "high"])
    ledger = Ledger(problem, Tolerances())
    if labels is None:
        ledger.offer(np.array([0, 1, 0, 1, 0, 1]), "start")
        labels = [0, 0, 0, 1, 1, 1]
    if labels:
        ledger.offer(np.array(labels), "hard-em")
    if bound is not None:
        ledger.raise_bound(bound)
    return problem, build_result(
        problem, ledger, engine="test", termination=Termination.TIME, certificate_level="computed"
    )


def test_trace_draws_incumbent_and_bound():
    """Two step lines that end at the objective and at the bound."""
    _, result = solved(2)
    axes = plot_trace(result)
    incumbent, bound = axes.get_lines()
    assert incumbent.get_ydata()[-1] == result.objective
    assert bound.get_ydata()[-1] == 1.0
    assert "nats" in axes.get_title()


def test_trace_without_bound():
    """A run that proved nothing is drawn without a bound, and the title says so."""
    axes = plot_trace(solved(2, bound=None)[1])
    assert np.isnan(axes.get_lines()[1].get_ydata()).all()
    assert "no bound" in axes.get_title()


def test_sizes_and_weights():
    """One bar for each component with its share, and its weight as a mark."""
    _, result = solved(2)
    axes = plt.figure().add_subplot()
    assert plot_sizes(result, axes) is axes
    assert [bar.get_height() for bar in axes.patches] == [0.5, 0.5]
    np.testing.assert_allclose(axes.get_lines()[0].get_ydata(), result.weights)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["low", "high"]


@pytest.mark.parametrize("d", [1, 2, 5])
def test_clusters_show_every_sample_once(d):
    """In one, two or more dimensions every sample is drawn in its component's colour."""
    result = solved(d)[1]
    axes = plot_clusters(result)
    groups = [c for c in axes.collections if str(c.get_label()).startswith(("low", "high"))]
    assert [len(g.get_offsets()) for g in groups] == [3, 3]
    assert groups[0].get_facecolor().tolist() != groups[1].get_facecolor().tolist()


def test_uncertain_samples_have_rings():
    """A sample half-way between two components is ringed, a clear one is not."""
    problem = Problem([[0.0, 0.0], [0.1, 0.2], [1.0, 1.1], [2.0, 2.0], [2.1, 2.2]], 2, variance=1.0)
    ledger = Ledger(problem, Tolerances())
    ledger.offer(np.array([0, 0, 0, 1, 1]), "start")
    result = build_result(problem, ledger, engine="test", termination=Termination.TIME)
    rings = [c for c in plot_clusters(result).collections if "posterior" in str(c.get_label())]
    assert len(rings) == 1
    assert len(rings[0].get_offsets()) == np.count_nonzero(result.posterior < 0.95)


def test_chosen_features_name_the_axes():
    """Any two features can be plotted; others are refused."""
    result = solved(4)[1]
    axes = plot_clusters(result, features=(3, 1))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x3", "x1")
    with pytest.raises(InputError, match="do not lie"):
        plot_clusters(result, features=(0, 4))


def test_nothing_to_plot_is_said():
    """Without a clustering there is nothing to draw, and the reason is given."""
    result = solved(2, labels=[])[1]
    with pytest.raises(InputError, match="no clustering"):
        plot_clusters(result)
    with pytest.raises(InputError, match="no clustering"):
        plot_sizes(result)


def test_data_of_another_problem_are_refused():
    """Data that are given must be those of the result."""
    with pytest.raises(InputError, match="6 samples"):
        plot_clusters(solved(1)[1], data=[[0.0], [1.0], [2.0]])
