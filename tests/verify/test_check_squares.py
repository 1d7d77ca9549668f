"""K-means for the checker: fixed weights that are all one, and a sum of squares that is never negative."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import certmix
from certmix.certificate.draft import compare
from certmix.certificate.statement import state
from certmix.io.certificates import Certificate
from certmix.problem import Problem
from certmix.verify.check import Verdict, check
from certmix.verify.claims.criteria import unlike
from certmix.verify.evidence import Rejected
from certmix.verify.statement import digest, read

DATA = np.random.default_rng(0).normal(size=(12, 2))


def certified(k: int, **options: Any) -> Certificate:
    found = certmix.solve(Problem(DATA, k, **{"weights": "none", **options}), certificate=True).certificate
    assert found is not None
    return found


def changed(given: Certificate, **entries: Any) -> Verdict:
    """The verdict on the certificate with other entries; of the statement where it has one of that name."""
    document = dict(given.document)
    for name, value in entries.items():
        if name in document["statement"]:
            document["statement"] = {**document["statement"], name: value}
            document["digests"] = {**document["digests"], "statement": digest(document["statement"])}
        else:
            document[name] = value
    return check(document, given.arrays, DATA)


def test_the_sentence_is_about_sums_of_squares() -> None:
    """What the checker says is what k-means users count."""
    given = certified(3)
    said = check(given.document, given.arrays, DATA).sentence
    labels = given.arrays["incumbent/labels"]
    value = sum(((DATA[labels == k] - DATA[labels == k].mean(axis=0)) ** 2).sum() for k in range(3))
    assert float(said.split("has SSE ")[1].split(" and")[0]) == pytest.approx(value, rel=1e-9)
    assert "nats" not in said


def test_a_sum_of_squares_is_not_negative() -> None:
    """Without a step nothing above zero is proved, and nothing at all of another objective."""
    given = certified(3)
    nodes = {"tree/parent": [-1], "tree/kind": [0], "tree/args": [[0, 0, 0]]}
    own = {name: a for name, a in given.arrays.items() if name.startswith("incumbent/")}
    alone = Certificate(given.document, {**own, **{n: np.array(a, dtype=np.int32) for n, a in nodes.items()}})
    assert changed(alone, steps=[], bound=0.0).verified
    assert not changed(alone, steps=[], bound=1e-9).verified
    other = certified(3, weights="uniform", variance=1.0)
    mine = {name: a for name, a in other.arrays.items() if name.startswith("incumbent/")}
    wrong = Certificate(other.document, {**alone.arrays, **mine})
    assert "its bound -inf" in changed(wrong, steps=[], bound=0.0).sentence


@pytest.mark.parametrize("weights", [[1.0, 1.0, 0.5], [2.0, 2.0, 2.0], [0.5, 0.5, 0.5]])
def test_other_weights_add_up_to_one(weights: list[float]) -> None:
    """All one is k-means; anything else has to be a distribution."""
    entry = {**state(Problem(DATA, 3, weights="none")), "fixed_weights": weights}
    with pytest.raises(Rejected, match="fixed weights"):
        read(entry)


@pytest.mark.parametrize(
    "given",
    [
        {"weights": "uniform", "variance": 1.0},
        {"variance": 1.0},
        {"weights": "uniform", "precision": np.diag([1.0, 2.0])},
    ],
)
def test_nothing_else_is_called_a_sum_of_squares(given: dict) -> None:
    """Only weights that cost nothing and one variance leave the sum of squares."""
    assert read(state(Problem(DATA, 3, **given))).squares is None
    own = state(Problem(DATA, 3, weights="none"))
    assert read(own).squares == Problem(DATA, 3, weights="none").quantity.factor
    assert read({**own, "precision": [[1.0, 2.0]]}).squares is None
    assert read({**own, "prior_precision": [[1.0, 1.0]] * 3}).squares is None


def test_k_means_is_not_compared_with_uniform_weights() -> None:
    """Equal weights of a mixture cost log K for each sample, those of k-means nothing: another problem."""
    none, uniform = (
        state(Problem(DATA, k, weights=w, **v))
        for k, w, v in ((2, "none", {}), (3, "uniform", {"variance": 1.0}))
    )
    alike = {**uniform, "precision": none["precision"]}
    assert unlike(none, alike) == ["fixed_weights"]
    assert unlike(none, state(Problem(DATA, 3, weights="none"))) == []
    parts = [certified(2), certified(3)]
    assert check(*_of(compare(parts)), DATA).verified


def _of(given: Certificate) -> tuple[Any, Any]:
    return given.document, given.arrays
