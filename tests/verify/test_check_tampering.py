"""Hundreds of ways to tamper with a certificate. A false claim is never verified, and what must be noticed is.

Two kinds of test: changes that must be rejected as they are (data, statement, incumbent, structure of the proof), and
changes of the evidence that may happen to leave a valid proof (another multiplier, another cut). For the latter a
worse clustering is put in and the bound raised above the optimum as well: then no evidence whatever may be accepted.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import pytest

import certmix
from certmix.certificate import boxes, prove
from certmix.certificate import lagrangian as maker
from certmix.certificate.prove import make
from certmix.io.certificates import Certificate
from certmix.problem import CannotLink, Label, MinimumSize, MustLink, Packing, Problem, is_feasible
from certmix.verify.check import check
from certmix.verify.statement import data_digest, digest
from tuned import tuned


@dataclass(frozen=True)
class Case:
    problem: Problem
    certificate: Certificate
    optimum: float

    @cached_property
    def worse(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The same with another feasible clustering, and the claim that it is the best there is: a false bound."""
        best, rng = self.certificate.arrays["incumbent/labels"].astype(np.int64), np.random.default_rng(0)
        while True:
            labels = best.copy()
            labels[rng.integers(len(best), size=2)] = rng.integers(self.problem.n_components, size=2)
            if is_feasible(self.problem, labels):
                point = self.problem.objective.best(labels)
                if point.value > self.optimum + 1e-3 * max(1.0, abs(self.optimum)):
                    break
        document, arrays = parts(self)
        document |= {"objective": point.value, "bound": self.optimum + 1e-6 * max(1.0, abs(self.optimum))}
        arrays["incumbent/labels"] = labels
        return document, {**arrays, "incumbent/means": point.means, "incumbent/weights": point.weights}


def clusters(n: int, d: int, k: int, seed: int, scale: float = 4.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=scale, size=(k, d))
    return centres[rng.integers(k, size=n)] + rng.normal(size=(n, d))


@cache
def case(name: str) -> Case:
    """A certificate of every kind of proof, with what it is about."""
    if name == "dynamic":
        problem = Problem(clusters(30, 1, 3, 0), 3, variance=1.0)
    elif name == "enumerate":
        rules = [CannotLink(0, 1), Label(2, 0), Packing([3, 4, 5], 1, 2)]
        problem = Problem(clusters(9, 2, 3, 1), 3, variance=1.0, constraints=rules)
    elif name in ("pricing", "boxes"):
        problem = Problem(clusters(24, 2, 2, 2), 2, variance=1.0)
    elif name == "pairs":
        rules = [CannotLink(0, 1), CannotLink(2, 3), MustLink(4, 5), MinimumSize(4)]
        problem = Problem(clusters(24, 2, 2, 3), 2, variance=1.0, constraints=rules)
    elif name == "masses":
        data, weight = clusters(24, 2, 2, 3), np.linspace(0.3, 2.7, 24)
        data[:12:5, 0], data[13::4, 1] = np.nan, np.nan
        given = {"missing": "keep", "sample_weight": weight, "weights": "uniform"}
        problem = Problem(data, 2, variance=1.0, constraints=[MustLink(4, 6), CannotLink(0, 1)], **given)
    elif name == "sdp":
        problem = Problem(clusters(14, 7, 2, 5, 2.0), 2, variance=1.0)
    else:
        rules = [CannotLink(0, 1), CannotLink(1, 2), Label(3, 0)]
        problem = Problem(clusters(10, 2, 3, 4, 2.0), 3, variance=1.0, constraints=rules)
    with pytest.MonkeyPatch.context() as patch:
        if name == "sdp":  # not so small that it would be enumerated
            patch.setattr("certmix.certificate.prove.MOST", 0)
        else:  # if not by a recomputation, then by multipliers
            patch.setattr(prove, "TUNING", replace(prove.TUNING, dense_groups=0))
        if name != "boxes":
            patch.setattr(boxes, "TUNING", replace(boxes.TUNING, entries=0))
        engine = {"sdp": "sdp", "pairs": "dual"}.get(name, "auto")
        result = certmix.solve(problem, engine, gap=1e-7, certificate=True)
    certificate = result.certificate
    if name == "branching":
        certificate = branched(problem, result)
    assert certificate is not None
    if name == "pairs":  # let every step know the two conflicts, whether its maker used them or not
        steps = [step for step in certificate.document["steps"] if step["kind"] == "lagrangian"]
        more = {f"{step['arrays']}pairs": np.array([[0, 1], [2, 3]]) for step in steps}
        certificate = Certificate(certificate.document, {**certificate.arrays, **more})
    assert check(certificate.document, certificate.arrays, problem.data).verified
    return Case(problem, certificate, result.objective)


