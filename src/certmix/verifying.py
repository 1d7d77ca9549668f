"""``certmix.verify``: a certificate, data and constraints in whatever form they come, handed to the checker.

What is read here is read by the program's own readers of files, and what the user says of the problem is put into words
of the statement by the program's own ``state``; the checking itself is :func:`certmix.verify.check.check`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from certmix import datasets
from certmix.certificate.comparing import PARTS, different, has_noise, told, where
from certmix.certificate.statement import state
from certmix.errors import InputError
from certmix.io.certificates import Certificate
from certmix.io.constraints import read_constraints
from certmix.io.tables import read_table
from certmix.problem import Problem, component_names
from certmix.problem.rules import Rules, resolve_rules
from certmix.result import Result
from certmix.verify.check import Verdict
from certmix.verify.check import check as _check
from certmix.verify.evidence import Rejected
from certmix.verify.statement import data_digest, read

PREPARED = " Give the data as the run had them: the same samples, columns and preparation."


def verify(
    certificate: Certificate | str | Path,
    data: Any,
    constraints: Any = None,
    *,
    parts: Collection[str] | None = None,
) -> Verdict:
    """Check a certificate without trusting the program that made it.

    Parameters
    ----------
    certificate : Certificate, or the path of its JSON file (or of the directory that holds it)
    data : Problem, array-like of shape (n, d), DataFrame, path of a data file, or name of a built-in data set
        What the certificate is about. A Problem and a built-in data set are compared as a whole, constraints and names
        included. With samples alone, everything else is taken from the certificate, and the sentence says so. Of a
        comparison of numbers of components: samples, or a function of the number that makes the Problem.
    constraints : list of constraints, or path of a constraints file, optional
        The side constraints that the certificate ought to be about, instead of those of a Problem.
    parts : names of :data:`certmix.certificate.comparing.PARTS`, optional
        What of a Problem is compared; by default all of it.

    Returns
    -------
    Verdict
        ``verdict.verified``, ``verdict.sentence`` that says what is proved or what fails, and ``verdict.taken``: what
        was taken from the certificate and not compared.
    """
    found = opened(certificate)
    if isinstance(found, Verdict):
        return found
    stated = found.document.get("statement")
    if found.document.get("claim") == "comparison":
        if callable(data):
            return _compared(found, data, PARTS if parts is None else parts)
        if constraints is not None or parts:
            return rejected("it compares several problems: give the samples alone")
        samples, _, problem = _data(data)
        verdict = check(found.document, found.arrays, _matrix(samples) if problem is None else problem.data)
        return replace(verdict, taken=("everything but the samples",) if verdict.verified else ())
    if not isinstance(stated, Mapping):
        return rejected("the statement cannot be read")
    try:
        values, own, known = _own(data, constraints, stated)
    except _Unfit as error:
        return rejected(f"what is given does not fit the certificate ({error})")
    if not _about(found, values):
        verdict = check(found.document, found.arrays, values)
        return replace(verdict, sentence=verdict.sentence + hint(found))
    compared = set(known if parts is None else parts)
    unlike = [where(part, own, stated) for part in different(own, stated) if part in compared]
    if unlike:
        verdict = rejected(f"the certificate states another problem: it differs in {', '.join(unlike)}")
        return replace(verdict, sentence=verdict.sentence + hint(found, ""))
    verdict = check(found.document, found.arrays, values)
    if not verdict.verified:
        return verdict
    return _noted(verdict, compared, stated)


def _noted(verdict: Verdict, compared: Collection[str], stated: Mapping[str, Any]) -> Verdict:
    """The verdict with what was taken from the certificate."""
    taken = tuple(words for part in PARTS if part not in compared and (words := told(part, stated)))
    note = f" (Taken from the certificate, not compared: {', '.join(taken)}.)" if taken else ""
    return replace(verdict, sentence=verdict.sentence + note, taken=taken)


def _compared(found: Certificate, make: Callable[[int], Problem], parts: Collection[str]) -> Verdict:
    """The problems of a comparison of numbers of components are those of the user."""
    said = [part.document.get("statement") for part in found.parts]
    statements = [stated for stated in said if isinstance(stated, Mapping)]
    if not said or len(statements) < len(said):
        return rejected("a statement cannot be read")
    for stated in statements:
        count = stated.get("n_components")
        try:
            problem = make(count)  # type: ignore[arg-type]  # whatever it is, Problem looks at it
        except (InputError, TypeError) as error:
            return rejected(
                f"what is given does not fit the certificate (with {count!r} components: {error})"
            )
        own = state(problem)
        unlike = [where(part, own, stated) for part in different(own, stated) if part in parts]
        if unlike:
            differs = f"it differs in {', '.join(unlike)}"
            return rejected(f"the certificate states another problem with {count} components: {differs}")
    verdict = check(found.document, found.arrays, problem.data)
    return _noted(verdict, {*parts, "components"}, statements[0]) if verdict.verified else verdict


def check(document: Mapping[str, Any], arrays: Mapping[str, np.ndarray], data: np.ndarray) -> Verdict:
    """The checker, in one thread: it has many small matrices, and threads would only get in each other's way."""
    with threadpool_limits(1):
        return _check(document, arrays, data)


