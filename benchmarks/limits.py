"""Limits asked and kept: prints the table of docs/trust.md.

    python benchmarks/limits.py                 every case, one after the other
    python benchmarks/limits.py "tight sizes"   those whose name has these words

Every case runs in a fresh process, with kernels that are compiled already: small problems of every kind are solved
first, without a limit.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """A problem, an engine and the seconds it is given."""

    name: str
    seconds: float
    shape: tuple[int, int, int]
    """Samples, features, components."""
    engine: str = "auto"
    spread: float = 3.0
    """Of the centres, in standard deviations of a cluster."""
    smallest: float = 0.0
    """Smallest size that is allowed, as a share of n / K."""
    apart: int = 0
    """Cannot-links."""
    certificate: bool = False


CASES = (
    Case("no time at all", 0.0, (2_000, 3, 3)),
    Case("a tenth of a second", 0.1, (20_000, 5, 4)),
    Case("many features, sdp", 20.0, (1_500, 6, 4), engine="sdp", spread=5.0),
    Case("many features and samples, sdp", 20.0, (2_900, 6, 4), engine="sdp", spread=5.0),
    Case("many features, parts", 10.0, (20_000, 20, 5)),
    Case("100,000 x 10", 30.0, (100_000, 10, 5)),
    Case("100,000 x 50", 30.0, (100_000, 50, 5)),
    Case("a million samples", 60.0, (1_000_000, 2, 3)),
    Case("a million samples on a line", 10.0, (1_000_000, 1, 4)),
    Case("tight sizes, 3,000", 5.0, (3_000, 2, 3), smallest=0.99),
    Case("tight sizes, 30,000", 10.0, (30_000, 2, 3), smallest=0.99),
    Case("tight sizes, 100,000", 20.0, (100_000, 2, 4), smallest=1.0),
    Case("cannot-links", 10.0, (300, 2, 4), engine="dual", spread=1.0, apart=15),
    Case("with a certificate", 10.0, (2_000, 3, 5), spread=1.0, certificate=True),
    Case("with a certificate, sdp", 10.0, (300, 8, 4), spread=1.0, certificate=True),
    Case("interval", 5.0, (5_000, 4, 4), engine="interval", spread=1.0),
    Case("branch and bound of the paper", 5.0, (1_000, 3, 4), engine="bnb", spread=1.0),
    Case("SCIP", 10.0, (300, 3, 3), engine="minlp", spread=1.0),
    Case("hard EM", 5.0, (100_000, 50, 5), engine="hard-em"),
)


def build(case: Case) -> Any:
    """The problem of a case."""
    from certmix import CannotLink, MinimumSize, Problem

    n, d, K = case.shape
    rng = np.random.default_rng(0)
    labels = rng.integers(0, K, n)
    data = rng.normal(scale=case.spread, size=(K, d))[labels] + rng.normal(size=(n, d))
    rules: list[Any] = [MinimumSize(int(case.smallest * n / K))] if case.smallest else []
    rules += [CannotLink(2 * i, 2 * i + 1) for i in range(case.apart)]
    return Problem(data, K, variance=1.0, constraints=rules)


def measure(case: Case, seconds: float) -> dict[str, Any]:
    """Solve a case here and say what it took."""
    from certmix import solve

    problem = build(case)
    start = time.perf_counter()
    result = solve(problem, case.engine, time_limit=seconds, certificate=case.certificate)
    return {
        "took": time.perf_counter() - start,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "engine": result.engine,
        "termination": str(result.termination),
        "objective": result.objective,
        "bound": result.lower_bound,
    }


def in_fresh_process(case: Case, seconds: float) -> dict[str, Any]:
    """Measure a case in a process of its own."""
    answer = subprocess.run(
        [sys.executable, __file__, "--case", case.name, str(seconds)],
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode:
        raise SystemExit(f"{case.name}: exit code {answer.returncode}\n{answer.stderr}")
    return dict(json.loads(answer.stdout))


def compile_kernels() -> None:
    """Solve smaller problems of every kind, so that no case has to compile what it uses."""
    from certmix import solve

    for case in CASES:
        n, d, K = case.shape
        for size in {min(n, 60), min(n, 3_100)}:
            small = replace(
                case, shape=(size, d, K), smallest=min(case.smallest, 0.9), apart=min(case.apart, 3)
            )
            if case.engine != "minlp" or size < 100:
                solve(build(small), case.engine, node_limit=2, time_limit=60.0, certificate=case.certificate)


def row(case: Case, found: dict[str, Any]) -> str:
    n, d, K = case.shape
    late = found["took"] - case.seconds
    kept = "yes" if late <= max(1.0, 0.05 * case.seconds) else "NO"
    return (
        f"| {case.name} | {n:,} x {d}, K = {K} | {found['engine']} | {case.seconds:g} s | {found['took']:.1f} s | "
        f"{kept} | {found['memory']:,.0f} MB | {found['bound']:,.1f} of {found['objective']:,.1f} |"
    )


def main() -> None:
    """Print the table, or measure one case for it."""
    if sys.argv[1:2] == ["--case"]:
        case = next(c for c in CASES if c.name == sys.argv[2])
        print(json.dumps(measure(case, float(sys.argv[3]))))
        return
    if sys.argv[1:] == ["--compile"]:
        compile_kernels()
        return
    words = " ".join(sys.argv[1:])
    # Elsewhere: a process begins with the peak of the one that started it, as far as the system tells.
    subprocess.run([sys.executable, __file__, "--compile"], check=True)
    print("| case | size | engine | limit | took | kept | memory | bound |")
    print("|---|---|---|---|---|---|---|---|")
    for case in CASES:
        if words in case.name:
            print(row(case, in_fresh_process(case, case.seconds)), flush=True)


if __name__ == "__main__":
    main()