def branched(problem: Problem, result: certmix.Result) -> Certificate:
    """A tree with decisions: prices count only once some groups are decided, and little is enumerated."""
    trees = maker.LagrangianProver._trees

    def reluctant(self: Any, ascent: Any, domain: Any, sets: Any) -> Any:
        return trees(self, ascent, domain, sets) if domain.decided.sum() > 2 else None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prove, "MOST", 0)
        patch.setattr(maker.LagrangianProver, "_trees", reluctant)
        with tuned(prove, dense_groups=0), tuned(maker, few_clusterings=100):
            found, _ = make(problem, result)
    assert len(found.arrays["tree/parent"]) > 3
    return found


CASES = ("dynamic", "enumerate", "pricing", "pairs", "branching", "sdp", "boxes")


def verified(case: Case, document: dict[str, Any], arrays: dict[str, np.ndarray], data: Any = None) -> bool:
    with np.errstate(all="ignore"):
        return check(document, arrays, case.problem.data if data is None else data).verified


def parts(case: Case) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    return copy.deepcopy(dict(case.certificate.document)), {
        k: v.copy() for k, v in case.certificate.arrays.items()
    }


# -- what must be rejected as it is ------------------------------------------------------------------------------
DATA: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "one number, one unit in the last place": lambda y: _at(y, 3, np.nextafter(y[3, 0], np.inf)),
    "two samples exchanged": lambda y: y[[1, 0, *range(2, len(y))]],
    "a sample removed": lambda y: y[1:],
    "a sample twice": lambda y: np.concatenate([y, y[:1]]),
    "another column": lambda y: np.column_stack([y, y[:, 0]]),
    "other units": lambda y: 2.0 * y,
    "shifted": lambda y: y + 1.0,
    "one sample missing": lambda y: _at(y, 0, np.nan),
    "infinite": lambda y: _at(y, 0, np.inf),
    "flat": lambda y: y.ravel(),
}


def _at(y: np.ndarray, i: int, value: float) -> np.ndarray:
    y = y.copy()
    y[i, 0] = value
    return y


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("change", DATA)
def test_other_data_are_rejected(name: str, change: str) -> None:
    """A certificate is about its data to the last bit."""
    c = case(name)
    document, arrays = parts(c)
    assert not verified(c, document, arrays, DATA[change](c.problem.data))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("change", DATA)
def test_other_data_with_a_forged_digest_prove_nothing_false(name: str, change: str) -> None:
    """Even if the digest is forged, the objective of the clustering no longer fits."""
    c = case(name)
    document, arrays = parts(c)
    data = DATA[change](c.problem.data)
    if data.ndim == 2:
        document["digests"]["data"] = data_digest(data)
    # The same problem, or the same within rounding: then it may as well be verified.
    if change not in ("one number, one unit in the last place", "shifted", "two samples exchanged"):
        assert not verified(c, document, arrays, data)