def checked(result: Result, data: Any) -> tuple[Result, Verdict]:
    """Let the checker look at a result's certificate: the result with the level it then has, and the verdict."""
    if result.certificate is None:
        raise ValueError("there is no certificate to check: ask for one with certificate=True")
    verdict = verify(result.certificate, data)
    return result.judged(verdict), verdict


def opened(certificate: Certificate | str | Path) -> Certificate | Verdict:
    """The certificate, or its rejection; a file that is not there is an :class:`InputError`."""
    if isinstance(certificate, Certificate):
        return certificate
    try:
        return Certificate.load(certificate)
    except InputError as error:
        if "there is no file" in str(error):
            raise
        return rejected(str(error))


def rejected(why: str) -> Verdict:
    return Verdict(False, "rejected", f"Rejected: {why}.")


class _Unfit(Exception):
    """The data and constraints given cannot be those of the certificate."""


def _own(
    data: Any, constraints: Any, stated: Mapping[str, Any]
) -> tuple[np.ndarray, Mapping[str, Any], Collection[str]]:
    """The samples, the statement as the user has it, and the parts of it that the user has given."""
    samples, table, problem = _data(data)
    if isinstance(constraints, (str, Path)):
        constraints = read_constraints(constraints, table=dict(table))
    if problem is not None:
        if constraints is not None:
            # What the user's names stand for, in samples and components, is what is compared.
            problem = _named(problem, constraints)
            return (
                problem.data,
                state(problem, _resolved(constraints, problem, stated)),
                PARTS,
            )
        return problem.data, state(problem, _resolved(problem.constraints, problem, stated)), PARTS
    if constraints is None:
        return _matrix(samples), {}, ()
    count, names = stated.get("n_components"), stated.get("component_names")
    if type(count) is not int or not isinstance(names, list):
        raise _Unfit("its components cannot be read")
    arguments: dict[str, Any] = {"variance": 1.0, "allow_empty": stated.get("allow_empty") is True}
    arguments["missing"] = "keep"
    if has_noise(stated):  # which may be empty always; of the others their sizes say whether they may
        count, names, arguments["noise"] = count - 1, names[:-1], 1.0
        sizes, n = stated.get("sizes"), stated.get("n_samples")
        nonempty = isinstance(sizes, list) and all([k, 1, n] in sizes for k in range(count))
        arguments["allow_empty"] = not nonempty
    try:
        problem = Problem(
            samples,
            count,
            constraints=constraints,
            **arguments,
        )
    except InputError:  # constraints that name components can only mean those of the certificate
        try:
            problem = Problem(
                samples,
                count,
                constraints=constraints,
                **arguments,
                component_names=names,
            )
        except (InputError, TypeError) as error:
            raise _Unfit(str(error)) from None
    return problem.data, state(problem, _resolved(constraints, problem, stated)), ("side constraints",)


def _in_nats(stated: Mapping[str, Any]) -> Callable[[float], float]:
    """What penalties are worth in the objective of a statement: those of k-means are given in sums of squares."""
    try:
        factor = read(stated).squares
    except Rejected:  # the checker will say so
        factor = None
    return float if factor is None else lambda penalty: penalty / factor


def _resolved(constraints: Any, problem: Problem, stated: Mapping[str, Any]) -> Rules:
    clusters = None if problem.noise is None else problem.n_clusters
    return resolve_rules(constraints, problem.samples, problem.component, _in_nats(stated), clusters)


def _data(data: Any) -> tuple[Any, Mapping[str, Any], Problem | None]:
    """``(samples, every column of the file, problem)``; a built-in data set is a problem."""
    if isinstance(data, Problem):
        return data.data, {}, data
    if not isinstance(data, (str, Path)):
        return data, {}, None
    if str(data).partition(":")[0] in datasets.NAMES:
        found = datasets.named(str(data))
        problem = found.problem()
        return problem.data, found.everything(), problem
    table = read_table(data)
    return table.frame(), table.everything, None


def _named(problem: Problem, constraints: Any) -> Problem:
    """The problem, its components named by the constraints where it gives them no names of its own."""
    names = None if problem.named_components else component_names(constraints, (), problem.n_components)
    if names is None:
        return problem
    named = copy.copy(problem)
    named.component_names = names
    return named


def _matrix(frame: Any) -> np.ndarray:
    try:
        values = np.array(frame, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("the data are not numbers") from None
    return values[:, None] if values.ndim == 1 else values


def _about(certificate: Certificate, values: np.ndarray) -> bool:
    digests = certificate.document.get("digests")
    return isinstance(digests, Mapping) and values.ndim == 2 and digests.get("data") == data_digest(values)


def hint(certificate: Certificate, otherwise: str = PREPARED) -> str:
    """What to give where data or options are not those of the run, which a certificate may know."""
    options = certificate.document.get("options")
    if isinstance(options, str) and options.isprintable() and len(options) <= 1000:
        return (
            f" Give the data and options of the run; its options, says the certificate: {options or 'none'}."
        )
    return otherwise
