"""The recipes reproduce the published figures, and bad options are named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from certmix import datasets
from certmix.errors import InputError
from certmix.problem import is_feasible

PAM50 = Path(__file__).parents[3] / "shared" / "data" / "pam50"
needs_pam50 = pytest.mark.skipif(not PAM50.exists(), reason="the PAM50 files are not part of the project")


@pytest.mark.parametrize(
    ("name", "shape", "sizes"),
    [
        ("iris1d", (150, 1), [50, 50, 50]),
        ("iris", (150, 4), [50, 50, 50]),
        ("wine", (178, 13), [59, 71, 48]),
        ("brca", (569, 3), [212, 357]),
        ("mixture", (300, 2), None),
    ],
)
def test_every_set_loads_and_makes_a_problem(
    name: str, shape: tuple[int, int], sizes: list[int] | None
) -> None:
    """Shapes and class sizes are the known ones, and the problem holds the data and their covariance."""
    found = datasets.load(name)
    problem = found.problem()
    assert name in datasets.NAMES
    assert found.data.shape == problem.data.shape == shape
    assert np.array_equal(problem.data, found.data)
    assert problem.samples.columns == found.feature_names
    assert problem.n_components == found.n_components == len(found.target_names)
    if sizes is not None:
        assert np.bincount(found.target).tolist() == sizes
    with pytest.raises(ValueError, match="read-only"):
        found.data[0, 0] = 1.0


def test_names_lists_exactly_what_loads_without_a_path() -> None:
    """Every listed name loads; the set that needs a file is not listed."""
    assert set(datasets.NAMES) == {"iris1d", "iris", "wine", "brca", "mixture"}


def test_uci_iris_differs_from_scikit_learns_copy_in_two_rows() -> None:
    """Rows 35 and 38, counted from one, and nothing else; the class centres move with them."""
    ours, theirs = datasets.load("iris", variant="uci").data, datasets.load("iris").data
    assert np.flatnonzero((ours != theirs).any(axis=1)).tolist() == [34, 37]
    assert ours[34].tolist() == ours[37].tolist() == [4.9, 3.1, 1.5, 0.1]


def test_iris1d_subset_is_projected_on_the_axis_of_all_samples() -> None:
    """The 45 samples are the first 15 scores of every class, with the paper's smaller standard deviation."""
    all_scores, few = datasets.load("iris1d"), datasets.load("iris1d", n=45)
    assert np.array_equal(few.data, all_scores.data[np.r_[0:15, 50:65, 100:115]])
    assert few.variance == pytest.approx(0.04)
    assert all_scores.variance == pytest.approx(0.16)
    assert all_scores.explained_variance == pytest.approx(0.9246, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "options", "value"),
    [
        ("wine", {}, 1366.8512244670),
        ("brca", {}, 1566.4003302),
        ("brca", {"rounded": False}, 1554.58051),
        ("iris", {}, 693.03972),
    ],
)
def test_known_optima_are_reached_by_plain_reassignment(
    name: str, options: dict[str, bool], value: float
) -> None:
    """From the true classes, Lloyd steps and single moves reach the known optimum."""
    found = datasets.load(name, **options)
    objective = found.problem().objective
    point = objective.best(found.target)
    while True:
        labels = objective.component_costs(point.means, point.weights).argmin(axis=1)
        better = objective.best(labels)
        if better.value >= point.value:
            break
        point = better
    improved = True
    while improved:
        improved = False
        costs = objective.component_costs(point.means, point.weights)
        slack = np.sort(costs, axis=1)[:, 1] - costs[np.arange(len(costs)), point.labels]
        for i in np.argsort(np.abs(slack))[:40]:
            for k in range(found.n_components):
                labels = point.labels.copy()
                labels[i] = k
                if np.bincount(labels, minlength=found.n_components).min() > 0:
                    trial = objective.best(labels)
                    if trial.value < point.value - 1e-10:
                        point, improved = trial, True
    assert point.value == pytest.approx(value, rel=2e-5)
    assert point.value >= value - 5e-6


def test_wine_precision_is_the_rounded_inverse_of_the_mean_class_covariance() -> None:
    """Computed here once more, straight from the definition."""
    found = datasets.load("wine")
    mean = np.mean([np.cov(found.data[found.target == c].T) for c in range(3)], axis=0)
    assert found.precision == pytest.approx(np.linalg.inv(mean), abs=5.1e-7)
    assert np.array_equal(found.precision, np.round(found.precision, 6))
    assert not np.array_equal(datasets.load("wine", rounded=False).precision, found.precision)


