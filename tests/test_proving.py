"""After the search its proof is made and checked, within a budget; whatever becomes of it, the result stands."""

from __future__ import annotations

import time
from io import StringIO

import numpy as np
import pytest

import certmix
from certmix import CannotLink, MustLink, Problem, proving
from certmix.certificate.prove import Unproved
from certmix.io.certificates import Certificate
from certmix.observers.log import PlainLog
from certmix.options import Options
from certmix.status import Status, Termination
from certmix.stopping import current

RNG = np.random.default_rng(4)
POINTS = RNG.normal(size=(24, 2)) * 0.3 + np.repeat([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]], 8, axis=0)
PROBLEM = Problem(POINTS, 3, variance=0.1)
SMALL = Problem(POINTS[::4, :1], 2, variance=0.1)


@pytest.fixture(autouse=True)
def ample(monkeypatch):
    """However busy the machine is, tiny proofs are within the budget."""
    monkeypatch.setattr(proving, "LEAST_BUDGET", 120.0)


def slow(seconds: float):
    """A maker that takes so long, unless it is told to stop."""
    make = proving.make

    def late(*arguments, **options):
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            if current().raised:
                raise Unproved("it was told to stop")
            time.sleep(0.005)
        return make(*arguments, **options)

    return late


@pytest.mark.parametrize(
    ("problem", "engine"), [(SMALL, "dynamic"), (SMALL, "enumerate"), (PROBLEM, "dual"), (PROBLEM, "sdp")]
)
def test_a_certified_run_is_verified_by_default(problem, engine):
    """The certificate is made and checked, it is kept, and the account of the run says how long each took."""
    result = certmix.solve(problem, engine)
    assert result.status is Status.OPTIMAL
    assert result.certificate_level == "verified"
    assert result.verdict is not None
    assert certmix.verify(result.certificate, problem).verified
    assert result.account().startswith("solved in ")
    assert ", proof made in " in result.account()
    assert " s and checked in " in result.account()


@pytest.mark.parametrize("engine", ["dynamic", "dual", "sdp"])
def test_the_search_is_the_same_with_and_without(engine):
    """Whether its proof is checked decides the level, not the clustering, and no node more or less is explored."""
    problem = SMALL if engine == "dynamic" else PROBLEM
    with_it, without = (certmix.solve(problem, engine, threads=1, verify=verify) for verify in (True, False))
    assert (with_it.certificate_level, without.certificate_level) == ("verified", "computed")
    assert (without.certificate, without.verification) == (None, "")
    assert np.array_equal(with_it.labels, without.labels)
    assert (with_it.objective, with_it.status) == (without.objective, without.status)
    assert with_it.nodes == without.nodes


def test_the_certificate_is_apart_from_the_level():
    """True makes one whether or not it is checked, False keeps none, and both have the level that verify asks for."""
    unchecked = certmix.solve(PROBLEM, "dual", certificate=True, verify=False)
    assert unchecked.certificate_level == "computed"
    assert unchecked.certificate is not None
    assert certmix.verify(unchecked.certificate, PROBLEM).verified
    kept_none = certmix.solve(PROBLEM, "dual", certificate=False)
    assert (kept_none.certificate, kept_none.certificate_level) == (None, "verified")


def test_over_its_budget_the_result_stays_computed_and_says_so(monkeypatch):
    """In the result, its summary and the log; the search's own result is what it would have been."""
    monkeypatch.setattr(proving, "LEAST_BUDGET", 0.05)
    monkeypatch.setattr(proving, "make", slow(60.0))
    stream = StringIO()
    result = certmix.solve(PROBLEM, "dual", verify_budget=0.0, observers=[PlainLog(stream)])
    assert result.status is Status.OPTIMAL
    assert result.certificate_level == "computed"
    assert result.certificate is None
    assert "over its budget of 0.05 s (0 % of the solving time, at least a second)" in result.verification
    assert "Not verified" in result.summary()
    assert stream.getvalue().splitlines()[-1] == result.account()


@pytest.mark.parametrize("asked", [{"verify": True}, {"certificate": True}])
def test_who_asks_for_a_proof_waits_for_it(monkeypatch, asked):
    """With verify=True there is no budget, with certificate=True none for making it."""
    monkeypatch.setattr(proving, "make", slow(0.3))
    result = certmix.solve(SMALL, "enumerate", verify_budget=0.0, **asked)
    assert result.certificate is not None
    assert result.certificate_level == "verified"


def test_a_proof_that_its_maker_left_unchecked_is_checked(monkeypatch):
    """Makers check only what is quick; within the budget the rest is checked here."""
    make = proving.make
    monkeypatch.setattr(proving, "make", lambda *a, **o: (make(*a, **o)[0], None))
    result = certmix.solve(PROBLEM, "dual")
    assert result.certificate_level == "verified"
    monkeypatch.setattr(proving, "verify", lambda *_: time.sleep(60.0))
    monkeypatch.setattr(proving, "LEAST_BUDGET", 0.0)
    late = certmix.solve(PROBLEM, "dual", certificate=True, verify_budget=1e-9)
    assert late.certificate_level == "computed"
    assert late.certificate is not None
    assert "not verified: over its budget" in late.verification