def statement_changes(statement: dict[str, Any]) -> dict[str, Any]:
    """Every entry of a statement, changed."""
    n, K = statement["n_samples"], statement["n_components"]
    other: dict[str, Any] = {
        "n_samples": n + 1,
        "n_features": statement["n_features"] + 1,
        "n_components": K + 1,
        "precision": (np.array(statement["precision"]) * 1.001).tolist(),
        "half_log_det": [0.1] * K,
        "fixed_weights": [1.0 / K] * K,
        "weight_lower": [0.01] * K,
        "weight_upper": [0.99] * K,
        "mean_lower": (np.zeros((K, statement["n_features"])) - 50).tolist(),
        "mean_upper": (np.zeros((K, statement["n_features"])) + 50).tolist(),
        "alpha": [1.5] * K,
        "prior_mean": np.ones((K, statement["n_features"])).tolist(),
        "prior_precision": np.tile(np.eye(statement["n_features"]), (K, 1, 1)).tolist(),
        "estimators": ["weights"],
        "allow_empty": True,
        "component_names": statement["component_names"][::-1],
        "together": [[0, 8]] if statement["together"] != [[0, 8]] else [],
        "apart": statement["apart"][1:] if statement["apart"] else [[0, 8]],
        "implications": [[0, 8, 0]],
        "labels": statement["labels"][1:] if statement["labels"] else [[0, 0]],
        "sizes": [] if statement["sizes"] else [[0, 2, n]],
        "counts": [] if statement["counts"] else [[0, 0, 1, [0, 1]]],
    }
    assert other.keys() == statement.keys()
    return other


ENTRIES = sorted(certmix.certificate.statement.state(Problem(np.arange(3.0), 2, variance=1.0)))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("entry", ENTRIES)
def test_another_statement_is_rejected(name: str, entry: str) -> None:
    """Every entry of the statement counts: dropped constraints, other precision, other priors, other sizes."""
    c = case(name)
    document, arrays = parts(c)
    changed = statement_changes(document["statement"])[entry]
    assert changed != document["statement"][entry]
    document["statement"][entry] = changed
    assert not verified(c, document, arrays)
    document["digests"]["statement"] = digest(document["statement"])
    assert not certmix.verify(Certificate(document, arrays), c.problem).verified
    del document["statement"][entry]
    assert not verified(c, document, arrays)


DOCUMENT: dict[str, Callable[[dict[str, Any], float], Any]] = {
    "format": lambda d, u: "certmix-result",
    "version": lambda d, u: 2,
    "version ": lambda d, u: "4",
    "version   ": lambda d, u: 4.0,
    "claim": lambda d, u: "infeasible",
    "claim ": lambda d, u: True,
    "version  ": lambda d, u: True,
    "bound": lambda d, u: u + 1e-6 * max(1.0, abs(u)),
    "bound ": lambda d, u: u + 1.0,
    "bound  ": lambda d, u: float("inf"),
    "bound   ": lambda d, u: float("nan"),
    "bound    ": lambda d, u: None,
    "bound     ": lambda d, u: "1",
    "objective": lambda d, u: u - 1e-3,
    "objective ": lambda d, u: u + 1e-3,
    "objective  ": lambda d, u: float("nan"),
    "objective   ": lambda d, u: True,
    "digests": lambda d, u: {},
    "digests ": lambda d, u: {**d["digests"], "data": "0" * 64},
    "digests  ": lambda d, u: {**d["digests"], "statement": "0" * 64},
    "digests   ": lambda d, u: None,
    "statement": lambda d, u: None,
    "steps": lambda d, u: [],
    "steps ": lambda d, u: None,
    "steps  ": lambda d, u: d["steps"][:-1],
    "steps   ": lambda d, u: [{**s, "kind": "trust me"} for s in d["steps"]],
    "steps    ": lambda d, u: [{**s, "node": 10**6} for s in d["steps"]],
    "steps     ": lambda d, u: [{**s, "node": -1} for s in d["steps"]],
    "steps      ": lambda d, u: [None, *d["steps"]],
    "steps       ": lambda d, u: [{k: v for k, v in s.items() if k != "kind"} for s in d["steps"]],
    "steps        ": lambda d, u: [{**s, "node": True} for s in d["steps"]],
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("entry", DOCUMENT)
def test_another_document_is_rejected(name: str, entry: str) -> None:
    """A raised bound, another objective, another version, missing steps or digests: rejected."""
    c = case(name)
    document, arrays = parts(c)
    document[entry.strip()] = DOCUMENT[entry](document, c.optimum)
    assert not verified(c, document, arrays)
    del document[entry.strip()]
    assert not verified(c, document, arrays)


@pytest.mark.parametrize("name", CASES)
def test_a_worse_clustering_is_not_called_optimal(name: str) -> None:
    """With its own value and a bound that holds, a worse clustering is verified; with one above the optimum, never."""
    c = case(name)
    document, arrays = c.worse
    assert not verified(c, document, arrays)
    assert verified(c, {**document, "bound": c.certificate.bound}, arrays)


@pytest.mark.parametrize("name", CASES)
def test_another_clustering_is_rejected(name: str) -> None:
    """Labels, means and weights are those of the objective, and satisfy every constraint."""
    c = case(name)
    K = c.problem.n_components
    for i in range(0, c.problem.n_samples, 3):
        document, arrays = parts(c)
        labels = arrays["incumbent/labels"]
        labels[i] = (labels[i] + 1) % K
        assert not verified(c, document, arrays)
    for part, change in (("means", 0.5), ("weights", 0.01), ("means", np.nan), ("weights", np.inf)):
        document, arrays = parts(c)
        arrays[f"incumbent/{part}"].flat[0] += change
        assert not verified(c, document, arrays)
    document, arrays = parts(c)
    arrays["incumbent/labels"][0] = K
    assert not verified(c, document, arrays)
    document, arrays = parts(c)
    arrays["incumbent/labels"][0] = -1
    assert not verified(c, document, arrays)


SHAPES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "one entry less": lambda x: x[:-1],
    "one entry more": lambda x: np.concatenate([x, x[-1:]]),
    "another axis": lambda x: x[None],
    "as texts": lambda x: x.astype(str),
    "complex": lambda x: x.astype(complex),
    "the other kind of number": lambda x: (
        x.astype(np.float64) if x.dtype.kind in "iu" else x.astype(np.int64)
    ),
    "nothing": lambda x: x[:0],
}
# Arrays of the semidefinite step are packed one behind the other; its own tests take them apart.
NAMES = ("incumbent/", "tree/", "multipliers", "axis/", "cut/")


