"""Plots and the report of a clustering with noise, which has no mean."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
import pytest

from certmix import Problem, plotting, report, solve
from certmix.plotting.silhouette import silhouettes
from certmix.problem import MaximumSize
from certmix.result import Result

matplotlib.use("Agg")
RNG = np.random.default_rng(4)
DATA = np.concatenate([RNG.normal(size=(5, 3)), RNG.normal(size=(5, 3)) + 9.0, [[40.0, -30.0, 5.0]]])


@pytest.fixture(scope="module", params=["mixture", "k-means"])
def result(request) -> Result:
    if request.param == "mixture":
        return solve(Problem(DATA, 2, variance=1.0, noise="auto"))
    return solve(Problem(DATA, 2, weights="none", noise="trimmed", constraints=[MaximumSize(1, "noise")]))


def test_every_plot_shows_noise(result: Result) -> None:
    """Three components, two means; the sample that is noise is in no silhouette."""
    assert np.flatnonzero(result.labels == -1).tolist() == [10]
    figure = plotting.plot_overview(result)
    assert figure is not None
    axes = plotting.plot_clusters(result)
    assert "noise (1)" in [text.get_text() for text in axes.get_legend().get_texts()]
    assert [t.get_text() for t in plotting.plot_means(result).get_xticklabels()] == ["0", "1"]
    assert silhouettes(result)[10] == 0.0
    assert result.posterior is not None
    assert result.posterior[10] > 0.99


def test_a_report_with_noise(result: Result, tmp_path: Path) -> None:
    """It names the component and is written."""
    text = Path(report(result, tmp_path / "report.html")).read_text()
    parts = "clusters" if result.sse is not None else "components"
    assert f"2 {parts} and noise" in text