def interrupted(*_, **__):
    raise KeyboardInterrupt


def test_a_signal_leaves_what_the_search_has_proved(monkeypatch):
    """Ctrl-C while the proof is made or checked: the result is whole, its level computed."""
    make = proving.make
    for name, words in (("make", "interrupted while it was made"), ("verify", "while it was checked")):
        monkeypatch.setattr(proving, "make", lambda *a, **o: (make(*a, **o)[0], None))
        monkeypatch.setattr(proving, name, interrupted)
        result = certmix.solve(PROBLEM, "dual")
        assert (result.status, result.termination) == (Status.OPTIMAL, Termination.GAP)
        assert result.certificate_level == "computed"
        assert words in result.verification
        assert (result.certificate is None) == (name == "make")


@pytest.mark.parametrize("error", [MemoryError("no room"), ValueError("odd"), ZeroDivisionError("zero")])
def test_whatever_goes_wrong_in_the_maker_the_result_stands(monkeypatch, error):
    """A maker that fails is a reason in words, not the end of the run."""

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(proving, "make", fail)
    result = certmix.solve(PROBLEM, "dual")
    assert result.status is Status.OPTIMAL
    assert result.certificate_level == "computed"
    assert f"no certificate: {type(error).__name__}: {error}" in result.verification


def test_a_proof_that_is_rejected_lifts_nothing(monkeypatch):
    """Only the checker's word makes a result verified."""
    other = certmix.solve(Problem(POINTS + 1.0, 3, variance=0.1), "dual").certificate
    monkeypatch.setattr(proving, "make", lambda *_, **__: (other, None))
    result = certmix.solve(PROBLEM, "dual")
    assert result.certificate_level == "computed"
    assert result.certificate is None
    assert "not verified: Rejected" in result.verification


def test_a_proof_that_says_less_than_the_result_lifts_nothing(monkeypatch):
    """A true certificate with a weaker bound than the status needs: the result keeps its own, and says so."""
    weak = certmix.solve(PROBLEM, "dual", certificate=True).certificate
    document = {**weak.document, "bound": weak.objective - 1.0}
    monkeypatch.setattr(proving, "make", lambda *_, **__: (Certificate(document, weak.arrays), None))
    result = certmix.solve(PROBLEM, "dual")
    assert result.certificate_level == "computed"
    assert result.status is Status.OPTIMAL
    assert f"not verified: the proof reaches {weak.objective - 1.0:.10g} only" in result.verification


def test_where_nothing_is_proved_there_is_nothing_to_verify(monkeypatch):
    """Local engines make no attempt and say nothing of it, and their search has all of the time."""
    monkeypatch.setattr(proving, "make", interrupted)
    result = certmix.solve(PROBLEM, "hard-em")
    assert (result.certificate_level, result.verification) == ("none", "")
    local = certmix.engines.engine("hard-em")
    assert proving.for_search(Options(time_limit=10.0), local).time_limit == 10.0


def test_contradictions_are_verified_too():
    """That no clustering meets the constraints is a claim like any other."""
    rules = [MustLink(0, 1), MustLink(1, 2), CannotLink(0, 2)]
    result = certmix.solve(PROBLEM.replace(constraints=rules))
    assert result.status is Status.INFEASIBLE
    assert result.certificate_level == "verified"


def test_a_run_that_was_cut_short_is_verified_as_far_as_it_came():
    """At a node limit the bound that there is gets its proof, and the clustering stays."""
    limited = certmix.solve(PROBLEM, "sdp", node_limit=0, verify=True)
    plain = certmix.solve(PROBLEM, "sdp", node_limit=0, verify=False)
    assert np.array_equal(limited.labels, plain.labels)
    assert limited.certificate_level in ("verified", "computed")
    assert limited.lower_bound >= plain.lower_bound - 1e-6 * abs(plain.lower_bound)


def test_a_proof_for_which_no_time_is_left_is_not_begun(monkeypatch):
    """A search that has used up the whole limit ends at once, and says why there is no proof."""
    monkeypatch.setattr(proving, "make", interrupted)
    monkeypatch.setattr(proving, "PROOF_TIME", 0.0)
    result = certmix.solve(PROBLEM, "dual", time_limit=0.0)
    assert result.certificate_level == "computed"
    assert result.verification == "not verified, no certificate: time limit while it was made"


def test_the_time_limit_holds_for_search_and_proof_together(monkeypatch):
    """A proof has what the search has left of the limit, and no more."""
    seen = []
    make = proving.make
    monkeypatch.setattr(proving, "make", lambda *a, **o: seen.append(o["time_limit"]) or make(*a, **o))
    result = certmix.solve(PROBLEM, "dual", time_limit=30.0, verify=True)
    assert 0.0 < seen[0] <= 30.0 - result.seconds
