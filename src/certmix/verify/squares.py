"""The step ``squares``: k-means costs no less than nothing."""

from __future__ import annotations

from certmix.verify.domain import Domain
from certmix.verify.evidence import Evidence, Rejected
from certmix.verify.root import Root


def squares(root: Root, domain: Domain, evidence: Evidence, target: float) -> float:
    """Zero, for a sum of squares; where as many samples differ as there are clusters, that is the optimum."""
    if root.statement.squares is None:
        raise Rejected("the objective is not a sum of squares")
    return 0.0
