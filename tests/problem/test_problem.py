"""Every option that makes no sense is refused before any work, and the message names the culprit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from certmix.errors import InfeasibleError, InputError
from certmix.problem import DirichletPrior, GaussianPrior, JeffreysPrior, Problem, estimate_precision

DATA = np.random.default_rng(0).normal(size=(6, 2))
NAN, INF = float("nan"), float("inf")

BAD: dict[str, tuple[dict[str, Any], list[str]]] = {
    # components
    "no components": ({"n_components": 0}, ["n_components", "0"]),
    "negative components": ({"n_components": -2}, ["n_components", "-2"]),
    "fractional components": ({"n_components": 2.0}, ["n_components", "2.0"]),
    "components in words": ({"n_components": "two"}, ["n_components", "'two'"]),
    "components a truth value": ({"n_components": True}, ["n_components", "True"]),
    "components nothing": ({"n_components": None}, ["n_components", "None"]),
    "more components than samples": ({"n_components": 7}, ["n_components is 7", "only 6 samples"]),
    "too few component names": ({"component_names": ["a"]}, ["1 component names", "2 components"]),
    "component name twice": ({"component_names": ["a", " a "]}, ["'a'", "twice"]),
    # covariance
    "variance zero": ({"variance": 0}, ["variance", "positive", "0"]),
    "variance negative": ({"variance": -1.5}, ["variance", "-1.5"]),
    "variance tiny": ({"variance": 1e-320}, ["variance", "rescale"]),
    "variance not a number": ({"variance": NAN}, ["variance", "finite"]),
    "variance in words": ({"variance": "small"}, ["variance", "small"]),
    "variances for other components": ({"variance": [1, 2, 3]}, ["variance", "2 components", "(3,)"]),
    "one variance bad": ({"variance": [1, -2]}, ["variance", "-2"]),
    "variance and precision": (
        {"variance": 1, "precision": np.eye(2)},
        ["variance", "precision", "only one"],
    ),
    "all three": (
        {"variance": 1, "precision": np.eye(2), "covariance": np.eye(2)},
        ["variance", "precision", "covariance"],
    ),
    "precision of wrong shape": ({"precision": np.eye(3)}, ["precision", "(2, 2)", "(3, 3)"]),
    "precisions of wrong number": ({"precision": np.stack([np.eye(2)] * 3)}, ["precision", "(3, 2, 2)"]),
    "precision a number in two dimensions": ({"precision": 2.0}, ["precision", "(2, 2)"]),
    "precision not symmetric": ({"precision": [[2, 1], [0, 2]]}, ["precision", "not symmetric", "(0, 1)"]),
    "precision singular": ({"precision": [[1, 1], [1, 1]]}, ["precision", "singular"]),
    "precision indefinite": ({"precision": [[1, 2], [2, 1]]}, ["precision", "-1"]),
    "precision zero": ({"precision": np.zeros((2, 2))}, ["precision", "singular"]),
    "precision infinite": ({"precision": [[INF, 0], [0, 1]]}, ["precision", "finite"]),
    "precision in words": ({"precision": [["a", "b"], ["c", "d"]]}, ["precision", "numeric"]),
    "precision ragged": ({"precision": [[1], [1, 2]]}, ["precision", "numeric"]),
    "covariance singular": ({"covariance": np.ones((2, 2))}, ["covariance", "singular"]),
    "covariance of one component": (
        {"covariance": [np.eye(2), np.ones((2, 2))]},
        ["covariance of component 1", "singular"],
    ),
    # weights
    "weights of another kind": ({"weights": "equal"}, ["weights", "'equal'"]),
    "weights too many": ({"weights": [0.2, 0.3, 0.5]}, ["weights", "2 numbers", "(3,)"]),
    "weights do not add up": ({"weights": [0.2, 0.3]}, ["weights", "0.5"]),
    "weight zero": ({"weights": [1.0, 0.0]}, ["weights", "component 1", "0"]),
    "weight negative": ({"weights": [-0.5, 1.5]}, ["weights", "component 0", "-0.5"]),
    "weight not a number": ({"weights": [NAN, 1]}, ["weights", "finite"]),
    "weights in words": ({"weights": ["a", "b"]}, ["weights", "numeric"]),
    # boxes
    "mean bounds not a pair": ({"mean_bounds": 3}, ["mean_bounds", "pair"]),
    "mean bounds three": ({"mean_bounds": (0, 1, 2)}, ["mean_bounds", "pair"]),
    "mean bounds crossed": ({"mean_bounds": (1, 0)}, ["mean_bounds", "component 0", "column 0", "1 > 0"]),
    "mean bounds crossed once": (
        {"mean_bounds": ([[0, 0], [0, 5]], [[1, 1], [1, 1]])},
        ["mean_bounds", "component 1", "column 1", "5 > 1"],
    ),
    "mean bounds out of reach": ({"mean_bounds": (INF, None)}, ["mean_bounds", "component 0"]),
    "mean bounds of wrong shape": ({"mean_bounds": ([0, 0, 0], None)}, ["lower mean bound", "(2, 2)"]),
    "mean bound not a number": ({"mean_bounds": (None, NAN)}, ["upper mean bound", "not a number"]),
    "mean bound in words": ({"mean_bounds": ("low", "high")}, ["lower mean bound", "'low'"]),
    "weight bounds not a pair": ({"weight_bounds": 0.5}, ["weight_bounds", "pair"]),
    "weight bounds crossed": ({"weight_bounds": (0.6, 0.5)}, ["weight_bounds", "component 0", "0.6 > 0.5"]),
    "weight bounds too high": ({"weight_bounds": ([0.6, 0.6], 1)}, ["weight_bounds", "1.2"]),
    "weight bounds too low": ({"weight_bounds": (0, [0.3, 0.3])}, ["weight_bounds", "0.6"]),
    "weight bound zero": ({"weight_bounds": (0, [0, 1])}, ["weight_bounds", "component 0", "zero"]),
    "weight bounds too many": ({"weight_bounds": ([0, 0, 0], 1)}, ["lower weight bound", "(2,)"]),
    "weight bound not a number": ({"weight_bounds": (NAN, 1)}, ["lower weight bound", "not a number"]),
    "fixed weight outside its bounds": (
        {"weights": [0.2, 0.8], "weight_bounds": (0.3, 0.7)},
        ["0.2", "component 0", "weight_bounds"],
    ),
    # priors
    "unknown prior": ({"prior": "gamma"}, ["prior", "'gamma'"]),
    "prior a number": ({"prior": 3}, ["prior", "3"]),
    "two priors on the weights": ({"prior": ["jeffreys", DirichletPrior(2)]}, ["two priors", "weights"]),
    "two priors on the means": ({"prior": [GaussianPrior(), GaussianPrior()]}, ["two priors", "means"]),
    "alpha zero": ({"prior": DirichletPrior(0)}, ["alpha", "positive"]),
    "alpha too many": ({"prior": DirichletPrior([1, 2, 3])}, ["alpha", "2", "(3,)"]),
    "alpha not a number": ({"prior": DirichletPrior(NAN)}, ["alpha", "finite"]),
    "alpha in words": ({"prior": DirichletPrior("a lot")}, ["alpha", "numeric"]),
    "prior mean of wrong shape": ({"prior": GaussianPrior(mean=[0, 0, 0])}, ["prior's mean", "(3,)"]),
    "prior mean infinite": ({"prior": GaussianPrior(mean=INF)}, ["prior's mean", "finite"]),
    "prior covariance of wrong shape": (
        {"prior": GaussianPrior(covariance=[1, 2])},
        ["prior's covariance", "(2,)"],
    ),
    "prior covariance singular": (
        {"prior": GaussianPrior(covariance=np.ones((2, 2)))},
        ["prior's covariance", "singular"],
    ),
    "prior covariance negative": (
        {"prior": GaussianPrior(covariance=-1)},
        ["variance of the Gaussian prior", "positive"],
    ),
    "jeffreys with empty components": (
        {"prior": JeffreysPrior(), "allow_empty": True},
        ["alpha < 1", "allow_empty"],
    ),
    # the rest
    "unknown estimator": ({"estimators": ["variances"]}, ["estimator", "'variances'"]),
    "unknown option": ({"n_clusters": 3}, ["n_clusters"]),
}


@pytest.mark.parametrize(("options", "words"), BAD.values(), ids=BAD.keys())
def test_bad_options_name_the_culprit(options: dict[str, Any], words: list[str]) -> None:
    """Each is refused with a message that holds the option and the value that is wrong."""
    arguments = {"data": DATA, "n_components": 2, **options}
    with pytest.raises((InputError, TypeError)) as error:
        Problem(**arguments)
    for word in words:
        assert word in str(error.value)


def test_fixed_weights_that_no_sizes_match() -> None:
    """pi_k = n_k/n cannot hold when a fixed weight is not a whole number of samples."""
    with pytest.raises(
        InfeasibleError, match=r"component 1 would need 3\.6 of 6 samples|component 0 would need"
    ):
        Problem(DATA, 2, variance=1.0, weights=[0.4, 0.6], estimators="weights")


def test_good_problems_are_accepted() -> None:
    """The same options, written right, are taken: the checks above are not mere refusals."""
    Problem(DATA, 2, variance=[1, 2], weights=[0.2, 0.8], mean_bounds=(None, [5, 5]), prior="jeffreys")
    Problem(DATA, 2, covariance=[np.eye(2), 2 * np.eye(2)], weight_bounds=(0.1, [0.5, 0.9]))
    Problem(
        DATA,
        2,
        variance=1.0,
        prior=[GaussianPrior(covariance=np.eye(2)), DirichletPrior([1, 2])],
        estimators="means",
    )
    Problem(DATA, 2, variance=1.0, weights=[0.5, 0.5], estimators=["weights", "means"])
    Problem(DATA[:, 0], 3, precision=2.0, mean_bounds=([-3, -2, -1], 9))
    Problem(DATA, 9, variance=1.0, allow_empty=True)


# -- precision from classes --------------------------------------------------------------------------------
def test_precision_rules_by_hand() -> None:
    """The three rules agree with their formulas; blank classes are left out."""
    rng = np.random.default_rng(1)
    y = rng.normal(size=(12, 2))
    classes = ["a"] * 5 + [None, "", NAN] + ["b"] * 4
    a, b = np.cov(y[:5], rowvar=False), np.cov(y[8:], rowvar=False)
    inv = np.linalg.inv
    expected = {
        "mean-precision": (inv(a) + inv(b)) / 2,
        "mean-covariance": inv((a + b) / 2),
        "pooled": inv((4 * a + 3 * b) / 7),
    }
    for rule, matrix in expected.items():
        np.testing.assert_allclose(estimate_precision(y, classes, rule), matrix, rtol=1e-12)  # type: ignore[arg-type]
    one = estimate_precision(y[:, 0], pd.Series(classes), "pooled")
    np.testing.assert_allclose(one, [[1 / expected_variance(y[:, 0])]], rtol=1e-12)


def expected_variance(y: np.ndarray) -> float:
    return float((4 * y[:5].var(ddof=1) + 3 * y[8:].var(ddof=1)) / 7)


@pytest.mark.parametrize(
    ("classes", "rule", "words"),
    [
        (["a"] * 6, "median", ["rule", "'median'"]),
        (["a"] * 5, "pooled", ["5 classes", "6 samples"]),
        ([None] * 6, "pooled", ["blank everywhere"]),
        (["a"] * 5 + ["b"], "pooled", ["'b'", "only 1 sample"]),
        (["a", "a"] + ["b"] * 4, "mean-precision", ["'a'", "2 samples", "2 dimensions"]),
    ],
)
def test_classes_that_give_no_precision(classes: list[Any], rule: Any, words: list[str]) -> None:
    """Classes that are too small, or a rule that does not exist, are named."""
    with pytest.raises(InputError) as error:
        estimate_precision(DATA, classes, rule)
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize(
    ("options", "unknown"),
    [
        ({}, True),
        ({"weights": [0.3, 0.7]}, True),
        ({"weights": "uniform", "prior": GaussianPrior(0.0, 1.0)}, True),
        ({"weights": "uniform", "variance_range": (0.5, None)}, True),
        ({"weights": "uniform"}, False),
        ({"weights": [0.5, 0.5]}, False),
        ({"variance": 1.0}, False),
        ({"precision": np.eye(2)}, False),
    ],
)
def test_the_variance_is_unknown_unless_it_is_given_or_does_not_matter(
    options: dict[str, Any], unknown: bool
) -> None:
    """Without a covariance it is found with the clustering; of uniform weights the clustering does not depend on it."""
    problem = Problem(DATA, 2, **options)
    assert problem.covariance.unknown is unknown
    told = any("no covariance was given" in note for note in problem.notes)
    assert told is not bool({"variance", "precision"} & options.keys())


def test_uniform_weights_are_uniform_for_another_number_of_components() -> None:
    """Which is what comparing numbers of components asks for; weights that are numbers are for so many components."""
    problem = Problem([[0.0], [1.0], [4.0]], 2, variance=1.0, weights="uniform")
    assert problem.replace(n_components=3).fixed_weights == pytest.approx([1 / 3] * 3, abs=0.0)
    with pytest.raises(InputError, match="weights must be 3 numbers"):
        problem.replace(weights=[0.3, 0.7]).replace(n_components=3)
