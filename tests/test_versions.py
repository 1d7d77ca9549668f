"""Versions are those of what is installed."""

from __future__ import annotations

import platform

import numpy as np

from certmix import __version__
from certmix.versions import versions


def test_versions_are_those_that_are_installed():
    """The program, Python and NumPy have the versions that they say themselves."""
    found = versions()
    assert found["certmix"] == __version__
    assert found["Python"] == platform.python_version()
    assert found["numpy"] == np.__version__
