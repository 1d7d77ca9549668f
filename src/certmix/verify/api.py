"""``certmix.verify``: a certificate, data and constraints in whatever form they come, handed to the checker.

What is read here is read by the program's own readers of files; the checking itself is
:func:`certmix.verify.check.check`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from certmix.errors import InputError
from certmix.verify.check import Verdict, check

if TYPE_CHECKING:
    from certmix.certificate.format import Certificate

RULES = ("together", "apart", "implications", "labels", "sizes", "counts")


def verify(certificate: Certificate | str | Path, data: Any, constraints: Any = None) -> Verdict:
    """Check a certificate without trusting the program that made it.

    Parameters
    ----------
    certificate : Certificate, or the path of its JSON file (or of the directory that holds it)
    data : array-like of shape (n, d), DataFrame, Problem, path of a data file, or name of a built-in data set
        The samples that the certificate is about. A Problem is compared as a whole, constraints included.
    constraints : list of constraints, or path of a constraints file, optional
        The side constraints that the certificate ought to be about, instead of those of a Problem. Without them,
        the claim is verified for the constraints that the certificate states.

    Returns
    -------
    Verdict
        ``verdict.verified``, and ``verdict.sentence`` that says what is proved or what fails.
    """
    from certmix.certificate.format import Certificate

    if not isinstance(certificate, Certificate):
        try:
            certificate = Certificate.load(certificate)
        except InputError as error:
            if "there is no file" in str(error):
                raise
            return Verdict(False, "rejected", f"Rejected: {error}.")
    frame, everything, problem = _data(data)
    values = _matrix(frame)
    stated = certificate.document.get("statement")
    if problem is not None:
        from certmix.certificate.statement import state

        own = state(problem)
        if constraints is not None and isinstance(stated, Mapping):  # rules are compared below
            own |= {rule: stated.get(rule) for rule in RULES}
        if own != stated:
            return Verdict(False, "rejected", "Rejected: the certificate states another problem.")
    if constraints is not None:
        difference = _difference(certificate, frame, everything, constraints)
        if difference:
            return Verdict(False, "rejected", f"Rejected: {difference}.")
    verdict = check(certificate.document, certificate.arrays, values)
    if verdict.verified and constraints is None and problem is None and isinstance(stated, Mapping):
        count = sum(len(stated[name]) for name in RULES)
        if count:
            note = (
                f" (Its {count} side constraints were taken from the certificate, not compared with a file.)"
            )
            verdict = replace(verdict, sentence=verdict.sentence + note)
    return verdict


def _data(data: Any) -> tuple[Any, Mapping[str, Any] | None, Any]:
    """``(samples, every column of the file, problem)``."""
    from certmix.problem import Problem

    if isinstance(data, Problem):
        return data.data, None, data
    if not isinstance(data, (str, Path)):
        return data, None, None
    from certmix import datasets

    if str(data).partition(":")[0] in datasets.NAMES:
        from certmix.cli.request import Request, read_data

        found = read_data(Request(data=str(data)))
        return found.frame, found.everything, None
    from certmix.io.tables import read_table

    table = read_table(data)
    return table.frame(), table.everything, None


def _matrix(frame: Any) -> np.ndarray:
    try:
        values = np.array(frame, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("the data are not numbers") from None
    return values[:, None] if values.ndim == 1 else values


def _difference(
    certificate: Certificate, frame: Any, everything: Mapping[str, Any] | None, constraints: Any
) -> str | None:
    """In which rules the given constraints differ from those of the certificate; None when they are the same."""
    from certmix.certificate.statement import state
    from certmix.io.constraints import read_constraints
    from certmix.problem import Problem

    if isinstance(constraints, (str, Path)):
        constraints = read_constraints(constraints, table=dict(everything or {}))
    stated = certificate.document.get("statement")
    if not isinstance(stated, Mapping) or not isinstance(stated.get("n_components"), int):
        return "the statement cannot be read"
    names = certificate.document.get("component_names")
    try:
        problem = Problem(
            frame,
            stated["n_components"],
            constraints=constraints,
            allow_empty=bool(stated.get("allow_empty")),
            component_names=names if isinstance(names, list) else None,
        )
    except InputError as error:
        return f"the data and constraints given do not fit the certificate ({error})"
    own = state(problem)
    for rule in RULES:
        if own[rule] != stated.get(rule):
            return f"the constraints are not those that were certified (they differ in {rule!r})"
    return None
