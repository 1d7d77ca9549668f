"""Margins against enumeration: intervals hold the truth, and what is called fixed or open is."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import certmix
from certmix import CannotLink, Label, MinimumSize, MustLink, Problem
from certmix.engines import engine, why_not
from certmix.errors import InfeasibleError, InputError
from certmix.problem.features import features
from certmix.sensitivity.forced import Forced
from certmix.sensitivity.margins import Stability, State
from certmix.sensitivity.run import stability
from certmix.status import Status, Termination
from masses import with_masses
from nearly_optimal import Enumerated, assert_margins
from random_instances import random_problem

RNG = np.random.default_rng(3)
TWO = np.concatenate([RNG.normal(size=(12, 2)), RNG.normal(5.0, size=(12, 2)), [[2.4, 2.6]]])
ENGINES = ("auto", "dual", "sdp", "interval")


def solved(rng: np.random.Generator, name: str) -> tuple[Problem, certmix.Result] | None:
    """A random problem that the engine takes, and its optimal clustering."""
    try:
        problem = random_problem(rng, max_samples=7, features=engine("enumerate").honours)
    except (InputError, InfeasibleError):
        return None
    if name != "auto" and why_not(engine(name), problem) is not None:
        return None
    result = certmix.solve(problem, engine="enumerate", verify=False)
    return None if result.labels is None else (problem, result)


def against_enumeration(seed: int) -> int:
    """How many margins of a random problem were compared."""
    rng = np.random.default_rng(seed)
    name = ENGINES[seed % len(ENGINES)]
    found = solved(rng, name)
    if found is None:
        return 0
    problem, result = found
    assert result.labels is not None
    assert result.means is not None
    n, within = problem.n_samples, float(rng.choice([0.0, 0.3, 2.0, 10.0]))
    pairs = [tuple(rng.choice(n, 2, replace=False).tolist()) for _ in range(2)] if n > 1 else []
    every = Enumerated(problem)
    if rng.random() < 0.3:  # a clustering that is not the best one has margins, too
        other = every.labels[rng.integers(len(every.labels))]
        result = replace(certmix.solve(problem, engine="hard-em", restarts=1), problem=problem)
        point = problem.objective.best(other)
        result = replace(
            result,
            labels=other,
            means=point.means,
            weights=point.weights,
            objective=point.value,
            lower_bound=-math.inf,
        )
    told = stability(
        result, within, pairs=[(problem.names[i], problem.names[j]) for i, j in pairs], engine=name, threads=1
    )
    assert_margins(every, told, pairs)
    return len(told.samples)


@pytest.mark.parametrize("seed", range(19, 70))
def test_margins_of_random_problems_are_those_of_enumeration(seed: int) -> None:
    """Under every constraint, prior and limit, with several engines."""
    against_enumeration(seed)


@pytest.mark.parametrize("seed", range(12))
def test_margins_where_values_count_other_than_once(seed: int) -> None:
    """Missing values and weights of samples: against enumeration, by boxes and one by one, verified."""
    rng = np.random.default_rng([seed, 5])
    while True:
        try:
            problem = with_masses(random_problem(rng, max_samples=6, max_components=2), rng)
            result = certmix.solve(problem, "enumerate", verify=False)
        except (InputError, InfeasibleError):
            continue
        if result.labels is not None:
            break
    unit = 0.01 * abs(result.objective) if problem.squares else 1.0
    within = problem.quantity.shown(float(rng.choice([0.3, 2.0, 10.0])) * unit)
    name = ("auto", "interval", "dual")[seed % 3]
    found = stability(
        result, within, problem=problem, pairs=[(0, problem.n_samples - 1)], engine=name, threads=1
    )
    assert_margins(Enumerated(problem), found, [(0, problem.n_samples - 1)])
    if found.certificate is not None:
        assert found.verdict is not None
        assert found.verdict.verified


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 4000, 100))
def test_margins_of_many_random_problems_are_those_of_enumeration(first: int) -> None:
    """The same for thousands."""
    assert sum(against_enumeration(seed) for seed in range(first, first + 100)) > 100


def test_of_a_sample_alone_every_component_has_to_be_dear(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not fixed while there is one of which too little is known that it may share with others."""
    data = np.array([0.0, 0.3, 5.0, 5.2, 30.0])[:, None]
    problem = Problem(data, 3, variance=0.5, weights=[0.5, 0.4, 0.1])
    result = certmix.solve(problem, "enumerate", verify=False)
    for near in (0, 1, 2):

        def found(asked: Forced, *_: object, near: int = near) -> certmix.Result:
            dear = getattr(asked.constraints[0], "component", near) != near
            return replace(result, lower_bound=result.objective + 100.0 * dear, termination=Termination.NODES)

        monkeypatch.setattr("certmix.sensitivity.run.forced", found)
        alone = stability(result, 1e-3, problem=problem, threads=1, verify=False, engine="dual").samples[4]
        assert (alone.representative, alone.state, alone.lower) == (None, State.UNDECIDED, 0.0)


