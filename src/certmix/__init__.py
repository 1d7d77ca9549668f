"""certmix: certified clustering. Globally optimal MAP assignments under the Gaussian mixture model, with proof.

The names below are imported when first used, so that ``import certmix`` and ``certmix --help`` stay light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from certmix._version import __version__

_PLACES = {
    "CannotLink": "certmix.problem",
    "CertifiedGaussianMixture": "certmix.estimator",
    "CertifiedKMeans": "certmix.kmeans",
    "CertmixError": "certmix.errors",
    "CovarianceWarning": "certmix.errors",
    "Covering": "certmix.problem",
    "DirichletPrior": "certmix.problem",
    "GaussianPrior": "certmix.problem",
    "Implication": "certmix.problem",
    "InfeasibleError": "certmix.errors",
    "InputError": "certmix.errors",
    "JeffreysPrior": "certmix.problem",
    "Label": "certmix.problem",
    "MaximumSize": "certmix.problem",
    "MinimumSize": "certmix.problem",
    "MustLink": "certmix.problem",
    "Options": "certmix.options",
    "Packing": "certmix.problem",
    "Partitioning": "certmix.problem",
    "Problem": "certmix.problem",
    "Result": "certmix.result",
    "Snapshot": "certmix.observers.snapshot",
    "UnsupportedError": "certmix.errors",
    "alternatives": "certmix.sensitivity.alternatives",
    "constraint_costs": "certmix.sensitivity.dropping",
    "datasets": "",
    "estimate_precision": "certmix.problem",
    "labels_from": "certmix.problem",
    "path": "certmix.selection.turns",
    "read_constraints": "certmix.io.constraints",
    "report": "certmix.reporting",
    "same_value": "certmix.problem",
    "solve": "certmix.solving",
    "stability": "certmix.sensitivity.run",
    "verify": "",
}

__all__ = [*_PLACES, "__version__"]

if TYPE_CHECKING:
    from certmix import datasets
    from certmix.errors import CertmixError, CovarianceWarning, InfeasibleError, InputError, UnsupportedError
    from certmix.estimator import CertifiedGaussianMixture
    from certmix.io.constraints import read_constraints
    from certmix.kmeans import CertifiedKMeans
    from certmix.observers.snapshot import Snapshot
    from certmix.options import Options
    from certmix.problem import (
        CannotLink,
        Covering,
        DirichletPrior,
        GaussianPrior,
        Implication,
        JeffreysPrior,
        Label,
        MaximumSize,
        MinimumSize,
        MustLink,
        Packing,
        Partitioning,
        Problem,
        estimate_precision,
        labels_from,
        same_value,
    )
    from certmix.reporting import report
    from certmix.result import Result
    from certmix.selection.turns import path
    from certmix.sensitivity.alternatives import alternatives
    from certmix.sensitivity.dropping import constraint_costs
    from certmix.sensitivity.run import stability
    from certmix.solving import solve
    from certmix.verifying import verify


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'certmix' has no attribute {name!r}")
    place = _PLACES[name]
    value = getattr(import_module(place), name) if place else import_module(f"certmix.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
