"""Over numbers of components: intervals hold the truth, and what is proved the best is the best."""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

import certmix
from certmix import CannotLink, DirichletPrior, GaussianPrior, Label, MinimumSize, MustLink, Problem, proving
from certmix.errors import InputError
from certmix.selection import known, turns
from certmix.status import Status

RNG = np.random.default_rng(7)
TWO = np.concatenate([RNG.normal(size=(12, 2)), RNG.normal(6.0, size=(12, 2))])


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proofs have their time, however busy the machine is."""
    monkeypatch.setattr(proving, "LEAST_BUDGET", 600.0)


def drawn(rng: np.random.Generator) -> tuple[np.ndarray, dict[str, Any]]:
    """Samples in clusters, and options that any number of components can have."""
    n, d = int(rng.integers(5, 9)), int(rng.integers(1, 4))
    data = rng.normal(scale=3.0, size=(3, d))[rng.integers(0, 3, n)] + rng.normal(size=(n, d))
    given: dict[str, Any] = {"variance": float(rng.choice([0.3, 1.0, 4.0]))}
    if rng.random() < 0.3:
        root = rng.normal(size=(d, d)) + 2.0 * np.eye(d)
        given = {"covariance": root @ root.T}
    given["weights"] = str(rng.choice(["free", "free", "uniform"]))
    given["allow_empty"] = bool(rng.random() < 0.3)
    if rng.random() < 0.3:
        given["prior"] = [GaussianPrior(data.mean(axis=0), 9.0)] + [DirichletPrior(2.0)] * (
            rng.random() < 0.5
        )
    if rng.random() < 0.4:
        i, j, k = rng.choice(n, 3, replace=False).tolist()
        given["constraints"] = [MustLink(i, j), CannotLink(i, k), Label(k, 0)][: rng.integers(1, 4)]
    return data, given


def minus_twice_log_likelihood(problem: Problem, labels: np.ndarray) -> float:
    """Of a clustering, from the densities themselves; with the prior where there is one."""
    point = problem.objective.best(labels)
    total = 0.0
    for k in range(problem.n_components):
        covariance = np.linalg.inv(problem.covariance.of(k))
        rows = problem.data[labels == k]
        if len(rows):
            density = multivariate_normal(point.means[k], covariance).logpdf(rows)
            total += float(np.sum(density)) + len(rows) * math.log(point.weights[k])
    cost = problem.objective.mean_prior_cost(point.means)
    cost += problem.objective.weight_cost(np.zeros(problem.n_components), point.weights)
    return -2.0 * total + 2.0 * cost


@pytest.mark.parametrize("seed", range(25))
def test_intervals_hold_the_truth_and_the_proved_best_is_the_best(seed: int) -> None:
    """Against enumeration: for every number of components, and with it for the best."""
    data, given = drawn(np.random.default_rng(seed))
    found = certmix.path(data, range(1, 5), engine="dual" if seed % 2 else "auto", verify=False, **given)
    truth = {}
    for row in found.rows:
        problem = Problem(data, row.k, **given)
        exact = certmix.solve(problem, engine="enumerate", gap=0.0, verify=False)
        if exact.status is Status.INFEASIBLE:
            assert row.status is Status.INFEASIBLE
            continue
        n, d = data.shape
        free = row.k - 1 if given["weights"] == "free" else 0
        assert exact.labels is not None
        value = minus_twice_log_likelihood(problem, exact.labels) + (row.k * d + free) * math.log(n)
        truth[row.k] = value
        slack = 1e-9 * max(1.0, abs(value))
        assert row.lower_bound <= exact.objective + slack
        assert row.icl is not None
        assert row.icl_lower_bound is not None
        assert row.icl_lower_bound - slack <= value <= row.icl + slack
    assert found.best in truth
    best = min(truth.values())
    if found.proved:
        assert truth[found.best] <= best + 1e-9 * max(1.0, abs(best))
    for k in truth.keys() - set(found.possible):
        assert truth[k] > best - 1e-9 * max(1.0, abs(best))


@pytest.mark.parametrize("seed", range(10))
def test_where_values_count_other_than_once(seed: int) -> None:
    """Missing values and weights of samples, against enumeration; the likelihood is that of what is there."""
    rng = np.random.default_rng([seed, 9])
    n, d = int(rng.integers(5, 8)), int(rng.integers(2, 4))
    data = rng.normal(scale=3.0, size=(2, d))[rng.integers(0, 2, n)] + rng.normal(size=(n, d))
    variance, weight = rng.uniform(0.3, 2.0, d), rng.uniform(0.2, 3.0, n) if seed % 2 else np.ones(n)
    gaps = (rng.random((n, d)) < 0.3) & (np.arange(d) != rng.integers(d, size=n)[:, None])
    data[gaps] = np.nan
    given: dict[str, Any] = {"covariance": variance, "missing": "keep"}
    given |= {"weights": "uniform", "sample_weight": weight} if seed % 2 else {}
    found = certmix.path(data, range(1, 4), **given)
    for row in found.rows:
        problem = Problem(data, row.k, **given)
        z = certmix.solve(problem, engine="enumerate", gap=0.0).labels
        assert z is not None
        point = problem.objective.best(z)
        density = norm.logpdf(data, point.means[z], np.sqrt(variance))
        likelihood = weight @ (np.nansum(density, axis=1) + np.log(point.weights[z]))
        value = -2.0 * likelihood + (row.k * d + (0 if seed % 2 else row.k - 1)) * math.log(n)
        slack = 1e-9 * max(1.0, abs(value))
        assert row.icl_lower_bound is not None
        assert row.icl is not None
        assert row.icl_lower_bound - slack <= value <= row.icl + slack


def test_two_clusters_are_proved_and_verified() -> None:
    """Two groups of samples: two components, with a certificate that says so."""
    found = certmix.path(TWO, "1:4", variance=1.0)
    assert found.best == 2
    assert found.proved
    assert found.level == "verified"
    assert found.result is not None
    assert found.result.sizes is not None
    assert found.result.sizes.tolist() == [12, 12]
    for row in found.rows:
        assert row.result.verdict is not None
        assert row.lower_bound == row.result.lower_bound == row.result.verdict.bound
    assert found.verdict is not None
    assert "Of 1, 2, 3, 4 components, 2 has the least ICL" in found.verdict.sentence
    assert "2 is proved to have the smallest ICL" in found.sentence()


def test_the_best_number_needs_no_more_than_a_clustering(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its proof could not be made, that of a short run is enough for the comparison; its row stays computed."""
    prove = known.Known.prove

    def prove_others(one: known.Known, *given: Any) -> None:
        if one.problem.n_components != 2:
            prove(one, *given)

    def cut_short(problem: Problem, **given: Any) -> certmix.Result:
        return replace(certmix.solve(problem, **given), status=Status.FEASIBLE)

    monkeypatch.setattr(known.Known, "prove", prove_others)
    monkeypatch.setattr(known, "solve", cut_short)
    found = certmix.path(TWO, "1:4", variance=1.0, engine="sdp", time_limit=60)
    assert found.best == 2
    assert found.level == "verified"
    assert found.result is not None
    assert found.result.certificate is not None
    assert found.result.certificate_level == "computed"
    assert "the proof reaches" in found.result.verification
    assert [row.level for row in found.rows] == ["verified", "computed", "verified", "verified"]


