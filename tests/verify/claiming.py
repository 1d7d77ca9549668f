"""What tests of the checker share: a problem as the checker sees it, and claims about it."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np

from certmix.certificate.statement import state
from certmix.problem import Problem
from certmix.verify import statement as statements
from certmix.verify.check import VERSION
from certmix.verify.root import Root
from certmix.verify.statement import data_digest, digest
from certmix.verify.tree import ROOT

Tree = list[tuple[int, int, int, int]]  # parent, kind, args


def rooted(problem: Problem) -> Root:
    """The root that the checker makes of a problem's statement."""
    entry = json.loads(json.dumps(state(problem)))
    return Root(statements.read(entry), problem.data)


def determinant(m: np.ndarray) -> Any:
    """That of a matrix of three rows, exactly."""
    (a, b, c), (d, e, f), (g, h, i) = [[Fraction(float(x)) for x in row] for row in m]
    return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)


def claim(
    problem: Problem, tree: Tree | None = None, steps: Any = ()
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The certificate of an infeasible problem: root and the given nodes, and steps."""
    nodes = [(-1, ROOT, 0, 0), *(tree or [])]
    statement = state(problem)
    document = {
        "format": "certmix-certificate",
        "version": VERSION,
        "claim": "infeasible",
        "objective": None,
        "bound": None,
        "digests": {"statement": digest(statement), "data": data_digest(problem.data)},
        "steps": [{"node": node, "kind": kind} for node, kind in steps],
        "statement": statement,
    }
    arrays = {
        "tree/parent": np.array([p for p, *_ in nodes], dtype=np.int32),
        "tree/kind": np.array([kind for _, kind, *_ in nodes], dtype=np.int8),
        "tree/args": np.array([(a, b, 0) for _, _, a, b in nodes], dtype=np.int32),
    }
    return document, arrays
