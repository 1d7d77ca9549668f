"""The checker stands alone: what it imports, and how the package is called."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

import certmix
from certmix.problem import Problem

CODE = """
import sys
import certmix.verify.check
print("\\n".join(sorted(m for m in sys.modules if m.startswith("certmix"))))
print("\\n".join(m for m in ("numba", "scipy", "sklearn", "pandas", "highspy", "clarabel") if m in sys.modules))
"""


def test_the_checker_imports_numpy_and_itself_only() -> None:
    """Nothing of the search, the bounds, the kernels or the presolve is loaded to check a certificate."""
    run = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert {m for m in loaded if not m.startswith("certmix.verify")} == {"certmix", "certmix._version"}


def test_the_package_can_be_called() -> None:
    """certmix.verify is the checker's package and the function that checks."""
    problem = Problem(np.arange(6.0)[:, None], 2, variance=1.0)
    result = certmix.solve(problem, certificate=True)
    assert result.certificate is not None
    assert certmix.verify(result.certificate, problem.data).verified
