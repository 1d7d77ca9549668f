"""LAPACK's ``dsyevr`` without the interpreter lock.

SciPy's wrapper holds the lock, so that blocks could not be decomposed side by side. SciPy also offers the routine to
Cython as a capsule; called through ctypes, the lock is released.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import cython_lapack


@cache
def _routine(name: str) -> Any:
    capsule = cython_lapack.__pyx_capi__[name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    arguments = [ctypes.c_void_p] * (21 if name == "dsyevr" else 5)
    return ctypes.CFUNCTYPE(None, *arguments)(address)


def eigenpairs(
    matrix: np.ndarray, first: int, last: int, vectors: bool, above: float | None = None
) -> tuple[np.ndarray, np.ndarray] | None:
    """Eigenvalues number ``first`` to ``last`` (from 0, ascending) of a symmetric matrix; None when LAPACK fails.

    With ``above`` only those larger than it, whatever their number. The matrix is overwritten.
    """
    n, count = len(matrix), last - first + 1
    values = np.empty(n)
    out = np.empty((count if vectors else 1, n))  # columns of Fortran are rows here
    support = np.empty(2 * count + 2, dtype=np.intc)
    work, integers = np.empty(26 * n + 64 * n), np.empty(10 * n, dtype=np.intc)
    whole = {name: ctypes.c_int(v) for name, v in (("n", n), ("il", first + 1), ("iu", last + 1))}
    zero, found, info = ctypes.c_double(0.0), ctypes.c_int(0), ctypes.c_int(0)
    lower = ctypes.c_double(-np.inf if above is None else above)
    upper = ctypes.c_double(float(np.abs(matrix).sum(axis=1).max()) + 1.0)  # by Gershgorin
    lwork, liwork = ctypes.c_int(len(work)), ctypes.c_int(len(integers))
    at = ctypes.byref

    def text(letter: bytes) -> Any:
        return ctypes.byref(ctypes.c_char(letter))

    n_ = at(whole["n"])
    _routine("dsyevr")(
        text(b"V" if vectors else b"N"),
        text(b"I" if above is None else b"V"),
        text(b"L"),
        n_,
        matrix.ctypes.data,
        n_,
        at(lower),
        at(upper),
        at(whole["il"]),
        at(whole["iu"]),
        at(zero),
        at(found),
        values.ctypes.data,
        out.ctypes.data,
        n_,
        support.ctypes.data,
        work.ctypes.data,
        at(lwork),
        integers.ctypes.data,
        at(liwork),
        at(info),
    )
    if info.value != 0 or (above is None and found.value != count):
        return None
    count = found.value
    return values[:count], out[:count].T if vectors else out
