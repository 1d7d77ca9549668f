"""How many components there are, and what they are called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from certmix.errors import InputError
from certmix.problem.noise import LABEL, NAME, Noise


def component_count(n_components: Any, n: int, allow_empty: bool) -> int:
    """The number of components of n samples, or what is wrong with it."""
    if isinstance(n_components, bool) or not isinstance(n_components, (int, np.integer)):
        raise InputError(f"n_components must be a whole number, not {n_components!r}")
    if n_components < 1:
        raise InputError(f"n_components must be at least 1, not {n_components}")
    if n_components > n and not allow_empty:
        raise InputError(
            f"n_components is {n_components} but there are only {n} samples; every component needs one"
        )
    return int(n_components)


def names_of_components(
    names: Sequence[str] | None, n_components: int, noise: Noise | None
) -> tuple[str, ...]:
    """Names that differ, numbers where none are given; noise has its own, the last."""
    found = tuple(str(x).strip() for x in (range(n_components) if names is None else names))
    if len(found) != n_components:
        raise InputError(f"{len(found)} component names were given for {n_components} components")
    found += () if noise is None else (NAME,)
    if len(set(found)) < len(found):
        twice = next(x for x in found if found.count(x) > 1)
        raise InputError(f"the component name {twice!r} stands twice")
    return found


def numbered(names: Sequence[str], clusters: int) -> bool:
    """Whether the components with a mean have numbers for names."""
    return tuple(names[:clusters]) == tuple(map(str, range(clusters)))


def component_position(ref: Any, names: Sequence[str], clusters: int) -> int:
    """The position of a component given by name or position; of noise, the last after the others, also by its label."""
    noise = len(names) > clusters
    if isinstance(ref, str):
        ref = ref.strip()
        if ref in names:
            return names.index(ref)
        if ref.isdecimal() or ref == str(LABEL):
            ref = int(ref)
    if isinstance(ref, (int, np.integer)) and not isinstance(ref, bool):
        if str(ref) in names:
            return names.index(str(ref))
        if ref == LABEL and noise:
            return clusters
        if 0 <= ref < len(names):
            return int(ref)
    raise InputError(
        f"there is no component {ref!r}; components are 0 to {clusters - 1}"
        + (f", and {NAME}" if noise else "")
        + ("" if numbered(names, clusters) else f" or {', '.join(names)}")
    )
