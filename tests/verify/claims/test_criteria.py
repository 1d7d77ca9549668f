"""The number of components: a comparison is of problems that differ in nothing else, with penalties of the checker."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import certmix
from certmix.certificate.draft import compare
from certmix.certificate.statement import state
from certmix.io.certificates import Certificate
from certmix.problem import GaussianPrior, Problem
from certmix.selection.criterion import n_parameters
from certmix.verify.check import Verdict, check
from certmix.verify.claims.criteria import parameters, penalties, penalty, unlike
from certmix.verify.evidence import Rejected
from certmix.verify.statement import read

RNG = np.random.default_rng(0)
DATA = np.concatenate([RNG.normal(size=(6, 2)), RNG.normal(6.0, size=(6, 2))])


def certificate(k: int, **options: Any) -> Certificate:
    found = certmix.solve(Problem(DATA, k, **{"variance": 1.0, **options}), certificate=True).certificate
    assert found is not None
    return found


@pytest.fixture(scope="module")
def parts() -> list[Certificate]:
    """One, two and three components for two clusters."""
    return [certificate(k) for k in (1, 2, 3)]


def verdict(given: Certificate, known: Any = ()) -> Verdict:
    return check(given.document, given.arrays, DATA, known)


def test_the_least_icl_is_proved(parts: list[Certificate]) -> None:
    """Two components, by what the objectives and the parameters say; no other number."""
    found = verdict(compare(parts, best=1, criterion="icl"))
    assert found.verified, found.sentence
    icl = [2 * part.objective + (3 * k - 1) * math.log(12) for k, part in zip((1, 2, 3), parts, strict=True)]
    said = found.sentence.split("Of 1, 2, 3 components, 2 has the least ICL, by ")[1]
    by = float(said.split(" or more")[0])
    lead = min(icl[0], icl[2]) - icl[1]
    assert lead - 1e-3 < by <= lead + 1e-9
    for best in (0, 2, 3, True):
        assert not verdict(compare(parts, best=best, criterion="icl")).verified
    assert verdict(compare(parts, criterion="icl")).verified
    fewer = verdict(compare(parts[1:], best=0, criterion="icl"))  # of less, and it says so
    assert "Of 2, 3 components, 2 has the least ICL" in fewer.sentence


def test_the_penalty_decides(parts: list[Certificate]) -> None:
    """Three components have a smaller objective than two, which the penalty outweighs: nu = 8, 5 and log 12."""
    assert parts[2].objective < parts[1].objective + 1.5 * math.log(12)
    for k in (1, 2, 3):
        for weights in ("free", "uniform"):
            problem = Problem(DATA, k, variance=1.0, weights=weights)
            stated = read(state(problem))
            nu = 2 * k + (k - 1 if weights == "free" else 0)
            assert parameters(stated) == n_parameters(problem) == nu
            low, high = penalty(stated)
            assert low < 0.5 * nu * math.log(12) < high


@pytest.mark.parametrize(("variance", "more"), [(1.0, 0), ("unknown", 1), ("diagonal", 2)])
def test_unknown_variances_are_parameters(variance: Any, more: int) -> None:
    """One, or one for each of two features."""
    problem = Problem(DATA, 3, variance=variance)
    assert parameters(read(state(problem))) == n_parameters(problem) == 3 * 2 + 2 + more


def _dropped(d: Any, a: Any) -> None:
    """The problem with three components is not there, though it is named."""
    del d["parts"][2]


FORGERIES: dict[str, Callable[[Any, Any], object]] = {
    "a bound": lambda d, a: d["parts"][0].update(bound=d["parts"][0]["objective"] - 1e-12),
    "a number dropped": _dropped,
    "another number named": lambda d, a: d.update(components=[1, 2, 4]),
    "a number too many": lambda d, a: d["components"].append(4),
    "no numbers": lambda d, a: d.pop("components"),
    "another criterion": lambda d, a: d.update(criterion="aic"),
    "own offsets": lambda d, a: d.update(offsets=[0.0, 0.0, 100.0]),
    "another best": lambda d, a: d.update(best=0),
    "another statement": lambda d, a: d["parts"][2]["statement"].update(n_components=4),
    "twice the same": lambda d, a: d["parts"].__setitem__(2, copy.deepcopy(d["parts"][1])),
    "a part that is none": lambda d, a: d["parts"].__setitem__(0, None),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forgeries_are_rejected(parts: list[Certificate], name: str) -> None:
    whole = compare(parts, best=1, criterion="icl")
    document, arrays = copy.deepcopy(dict(whole.document)), dict(whole.arrays)
    FORGERIES[name](document, arrays)
    if name == "a bound":  # raised beyond what is proved
        document["parts"][0]["bound"] = document["parts"][0]["objective"] + 1e-3
    assert not check(document, arrays, DATA).verified


@pytest.mark.parametrize(
    "options",
    [
        {"variance": 2.0},
        {"weights": "uniform"},
        {"allow_empty": True},
        {"prior": GaussianPrior(0.0, 5.0)},
        {"mean_bounds": (-50.0, 50.0)},
        {"constraints": [certmix.MinimumSize(1)]},
    ],
)
def test_problems_of_another_kind_are_not_compared(parts: list[Certificate], options: Any) -> None:
    """A third problem that differs in more than its number of components, though each is verified by itself."""
    other = certificate(3, **options)
    assert certmix.verify(other, DATA).verified
    found = verdict(compare([*parts[:2], other], best=1, criterion="icl"))
    assert not found.verified
    assert "another problem" in found.sentence


def test_components_that_differ_are_of_no_kind() -> None:
    """What is said of single components cannot be said of another number of them."""
    first = state(Problem(DATA, 2, variance=1.0))
    for options in (
        {"weights": [0.3, 0.3, 0.4]},
        {"weight_bounds": ([0.1, 0.2, 0.1], 1.0)},
        {"variance": [1.0, 1.0, 2.0]},
    ):
        assert unlike(first, state(Problem(DATA, 3, **{"variance": 1.0, **options})))
    assert not unlike(first, state(Problem(DATA, 3, variance=1.0)))


def test_one_component_has_weights_of_any_kind() -> None:
    """It is compared with k-means and with uniform weights, but these are not compared with each other."""

    def stated(k: int, **options: Any) -> Any:
        return json.loads(json.dumps(state(Problem(DATA, k, **options))))

    one, two, three = (stated(k, weights="none") for k in (1, 2, 3))
    variance = float(1.0 / np.ravel(one["precision"])[0])
    uniform = [stated(k, weights="uniform", variance=variance) for k in (1, 2, 3)]
    assert len(penalties([one, two, three], [1, 2, 3])) == 3
    assert len(penalties([one, *uniform[1:]], [1, 2, 3])) == 3
    for mixed in ([one, two, uniform[2]], [uniform[0], uniform[1], three]):
        with pytest.raises(Rejected, match="fixed_weights"):
            penalties(mixed, [1, 2, 3])
    assert unlike(one, stated(2, variance=variance)) == ["fixed_weights"]


def test_what_was_verified_is_not_checked_again(parts: list[Certificate]) -> None:
    """A known bound needs no proof; one of another problem, or a larger one, does."""
    whole = compare(parts, best=1, criterion="icl")
    bare = {name: a for name, a in whole.arrays.items() if "incumbent" in name}
    known = {(p.document["digests"]["statement"], p.document["digests"]["data"], p.bound) for p in parts}
    assert check(whole.document, bare, DATA, known).verified
    assert not check(whole.document, bare, DATA, list(known)[:2]).verified
    assert not check(whole.document, bare, DATA, {("0", data, bound) for _, data, bound in known}).verified
    assert not check(
        whole.document, bare, DATA, {(s, data, bound - 1e-9) for s, data, bound in known}
    ).verified


def test_the_users_problems_are_compared(parts: list[Certificate]) -> None:
    """A function of the number of components says what the problems ought to be."""
    whole = compare(parts, best=1, criterion="icl")
    assert certmix.verify(whole, lambda k: Problem(DATA, k, variance=1.0)).verified
    other = certmix.verify(whole, lambda k: Problem(DATA, k, variance=2.0))
    assert "another problem with 1 components" in other.sentence
    assert certmix.verify(whole, DATA).taken == ("everything but the samples",)
