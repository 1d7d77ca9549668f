"""Other tuning constants of a module, for a while."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType
from typing import Any
from unittest import mock


def tuned(module: ModuleType, **changes: Any) -> Any:
    """A context in which some entries of ``module.TUNING`` are others."""
    return mock.patch.object(module, "TUNING", replace(module.TUNING, **changes))
