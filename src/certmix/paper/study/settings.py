"""How much is run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from certmix.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the command line sets, and the sizes of the experiments; tests make the latter small.

    Parameters
    ----------
    time_limit : float
        Seconds for one run of a solver.
    pam50 : path, optional
        The PAM50 matrix, or the folder that holds it.
    samples : names
        Samples of PAM50 whose profiles are drawn besides the default ones.
    seed : int
    data_sets : names
        Of Table 2 and the comparison with Bandi et al.
    sizes, more_sizes : numbers of samples
        Of Figure 1b: for every method, and those that only certmix is asked for.
    convergence : int
        Number of samples of Figure 1a and of the restarts.
    restarts : int
        Of EM, unless the time limit comes first.
    directions : int, optional
        Directions of the method of Bandi et al.; d^2 by default.
    """

    time_limit: float = 60.0
    pam50: Path | None = None
    samples: tuple[str, ...] = ()
    seed: int = 0
    data_sets: tuple[str, ...] = ("iris1d", "wine", "brca")
    sizes: tuple[int, ...] = (9, 12, 15, 21, 30, 45)
    more_sizes: tuple[int, ...] = (75, 150)
    convergence: int = 45
    restarts: int = 500
    directions: int | None = None

    def __post_init__(self) -> None:
        limit: Any = self.time_limit
        if not isinstance(limit, (int, float)) or isinstance(limit, bool) or not 0 < limit < math.inf:
            raise InputError(f"the time limit must be a number of seconds > 0, not {limit!r}")
