"""The same problem with every number of components."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from certmix.certificate.statement import state
from certmix.errors import CovarianceWarning, InputError
from certmix.problem import Problem
from certmix.variance.unbounded import refuse_unbounded
from certmix.verify.claims.criteria import unlike

Maker = Callable[[int], Problem]


def numbers(k: Any) -> tuple[int, ...]:
    """The numbers of components, ascending: a range, numbers, or a text such as ``1:8`` or ``2,3,5``."""
    if isinstance(k, str):
        return _read(k)
    try:
        found = [k] if isinstance(k, (int, np.integer)) else list(k)
    except TypeError:
        raise InputError(f"k must be numbers of components such as range(1, 9) or '1:8', not {k!r}") from None
    for count in found:
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
            raise InputError(f"k holds {count!r}, which is not a number of components: 1, 2, ...")
    if not found:
        raise InputError(f"k holds no number of components: {k!r}")
    return tuple(sorted({int(count) for count in found}))


def _read(text: str) -> tuple[int, ...]:
    """``1:8`` is 1 to 8, both included."""
    parts = text.split(":")
    try:
        values = [int(part) for part in (parts if len(parts) == 2 else text.split(","))]
    except ValueError:
        raise InputError(f"k {text!r}: give a range such as 1:8, or numbers such as 2,3,5") from None
    if len(parts) == 2:
        if values[0] > values[1]:
            raise InputError(f"k {text!r}: the range is empty; did you mean {values[1]}:{values[0]}?")
        values = list(range(values[0], values[1] + 1))
    return numbers(values)


def maker(data: Any, arguments: Mapping[str, Any]) -> Maker:
    """From data and arguments of :class:`Problem`, or from a function, to a function of the number of components."""
    if isinstance(data, Problem):
        raise InputError(
            "path takes data, or a function that makes a Problem of a number of components, such as "
            "lambda k: problem.replace(n_components=k)"
        )
    if callable(data):
        if arguments:
            raise InputError(
                f"give {next(iter(arguments))} to the problems that the function makes, not to path"
            )
        return data
    return lambda count: Problem(data, count, **arguments)


def problems(make: Maker, counts: Sequence[int]) -> list[Problem]:
    """All problems, before any work; they may differ in nothing but their number of components."""
    found: list[Problem] = []
    for count in counts:
        try:
            with warnings.catch_warnings():
                if found:  # said once
                    warnings.simplefilter("ignore", CovarianceWarning)
                found.append(made := make(count))
            if isinstance(made, Problem) and made.covariance.unknown:
                refuse_unbounded(made)
        except InputError as error:
            raise type(error)(f"with {_counted(count)}: {error}") from None
        if isinstance(found[-1], Problem) and found[-1].noise is not None:
            raise InputError(
                "numbers of components are not compared with noise; give one number, to certmix.solve"
            )
        if not isinstance(found[-1], Problem) or found[-1].n_components != count:
            raise InputError(
                f"the function does not make a Problem with {_counted(count)} when it is called with {count}"
            )
    _refuse_unlike(found)
    return found


def _refuse_unlike(found: Iterable[Problem]) -> None:
    *others, first = found  # not the one with one component, of which weights say nothing
    if not np.all([np.array_equal(first.data, other.data, equal_nan=True) for other in others]):
        raise InputError("the problems are not about the same samples, so that they cannot be compared")
    stated = state(first)
    for other in others:
        for name in unlike(stated, state(other)):
            raise InputError(
                f"the problems with {first.n_components} and with {_counted(other.n_components)} differ in more than "
                f"that ({name}), so that they cannot be compared"
            )


def _counted(count: int) -> str:
    return f"{count} component{'s' if count > 1 else ''}"