@pytest.fixture(scope="module")
def result() -> certmix.Result:
    return certmix.solve(Problem(TWO, 2, variance=1.0), threads=1)


def test_a_sample_between_two_clusters_is_open_and_the_others_are_fixed(result: certmix.Result) -> None:
    """With its name, the component it would go to, and what that costs."""
    found = stability(result, 2.0, threads=1)
    assert [s.name for s in found.samples if s.state is State.OPEN] == ["24"]
    assert found.count("fixed") == 24
    middle = found["24"]
    assert middle.goes_to != middle.component
    assert 0.0 < middle.upper <= 2.0
    assert found.settled
    assert "24 are with their representative" in found.sentence()
    assert "24" in found.summary()


def test_the_object_for_json_has_the_promised_form(result: certmix.Result) -> None:
    """Others read it."""
    found = stability(result, 2.0, pairs=[(0, 1)], threads=1).to_dict()
    assert list(found) == ["within", "objective", "samples", "pairs"]
    keys = ["name", "component", "representative", "state", "margin_lower", "margin_upper", "goes_to"]
    assert all(list(sample) == keys for sample in found["samples"])
    assert found["pairs"][0]["state"] == "together"


def test_pairs_are_proved_together_and_apart(result: certmix.Result) -> None:
    """Two of one cluster, two of different ones, and one that may go."""
    found = stability(result, 2.0, pairs=[(0, 1), (0, 13), (0, 24)], threads=1)
    assert [pair.words for pair in found.pairs] == ["together", "apart", "open"]


def test_linked_samples_cannot_be_separated() -> None:
    """Nothing needs to be run for that, and there is no limit to their margin."""
    problem = Problem(TWO, 2, variance=1.0, constraints=[MustLink(0, 24)])
    found = stability(certmix.solve(problem, threads=1), 2.0, pairs=[(0, 24)], threads=1)
    assert found.pairs[0].state is State.FIXED
    assert found.pairs[0].lower == math.inf
    assert found.to_dict()["pairs"][0]["margin_lower"] == 2.0


def test_a_sample_that_is_alone_has_a_margin_of_not_being_alone() -> None:
    """It has no representative."""
    data = np.concatenate([TWO[:12], [[40.0, 40.0]]])
    problem = Problem(data, 2, variance=1.0)
    alone = stability(certmix.solve(problem, threads=1), 2.0, threads=1).samples[-1]
    assert alone.representative is None
    assert alone.state is State.FIXED
    assert alone.lower > 2.0


def test_without_time_nothing_is_fixed_but_witnesses_count(result: certmix.Result) -> None:
    """The time limit is kept, and what is not known is called undecided."""
    found = stability(result, 2.0, time_limit=0.0, threads=1)
    assert found.count("fixed") == 0
    assert not found.settled


def test_a_result_from_a_file_needs_its_problem(result: certmix.Result, tmp_path: object) -> None:
    """And the problem has to be the same."""
    path = result.save(f"{tmp_path}/result")
    loaded = certmix.Result.load(path)
    with pytest.raises(InputError, match="give the problem"):
        stability(loaded, 2.0)
    with pytest.raises(InputError, match="another objective"):
        stability(loaded, 2.0, problem=Problem(TWO, 2, variance=2.0))
    with pytest.raises(InputError, match="other samples"):
        stability(loaded, 2.0, problem=Problem(TWO[1:], 2, variance=1.0))
    assert stability(loaded, 2.0, problem=Problem(TWO, 2, variance=1.0), threads=1).settled


def test_what_was_settled_before_an_interruption_is_not_asked_again(result: certmix.Result) -> None:
    """Its certificate is checked then, and goes on; that of something else is refused."""

    def interrupt(found: Stability) -> None:
        if found.count("fixed"):
            raise KeyboardInterrupt

    half = stability(result, 2.0, threads=1, certificate=True, listener=interrupt)
    assert half.interrupted
    assert half.count("fixed") > 0
    assert (half.certificate is not None, half.verdict, half.level) == (True, None, "computed")
    told: list[Stability] = []
    whole = stability(result, 2.0, threads=1, certificate=True, known=half.certificate, listener=told.append)
    assert told[0].count("fixed") >= half.count("fixed")
    assert whole.settled
    assert whole.level == "verified"
    with pytest.raises(InputError, match="another delta"):
        stability(result, 1.0, known=half.certificate)
    assert half.certificate is not None
    document = {**half.certificate.document, "pairs": [[0, 24, 1]]}
    with pytest.raises(InputError, match=r"not accepted|another clustering"):
        stability(result, 2.0, known=replace(half.certificate, document=document))


@pytest.mark.parametrize("within", [-1.0, math.nan, math.inf, "2", True])
def test_bad_distances_are_refused(result: certmix.Result, within: object) -> None:
    with pytest.raises(InputError, match="within must be"):
        stability(result, within)  # type: ignore[arg-type]


