"""A problem in words: its constraints, and all the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from certmix.problem import constraints as c
from certmix.problem.features import Feature, features
from certmix.problem.noise import Noise

if TYPE_CHECKING:
    from certmix.problem.problem import Problem


def _listed(names: list[str]) -> str:
    if len(names) > 6:
        names = [*names[:5], f"{len(names) - 5} more"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _samples(limit: int) -> str:
    return f"{limit} sample{'' if limit == 1 else 's'}"


def describe(problem: Problem, item: c.Constraint) -> str:
    """One constraint as a clause of a sentence, without its source."""

    def sample(ref: Any) -> str:
        return problem.samples.sample(problem.samples.position(ref))

    def component(ref: Any) -> str:
        return f"component {problem.component_names[problem.component(ref)]}"

    match item:
        case c.Linking(penalty=float(penalty)):
            whom = _listed([sample(s) for s in item.samples])
            be = "be together" if isinstance(item, c.MustLink) else "not be together"
            who = whom if isinstance(item, c.MustLink) or len(item.samples) == 2 else f"any two of {whom}"
            return f"{who} should {be}, or it costs {penalty:g}"
        case c.MustLink():
            return f"{_listed([sample(s) for s in item.samples])} must be together"
        case c.Copies():
            return f"{sample(item.sample)} stands for {_samples(item.count)}"
        case c.CannotLink():
            whom = _listed([sample(s) for s in item.samples])
            pair = len(item.samples) == 2
            return f"{whom} may not be together" if pair else f"no two of {whom} may be together"
        case c.Implication():
            if item.component is None:
                return f"{sample(item.then)} is wherever {sample(item.sample)} is"
            where = component(item.component)
            return f"if {sample(item.sample)} is in {where} then so is {sample(item.then)}"
        case c.Label():
            return f"{sample(item.sample)} is in {component(item.component)}"
        case c.SizeLimit():
            who = "every component" if item.component is None else component(item.component)
            how = "least" if isinstance(item, c.MinimumSize) else "most"
            return f"{who} has at {how} {_samples(item.limit)}"
        case c.Counting():
            how = {"packing": "at most", "partitioning": "exactly", "covering": "at least"}[item.kind]
            whom = _listed([sample(s) for s in item.samples])
            return f"{how} {item.limit} of {whom} in {component(item.component)}"
    return repr(item)


def model_in_words(problem: Problem) -> dict[str, str]:
    """What is asked, but for its constraints: a few names and what there is to say of each."""
    used = features(problem)
    boxes = [
        words
        for feature, words in (
            (Feature.MEAN_BOX, "the means are bounded"),
            (Feature.WEIGHT_BOX, "the weights are bounded"),
            (Feature.ESTIMATORS, f"estimated from their cluster: {', '.join(sorted(problem.estimators))}"),
        )
        if feature in used
    ]
    empty = "some may be empty" if problem.allow_empty else "each with at least one sample"
    mixture = {"covariance": _covariance(problem), "weights": _weights(problem), "prior": _prior(problem)}
    return {
        "samples": _size(problem),
        "features": f"{problem.n_features}",
        **_masses(problem),
        "components": f"{problem.n_clusters}, {empty}",
        **({"noise": _noise(problem.noise)} if problem.noise is not None else {}),
        **({"objective": "the sum of squares (k-means)"} if problem.squares else mixture),
        **({"boxes": "; ".join(boxes)} if boxes else {}),
        "side constraints": f"{len(problem.given_constraints)}",
    }


def _size(problem: Problem) -> str:
    rows = problem.samples.original.n_samples
    return f"{rows}" if rows == problem.n_samples else f"{rows}, which stand for {problem.n_samples}"


def _masses(problem: Problem) -> dict[str, str]:
    """What is missing, and how much samples count."""
    found, gaps = {}, problem.samples.gaps
    if gaps is not None:
        found["missing values"] = f"{int(gaps.sum())} of {gaps.size}, not filled in"
    if problem.masses is not None and (weight := problem.masses.weight) is not None:
        found["weights of samples"] = f"from {weight.min():.6g} to {weight.max():.6g}"
    return found


def _covariance(problem: Problem) -> str:
    known = problem.covariance
    entries = known.precision.entries[: 1 if known.alike else problem.n_clusters]
    own = "" if len(entries) == 1 else ", one for each component"
    spherical = known.precision.diagonal and bool(np.all(entries == entries[:, :1]))
    if known.variances is not None:
        low, high = known.variances
        limits = [f"from {low:.6g}"] * (low > 0.0) + [f"up to {high:.6g}"] * bool(np.isfinite(high))
        shape = "" if spherical and np.all(entries == 1.0) else ", times a known matrix"
        return f"unknown variance{shape}{own}" + (f" ({' '.join(limits)})" if limits else "")
    if spherical:
        return "known: variance " + ", ".join(f"{1.0 / p:.6g}" for p in entries[:, 0]) + own
    return f"known: a {'diagonal' if known.precision.diagonal else 'full'} matrix{own}"


def _noise(noise: Noise) -> str:
    if noise.log_density is None:
        return "one more component without a mean, which costs nothing"
    return f"one more component without a mean, of log-density {noise.log_density:.6g}"


def _weights(problem: Problem) -> str:
    fixed = problem.fixed_weights
    if fixed is None:
        return "free"
    if np.all(fixed == fixed[0]):
        return "uniform"
    return "fixed: " + ", ".join(f"{w:.4g}" for w in fixed)


def _prior(problem: Problem) -> str:
    prior, said = problem.prior, []
    if prior.on_means:
        said.append("Gaussian on the means")
    if prior.on_weights:
        alpha = ", ".join(f"{a:.4g}" for a in dict.fromkeys(prior.alpha.tolist()))
        said.append(f"Dirichlet({alpha}) on the weights")
    return " and ".join(said) or "flat"
