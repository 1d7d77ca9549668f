"""The checker: NumPy and the standard library only, nothing of the search, the bounds or the kernels.

``certmix.verify(certificate, data)`` calls :func:`certmix.verify.api.verify`: the package itself can be called, since
its name is also the name of what it does.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    def __call__(self, certificate: Any, data: Any, constraints: Any = None) -> Any:
        from certmix.verify.api import verify

        return verify(certificate, data, constraints)


sys.modules[__name__].__class__ = _Callable
