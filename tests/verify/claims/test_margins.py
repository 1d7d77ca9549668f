"""The claim ``margins``: what is verified of pairs is true of every clustering; tampering is rejected."""

from __future__ import annotations

import copy
import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import certmix
from certmix import MustLink, Problem
from certmix.certificate.draft import stated
from certmix.certificate.statement import state
from certmix.engines import engine, why_not
from certmix.errors import InfeasibleError, InputError
from certmix.io.certificates import Certificate
from certmix.sensitivity.run import stability
from certmix.verify.check import VERSION, check
from certmix.verify.claims.margins import Chain, settled
from certmix.verify.evidence import Rejected
from certmix.verify.statement import data_digest, digest
from nearly_optimal import Enumerated
from random_instances import random_problem

RNG = np.random.default_rng(3)
TWO = np.concatenate([RNG.normal(size=(12, 2)), RNG.normal(5.0, size=(12, 2)), [[2.4, 2.6]]])


@pytest.mark.parametrize("seed", range(30))
def test_what_is_verified_is_true_of_every_clustering(seed: int) -> None:
    """Against enumeration, with proofs by several engines."""
    rng = np.random.default_rng(1000 + seed)
    name = ("auto", "sdp", "dual")[seed % 3]
    try:
        problem = random_problem(rng, max_samples=7, features=engine("enumerate").honours)
    except (InputError, InfeasibleError):
        return
    if name != "auto" and why_not(engine(name), problem) is not None:
        return
    result = certmix.solve(problem, engine="enumerate", verify=False)
    if result.labels is None:
        return
    within = float(rng.choice([0.0, 1.0, 5.0]))
    found = stability(
        result,
        within,
        threads=1,
        engine=name,
        pairs=[(problem.names[0], problem.names[-1])] * (problem.n_samples > 1),
    )
    if found.certificate is None:
        assert found.level == "computed"
        return
    every = Enumerated(problem)
    near = every.labels[every.value <= result.objective + within]
    for i, j, together in found.certificate.document["pairs"]:
        assert ((near[:, i] == near[:, j]) == bool(together)).all()
    fixed = [i for i, s in enumerate(found.samples) if s.state == "fixed" and s.representative is not None]
    assert set(fixed) <= {i for i, _, _ in found.certificate.document["pairs"]}
    assert certmix.verify(found.certificate, problem).verified


@pytest.fixture(scope="module", params=["sdp", "dual"])
def made(request: pytest.FixtureRequest) -> Certificate:
    problem = Problem(TWO, 2, variance=1.0)
    result = certmix.solve(problem, threads=1)
    found = stability(result, 2.0, pairs=[(0, 13)], engine=request.param, threads=1)
    if found.certificate is None:
        pytest.skip("the first test says so")
    return found.certificate


def test_what_is_fixed_is_verified() -> None:
    """All samples but the one in the middle, and the pair that is apart."""
    result = certmix.solve(Problem(TWO[::3], 2, variance=1.0), threads=1)
    found = stability(result, 2.0, pairs=[(0, 5)], threads=1)
    assert found.pairs[0].words == "apart"
    assert found.level == "verified"


def test_a_pair_is_settled_when_both_have_the_same_component_only() -> None:
    """Or are in one group; not when one of them is open, or both are decided otherwise."""
    root = SimpleNamespace(group=np.array([0, 1, 2, 3, 3]))
    domain = SimpleNamespace(allowed=np.array([[1, 0], [1, 0], [0, 1], [1, 1]], dtype=bool))
    for i, j, is_settled in ((0, 1, True), (0, 2, False), (0, 3, False), (3, 0, False), (3, 4, True)):
        assert settled(np.array([[i, j, 1]]), root, domain) == is_settled  # type: ignore[arg-type]
    with pytest.raises(Rejected):
        settled(np.array([[0, 2, 0]]), root, domain)  # type: ignore[arg-type]


def said(certificate: Certificate, **changes: Any) -> str:
    """The verdict on a certificate in which something was changed."""
    document = {**copy.deepcopy(dict(certificate.document)), **changes}
    return check(document, certificate.arrays, TWO).sentence


def test_the_sentence_says_what_is_proved(made: Certificate) -> None:
    assert "within 2 nats of it 24 pairs of samples are together and 1 apart" in said(made)


