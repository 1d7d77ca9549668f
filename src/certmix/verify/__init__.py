"""The checker: NumPy and the standard library only, nothing of the search, the bounds or the kernels.

To read it from top to bottom (docs/certificates.md is the format, docs/trust.md says what is assumed):

1. ``rounding``, ``evidence``: what is assumed of arithmetic; how arrays are read
2. ``statement``, ``coordinates``, ``root``: the problem as it is written, and as the checker sees it, with its error
3. ``incumbent``, ``domain``, ``tree``, ``proof``, ``check``: the clustering, a node, whether leaves cover the root,
   what a bound may rest on, the whole
4. the kinds of steps, each on its own: ``enumeration`` with ``exact``, ``dynamic``, ``narrowing`` with ``boxes`` and
   ``lagrangian``, ``blocks`` with ``semidefinite``
5. ``claims``, which nobody needs to read who has a certificate of one bound

The package can be called, since its name is also the name of what it does: ``certmix.verify(certificate, data)`` is
:func:`certmix.verifying.verify`, which takes certificates, data and constraints in whatever form they come.
"""

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    def __call__(self, certificate: Any, data: Any, constraints: Any = None) -> Any:
        from certmix.verifying import verify

        return verify(certificate, data, constraints)


sys.modules[__name__].__class__ = _Callable
