"""The UCI data sets that scikit-learn carries, read from its files: importing it would take longer than most runs."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np

from certmix.errors import InputError


def packaged(file: str) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Measurements, classes and the names of the classes in one of scikit-learn's CSV files.

    Its first line is ``samples,features,class,class,...``; the last column of the others is the class.
    """
    spec = find_spec("sklearn")
    places = [] if spec is None else list(spec.submodule_search_locations or ())
    paths = [path for place in places if (path := Path(place, "datasets", "data", file)).is_file()]
    if not paths:
        raise InputError(f"the built-in data are scikit-learn's, and it has no {file} here")
    with paths[0].open(encoding="utf-8") as lines:
        _, features, *names = next(lines).strip().split(",")
        table = np.loadtxt(lines, delimiter=",")
    return np.ascontiguousarray(table[:, : int(features)]), table[:, -1].astype(np.int64), tuple(names)