def test_a_bound_of_another_number_is_not_called_verified() -> None:
    """The certificate of a number has its own bound; a better one from more components is computed."""
    row = certmix.path(TWO, "2:2", variance=1.0).rows[0]
    assert row.level == "verified"
    assert row.to_dict()["certificate"] == "verified"
    carried = replace(row, lower_bound=math.nextafter(row.lower_bound, math.inf))
    assert carried.level == "computed"


def test_what_cannot_win_stops_early() -> None:
    """A number that is ruled out has a bound that is good enough for that, and no better."""
    found = certmix.path(TWO, "1:4", variance=1.0, engine="dual")
    assert found[2].status is Status.OPTIMAL
    assert any(row.status is Status.FEASIBLE for row in found.rows)
    assert all(not row.possible for row in found.rows if row.k != 2)


def test_a_run_without_bounds_proves_nothing() -> None:
    """A local engine has no lower bounds: every number remains possible, and the sentence names them."""
    found = certmix.path(TWO, "1:3", variance=1.0, engine="hard-em")
    assert found.best == 2
    assert not found.proved
    assert found.possible == (1, 2, 3)
    assert "1 and 3 remain possible" in found.sentence()
    assert found.certificate is None


def test_k_means_users_have_the_sum_of_squares() -> None:
    """Uniform weights and no variance: no number is called the best."""
    found = certmix.path(TWO, "1:3", weights="uniform")
    assert found.criterion == "sse"
    assert found.best is None
    for row in found.rows:
        assert row.result.labels is not None
        assert row.result.means is not None
        squares = float(((TWO - row.result.means[row.result.labels]) ** 2).sum())
        assert row.sse == pytest.approx(squares)
        total = float(((TWO - TWO.mean(axis=0)) ** 2).sum())
        assert row.explained == pytest.approx(1.0 - squares / total)
        assert row.icl is None
        assert row.bic is None, "there is no likelihood"
    assert certmix.path(TWO, "1:3", weights="uniform", variance=1.0).criterion == "icl"