def test_mixture_follows_the_generative_model() -> None:
    """Distance of the closest means, weights and unit variances come out, and the seed repeats."""
    found = datasets.load("mixture", n=40_000, d=3, k=3, separation=5.0, weights=[0.2, 0.3, 0.5], seed=4)
    means = np.stack([found.data[found.target == c].mean(axis=0) for c in range(3)])
    gaps = [np.linalg.norm(means[a] - means[b]) for a, b in ((0, 1), (0, 2), (1, 2))]
    assert min(gaps) == pytest.approx(5.0, abs=0.06)
    assert np.bincount(found.target) / 40_000 == pytest.approx([0.2, 0.3, 0.5], abs=0.01)
    residual = found.data - means[found.target]
    assert np.cov(residual.T) == pytest.approx(np.eye(3), abs=0.03)
    again = datasets.load("mixture", n=40_000, d=3, k=3, separation=5.0, weights=[0.2, 0.3, 0.5], seed=4)
    assert np.array_equal(again.data, found.data)


def test_overrides_replace_what_the_set_brings() -> None:
    """A problem may change the covariance, the number of components, and add constraints."""
    found = datasets.load("iris1d")
    problem = found.problem(n_components=4, covariance=[[0.5]], weights="uniform")
    assert problem.n_components == 4
    assert problem.covariance.of(0)[0, 0] == pytest.approx(2.0)
    assert problem.fixed_weights is not None


@needs_pam50
def test_pam50_explains_what_the_paper_says() -> None:
    """Four components keep 58.6 % of the variance; 139 subtypes are known; scores have unit variance."""
    found = datasets.load_pam50(PAM50)
    assert found.data.shape == (232, 4)
    assert found.explained_variance == pytest.approx(0.586, abs=5e-4)
    assert found.data.std(axis=0) == pytest.approx(np.ones(4))
    counts = {name: int((found.target == c).sum()) for c, name in enumerate(found.target_names)}
    assert counts == {"Normal": 12, "Basal": 57, "Her2": 35, "LumA": 23, "LumB": 12}
    assert (found.target < 0).sum() == 93
    assert found.classes.count(None) == 93
    assert found.precision.shape == (4, 4)
    assert np.linalg.eigvalsh(found.precision)[0] > 0


@needs_pam50
def test_pam50_labels_become_constraints() -> None:
    """The 139 known subtypes are labels that the true classes satisfy, by the samples' own names."""
    found = datasets.load("pam50", path=PAM50)
    problem = found.problem(constraints=found.labels(), component_names=found.target_names)
    assert len(problem.constraints) == 139
    assert problem.names[0] == "Normal-Breast-10"
    assert is_feasible(problem, np.where(found.target < 0, 0, found.target))


@needs_pam50
def test_pam50_genes_are_standardised() -> None:
    """Without projection the 50 genes have mean 0 and population standard deviation 1."""
    found = datasets.load_pam50(PAM50, dimension=None)
    assert found.data.shape == (232, 50)
    assert np.abs(found.data.mean(axis=0)).max() < 1e-12
    assert found.data.std(axis=0) == pytest.approx(np.ones(50))


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("irises", {}, "unknown data set 'irises'"),
        ("wine", {"n": 3}, "no option 'n'"),
        ("pam50", {}, "needs the option 'path'"),
        ("pam50", {"path": "/nowhere/at/all"}, "cannot read"),
        ("iris1d", {"n": 44}, "multiple of 3"),
        ("iris1d", {"n": 153}, "multiple of 3"),
        ("iris1d", {"sigma": -1}, "sigma must be"),
        ("iris1d", {"variant": "fisher"}, "one of uci, sklearn"),
        ("mixture", {"k": 0}, "k must be"),
        ("mixture", {"weights": [0.5, 0.6]}, "add up to 1"),
        ("mixture", {"separation": float("nan")}, "separation"),
        ("brca", {"rounded": "maybe"}, "rounded"),
    ],
)
def test_bad_options_are_named(name: str, options: dict[str, object], words: str) -> None:
    """One clear sentence says which option is wrong."""
    with pytest.raises(InputError, match=words):
        datasets.load(name, **options)


def test_a_file_that_is_not_the_matrix_is_named(tmp_path: Path) -> None:
    """A table without the subtype row, or with a word for a number, is refused."""
    wrong = tmp_path / "matrix.txt"
    wrong.write_text("\tA\tB\nESR1\t1\t2\n")
    with pytest.raises(InputError, match="no row 'subtype'"):
        datasets.load_pam50(wrong)
    wrong.write_text("\tA\tB\nsubtype\tLumA\t\nESR1\tx\t2\n")
    with pytest.raises(InputError, match="gene ESR1: 'x'"):
        datasets.load_pam50(wrong)


def test_importing_the_module_is_light() -> None:
    """Neither scikit-learn nor pandas is imported before a set is loaded."""
    code = (
        "import sys, certmix.datasets;print([m for m in ('sklearn', 'pandas', 'numba') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