def test_of_k_means_it_speaks_of_sums_of_squares() -> None:
    """As the program does: neither the objective nor delta are in nats, and delta is not rounded up."""
    data = TWO[::4]
    result = certmix.solve(Problem(data, 2, weights="none"), threads=1)
    found = stability(result, 3.0, threads=1)
    assert found.verdict is not None
    words = f"the clustering has SSE {result.sse:.10g}, and in every clustering within "
    assert words in found.verdict.sentence
    within = float(found.verdict.sentence.split(words)[1].split(" of it")[0])
    assert 2.999999999 < within <= 3.0


def test_a_pair_that_was_not_proved_is_rejected(made: Certificate) -> None:
    """The sample in the middle is with nobody for sure."""
    pairs = [*made.document["pairs"], [0, 24, 1]]
    assert "does not follow" in said(made, pairs=pairs)
    assert "does not follow" in said(made, pairs=[[0, 1, 0]])
    assert "not a list of 3" in said(made, pairs=[[0, 1]])
    assert "not a whole number in 0 .. 24" in said(made, pairs=[[0, 99, 1]])
    assert "not a list" in said(made, pairs=None)


def test_a_larger_distance_is_rejected(made: Certificate) -> None:
    """What is proved within 2 nats is not proved within 2.1."""
    assert "is not above" in said(made, within=2.1)
    assert said(made, within=1.9).startswith("Verified")
    assert said(made, within=-1.0).startswith("Rejected")


def test_a_part_is_about_the_pair_that_it_proves(made: Certificate) -> None:
    """A part may not prove another pair than the one whose opposite it bounds, nor more than one."""
    parts = copy.deepcopy(made.document["parts"])
    for part in parts:
        part["pairs"] = [*part["pairs"], [0, 24, 1]]
    assert said(made, parts=parts).startswith("Rejected")
    parts = copy.deepcopy(made.document["parts"])
    parts[-1]["pairs"] = [[0, 24, 1]]
    assert said(made, parts=parts).startswith("Rejected")
    parts = copy.deepcopy(made.document["parts"])
    assert not parts[-1].get("settled")  # the last one is about the pair that is apart
    parts[-1]["pairs"] = [*parts[-1]["pairs"], [0, 24, 1]]
    assert "is not about one pair" in said(made, parts=parts)


def test_a_part_whose_bound_is_claimed_higher_is_rejected(made: Certificate) -> None:
    parts = copy.deepcopy(made.document["parts"])
    parts[-1]["bound"] += 1000.0
    assert said(made, parts=parts).startswith("Rejected")


def test_parts_cannot_be_left_out(made: Certificate) -> None:
    assert "does not follow" in said(made, parts=[])


def test_an_infeasible_opposite_needs_a_proof(made: Certificate) -> None:
    """A part that says that its opposite is impossible has to show it."""
    parts = copy.deepcopy(made.document["parts"])
    parts[-1] = {**parts[-1], "bound": None, "settled": False}
    assert said(made, parts=parts).startswith("Rejected")


def test_a_tree_settles_what_is_together_only(made: Certificate) -> None:
    parts = copy.deepcopy(made.document["parts"])
    parts[0] = {**parts[0], "settled": True, "pairs": [[0, 13, 0]]}
    assert said(made, parts=parts).startswith("Rejected")


def test_an_unknown_variance_has_a_certificate_too() -> None:
    """Its parts are chords."""
    data = np.concatenate([TWO[:5], TWO[12:17]])
    problem = Problem(data, 2, variance="unknown", constraints=[MustLink(0, 1), MustLink(5, 6)])
    found = stability(certmix.solve(problem, threads=1), 1.0, threads=1)
    assert found.level == "verified"
    assert any("parts" in part for part in found.certificate.document["parts"])  # type: ignore[union-attr]


@pytest.fixture(scope="module")
def by_boxes() -> Certificate:
    """The first part is the bound of the problem, the second a tree of boxes."""
    result = certmix.solve(Problem(TWO, 2, variance=1.0), engine="dual", certificate=True, threads=1)
    found = stability(result, 2.0, engine="interval", threads=1)
    assert found.certificate is not None
    first, second = found.certificate.document["parts"][:2]
    assert first["pairs"] == []
    assert [step["kind"] for step in second["steps"]] == ["boxes"]
    assert len(second["pairs"]) >= 20
    return found.certificate


def changed_part(certificate: Certificate, t: int, **changes: Any) -> str:
    parts = copy.deepcopy(certificate.document["parts"])
    parts[t] = {**parts[t], **changes}
    return said(certificate, parts=parts)