def test_the_time_limit_is_that_of_all_runs() -> None:
    """With no time there is still a clustering for every number, and nothing wrong is said."""
    found = certmix.path(np.random.default_rng(0).normal(size=(60, 6)), "1:5", variance=1.0, time_limit=0.5)
    assert [row.k for row in found.rows] == [1, 2, 3, 4, 5]
    assert found.seconds < 10.0
    assert found.best in found.possible


def test_ctrl_c_keeps_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interruption after the first clusterings: the path has what the others found."""
    real, calls = turns.Run.search, []

    def interrupted(*args: Any, **options: Any) -> Any:
        calls.append(0)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return real(*args, **options)

    monkeypatch.setattr(turns.Run, "search", interrupted)
    found = certmix.path(TWO, "1:3", variance=1.0)
    assert found.interrupted
    assert [row.k for row in found.rows] == [1, 2, 3]


def test_infeasible_numbers_are_rows_too() -> None:
    """Least sizes of ten leave room for two components; three are infeasible, and that is part of the proof."""
    found = certmix.path(TWO, "1:3", variance=1.0, constraints=[MinimumSize(10)])
    assert found[3].status is Status.INFEASIBLE
    assert found[3].icl == math.inf
    assert found.proved
    assert found.level == "verified"
    none = certmix.path(TWO, "3:4", variance=1.0, constraints=[MinimumSize(10)])
    assert none.best is None
    assert none.sentence().startswith("Infeasible")


@pytest.mark.parametrize(
    ("k", "given", "says"),
    [
        ("5:2", {}, "did you mean 2:5"),
        ("0:2", {}, "holds 0"),
        ("two", {}, "give a range"),
        ([], {}, "no number"),
        (range(20, 30), {}, "with 25 components"),
        ("1:3", {"constraints": [Label(0, 2)]}, "with 1 component: "),
        ("2:3", {"variance": [1.0, 2.0]}, "with 3 components"),
        ("1:2", {"start": [0] * 24}, "one number of components"),
        ("1:2", {"criterion": "aic"}, "unknown criterion"),
    ],
)
def test_what_is_wrong_is_said_before_any_work(k: Any, given: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        certmix.path(TWO, k, **{"variance": 1.0, **given})


def test_problems_must_differ_in_nothing_else() -> None:
    with pytest.raises(InputError, match="differ in more than that"):
        certmix.path(lambda k: Problem(TWO, k, variance=float(k)), "1:2")
    with pytest.raises(InputError, match="same samples"):
        certmix.path(lambda k: Problem(TWO[k:], k, variance=1.0), "1:2")
    with pytest.raises(InputError, match="lambda k"):
        certmix.path(Problem(TWO, 2, variance=1.0), "1:2")


def least(data: np.ndarray, k: int) -> float:
    """The objective with an unknown variance and free weights, by looking at every clustering."""
    n, d = data.shape
    found = math.inf
    for labels in itertools.product(range(k), repeat=n):
        sizes = np.bincount(labels, minlength=k)
        if (sizes == 0).any():
            continue
        groups = [data[np.array(labels) == j] for j in range(k)]
        squares = sum(float(((group - group.mean(axis=0)) ** 2).sum()) for group in groups)
        entropy = -float(sizes @ np.log(sizes / n))
        found = min(found, 0.5 * n * d * (1.0 + math.log(squares / (n * d))) + entropy)
    return found


@pytest.mark.parametrize("seed", range(6))
def test_an_unknown_variance_is_one_parameter_more(seed: int) -> None:
    """Intervals hold the truth, the proved best is the best, and the checker agrees."""
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(7, 2)) + 4.0 * rng.integers(0, 2, (7, 1))
    found = certmix.path(data, "1:3", variance="unknown")
    truth = {}
    for row in found.rows:
        nu = 2 * row.k + row.k
        truth[row.k] = 2.0 * least(data, row.k) + 14 * math.log(2 * math.pi) + nu * math.log(7)
        assert row.icl is not None
        assert row.icl_lower_bound is not None
        assert row.icl_lower_bound - 1e-9 <= truth[row.k] <= row.icl + 1e-9
    assert found.proved
    assert truth[found.best] == min(truth.values())  # type: ignore[index]
    assert found.level == "verified"


def test_a_likelihood_without_maximum_is_refused_before_any_work() -> None:
    with pytest.raises(InputError, match="with 4 components: the likelihood has no maximum"):
        certmix.path(np.arange(4.0)[:, None], "1:4", variance="unknown")


def test_bic_is_that_of_scikit_learn() -> None:
    """With an unknown variance and one feature it is their tied mixture; nothing is claimed of it."""
    from sklearn.mixture import GaussianMixture

    data = np.concatenate([RNG.normal(size=(20, 1)), RNG.normal(5.0, size=(20, 1))])
    found = certmix.path(data, "1:2", variance="unknown", verify=False)
    for row in found.rows:
        peer = GaussianMixture(row.k, covariance_type="tied", tol=1e-10, reg_covar=0.0, max_iter=1000).fit(
            data
        )
        assert row.bic == pytest.approx(peer.bic(data), rel=1e-6)


def test_the_edge_of_the_range_is_mentioned() -> None:
    found = certmix.path(TWO, "1:2", variance=1.0, verify=False)
    assert any("a larger one may be better" in note for note in found.notes)


def test_a_signal_that_came_after_the_limit_of_a_turn_ends_the_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run says that its time was over; the signal was heard all the same."""
    monkeypatch.setattr(turns.interruption, "heard", lambda: True)
    found = certmix.path(TWO, "1:3", variance=1.0)
    assert found.interrupted
    assert len(found.rows) == 1
    assert not found.proved


