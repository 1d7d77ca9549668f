"""Checks the package that is first on the path; prints whether anything was noticed, as a line of JSON.

Usage: mutant_trial.py SOURCE SEEDS SECONDS CHECK ..., a check being a way of the soundness program or a test file.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import time

import certmix


def by_soundness(ways: list[str], seeds: int, seconds: float) -> str:
    from soundness import examine

    began = time.monotonic()
    for seed in range(seeds):
        for text in examine(seed, seconds=3.0, only=ways).violations:
            return text
        if time.monotonic() - began > seconds:
            break
    return ""


def by_tests(files: list[str]) -> str:
    import pytest

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = pytest.main(["-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:xdist", *files])
    failed = [line for line in out.getvalue().splitlines() if line.startswith("FAILED")]
    if code == pytest.ExitCode.OK:
        return ""
    if code != pytest.ExitCode.TESTS_FAILED:
        raise SystemExit(out.getvalue())
    return failed[0]


def main() -> None:
    source, seeds, seconds, *checks = sys.argv[1:]
    assert certmix.__file__.startswith(source), f"the copy is not what is imported: {certmix.__file__}"
    if "CERTMIX_PLANTED" in os.environ:
        import sitecustomize

        assert sitecustomize.planted, "nothing is planted"
    files = [c for c in checks if c.endswith(".py")]
    ways = [c for c in checks if not c.endswith(".py")]
    text = by_soundness(ways, int(seeds), float(seconds)) if ways else ""
    if not text and files:
        text = by_tests(files)
    print(json.dumps({"noticed": bool(text), "text": text[-600:]}))


if __name__ == "__main__":
    main()
