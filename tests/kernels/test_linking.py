"""Machine code is made for what is called from outside only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certmix.kernels import compiled
from certmix.kernels.compiled import Kernel, config, njit

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """These kernels belong to no kernel module, and their code is kept for the test only."""
    monkeypatch.setattr(compiled, "_directory", lambda module: str(tmp_path))


def _library(dispatcher: Any) -> Any:
    (result,) = dispatcher.overloads.values()
    return result.library


def test_only_the_entry_becomes_machine_code() -> None:
    """A kernel that another one calls is linked into it; it gets machine code of its own once Python calls it."""

    @njit()
    def total(x):
        found = np.zeros(1)
        for i in range(x.shape[0]):
            found[0] += x[i]
        return found[0]

    @njit()
    def twice(x):
        return total(x) + total(x)

    assert isinstance(total, Kernel)
    assert twice(np.arange(4.0)) == 12.0
    assert _library(twice.entry)._emitted
    assert not _library(total._inner)._emitted
    assert total(np.arange(4.0)) == 6.0
    assert _library(total.entry)._emitted


def test_errors_inside_a_linked_kernel_arrive() -> None:
    """What a kernel without machine code raises reaches the caller of the kernel that it is part of."""

    @njit()
    def checked(x):
        if x < 0.0:
            raise ValueError("below zero")
        return 1.0 / x

    @njit()
    def outer(x):
        return checked(x)

    assert outer(2.0) == 0.5
    with pytest.raises(ValueError, match="below zero"):
        outer(-1.0)
    with pytest.raises(ZeroDivisionError):
        outer(0.0)
