"""Plants a bug and asks, in a process of its own, whether it is noticed.

Kernels call each other in compiled code, which patching a name does not reach; so for a bug in a kernel the text of a
copy of the package is changed, and the kernels of the copy run as plain Python (NUMBA_DISABLE_JIT) or are compiled into
a cache of their own. A bug anywhere else is put into the text of its file when that is imported, by the process and by
those that it starts: there is no copy, and the kernels are those that have been compiled.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from mutant import Mutant

TESTS = Path(__file__).resolve().parents[1]
PACKAGE = TESTS.parent / "src" / "certmix"


@dataclass(frozen=True)
class Answer:
    """Whether a planted bug was noticed, and by what."""

    noticed: bool
    text: str


IMPORTED = """
import importlib.machinery, json, os

planted = json.loads(os.environ["CERTMIX_PLANTED"])
plain = importlib.machinery.SourceFileLoader.get_code


def get_code(self, name):
    if self.path != planted["file"]:
        return plain(self, name)
    text = self.get_data(self.path).decode()
    assert text.count(planted["old"]) == 1
    return self.source_to_code(text.replace(planted["old"], planted["new"]).encode(), self.path)


importlib.machinery.SourceFileLoader.get_code = get_code
"""


def plant(mutant: Mutant | None, place: Path) -> Path:
    """A copy of the package with the bug in it; returns the directory to import it from."""
    shutil.copytree(PACKAGE, place / "certmix", ignore=shutil.ignore_patterns("__pycache__"))
    if mutant is not None:
        file = place / "certmix" / mutant.file
        text = file.read_text(encoding="utf-8")
        if text.count(mutant.old) != 1:
            raise AssertionError(
                f"mutant {mutant.name!r}: its text occurs {text.count(mutant.old)} times in {mutant.file}"
            )
        file.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    return place


def trial(
    mutant: Mutant | None,
    place: Path,
    noticed_by: tuple[str, ...],
    *,
    seeds: int = 400,
    seconds: float = 400.0,
    compiled: bool = False,
) -> Answer:
    """Run the checks on the copy until one of them notices something; no answer is none that counts."""
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    if mutant is None or mutant.in_kernels:
        source = plant(mutant, place)
        environment |= {"NUMBA_CACHE_DIR": str(place / "cache")} if compiled else {"NUMBA_DISABLE_JIT": "1"}
    else:
        source = PACKAGE.parent
        (place / "sitecustomize.py").write_text(IMPORTED, encoding="utf-8")
        change = {"file": str(PACKAGE / mutant.file), "old": mutant.old, "new": mutant.new}
        environment["CERTMIX_PLANTED"] = json.dumps(change)
    environment["PYTHONPATH"] = os.pathsep.join([str(place), str(source), str(TESTS)])
    environment.pop("PYTEST_XDIST_WORKER", None)
    command = [sys.executable, str(Path(__file__).with_name("mutant_trial.py")), str(source), str(seeds)]
    try:
        done = subprocess.run(
            [*command, str(seconds), *noticed_by],
            capture_output=True, text=True, env=environment, cwd=TESTS.parent, timeout=2 * seconds + 120,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Answer(False, "no answer in time")
    if done.returncode != 0 or not done.stdout.strip():
        raise AssertionError(f"the trial broke down: {done.stderr[-2000:]}")
    return Answer(**json.loads(done.stdout.strip().splitlines()[-1]))
