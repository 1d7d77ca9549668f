"""The k-means estimator: scikit-learn's own checks and names, sizes, links, and the proof."""

from __future__ import annotations

import itertools
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from certmix import (
    CannotLink,
    CertifiedGaussianMixture,
    CertifiedKMeans,
    InfeasibleError,
    InputError,
    MustLink,
    Problem,
    Result,
    path,
    stability,
)


@parametrize_with_checks(
    [
        CertifiedKMeans(3, engine="hard-em", n_init=2),
        CertifiedKMeans(2, engine="hard-em", n_init=1, missing="keep"),
        CertifiedKMeans(2, node_limit=1000, gap=0.05),  # some checks have samples without clusters
    ]
)
def test_scikit_learn_checks(estimator, check):
    """scikit-learn's own estimator checks pass, with no expected failure."""
    check(estimator)


@pytest.fixture
def blobs() -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.vstack([rng.normal(0, 1, (5, 2)), rng.normal(4, 1, (6, 2))])


def least(data: np.ndarray, k: int, allowed=lambda z: True) -> float:
    """The least sum of squares of all clusterings."""
    best = math.inf
    for labels in itertools.product(range(k), repeat=len(data)):
        z = np.array(labels)
        if np.bincount(z, minlength=k).min() > 0 and allowed(z):
            best = min(best, sum(((data[z == c] - data[z == c].mean(axis=0)) ** 2).sum() for c in range(k)))
    return best


def test_the_inertia_is_the_least(blobs):
    """Of all clusterings, with a bound that is no more and a gap that is relative to it."""
    model = CertifiedKMeans(2, verify=True).fit(blobs)
    truth = least(blobs, 2)
    assert model.inertia_ == pytest.approx(truth, rel=1e-12)
    assert truth * (1 - 1e-6) <= model.inertia_lower_bound_ <= truth
    assert model.gap_ == pytest.approx(1 - model.inertia_lower_bound_ / model.inertia_, rel=1e-6, abs=1e-15)
    assert model.result_.certificate_level == "verified"


def test_sizes_and_links_are_kept(blobs):
    """Under them the inertia is the least that they allow."""
    model = CertifiedKMeans(2, min_size=5, max_size=6)
    model.fit(blobs, constraints=[MustLink(0, 10), CannotLink(1, 2)])

    def allowed(z):
        sizes = np.bincount(z, minlength=2)
        return sizes.min() >= 5 and sizes.max() <= 6 and z[0] == z[10] and z[1] != z[2]

    assert allowed(model.labels_)
    assert model.inertia_ == pytest.approx(least(blobs, 2, allowed), rel=1e-12)
    with pytest.raises(InfeasibleError, match="max_size"):
        CertifiedKMeans(2, max_size=5).fit(blobs)


def test_names_are_those_of_scikit_learn(blobs):
    """Attributes and methods have the values that KMeans gives them at the same clustering."""
    model = CertifiedKMeans(2).fit(blobs)
    theirs = KMeans(2, init=model.cluster_centers_, n_init=1).fit(blobs)
    np.testing.assert_allclose(model.cluster_centers_, theirs.cluster_centers_)
    np.testing.assert_array_equal(model.labels_, theirs.labels_)
    assert model.inertia_ == pytest.approx(theirs.inertia_)
    new = np.random.default_rng(1).normal(size=(7, 2)) * 4
    np.testing.assert_array_equal(model.predict(new), theirs.predict(new))
    np.testing.assert_allclose(model.transform(new), theirs.transform(new))
    np.testing.assert_allclose(model.fit_transform(blobs), theirs.transform(blobs))
    assert model.score(new) == pytest.approx(theirs.score(new))


