"""Twenty samples in two overlapping groups."""

from __future__ import annotations

import numpy as np

_rng = np.random.default_rng(0)
TWO_GROUPS = np.concatenate([_rng.normal(-1.5, 1.0, (10, 2)), _rng.normal(1.5, 1.0, (10, 2))])
TWO_GROUPS.setflags(write=False)
