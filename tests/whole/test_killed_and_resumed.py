"""kill -9 at any moment: what is on disk is whole, and a run that goes on from there ends as any other."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from certmix import Problem, Result, solve, verify
from certmix.saving import read

# engine: samples, features, components; variance 0.1, so that clusters overlap and there is something to branch on
INSTANCES = {
    "dual": (60, 3, 4),
    "sdp": (50, 5, 3),
    "parts": (44, 5, 3),
    "interval": (40, 2, 3),
    "bnb": (16, 2, 3),
    "race": (60, 3, 4),
    "line": (3000, 1, 4),  # cuts between sorted samples, of the engine interval
}


def samples(engine: str) -> np.ndarray:
    n, d, _ = INSTANCES[engine]
    return np.random.default_rng(3).normal(size=(n, d))


@dataclass
class Chain:
    """One run, in as many processes as it takes."""

    engine: str
    directory: Path
    kills: int = 0
    on_disk: list[tuple[float, float]] = field(default_factory=list)  # objective and bound after every kill

    @property
    def out(self) -> Path:
        return self.directory / "out"

    def begin(self) -> subprocess.Popen[str]:
        self.directory.mkdir(exist_ok=True)
        np.savetxt(self.directory / "data.csv", samples(self.engine), delimiter=",", fmt="%.17g")
        words = [
            "data.csv",
            "--no-header",
            "-k",
            str(INSTANCES[self.engine][2]),
            "--variance",
            "0.1",
            "--quiet",
        ]
        name = "interval" if self.engine == "line" else self.engine
        words += ["--engine", name, "--threads", "1", "--verify"]
        words += ["--part-size", "15"] if self.engine == "parts" else []
        words += ["--resume" if (self.out / "snapshot.json").exists() else "--out", "out"]
        return subprocess.Popen(
            [sys.executable, "-m", "certmix", "solve", *words],
            cwd=self.directory,
            env=dict(os.environ),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, rng: np.random.Generator, most_kills: int, most_seconds: float) -> Result:
        """Kill, look at what is there, go on; until a process comes to its end."""
        while True:
            process = self.begin()
            end = time.monotonic() + rng.uniform(0.0, most_seconds)
            while process.poll() is None and (time.monotonic() < end or self.kills >= most_kills):
                time.sleep(0.01)
            process.kill()
            _, err = process.communicate()
            if process.returncode >= 0:
                assert process.returncode == 0, err
                return Result.load(self.out)
            self.kills += 1
            self._look()

    def _look(self) -> None:
        if (self.out / "snapshot.json").exists():
            found = read(self.out / "snapshot.json")
            self.on_disk.append((found["objective"], found["lower_bound"]))

    def check(self, result: Result, optimum: float) -> None:
        assert result.status == "optimal"
        assert result.certificate_level == "verified", result.verification
        assert abs(result.objective - optimum) <= 1e-6 * max(1.0, abs(optimum))
        for (upper, lower), (later_upper, later_lower) in zip(self.on_disk, self.on_disk[1:], strict=False):
            assert later_upper <= upper
            assert later_lower >= lower
        for upper, lower in self.on_disk:
            assert result.objective <= upper
            assert max(p.bound for p in result.trace) >= lower
        assert [p.bound for p in result.trace] == sorted(p.bound for p in result.trace)
        assert verify(self.out / "certificate.json", samples(self.engine)).verified
        left = {path.name for path in self.out.iterdir() if "snapshot" in path.name}
        assert not left, "nothing of the unfinished run is left"


def test_a_killed_search_goes_on(tmp_path: Path) -> None:
    """Two processes are killed at random; the third one has the certified answer, and no bound on the way went down."""
    rng = np.random.default_rng(5)
    chain = Chain("interval", tmp_path)
    result = chain.run(rng, most_kills=2, most_seconds=4.0)
    problem = Problem(samples("interval"), INSTANCES["interval"][2], variance=0.1)
    chain.check(result, solve(problem, "interval", threads=1, verify=False).objective)


@pytest.mark.slow
def test_a_hundred_kills(tmp_path: Path) -> None:
    """A hundred processes of engines that resume are killed at random; every run has the same answer, certified."""
    rng = np.random.default_rng(6)
    whole: dict[str, tuple[float, float]] = {}  # what a run comes to that nobody kills, and its seconds
    for engine in INSTANCES:
        begin = time.monotonic()
        result = Chain(engine, tmp_path / engine).run(rng, most_kills=0, most_seconds=0.0)
        whole[engine] = result.objective, time.monotonic() - begin
    kills, chains, resumes = 0, 0, 0
    while kills < 100:
        engine = list(INSTANCES)[chains % len(INSTANCES)]
        optimum, seconds = whole[engine]
        chain = Chain(engine, tmp_path / str(chains))
        result = chain.run(rng, most_kills=min(20, 100 - kills), most_seconds=min(seconds, 20.0))
        chain.check(result, optimum)
        kills, chains, resumes = kills + chain.kills, chains + 1, resumes + result.resumes
        print(
            f"{engine}: killed {chain.kills} times, resumed {result.resumes} times, {result.account()}",
            flush=True,
        )
    assert kills == 100