def test_the_check_of_the_comparison_ends_with_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proofs that nobody has checked yet may take long: at the limit the table stands without their certificate."""

    def endless(*_: object) -> None:
        while True:
            time.sleep(0.01)

    monkeypatch.setattr(turns, "compared", endless)
    found = certmix.path(TWO, "1:2", variance=1.0, time_limit=2.0)
    assert found.best == 2
    assert found.certificate is None
    assert not found.interrupted
    assert turns.UNCHECKED in found.notes


def test_time_is_kept_for_a_certificate_of_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that only the best number moves on: its runs and its proof take all they may, and come to nothing."""
    clock, real = [0.0], turns._Turns._turn

    def turn(running: Any, one: Any, *, alone: bool) -> None:
        if one.problem.n_components != running._leader:
            real(running, one, alone=alone)
            return
        clock[0] += running.left_for_turns if alone else 0.0
        one.limit *= 4.0
        one.searched = replace(one.result, certificate_level="computed", lower_bound=-1e9)

    def prove(one: Any, options: Any, seconds: float) -> None:
        if one.run is None:
            clock[0] += max(0.0, seconds)
        else:
            proved(one, options, seconds)

    proved = turns.Known.prove
    monkeypatch.setattr(turns._Turns, "seconds", property(lambda running: clock[0]))
    monkeypatch.setattr(turns._Turns, "_turn", turn)
    monkeypatch.setattr(turns.Known, "prove", prove)
    found = certmix.path(TWO, "1:3", variance=1.0, time_limit=30.0)
    assert clock[0] > 20.0
    assert found.proved
    assert found.level == "verified"


def test_time_that_proofs_do_not_need_is_for_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that only turns move on: what stays open goes on in what proofs have left of their time."""
    proofs: list[float] = []
    clock = [0.0]

    def turn(turns: Any, one: Any, *, alone: bool) -> None:
        clock[0] += turns.left_for_turns

    owner = "certmix.selection.turns._Turns."
    monkeypatch.setattr(owner + "seconds", property(lambda turns: clock[0]))
    monkeypatch.setattr(owner + "_turn", turn)
    monkeypatch.setattr(owner + "_prove_the_rest", lambda turns: proofs.append(turns.left))
    found = certmix.path(TWO, "1:3", variance=1.0, time_limit=10.0)
    assert not found.proved
    assert proofs == pytest.approx([3.0, 0.9, 0.27])