def test_it_works_where_estimators_work(blobs):
    """Pipelines, frames, clones, pickles, searches over sizes."""
    frame = pd.DataFrame(blobs, columns=["a", "b"], index=[f"s{i}" for i in range(11)])
    model = make_pipeline(StandardScaler().set_output(transform="pandas"), CertifiedKMeans(2))
    model.fit(frame, certifiedkmeans__constraints=[MustLink("s0", "s10")])
    assert model[-1].labels_[0] == model[-1].labels_[10]
    assert model[-1].result_.names[0] == "s0"
    model.set_output(transform="pandas")
    assert model.transform(frame).columns.tolist() == ["certifiedkmeans0", "certifiedkmeans1"]
    assert model.transform(frame).index.tolist() == frame.index.tolist()
    again = pickle.loads(pickle.dumps(model[-1]))
    np.testing.assert_array_equal(again.labels_, model[-1].labels_)
    assert clone(CertifiedKMeans(3, max_size=4)).max_size == 4
    search = GridSearchCV(CertifiedKMeans(2), {"n_clusters": [1, 2], "min_size": [1, 2]}, cv=2).fit(blobs)
    assert search.best_params_["n_clusters"] == 2


def test_errors_are_said_before_any_work(blobs):
    """What is wrong is named."""
    with pytest.raises(NotFittedError):
        CertifiedKMeans().predict(blobs)
    with pytest.raises(InputError, match="n_clusters is 12 but there are only 11 samples"):
        CertifiedKMeans(12).fit(blobs)


def test_weights_are_copies(blobs):
    """A sample of weight w is w samples, one of weight 0 is none; sizes count weights."""
    weight = np.array([1, 2, 0, 1, 3, 1, 1, 2, 1, 0, 1])
    model = CertifiedKMeans(2, max_size=8)
    model.fit(blobs, sample_weight=weight, constraints=[MustLink(0, 10), CannotLink(1, 3)])
    rows = np.repeat(np.arange(11), weight)
    z = model.labels_
    assert z.shape == (11,)
    assert np.bincount(z, weight).max() <= 8
    assert z[0] == z[10]
    assert z[1] != z[3]
    np.testing.assert_array_equal(z[[2, 9]], model.predict(blobs[[2, 9]]))
    value = sum(((blobs[rows][z[rows] == k] - model.cluster_centers_[k]) ** 2).sum() for k in (0, 1))
    assert model.inertia_ == pytest.approx(value)
    assert model.score(blobs, sample_weight=weight) >= -model.inertia_ * (1 + 1e-12)
    with pytest.raises(InputError, match=r"sample 1 has weight -0\.5"):
        model.fit(blobs, sample_weight=np.where(np.arange(11) == 1, -0.5, 1.0))
    with pytest.raises(InputError, match="there is no sample 2"):
        model.fit(blobs, sample_weight=weight, constraints=[MustLink(2, 3)])
    unlimited = [CertifiedKMeans(2).fit(*given) for given in ((blobs, None, weight), (blobs[rows],))]
    assert unlimited[0].inertia_ == pytest.approx(unlimited[1].inertia_, rel=1e-12)


@pytest.mark.parametrize("kind", [CertifiedKMeans, CertifiedGaussianMixture])
def test_starts_sizes_and_certificates_are_parameters(blobs, kind):
    """What scikit-learn has under these names, and what a run has, can be set, cloned and searched over."""
    given = {} if kind is CertifiedKMeans else {"variance": 1.0}
    best = kind(2, certificate=True, **given).fit(blobs)
    assert best.result_.certificate is not None
    centres = best.result_.means
    for init in (centres, best.labels_, best.result_):
        again = kind(2, init=init, n_init=1, engine="hard-em", **given).fit(blobs)
        assert again.result_.objective <= best.result_.objective * (1 + 1e-12)
    limited = clone(kind(2, min_size=5, max_size=6, **given)).fit(blobs)
    assert sorted(limited.result_.sizes.tolist()) == [5, 6]
    left_out = kind(2, init=best.labels_, engine="hard-em", **given).fit(blobs, None, [0, *[1] * 10])
    assert left_out.labels_.shape == (11,)
    with pytest.raises(InputError, match="init must be labels"):
        kind(2, init=np.zeros((3, 2)), **given).fit(blobs)
    with pytest.raises(InputError, match="start violates a constraint"):
        kind(2, init=np.zeros(11, dtype=int), **given).fit(blobs)


