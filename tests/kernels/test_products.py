"""Products of sets with themselves, beside outer products."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from certmix.kernels.products import add_products


def test_products_of_sets_with_themselves() -> None:
    """The lower half of the sum of outer products, wherever its rows are."""
    rng = np.random.default_rng(0)
    sets = rng.uniform(size=(9, 6)) < 0.5
    weight, matrix = rng.uniform(size=9), csr_matrix(sets.astype(float))
    row = 7 * rng.permutation(6)  # rows of six entries in an array with gaps
    flat = np.zeros(42)
    add_products(matrix.indptr, matrix.indices, weight, row, flat)
    whole = sum(w * np.outer(s, s) for w, s in zip(weight, sets, strict=True))
    for q in range(6):
        np.testing.assert_allclose(flat[row[q] : row[q] + 6], np.where(np.arange(6) <= q, whole[q], 0.0))
