"""BARON through GAMS (or GAMSPy, which brings GAMS along), where it is installed."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from certmix.errors import UnsupportedError
from certmix.paper.formulation.model import Formulation
from certmix.paper.formulation.running import run_interruptible
from certmix.paper.formulation.solvers import Ending, Limits, Watch

# GAMS's numbers for how a model and a solver ended
_OPTIMAL, _LICENCE, _INFEASIBLE = 1.0, 11.0, {4.0, 5.0, 10.0, 19.0}
_ENDINGS = {1.0: Ending.FINISHED, 2.0: Ending.NODES, 3.0: Ending.TIME, 8.0: Ending.ASKED}
_SETTINGS = (
    "AbsConFeasTol 1e-8\nRelConFeasTol 0\nAbsIntFeasTol 1e-8\nRelIntFeasTol 0\nPrFreq 100\nPrTimeFreq 1\n"
)
# iteration, seconds, memory, lower bound, upper bound
_PROGRESS = re.compile(r"^\*?\s*(\d+)\*?\s+[\d.]+\s+\d+MB\s+(\S+)\s+(\S+)")


class Baron:
    """BARON, for both models. Its clusterings are known when it ends, its bounds while it runs."""

    def __init__(self) -> None:
        self._gams = _executable()
        told = subprocess.run(
            [self._gams, "audit", "lo=3"], capture_output=True, text=True, check=False
        ).stdout
        release = re.search(r"GAMS\D*(\d+\.\d+)", told)
        self.title = f"BARON (GAMS {release.group(1)})" if release else "BARON (GAMS)"

    def slack(self, formulation: Formulation) -> float:
        return 5e-7

    def refusal(self, formulation: Formulation) -> str | None:
        """Hand the model over with next to no time: a licence that is too small says so."""
        with _Job(self._gams, formulation, Limits(0.1, 1, 1, 0, start=False)) as job:
            job.run(None)
            if job.status.get("MODELSTAT") == _LICENCE or not job.status:
                said = re.findall(
                    r"^\*\*\* ([^*].*licen[sc]e.*?)\.?$", job.listing(), re.MULTILINE | re.IGNORECASE
                )
                return (
                    f"{said[0]}; use a full licence, or the solver scip" if said else "GAMS could not run it"
                )
        return None

    def solve(self, formulation: Formulation, watch: Watch, limits: Limits) -> Ending:
        with _Job(self._gams, formulation, limits) as job:
            job.run(watch)
            if job.asked:
                return Ending.ASKED
            if not job.status:
                return Ending.FAILED
            if job.status["MODELSTAT"] in _INFEASIBLE:
                return Ending.INFEASIBLE
            values = job.levels([f"assign_{g}_{k}_" for g, k in formulation.assign])
            if values is not None:
                watch.incumbent(values)
            ending = _ENDINGS.get(job.status["SOLVESTAT"], Ending.FAILED)
            if ending is Ending.FINISHED and not _closed(job.status, limits):
                ending = Ending.FAILED  # it broke off, and its bound may mean nothing
            if ending is not Ending.FAILED:
                watch.bound(_finite(job.status.get("OBJEST", math.nan)), job.nodes, 0)
            return ending


def _executable() -> str:
    found = shutil.which("gams")
    if found is not None:
        return found
    if find_spec("gamspy_base") is None:
        raise UnsupportedError("there is no program gams")
    import gamspy_base

    return str(Path(gamspy_base.directory) / "gams")


class _Job:
    """One run of GAMS in a folder of its own."""

    def __init__(self, gams: str, formulation: Formulation, limits: Limits) -> None:
        self._gams = gams
        self._folder = tempfile.TemporaryDirectory()
        self._path = Path(self._folder.name)
        self.status: dict[str, float] = {}
        self.nodes = 0
        self.asked = False
        options = [
            f"option optcr={limits.gap:.3g};",
            f"option optca={limits.absolute_gap:.3g};",
            f"option reslim={limits.seconds if math.isfinite(limits.seconds) else 1e10:.6g};",
            f"option threads={limits.threads};",
            "GAMS_MODEL.optfile=1;",
        ]
        if limits.nodes is not None:
            options.append(f"GAMS_MODEL.nodlim={limits.nodes};")
        (self._path / "baron.opt").write_text(_SETTINGS)
        formulation.model.write(
            str(self._path / "model.gms"),
            format="gams",
            io_options={
                "solver": "baron",
                "mtype": "minlp",
                "put_results": "results",
                "put_results_format": "dat",
                "symbolic_solver_labels": True,
                "warmstart": limits.start,
                "add_options": options,
            },
        )

    def __enter__(self) -> _Job:
        return self

    def __exit__(self, *_: Any) -> None:
        self._folder.cleanup()

    def run(self, watch: Watch | None) -> None:
        """Run to the end; the bounds of the log are told while it runs."""
        process = subprocess.Popen(
            [self._gams, "model.gms", "lo=3"],
            cwd=self._path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # Ctrl-C is ours to pass on
        )

        def read() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                if watch is not None and self._progress(line, watch) and not self.asked:
                    self.asked = True
                    process.terminate()
            process.wait()

        run_interruptible(read, process.terminate)
        self.status = self._table("resultsstat.dat")

    def _progress(self, line: str, watch: Watch) -> bool:
        found = _PROGRESS.match(line)
        if found is None:
            return False
        self.nodes = int(found.group(1))
        try:
            bound = _finite(float(found.group(2)))
        except ValueError:
            return False
        # The log has six digits: lowered by what rounding may have added.
        return watch.bound(bound - 1e-5 * abs(bound) if math.isfinite(bound) else bound, self.nodes, 0)

    def listing(self) -> str:
        path = self._path / "model.lst"
        return path.read_text(errors="replace") if path.exists() else ""

    def levels(self, names: list[str]) -> np.ndarray | None:
        table = self._table("results.dat")
        if not all(name in table for name in names):
            return None
        return np.array([table[name] for name in names])

    def _table(self, name: str) -> dict[str, float]:
        path = self._path / name
        found: dict[str, float] = {}
        for line in path.read_text().splitlines()[1:] if path.exists() else ():
            words = line.split()
            try:
                found[words[0]] = float(words[1])
            except (IndexError, ValueError):  # UNDF and NA
                continue
        return found


def _closed(status: dict[str, float], limits: Limits) -> bool:
    """Whether a run that ended by itself is optimal, or has the gap that it was asked for."""
    if status["MODELSTAT"] == _OPTIMAL:
        return True
    value, bound = status.get("OBJVAL", math.inf), status.get("OBJEST", -math.inf)
    return value - bound <= 1e-6 + limits.absolute_gap + 1.1 * limits.gap * abs(value)


def _finite(bound: float) -> float:
    if math.isnan(bound):
        return -math.inf
    return math.copysign(math.inf, bound) if abs(bound) >= 1e50 else bound
