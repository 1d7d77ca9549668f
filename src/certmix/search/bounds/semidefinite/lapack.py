"""LAPACK's ``dsyevr`` and ``ssyevr`` without the interpreter lock.

SciPy's wrapper holds the lock, so that blocks could not be decomposed side by side. SciPy also offers the routines to
Cython as capsules; called through ctypes, the lock is released.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cython_lapack, eigh

ARGUMENTS = "cccirirriirirriiriiii"  # of either: pointers to characters, C integers, real numbers
REAL = {"d": ctypes.c_double, "s": ctypes.c_float}


@cache
def _routine(letter: str) -> Any:
    """``dsyevr`` or ``ssyevr``, or None where it takes other arguments than are passed here (64-bit integers, say)."""
    capsule = getattr(cython_lapack, "__pyx_capi__", {}).get(f"{letter}syevr")
    if capsule is None:
        return None
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    signature = api.PyCapsule_GetName(capsule)
    if _kinds(signature) != ARGUMENTS.replace("r", letter):
        return None
    address = api.PyCapsule_GetPointer(capsule, signature)
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(ARGUMENTS))(address)


def _kinds(signature: bytes | None) -> str:
    """One letter for every argument of a C signature: c, i, d, s, and ? for anything else."""
    result, _, inside = (signature or b"").decode("ascii", "replace").partition("(")
    if result.strip() != "void":
        return ""
    kinds = {"char *": "c", "int *": "i", "double *": "d", "float *": "s"}
    names = (name.strip() for name in inside.rstrip(") ").split(","))
    # Cython's names for the numbers that SciPy declares end like this.
    return "".join(kinds.get(name) or {"_d *": "d", "_s *": "s"}.get(name[-4:], "?") for name in names)


def eigenpairs(
    matrix: np.ndarray, first: int, last: int, vectors: bool
) -> tuple[np.ndarray, np.ndarray] | None:
    """Eigenvalues number ``first`` to ``last`` (from 0, ascending) of a symmetric matrix; None when LAPACK fails.

    The matrix, of double or single precision, is overwritten.
    """
    letter = "s" if matrix.dtype == np.float32 else "d"
    routine = _routine(letter)
    if routine is None:
        return _by_scipy(matrix, first, last, vectors)
    n, count = len(matrix), last - first + 1
    values = np.empty(n, dtype=matrix.dtype)
    out = np.empty((count if vectors else 1, n), dtype=matrix.dtype)  # columns of Fortran are rows here
    support = np.empty(2 * count + 2, dtype=np.intc)
    work, integers = np.empty(26 * n + 64 * n, dtype=matrix.dtype), np.empty(10 * n, dtype=np.intc)
    letters = [ctypes.c_char(letter) for letter in (b"V" if vectors else b"N", b"I", b"L")]
    order, begin, end = ctypes.c_int(n), ctypes.c_int(first + 1), ctypes.c_int(last + 1)
    zero, found, info = REAL[letter](0.0), ctypes.c_int(0), ctypes.c_int(0)
    rooms = support, work, ctypes.c_int(len(work)), integers, ctypes.c_int(len(integers))
    which = zero, zero, begin, end, zero, found
    given: tuple[Any, ...] = (*letters, order, matrix, order, *which, values, out, order, *rooms, info)
    routine(*(a.ctypes.data if isinstance(a, np.ndarray) else ctypes.byref(a) for a in given))
    if info.value != 0 or found.value != count:
        return None
    return values[:count], out.T if vectors else out


def _by_scipy(
    matrix: np.ndarray, first: int, last: int, vectors: bool
) -> tuple[np.ndarray, np.ndarray] | None:
    """The same by SciPy's own call, which knows its integers and holds the lock."""
    some = (first, last)
    try:
        found = eigh(matrix, eigvals_only=not vectors, driver="evr", check_finite=False, subset_by_index=some)
    except (LinAlgError, ValueError):
        return None
    return found if vectors else (found, np.empty((1, len(matrix)), dtype=matrix.dtype))
