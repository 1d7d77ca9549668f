"""What is worth knowing about data and covariance before samples are clustered, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from certmix.problem.samples import Samples

if TYPE_CHECKING:
    from certmix.problem.problem import Problem

FOUND = (
    "no covariance was given, so one variance for all features and components is found with the clustering; "
    "for a known one: --variance V, or variance=V"
)
INDEPENDENT = (
    "no covariance was given, so the objective is that of variance 1; with uniform weights the clustering does not "
    "depend on the variance"
)
SHOWN = 8  # features


def notes(problem: Problem) -> tuple[str, ...]:
    """Features that separate nothing, weights that are not whole, what is assumed of the covariance."""
    found = []
    if constant := problem.samples.constant:
        listed = ", ".join(problem.samples.feature(j) for j in constant[:SHOWN])
        more = f" and {len(constant) - SHOWN} more" if len(constant) > SHOWN else ""
        are = "is" if len(constant) == 1 else "are"
        found.append(f"{listed}{more} {are} constant and cannot separate anything")
    if problem.masses is not None and problem.masses.weight is not None:
        found.append(
            "weights of samples are not whole numbers: the objective counts them, sizes count samples"
        )
    if problem.assumed:
        found.append(FOUND if problem.covariance.unknown else INDEPENDENT)
    return tuple(found)


def dominated(samples: Samples) -> str:
    """The warning about features that have the same variance because no covariance was given, but look unlike."""
    assert samples.dominating is not None
    j, share = samples.dominating
    return (
        f"no covariance was given, and {samples.feature(j)} has {100 * share:.1f} % of the variance and decides the "
        "clustering: scale the features, leave it out, or give variance, precision or covariance"
    )
