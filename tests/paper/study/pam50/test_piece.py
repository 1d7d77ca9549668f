"""The PAM classifier against SciPy, and the breast cancer experiment on its data where they are there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from certmix.paper.study import metrics, paper
from certmix.paper.study.pam50 import assignment, gaps
from certmix.paper.study.pam50.classifier import centroids_of, classified, correlations, median_centred
from certmix.paper.study.pam50.data import Expression, read
from certmix.paper.study.pam50.profiles import Profiles
from expression_file import GENES, SUBTYPES, write_expression

FOLDER = Path(__file__).parents[5] / "shared" / "data" / "pam50"
needs_data = pytest.mark.skipif(not FOLDER.exists(), reason="the PAM50 files are not part of the project")


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Expression:
    return read(write_expression(tmp_path_factory.mktemp("pam50")))


# -- the classifier ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(5))
def test_correlations_are_spearmans(seed):
    """With ties and missing values, SciPy's correlation of the genes that both have."""
    rng = np.random.default_rng(seed)
    samples, centroids = rng.integers(0, 6, (4, 12)).astype(float), rng.normal(size=(3, 12))
    samples[rng.random(samples.shape) < 0.2] = np.nan
    found = correlations(samples, centroids)
    for i in range(4):
        for k in range(3):
            there = ~np.isnan(samples[i])
            assert found[i, k] == pytest.approx(spearmanr(samples[i][there], centroids[k][there]).statistic)
    assert np.array_equal(classified(samples, centroids), found.argmax(axis=1))


def test_centroids_and_medians_leave_missing_values_out():
    """By hand, on three samples of two genes."""
    matrix = np.array([[1.0, np.nan], [3.0, 5.0], [8.0, 7.0]])
    assert median_centred(matrix)[:, 0].tolist() == [-2.0, 0.0, 5.0]
    assert centroids_of(matrix, np.array([0, 0, 1]), 2).tolist() == [[2.0, 5.0], [8.0, 7.0]]


def test_ranks_alone_matter():
    """A sample measured on another scale has the same subtype."""
    rng = np.random.default_rng(0)
    samples, centroids = rng.normal(size=(10, 9)), rng.normal(size=(3, 9))
    assert np.array_equal(classified(np.exp(samples) * 7, centroids), classified(samples, centroids))


# -- files ---------------------------------------------------------------------------------------------------
def test_everything_is_read(small):
    """Matrix, subtypes, centroids and assignments, in one order of subtypes and genes."""
    assert small.subtypes == SUBTYPES
    assert small.matrix.shape == (36, GENES)
    assert small.known.sum() == 27
    assert 0 < small.missing < 0.2
    assert small.centroids is not None
    assert small.centroids.shape == (3, GENES)
    assert small.assignments is not None
    assert np.array_equal(small.assignments[small.known], small.target[small.known])
    assert small.positions(["S03", "S00"]) == [3, 0]


def test_what_lies_beside_may_be_absent(tmp_path):
    """Without centroids and assignments there is still the matrix."""
    folder = write_expression(tmp_path)
    (folder / "pam50_centroids.txt").unlink()
    (folder / "pam_assignments.csv").unlink()
    found = read(folder)
    assert found.centroids is None
    assert found.assignments is None


# -- assignments and profiles --------------------------------------------------------------------------------
def test_agreement_table(small):
    """Accuracy is over the known samples, concordance over the others."""
    right = np.where(small.known, small.target, 0)
    other = np.where(small.known, 0, 1)
    found = assignment.agreement_table(small, {"a": right, "b": other}).records
    assert found[0]["accuracy on the known"] == 1.0
    assert found[0]["concordance with b"] == 0.0
    assert found[1]["accuracy on the known"] == pytest.approx(np.mean(small.target[small.known] == 0))


def test_bars_have_a_cell_for_every_sample(small):
    """Each row holds its method's subtypes, the known samples first; unknown is a colour of its own."""
    labels = np.arange(36) % 3
    figure = assignment.draw_bars(small, {assignment.KNOWN: small.target, "m": labels}, "m")
    (image,) = figure.axes[0].images
    table = np.asarray(image.get_array())
    assert table.shape == (2, 36)
    assert np.all(table[0, :27] > 0)
    assert np.all(table[0, 27:] == 0)
    assert sorted(table[1].tolist()) == sorted((labels + 1).tolist())


def test_profiles_compare_the_right_subtypes(small):
    """Two methods that differ: their subtypes; two that agree: the second choice. Lines are sample and averages."""
    centred = median_centred(small.matrix)
    averages = centroids_of(centred, small.target, 3)
    ones = np.ones(36, dtype=int)
    profiles = Profiles(small, centred, averages, 0 * ones, np.r_[0, ones[1:]], 2 * ones)
    assert profiles.pair(0) == (0, 2)
    assert profiles.pair(1) == (1, 0)
    figure = profiles.draw([1])
    drawn = [line.get_ydata() for line in figure.axes[0].get_lines() if len(line.get_ydata()) == GENES]
    for wanted, line in zip((averages[1], averages[0], centred[1]), drawn, strict=True):
        np.testing.assert_array_equal(line, wanted)
    assert len(profiles.draw_many([0, 1, 2, 3]).axes) == 6


def test_gap_curves_begin_when_there_is_a_gap():
    """Before there are both a clustering and a bound there is no gap."""
    record = {
        "trace": [[1.0, None, 5.0], [2.0, 10.0, 5.0], [3.0, 10.0, 9.0]],
        "seconds": 4.0,
        "objective": 10.0,
        "lower_bound": 9.0,
    }
    assert gaps.gap_curve(record) == ([2.0, 3.0, 4.0], [0.5, pytest.approx(0.1), pytest.approx(0.1)])


# -- the data themselves -------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def full() -> Expression:
    return read(FOLDER)


@needs_data
def test_the_papers_description_of_the_data(full):
    """Samples, genes, known subtypes, missing values and explained variance are as printed."""
    assert str(len(full.samples)) == paper.printed("pam50/samples")
    assert str(len(full.genes)) == paper.printed("pam50/genes")
    assert str(full.known.sum()) == paper.printed("pam50/known")
    assert f"{100 * full.missing:.2f}" == paper.printed("pam50/missing")
    assert f"{100 * (full.reduced.explained_variance or 0):.1f}" == paper.printed("pam50/explained")


@needs_data
def test_pam_errs_on_the_papers_eight_samples(full):
    """With the published centroids 131 of 139, and the errors are samples 6 to 13 of the paper's list, in order."""
    assert full.centroids is not None
    pam = classified(median_centred(full.matrix), full.centroids)
    hit = metrics.accuracy(pam, full.target)
    assert f"{100 * hit:.0f}" == paper.printed("pam50/accuracy-pam")
    wrong = [i for i in np.flatnonzero(full.known) if pam[i] != full.target[i]]
    pairs = [[full.subtypes[pam[i]], full.subtypes[full.target[i]]] for i in wrong]
    assert pairs == paper.rows("pam50/differing-pairs")[5:13]
    assert full.assignments is not None
    assert np.array_equal(pam[full.known], full.assignments[full.known])


@needs_data
def test_own_centroids_are_close_to_the_published_ones(full):
    """Averages of the known samples err as often, and agree with the published centroids on nearly every sample."""
    centred = median_centred(full.matrix)
    own = centroids_of(centred, full.target, 5)
    assert full.centroids is not None
    pam = classified(centred, own)
    assert metrics.accuracy(pam, full.target) == pytest.approx(131 / 139)
    assert metrics.concordance(pam, classified(centred, full.centroids)) > 0.97