def test_margins_of_k_means_are_sums_of_squares() -> None:
    """By default within two nats at the variance that fits; whatever the units of the data are."""
    problem = Problem(TWO, 2, weights="none")
    found = stability(problem, threads=1)
    assert found.result.sse is not None
    assert found.within == pytest.approx(4.0 * found.result.sse / TWO.size)
    moved = np.array(found["24"].witness)
    squares = sum(((TWO[moved == k] - TWO[moved == k].mean(axis=0)) ** 2).sum() for k in range(2))
    assert found["24"].upper == pytest.approx(squares - found.result.sse)
    assert [s.name for s in found.samples if s.state is State.OPEN] == ["24"]
    assert found.level == "verified"
    assert "of SSE" in found.sentence()
    metres = stability(Problem(1000.0 * TWO, 2, weights="none"), threads=1)
    assert metres["24"].upper == pytest.approx(1e6 * found["24"].upper)


def test_a_sample_that_stands_for_several_has_one_margin() -> None:
    """That of its copies."""
    weight = np.ones(len(TWO), dtype=int)
    weight[[3, 24]] = 2
    copies = np.concatenate([TWO, TWO[[3, 24]]])
    links = [MustLink(3, 25), MustLink(24, 26)]
    found = stability(Problem(TWO, 2, variance=1.0, sample_weight=weight), 2.0, pairs=[(0, 24)], threads=1)
    plain = stability(Problem(copies, 2, variance=1.0, constraints=links), 2.0, threads=1)
    assert len(found.samples) == len(TWO)
    assert [s.state for s in found.samples] == [s.state for s in plain.samples[: len(TWO)]]
    assert found["24"].upper == pytest.approx(plain["24"].upper)
    assert found["24"].witness is not None
    assert len(found["24"].witness) == len(TWO)
    assert found.level == "verified"


def test_noise_is_a_component_like_others() -> None:
    """Who is noise in every clustering within delta is fixed; the only one is asked whether it is noise at all."""
    far = np.concatenate([TWO, [[40.0, -30.0]]])
    found = stability(Problem(far, 2, variance=1.0, noise=1e-6), 2.0, threads=1)
    assert found["25"].component == "noise"
    assert found["25"].representative is None
    assert found["25"].state is State.FIXED
    assert found["25"].witness is not None
    assert found["25"].witness[25] != -1
    two = stability(
        Problem(np.concatenate([far, [[-50.0, 9.0]]]), 2, variance=1.0, noise=1e-6), 2.0, threads=1
    )
    assert two["25"].representative == "26"
    assert two["25"].state is State.FIXED
    alone = Problem([[3.0]], 1, variance=1.0, noise=1e9, allow_empty=True)
    one = stability(alone, 2.0, threads=1)["0"]  # and nobody else is there
    assert (one.component, one.representative, one.goes_to) == ("noise", None, "0")


def test_links_that_bend_count_in_margins() -> None:
    """A penalty that is paid, or not, makes the difference."""
    link = [MustLink(0, 24, penalty=50.0)]
    found = stability(Problem(TWO, 2, variance=1.0, constraints=link), 2.0, threads=1)
    assert found["24"].state is State.FIXED
    assert found.level == "computed"


def test_options_of_a_single_run_are_refused(result: certmix.Result) -> None:
    with pytest.raises(InputError, match="about one run"):
        stability(result, 2.0, start=result.labels)


def test_a_better_clustering_is_told(result: certmix.Result) -> None:
    """Margins count from the clustering that is given, and are never negative."""
    problem = Problem(TWO, 2, variance=1.0)
    labels = np.array(result.labels)
    labels[24] = 1 - labels[24]
    point = problem.objective.best(labels)
    worse = replace(
        result,
        labels=labels,
        means=point.means,
        weights=point.weights,
        objective=point.value,
        status=Status.FEASIBLE,
    )
    found = stability(worse, 2.0, threads=1)
    assert any("better clustering" in note for note in found.notes)
    assert found["24"].upper == 0.0
    assert found["24"].lower == 0.0


def test_constraints_count_in_every_clustering_within_delta() -> None:
    """A label and limits on sizes keep the sample between the clusters where it is."""
    free = certmix.solve(Problem(TWO, 2, variance=1.0), threads=1)
    assert free.labels is not None
    k = int(free.labels[24])
    problem = Problem(
        TWO, 2, variance=1.0, constraints=[Label(24, k), Label(0, int(free.labels[0])), MinimumSize(5)]
    )
    assert features(problem)
    assert stability(certmix.solve(problem, threads=1), 2.0, threads=1)["24"].state is State.FIXED
    problem = Problem(TWO, 2, variance=1.0, constraints=[CannotLink(24, 13)])
    assert stability(certmix.solve(problem, threads=1), 2.0, threads=1).settled