def structural(arrays: dict[str, np.ndarray]) -> list[str]:
    found = [name for name in sorted(arrays) if any(part in name for part in NAMES) and len(arrays[name])]
    ours = [name for name in found if name.startswith(("incumbent/", "tree/"))]
    theirs = [name for name in found if name not in ours]
    return [*ours, *theirs[:6]]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("change", SHAPES)
def test_arrays_of_other_shapes_are_rejected(name: str, change: str) -> None:
    """Truncated, extended, missing arrays and other types are rejected, not repaired."""
    c = case(name)
    for array in structural(dict(c.certificate.arrays)):
        document, arrays = parts(c)
        arrays[array] = SHAPES[change](arrays[array])
        assert not verified(c, document, arrays), array
        del arrays[array]
        assert not verified(c, document, arrays), array
        if c.certificate.arrays[array].dtype.kind == "f":
            for bad in (np.nan, np.inf, -np.inf):
                document, arrays = parts(c)
                arrays[array].flat[0] = bad
                assert not verified(c, document, arrays), array


@pytest.mark.parametrize("name", ["branching", "pairs"])
def test_a_leaf_removed_is_noticed(name: str) -> None:
    """Without one of its leaves, a tree does not cover the root."""
    c = case(name)
    parent = c.certificate.arrays["tree/parent"]
    leaves = [i for i in range(1, len(parent)) if i not in set(parent.tolist())]
    for leaf in leaves[:12]:
        document, arrays = parts(c)
        keep = np.arange(len(parent)) != leaf
        new = np.cumsum(keep) - 1
        arrays["tree/parent"] = np.where(parent >= 0, new[parent], -1)[keep].astype(np.int32)
        arrays["tree/kind"], arrays["tree/args"] = arrays["tree/kind"][keep], arrays["tree/args"][keep]
        document["steps"] = [
            {**s, "node": int(new[s["node"]])} for s in document["steps"] if s["node"] != leaf
        ]
        assert not verified(c, document, arrays)


