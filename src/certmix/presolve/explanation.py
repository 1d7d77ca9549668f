"""A contradiction between side constraints, in words."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from certmix.presolve.conflict import Conflict, Proof
from certmix.presolve.demands import MEANS, NONEMPTY, WEIGHTS, demands
from certmix.presolve.groups import merged
from certmix.problem import Problem
from certmix.problem import constraints as c
from certmix.problem.wording import describe

MOST_IN_WORDS = 8


def explain(problem: Problem, conflict: Conflict) -> str:
    """The contradiction in one sentence, then what is known about the set of constraints behind it."""
    return f"{_contradiction(problem, conflict)}. {_standing(conflict)}"


def _standing(conflict: Conflict) -> str:
    number = len(conflict.origins)
    if number == 0:
        return "No clustering can meet this, whatever the side constraints."
    if number == 1:
        return "This constraint alone rules out every clustering."
    if conflict.proof is Proof.SMALLEST:
        return f"These {number} constraints are a smallest set that cannot hold together."
    if conflict.proof is Proof.IRREDUCIBLE:
        return f"These {number} constraints are an irreducible set that cannot hold together (a smaller one may exist)."
    return f"These {number} constraints cannot hold together (fewer of them may be to blame)."


def _contradiction(problem: Problem, conflict: Conflict) -> str:
    items = [problem.constraints[i] for i in conflict.origins]
    tied = [x for x in items if _ties(x)]
    apart = [x for x in items if isinstance(x, c.CannotLink)]
    labels = [x for x in items if isinstance(x, c.Label)]
    sizes = [x for x in items if isinstance(x, c.SizeLimit)]
    sentence = None
    if not conflict.conditions:
        if len(tied) + len(apart) + len(labels) == len(items):
            sentence = _of_links(problem, tied, apart, labels)
        elif len(items) == 1 and isinstance(items[0], c.Counting):
            number = len(items[0].samples)
            if items[0].limit > number:
                sentence = f"{_said(problem, items[0])} but these are only {_samples(number)}"
    if sentence is None and len(sizes) == len(items) and MEANS not in conflict.conditions:
        sentence = _of_sizes(problem, conflict)
    return sentence or _in_general(problem, conflict, items)


# -- links and labels ------------------------------------------------------------------
def _of_links(
    problem: Problem, tied: Sequence[c.Constraint], apart: Sequence[c.CannotLink], labels: Sequence[c.Label]
) -> str | None:
    group = _tied_groups(problem, tied)
    name = problem.samples.sample
    if len(apart) == 1 and not labels:
        found = [problem.samples.position(s) for s in apart[0].samples]
        for a, i in enumerate(found):
            for j in found[a + 1 :]:
                if tied and group[i] == group[j]:
                    both = f"{name(i)} and {name(j)}"
                    return (
                        f"{both} must be together{_from(problem, tied)} but may not be{_from(problem, apart)}"
                    )
        if not tied and len(found) > problem.n_components:
            return f"{_said(problem, apart[0])} but {_only_components(problem)}"
    if len(labels) == 2:
        (i, one), (j, two) = (_known(problem, x) for x in labels)
        if not apart and one != two:
            if i == j:
                return (
                    f"{name(i)} is in {_component(problem, one)}{_from(problem, labels[:1])} "
                    f"but also in {_component(problem, two)}{_from(problem, labels[1:])}"
                )
            return (
                f"{name(i)} and {name(j)} must be together{_from(problem, tied)} "
                f"but {_said(problem, labels[0])} and {_said(problem, labels[1])}"
            )
        if len(apart) == 1 and one == two:
            pair = _torn_pair(problem, apart[0], group, i, j)
            if pair is not None:
                return (
                    f"{name(pair[0])} and {name(pair[1])} may not be together{_from(problem, apart)} "
                    f"but both belong in {_component(problem, one)}{_from(problem, [*labels, *tied])}"
                )
    return None


def _torn_pair(
    problem: Problem, apart: c.CannotLink, group: np.ndarray, i: int, j: int
) -> tuple[int, int] | None:
    """The two samples of a cannot-link that are tied to samples i and j."""
    found = [problem.samples.position(s) for s in apart.samples]
    for a in found:
        for b in found:
            if a != b and group[a] == group[i] and group[b] == group[j]:
                return (a, b) if found.index(a) < found.index(b) else (b, a)
    return None


def _tied_groups(problem: Problem, tied: Sequence[c.Constraint]) -> np.ndarray:
    """Group of every sample when only the given constraints tie samples together."""
    chosen = {id(x) for x in tied}
    origins = [i for i, x in enumerate(problem.constraints) if id(x) in chosen]
    return merged(problem.rules.only(origins), problem.n_samples)


def _ties(item: c.Constraint) -> bool:
    return isinstance(item, (c.MustLink, c.Copies)) or (
        isinstance(item, c.Implication) and item.component is None
    )


def _known(problem: Problem, label: c.Label) -> tuple[int, int]:
    return problem.samples.position(label.sample), problem.component(label.component)


# -- sizes ------------------------------------------------------------------
def _of_sizes(problem: Problem, conflict: Conflict) -> str | None:
    """Limits on the sizes that do not fit each other or the number of samples."""
    n = problem.n_samples
    lower, upper = demands(problem).only(conflict.origins, conflict.conditions).size_limits()
    items = [problem.constraints[i] for i in conflict.origins]
    why = _reasons(problem, conflict)
    crossed = np.flatnonzero(lower > upper)
    if len(crossed):
        if len(items) == 1 and upper[crossed[0]] == n:
            return f"{_said(problem, items[0])} but there are only {_samples(n)}"
        k = int(crossed[0])
        low = [x for x in items if isinstance(x, c.MinimumSize)]
        high = [x for x in items if isinstance(x, c.MaximumSize)]
        least = f"at least {_samples(int(lower[k]))}{_from(problem, low)}"
        most = f"at most {int(upper[k])}{_from(problem, high)}"
        return f"{_component(problem, k)} has {least} but {most}{f', since {why}' if why else ''}"
    sources = _from(problem, items, extra=why)
    if lower.sum() > n:
        return f"the minimum sizes add up to {lower.sum()}{sources} but there are only {_samples(n)}"
    if upper.sum() < n:
        return f"the maximum sizes add up to {upper.sum()}{sources} but there are {_samples(n)}"
    return None


# -- anything else ------------------------------------------------------------------
def _in_general(problem: Problem, conflict: Conflict, items: Sequence[c.Constraint]) -> str:
    why = _reasons(problem, conflict)
    said = [_said(problem, x) for x in items]
    if not said:
        return f"{why}, which no clustering achieves" if why else "no clustering is possible"
    tail = f", since {why}" if why else ""
    apart = all(isinstance(x, c.CannotLink) or _ties(x) for x in items)
    if not tail and (problem.n_components == 1 or (apart and len(items) > 1)):
        tail = f", since {_only_components(problem)}"
    if len(said) == 1:
        return f"{said[0]}, which cannot hold{tail}"
    if len(said) == 2 and not tail:
        return f"{said[0]} but {said[1]}"
    if len(said) > MOST_IN_WORDS:
        rest = _from(problem, items[MOST_IN_WORDS - 1 :])
        said = [*said[: MOST_IN_WORDS - 1], f"{len(items) - MOST_IN_WORDS + 1} more{rest}"]
    return f"{'; '.join(said[:-1])}; and {said[-1]}: these cannot all hold{tail}"


def _reasons(problem: Problem, conflict: Conflict) -> str:
    """The conditions of the problem that take part."""
    words = []
    if NONEMPTY in conflict.conditions:
        words.append("every component needs at least one sample")
    if WEIGHTS in conflict.conditions:
        low, high = problem.estimator_sizes
        ends = zip(low.tolist(), high.tolist(), strict=True)
        limits = [str(a) if a == b else f"{a} to {b}" for a, b in ends]
        if len(set(limits)) == 1:
            words.append(f"pi_k = n_k/n asks for {limits[0]} samples in every component")
        else:
            words.append(f"pi_k = n_k/n asks for component sizes of {', '.join(limits)}")
    if MEANS in conflict.conditions:
        words.append("the mean of every component's samples must lie in mean_bounds")
    return " and ".join(words)


# -- phrases ------------------------------------------------------------------
def _said(problem: Problem, item: c.Constraint) -> str:
    return describe(problem, item) + item.at()


def _component(problem: Problem, k: int) -> str:
    return f"component {problem.component_names[k]}"


def _samples(number: int) -> str:
    return f"{number} sample{'' if number == 1 else 's'}"


def _only_components(problem: Problem) -> str:
    K = problem.n_components
    return f"there {'is' if K == 1 else 'are'} only {K} component{'' if K == 1 else 's'}"


def _from(problem: Problem, items: Sequence[c.Constraint], extra: str = "") -> str:
    """Where constraints were written, in brackets: " (lines 3, 8)"; those written nowhere in words."""
    parts = _gathered([x.source for x in items if x.source])
    parts += [describe(problem, x) for x in items if not x.source and len(items) + bool(extra) > 1]
    if extra:
        parts.append(extra)
    return f" ({'; '.join(parts)})" if parts else ""


def _gathered(sources: Sequence[str]) -> list[str]:
    """Sources that differ only by a number are drawn together: "line 3", "line 8" become "lines 3, 8"."""
    numbers: dict[str, set[int]] = {}
    for source in sources:
        match = re.fullmatch(r"(.*\S) (\d+)", source)
        found = numbers.setdefault(match[1] if match else source, set())
        found.update([int(match[2])] if match else [])
    return [
        f"{word}{'s' * (len(of) > 1)} {_runs(sorted(of))}" if of else word for word, of in numbers.items()
    ]


def _runs(numbers: list[int]) -> str:
    """Rising numbers, three or more in a row drawn together: "3, 5-9, 12"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{r[0]}-{r[-1]}" if len(r) > 2 else ", ".join(map(str, r)) for r in runs)
