"""Every plot takes a result and axes, or the folder of a saved result alone."""

from __future__ import annotations

import json

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from plotted_results import HOSTILE, alternatives_document, margins_document, solved

import certmix
from certmix import plotting
from certmix.errors import InputError

PLOTS = [
    plotting.plot_alternatives,
    plotting.plot_clusters,
    plotting.plot_margins,
    plotting.plot_means,
    plotting.plot_silhouettes,
    plotting.plot_sizes,
    plotting.plot_trace,
    plotting.plot_uncertain,
]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def folder(tmp_path):
    result = solved(K=3)
    result.save(tmp_path / "result")
    (tmp_path / "stability.json").write_text(json.dumps(margins_document(result)))
    (tmp_path / "alternatives.json").write_text(json.dumps(alternatives_document(result)))
    return tmp_path


@pytest.mark.parametrize("plot", PLOTS, ids=lambda plot: plot.__name__)
def test_from_a_saved_folder_alone(plot, folder):
    """A folder gives the picture that its result gives, drawn on the axes that are given."""
    pictures = []
    more = {
        plotting.plot_margins: {"stability": folder / "stability.json"},
        plotting.plot_alternatives: {"alternatives": folder / "alternatives.json"},
    }.get(plot, {})
    for source, given in ((folder, {}), (folder / "result.json", {}), (solved(K=3), more)):
        figure = plt.figure()
        axes = figure.add_subplot()
        assert plot(source, axes, **given) is axes
        figure.canvas.draw()
        pictures.append(np.asarray(figure.canvas.buffer_rgba()).copy())
    assert (pictures[0] == pictures[1]).all()
    assert (
        pictures[0] == pictures[2]
    ).all() or plot is plotting.plot_trace  # whose seconds are those of the run


def test_profiles_have_the_members_of_each_component():
    """Silhouettes: one area for each component. Margins: two, and a line at the nats that were asked for."""
    result = solved(K=3)
    axes = plotting.plot_silhouettes(result)
    assert len(axes.collections) == 3
    assert [t.get_text() for t in axes.get_yticklabels()] == list(result.component_names)
    axes = plotting.plot_margins(result, stability=margins_document(result))
    assert len(axes.collections) == 6
    assert axes.get_lines()[0].get_xdata()[0] == 2.0


def test_means_are_standard_deviations_from_the_mean():
    """The colours of the heat map are those of a hand calculation."""
    result = solved(d=2, rules=False)
    picture = plotting.plot_means(result).get_images()[0].get_array()
    expected = (result.means - result.data.mean(axis=0)) / result.data.std(axis=0)
    np.testing.assert_allclose(picture, expected.T)


def test_uncertain_samples_come_first():
    """The sample half-way is the first, with the component it might belong to."""
    axes = plotting.plot_uncertain(solved(), most=5)
    labels = [t.get_text() for t in axes.get_yticklabels()]
    assert labels[0] == "S1 (or 0)"
    assert len(labels) == 5


def test_margins_that_are_missing_are_asked_for(tmp_path):
    """Without stability.json the error says what to give."""
    with pytest.raises(InputError, match="give stability"):
        plotting.plot_margins(solved())


@pytest.mark.parametrize("K", [1, 3])
def test_overview(K, folder):
    """All of it in one figure, with the sentence of the proof; from a folder with its margins."""
    figure = plotting.plot_overview(solved(K=K, rules=False))
    assert len([axes for axes in figure.axes if axes.axison]) >= 5
    assert "objective" in figure.get_suptitle()
    if K == 3:
        shown = plotting.plot_overview(folder)
        assert "margin (nats)" in [axes.get_xlabel() for axes in shown.axes]


def test_no_words_of_an_overview_lie_over_others():
    """Nor in a figure that is given without a layout."""
    names = tuple(f"a long name {i}" for i in range(40))
    figure = plotting.plot_overview(solved(names=names), Figure(figsize=(12.0, 9.0)))
    figure.draw_without_rendering()
    boxes = [axes.get_tightbbox().padded(-1) for axes in figure.axes if axes.axison]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


@pytest.mark.parametrize("names", [HOSTILE, ("$x$ and $", "_hidden", "\\frac{", "50 %")])
def test_names_are_shown_letter_by_letter(names):
    """Dollars, underscores and backslashes in names are no mathematics, and nothing is left out of a legend."""
    result = solved(names=names)
    figure = plotting.plot_overview(result)
    figure.canvas.draw()
    shown = [text.get_text() for axes in figure.axes for text in axes.get_yticklabels()]
    assert names[0].replace("$", r"\$") in shown


def test_a_saved_comparison_is_drawn_like_the_one_at_hand(tmp_path):
    """From path.json or its folder; anything else is refused in words."""
    found = certmix.path(np.array([0.0, 0.1, 0.2, 5.0, 5.1, 5.3]), (1, 2, 3), variance=0.1)
    (tmp_path / "path.json").write_text(json.dumps(found.to_dict()))
    axes = [plotting.plot_path(source) for source in (found, tmp_path, str(tmp_path / "path.json"))]
    assert axes[0].get_title() == "K = 2: proved the best"
    drawn = [[line.get_xydata().tolist() for line in one.lines] for one in axes]
    assert drawn[0] == drawn[1] == drawn[2]
    (tmp_path / "path.json").write_text("{}")
    with pytest.raises(InputError, match="damaged, or no comparison"):
        plotting.plot_path(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        plotting.plot_path(tmp_path / "nothing")