def test_values_that_are_missing(blobs):
    """Distances and centres are over what is there, in a fit and of new samples; otherwise they are refused."""
    gaps = blobs.copy()
    gaps[2, 1] = gaps[8, 0] = np.nan
    model = CertifiedKMeans(2, missing="keep").fit(gaps)
    for k in (0, 1):
        np.testing.assert_allclose(model.cluster_centers_[k], np.nanmean(gaps[model.labels_ == k], axis=0))
    squares = np.nansum((gaps - model.cluster_centers_[model.labels_]) ** 2)
    assert model.inertia_ == pytest.approx(squares)
    assert model.inertia_lower_bound_ == pytest.approx(squares)
    assert model.transform(gaps)[2, 0] == pytest.approx(abs(gaps[2, 0] - model.cluster_centers_[0, 0]))
    np.testing.assert_array_equal(model.predict(gaps), model.labels_)
    assert -model.score(gaps) == pytest.approx(squares)
    with pytest.raises(ValueError, match="NaN"):
        CertifiedKMeans(2).fit(gaps)
    with pytest.raises(InputError, match="missing must be 'error' or 'keep'"):
        CertifiedKMeans(2, missing="drop").fit(blobs)


@pytest.mark.parametrize("kind", [CertifiedKMeans, CertifiedGaussianMixture])
def test_weights_that_are_not_whole(blobs, kind, tmp_path):
    """They scale what a sample costs: twice the weights is twice the objective, and sizes still count samples."""
    given = {} if kind is CertifiedKMeans else {"variance": 1.0, "weights": "uniform"}
    weight = np.random.default_rng(5).uniform(0.1, 3.0, len(blobs))
    model = kind(2, min_size=5, **given).fit(blobs, sample_weight=weight)
    z = model.labels_
    assert np.bincount(z).min() >= 5
    means = np.array([np.average(blobs[z == k], axis=0, weights=weight[z == k]) for k in (0, 1)])
    np.testing.assert_allclose(model.result_.means, means)
    squares = weight @ ((blobs - means[z]) ** 2).sum(axis=1)
    found, double = (
        model.inertia_ if kind is CertifiedKMeans else model.objective_
        for model in (model, clone(model).fit(blobs, sample_weight=2 * weight))
    )
    assert found == pytest.approx(
        squares if kind is CertifiedKMeans else squares / 2 + weight.sum() * np.log(2)
    )
    assert double == pytest.approx(2 * found)
    result = model.result_
    result.save(tmp_path / "run")
    for known in (
        result.sample_weight,
        result.to_dict()["sample_weight"],
        Result.load(tmp_path / "run").sample_weight,
    ):
        np.testing.assert_array_equal(known, weight)
    assert result.sizes.tolist() == np.bincount(z).tolist()
    assert f"(weight {weight.sum():.6g})" in result.summary()
    np.testing.assert_allclose(result.posterior, result.predict_proba(blobs)[np.arange(len(blobs)), z])


def test_names_reach_the_mixture_and_sizes_are_searched(blobs):
    """A pipeline that keeps the index, and a search over smallest sizes, as for k-means."""
    frame = pd.DataFrame(blobs, columns=["a", "b"], index=[f"s{i}" for i in range(11)])
    model = CertifiedGaussianMixture(2, variance=0.2)
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), model)
    pipeline.fit(frame, certifiedgaussianmixture__constraints=[MustLink("s0", "s10", penalty=0.5)])
    assert pipeline[-1].result_.names == tuple(frame.index)
    with pytest.raises(InputError, match=r"set_output\(transform=.pandas.\)"):
        make_pipeline(StandardScaler(), model).fit(
            frame, certifiedgaussianmixture__constraints=[MustLink("s0", "s10")]
        )
    search = GridSearchCV(clone(model), {"min_size": [1, 2], "n_components": [1, 2]}, cv=2).fit(blobs)
    assert search.best_params_["n_components"] == 2


def test_a_lost_index_is_explained(blobs):
    """A step that drops the index of a frame makes names unknown; the error says what to do."""
    frame = pd.DataFrame(blobs, columns=["a", "b"], index=[f"s{i}" for i in range(11)])
    model = make_pipeline(StandardScaler(), CertifiedKMeans(2))
    with pytest.raises(InputError, match=r"set_output\(transform=.pandas.\)"):
        model.fit(frame, certifiedkmeans__constraints=[MustLink("s0", "s10")])
    model.fit(frame, certifiedkmeans__constraints=[MustLink(0, 10)])