def test_boxes_settle_pairs_and_stand_on_the_bound_before_them(by_boxes: Certificate) -> None:
    """Exchange arguments hold within what the bound allows, so it is proved, and not by another part."""
    assert said(by_boxes).startswith("Verified")
    bound, target = (part["bound"] for part in by_boxes.document["parts"][:2])
    assert "part 0" in changed_part(by_boxes, 0, bound=target) or "Rejected" in changed_part(
        by_boxes, 0, bound=target
    )
    lower = changed_part(by_boxes, 0, bound=bound - 40.0, steps=by_boxes.document["parts"][0]["steps"])
    assert "is not together" in lower


def test_boxes_do_not_settle_what_is_open(by_boxes: Certificate) -> None:
    """The sample in the middle may be elsewhere within 2 nats, though not in the best clustering."""
    labels = np.asarray(by_boxes.arrays["incumbent/labels"])
    other = int(np.flatnonzero(labels == labels[24])[0])
    pairs = [*by_boxes.document["parts"][1]["pairs"], [other, 24, 1]]
    assert "is not together" in changed_part(by_boxes, 1, pairs=pairs)


def test_what_holds_at_one_variance_is_not_said_of_all(by_boxes: Certificate) -> None:
    """A tree is about a known variance; with an unknown one its parts have to be envelopes."""
    problem = Problem(TWO, 2, variance="unknown")
    result = certmix.solve(problem, engine="hard-em")
    document = stated(problem, result, {})
    arrays = {**by_boxes.arrays, "incumbent/variance": np.array([result.variance])}
    for part in by_boxes.document["parts"][:2]:
        forged = {
            **by_boxes.document,
            **document,
            "objective": result.objective,
            "within": 0.0,
            "parts": [part],
        }
        own = {**arrays, **{f"incumbent/{n}": getattr(result, n) for n in ("labels", "means", "weights")}}
        assert "the variance is unknown" in check(forged, own, TWO).sentence


def test_the_least_cost_is_that_of_what_a_move_leads_to() -> None:
    """Averages within bounds: enumeration knows that a cheaper clustering is not allowed, the boxes do not.

    So the bound by enumeration is not one for exchange arguments: these would lose the clustering itself, and nothing
    that is left contradicts any claim.
    """
    data = np.array([[-1.18], [2.2], [4.1], [-3.28], [-1.81]])
    entry = json.loads(json.dumps(state(Problem(data, 2, variance=1.0))))
    entry |= {"mean_lower": [[None], [-0.24]], "mean_upper": [[-2.46], [None]], "estimators": ["means"]}
    labels = np.array([1, 1, 1, 0, 0])
    means = np.array([[data[labels == k].mean()] for k in range(2)])
    objective, tree = 11.05741666837951, {"parent": [-1], "kind": [0], "args": [[0, 0, 0]]}
    arrays = {f"parts/{t}/tree/{name}": np.array(a) for t in range(2) for name, a in tree.items()}
    arrays |= {f"parts/1/{name}": np.zeros(1, dtype=int) for name in ("component", "index")}
    arrays |= {"parts/1/kind": np.array([-1]), "parts/1/at": np.zeros(1)}
    arrays |= {
        "incumbent/labels": labels,
        "incumbent/means": means,
        "incumbent/weights": np.array([0.4, 0.6]),
    }
    least = {"pairs": [], "bound": objective - 1e-8, "steps": [{"node": 0, "kind": "enumerate"}]}
    boxes = {"settled": True, "bound": objective + 0.6, "steps": [{"node": 0, "kind": "boxes", "axis": 0}]}

    def found(pair: list[int], *parts: dict[str, Any]) -> str:
        document = {
            "format": "certmix-certificate",
            "version": VERSION,
            "claim": "margins",
            "objective": objective,
            "within": 0.5,
            "pairs": [pair],
            "statement": entry,
            "digests": {"statement": digest(entry), "data": data_digest(data)},
            "parts": list(parts),
        }
        return check(document, arrays, data).sentence

    for pair in ([3, 0, 1], [3, 4, 1]):
        sentence = found(pair, least, {**boxes, "pairs": [pair]})
        assert "does not reach the target" in sentence


def test_the_clustering_has_the_pairs_that_are_claimed(made: Certificate, monkeypatch: Any) -> None:
    """It is one of those that are spoken of, whatever the parts say."""
    i, j, together = made.document["pairs"][0]
    monkeypatch.setattr(Chain, "follows", lambda self, pairs: True)
    assert "its own clustering" in said(made, pairs=[[i, j, 1 - together]])
