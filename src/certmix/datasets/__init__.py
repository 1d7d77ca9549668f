"""The data sets of the paper, with the preparation that reproduces its figures, and its generative model.

>>> from certmix import datasets
>>> problem = datasets.load("iris1d", n=45).problem()
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any

from certmix.datasets.dataset import Dataset
from certmix.errors import InputError
from certmix.hints import did_you_mean

# name -> module:function; nothing is imported before it is asked for
_PLACES = {
    "iris1d": "certmix.datasets.iris:iris1d",
    "iris": "certmix.datasets.iris:iris",
    "wine": "certmix.datasets.uci:wine",
    "brca": "certmix.datasets.uci:brca",
    "mixture": "certmix.datasets.mixture:mixture",
    "pam50": "certmix.datasets.pam50:load_pam50",
}
NAMES = tuple(name for name in _PLACES if name != "pam50")
"""The built-in sets; ``pam50`` needs the path of its files."""

__all__ = ["NAMES", "Dataset", "load", "load_pam50"]


def load(name: str, **options: Any) -> Dataset:
    """A data set by name.

    Parameters
    ----------
    name : str
        One of :data:`NAMES`, or ``pam50`` with the option ``path``.
    **options
        Options of the recipe: ``iris1d`` n, sigma, variant; ``iris`` variant; ``wine`` and ``brca`` rounded;
        ``mixture`` n, d, k, separation, weights, seed; ``pam50`` path, dimension.
    """
    if name not in _PLACES:
        raise InputError(f"unknown data set {name!r}{did_you_mean(name, NAMES)}")
    recipe = _recipe(name)
    known = inspect.signature(recipe).parameters
    for option in options:
        if option not in known:
            raise InputError(f"the data set {name!r} has no option {option!r}{did_you_mean(option, known)}")
    missing = [o for o, p in known.items() if p.default is inspect.Parameter.empty and o not in options]
    if missing:
        raise InputError(f"the data set {name!r} needs the option {missing[0]!r}")
    return recipe(**options)


def load_pam50(path: Any, *, dimension: int | None = 4) -> Dataset:
    """The PAM50 breast cancer expression data; see :func:`certmix.datasets.pam50.load_pam50`."""
    return _recipe("pam50")(path, dimension=dimension)


def _recipe(name: str) -> Callable[..., Dataset]:
    module, function = _PLACES[name].split(":")
    recipe: Callable[..., Dataset] = getattr(import_module(module), function)
    return recipe
