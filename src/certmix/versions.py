"""Which versions of what a result was made with."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from certmix._version import __version__

_PACKAGES = ("numpy", "scipy", "numba", "highspy")


@cache
def _found() -> tuple[tuple[str, str], ...]:
    found = [("certmix", __version__), ("Python", platform.python_version())]
    for name in _PACKAGES:
        try:
            found.append((name, version(name)))
        except PackageNotFoundError:  # a package that was unpacked rather than installed
            continue
    return (*found, ("system", f"{platform.system()} {platform.machine()}"))


def versions() -> dict[str, str]:
    """The program, the language, the packages that compute, and the kind of machine."""
    return dict(_found())