ODD = {
    "n_init": ([0, 1.5, True, "many"], "n_init|restarts"),
    "init": (
        ["k-means++", np.zeros((3, 2)), np.full((2, 2), np.nan), [["a", "b"], ["c", "d"]]],
        "init must be",
    ),
    "certificate": (["x"], "certificate must be"),
    "missing": (["nan"], "missing must be"),
    "noise_max": ([-1, 1.5, "3", np.nan], "^noise_max: "),
    "noise_min": ([-1], "^noise_min: "),
    "min_size": ([-1], "^min_size: "),
    "max_size": (["x"], "^max_size: "),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_parameter_is_named(blobs, name):
    """The error names the parameter as the user wrote it."""
    values, said = ODD[name]
    for value in values:
        with pytest.raises(InputError, match=said):
            CertifiedKMeans(2, **{name: value}).fit(blobs)


@pytest.mark.parametrize(
    "weight", [[np.nan] + [1.0] * 10, [-1] + [1] * 10, ["a"] * 11, [1] * 10, np.ones((11, 1))]
)
def test_odd_weights_are_refused_everywhere(blobs, weight):
    """Fitting and scoring alike: no weight is taken for another one, and the sample is named."""
    model = CertifiedKMeans(2).fit(blobs)
    single = np.shape(weight) == (11,) and not isinstance(weight[0], str)
    for call in (model.fit, model.score):
        with pytest.raises(InputError, match="sample 0 has weight" if single else "sample_weight must be"):
            call(blobs, sample_weight=weight)


def test_the_score_counts_weights(blobs):
    """Minus the inertia, for the samples of the fit and the same weights; one number is that of all."""
    weight = np.arange(1, 12) / 2
    model = CertifiedKMeans(2, n_init="auto").fit(blobs, sample_weight=weight)
    assert model.score(blobs, sample_weight=weight) == pytest.approx(-model.inertia_)
    assert model.score(blobs, sample_weight=2) == pytest.approx(2 * model.score(blobs))


@pytest.mark.parametrize(
    "options",
    [
        {"min_size": 5},
        {"init": [[0.0, 0.0], [99.0, 99.0]]},
        {"noise_max": 2, "noise_min": 2},
        {"min_size": 5, "sample_weight": [0, 2] + [1] * 9},
        {"constraints": [MustLink(0, 10), CannotLink(0, 1)]},
        {"min_size": 5, "constraints": [MustLink(0, 10, penalty=0.1)]},
    ],
)
def test_centres_to_start_from_need_not_obey_the_constraints(blobs, options):
    """Samples go to the nearest of the given centres as far as the side constraints allow; the answer is the same."""
    own = {"init": blobs[:2], **options}
    given = {name: own.pop(name) for name in ("sample_weight", "constraints") if name in own}
    model = CertifiedKMeans(2, n_init=1, **own).fit(blobs, **given)
    again = clone(model).set_params(init=None).fit(blobs, **given)
    assert model.inertia_ == pytest.approx(again.inertia_)
    np.testing.assert_array_equal(model.labels_, again.labels_)


def test_blank_names_are_numbers_where_nobody_asks_for_them(blobs):
    """As names that stand twice: a warning, and an error only where constraints need names."""
    frame = pd.DataFrame(blobs, index=[None, *map(str, range(10))])
    with pytest.warns(UserWarning, match="blank names"):
        assert CertifiedKMeans(2).fit(frame).result_.names == tuple(map(str, range(11)))
    with pytest.raises(InputError, match="position 0 has a blank name"):
        CertifiedKMeans(2).fit(frame, constraints=[MustLink("1", "2")])


def test_tables_speak_of_clusters() -> None:
    """As people do who ask for k-means; a mixture has components."""
    data = np.array([[0.0], [0.2], [0.9], [5.0], [5.3], [6.1]])
    for weights, word, other in (("none", "cluster", "component"), ("uniform", "component", "cluster")):
        problem = Problem(data, 2, weights=weights, **({} if weights == "none" else {"variance": 1.0}))
        pages = [stability(problem, within=50.0).summary().split("Of ")[0]]
        pages += [
            path(lambda k, p=problem: p.replace(n_components=k), [1, 2], criterion="sse").summary().lower()
        ]
        assert all(word in page and other not in page for page in pages)
