"""The picture of clusterings that are nearly as good shows who moves where, and only of the result's own."""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pytest
from plotted_results import alternatives_document, solved

from certmix.errors import InputError
from certmix.plotting import plot_alternatives


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def words(axes) -> list[str]:
    return [label.get_text() for label in (*axes.get_xticklabels(), *axes.get_yticklabels(), *axes.texts)]


def test_columns_are_clusterings_and_rows_those_who_move():
    """Best first, with what each costs more, and the names of the components that samples move to."""
    result = solved(K=3)
    axes = plot_alternatives(result, alternatives=alternatives_document(result))
    # The second sample moves in two of the clusterings, the third in one: to components 2, 2 and 0.
    assert words(axes) == ["0", "0.25", "1.5", "S1", "S2", "2", "2", "0"]
    assert axes.get_title() == "clusterings within 2 nats: 3, proved to be all"
    assert axes.get_xlabel() == "extra cost (nats)"


def test_where_there_is_nothing_else_nobody_moves():
    result = solved()
    document = alternatives_document(result)
    document |= {"clusterings": document["clusterings"][:1], "complete": False}
    axes = plot_alternatives(result, alternatives=document)
    assert words(axes) == ["0", "no sample differs"]
    assert axes.get_title() == "clusterings within 2 nats: 1, there may be others"


def test_many_are_cut_off_and_that_is_said():
    """Forty samples and forty clusterings are drawn at most."""
    result = solved(n=120)
    document = alternatives_document(result)
    one = document["clusterings"][0]
    labels = [1 - k for k in one["labels"]]
    document["clusterings"] = [one, *({"extra": 1.0, "labels": labels} for _ in range(45))]
    axes = plot_alternatives(result, alternatives=document)
    assert len(axes.get_xticks()) == len(axes.get_yticks()) == 40
    assert "(6 more clusterings, 80 more samples not shown)" in axes.get_xlabel()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: d["clusterings"].pop(0), "another clustering"),
        (lambda d: d["clusterings"][1]["labels"].pop(), "damaged|not those of the result"),
        (lambda d: d["clusterings"][1]["labels"].__setitem__(0, 7), "its components are not"),
        (lambda d: d.pop("complete"), "'complete' is missing"),
        (lambda d: d.update(clusterings=[]), "not those of the result"),
    ],
)
def test_those_of_something_else_are_refused(change, says):
    result = solved()
    document = alternatives_document(result)
    change(document)
    with pytest.raises(InputError, match=says):
        plot_alternatives(result, alternatives=document)


def test_nothing_to_plot():
    with pytest.raises(InputError, match="there are no alternatives to plot"):
        plot_alternatives(solved())
