"""The data sets of the paper, with the preparation that reproduces its figures, and its generative model.

>>> from certmix import datasets
>>> problem = datasets.load("iris1d", n=45).problem()
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from certmix.datasets.dataset import Dataset
from certmix.errors import InputError
from certmix.hints import did_you_mean
from certmix.places import at

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

__all__ = ["NAMES", "Dataset", "load", "load_pam50", "named"]


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


def named(text: str) -> Dataset:
    """A data set as one types it: ``wine``, or ``iris1d:n=45,sigma=0.2`` with options of its recipe."""
    name, _, options = text.partition(":")
    try:
        return load(name, **_options(name, options))
    except InputError:
        raise
    except (TypeError, ValueError) as error:  # a text where the recipe wants a number
        raise InputError(f"{text}: {error}") from None


def _options(name: str, text: str) -> dict[str, Any]:
    """``n=45,sigma=0.2`` after a built-in name: options of its recipe."""
    found: dict[str, Any] = {}
    for part in text.split(",") if text else ():
        key, sign, value = part.partition("=")
        if not sign or not key.strip() or not value.strip():
            raise InputError(f"{name}:{text}: {part!r} is not of the form option=value")
        found[key.strip()] = _value(value.strip())
    return found


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text.lower(), text)


def _recipe(name: str) -> Callable[..., Dataset]:
    recipe: Callable[..., Dataset] = at(_PLACES[name])
    return recipe
