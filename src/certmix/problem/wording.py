"""Constraints in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from certmix.problem import constraints as c

if TYPE_CHECKING:
    from certmix.problem.problem import Problem


def _listed(names: list[str], joint: str = "and", most: int = 6) -> str:
    if len(names) > most:
        names = [*names[: most - 1], f"{len(names) - most + 1} more"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {joint} {names[-1]}"


def _samples(limit: int) -> str:
    return f"{limit} sample{'' if limit == 1 else 's'}"


def describe(problem: Problem, item: c.Constraint) -> str:
    """One constraint as a clause of a sentence, without its source."""

    def sample(ref: Any) -> str:
        return problem.samples.sample(problem.samples.position(ref))

    def component(ref: Any) -> str:
        return f"component {problem.component_names[problem.component(ref)]}"

    match item:
        case c.MustLink():
            return f"{_listed([sample(s) for s in item.samples])} must be together"
        case c.CannotLink():
            whom = _listed([sample(s) for s in item.samples])
            return (
                f"{whom} may not be together"
                if len(item.samples) == 2
                else f"no two of {whom} may be together"
            )
        case c.Implication():
            if item.component is None:
                return f"{sample(item.then)} is wherever {sample(item.sample)} is"
            where = component(item.component)
            return f"if {sample(item.sample)} is in {where} then so is {sample(item.then)}"
        case c.Label():
            return f"{sample(item.sample)} is in {component(item.component)}"
        case c.MinimumSize():
            who = "every component" if item.component is None else component(item.component)
            return f"{who} has at least {_samples(item.limit)}"
        case c.MaximumSize():
            who = "every component" if item.component is None else component(item.component)
            return f"{who} has at most {_samples(item.limit)}"
        case c.Counting():
            how = {"packing": "at most", "partitioning": "exactly", "covering": "at least"}[item.kind]
            whom = _listed([sample(s) for s in item.samples])
            return f"{how} {item.limit} of {whom} in {component(item.component)}"
    return repr(item)