@pytest.mark.parametrize("name", ["pricing", "pairs"])
def test_a_pruned_pricing_tree_is_noticed(name: str) -> None:
    """A node of a pricing tree made a leaf, its subtree left where it is: the levels no longer fit."""
    c = case(name)
    axes = [a for a in c.certificate.arrays if "axis/" in a]
    assert axes
    for array in axes:
        inner = np.flatnonzero(c.certificate.arrays[array] != -1)
        for place in inner[:: max(1, len(inner) // 12)]:
            document, arrays = parts(c)
            arrays[array][place] = -1
            assert not verified(c, document, arrays)


# -- what may be another valid proof, but never of a false bound ---------------------------------------------------
def _shuffled(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    return rng.permutation(x)


def _one(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """One entry changed, by a little or a lot."""
    x = x.copy()
    if x.size:
        place = int(rng.integers(x.size))
        if x.dtype.kind == "f":
            x.flat[place] += rng.choice([1e-6, 0.1, 1.0, 100.0, 1e12]) * rng.choice([-1, 1])
        else:
            room = np.iinfo(x.dtype)
            value = int(x.flat[place]) + int(rng.choice([-2, -1, 1, 2, 5]))
            x.flat[place] = np.clip(value, room.min, room.max)
    return x


def _scaled(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    if x.dtype.kind == "f":
        return x * x.dtype.type(rng.choice([-1.0, 0.0, 0.5, 1.001, 2.0, 1e6]))
    return np.clip(x.astype(np.int64) * int(rng.choice([-1, 0, 2])), -100, 100).astype(x.dtype)


def _raised(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    if x.dtype.kind == "f":
        return x + x.dtype.type(rng.choice([1e-3, 0.1, 1.0, 10.0]))
    return x


def _cut(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    return x[: int(rng.integers(len(x) + 1))] if x.ndim else x


def _doubled(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    return np.concatenate([x, x]) if x.ndim else x


CHANGES = (_shuffled, _one, _one, _one, _scaled, _raised, _cut, _doubled)


def _steps(rng: np.random.Generator, steps: list[dict[str, Any]], nodes: int) -> list[dict[str, Any]]:
    steps = copy.deepcopy(steps)
    if not steps:
        return steps
    what = rng.integers(4)
    i = int(rng.integers(len(steps)))
    if what == 0:
        steps[i]["node"] = int(rng.integers(nodes))
    elif what == 1:
        steps[i]["kind"] = str(rng.choice(["lagrangian", "enumerate", "dynamic", "semidefinite", "name"]))
    elif what == 2:
        steps[i]["arrays"] = f"{int(rng.integers(len(steps) + 1))}/"
    else:
        steps.insert(0, steps.pop(i))
    return steps


@pytest.mark.parametrize("name", [*CASES, "masses"])
@pytest.mark.parametrize("seed", range(25))
def test_no_tampering_makes_a_false_bound_true(name: str, seed: int) -> None:
    """Evidence changed at random, and a worse clustering called optimal: never verified, never an error.

    With the bound as it was, the verdict may be either, but a verified one is about the true bound and value.
    """
    c = case(name)
    rng = np.random.default_rng(seed)
    names = [a for a in sorted(c.certificate.arrays) if not a.startswith("incumbent/")]
    for _ in range(6):
        document, arrays = parts(c)
        for _ in range(int(rng.integers(1, 3))):
            if rng.random() < 0.2:
                document["steps"] = _steps(rng, document["steps"], len(arrays["tree/parent"]))
            else:
                array = names[rng.integers(len(names))]
                arrays[array] = CHANGES[rng.integers(len(CHANGES))](rng, arrays[array])
        with np.errstate(all="ignore"):
            verdict = check(document, arrays, c.problem.data)
            if verdict.verified:
                assert verdict.bound <= c.optimum
                assert verdict.value == pytest.approx(c.optimum, rel=1e-9)
            false, worse = c.worse
            arrays |= {array: worse[array] for array in worse if array.startswith("incumbent/")}
            assert not check({**false, "steps": document["steps"]}, arrays, c.problem.data).verified
