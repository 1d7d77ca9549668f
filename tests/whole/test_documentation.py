"""What README and docs show is what the program does."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import pytest

from certmix import proving
from certmix.cli.main import app, run

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# Figures that differ from machine to machine or run to run.
VARYING = re.compile(r"Seconds:|Nodes:|Gap|Lower bound:|relative\)|nats")


def shown() -> list:
    """Every `$ certmix solve BUILT-IN …`, kmeans or path in a console block, with the output shown below it."""
    found = []
    for page in PAGES:
        for block in re.findall(r"```console\n(.*?)```", page.read_text(), flags=re.S):
            for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
                command, _, output = part.partition("\n")
                if (
                    output.strip()
                    and command.startswith(
                        (
                            "certmix solve",
                            "certmix path",
                            "certmix kmeans",
                            "certmix stability",
                            "certmix alternatives",
                        )
                    )
                    and "|" not in command
                ):
                    found.append(pytest.param(command, output, id=f"{page.name}: {command}"))
    return found


@pytest.mark.parametrize(("command", "output"), shown())
def test_shown_output_is_true(capsys, monkeypatch, command, output):
    """Every line shown below a command is printed by it, up to figures that vary."""
    monkeypatch.setattr(proving, "LEAST_BUDGET", 600.0)  # however busy the machine is
    run(command.split()[1:])
    captured = capsys.readouterr()
    printed = (captured.out + captured.err).splitlines()
    for line in output.splitlines():
        if VARYING.search(line):
            words = [word for word in line.split() if not re.search(r"\d", word)]
            assert any(words == [w for w in p.split() if not re.search(r"\d", w)] for p in printed), line
        else:
            assert line in printed


CELLS = "name,size,glow,type\nc1,1.2,0.3,A\nc2,1.1,0.4,\nc3,4.0,2.2,B\nc4,4.2,2.1,\n"


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """A folder with the files that the pages speak of, and the names that their Python uses."""
    import numpy as np
    import pandas as pd

    import certmix

    monkeypatch.chdir(tmp_path)
    constraints = re.search(
        r"```\n(type,samples.*?)```", (ROOT / "docs" / "constraints.md").read_text(), flags=re.S
    )
    assert constraints is not None
    (tmp_path / "constraints.csv").write_text(constraints[1].replace("min-size,,,10", "min-size,,,5"))
    (tmp_path / "cells.csv").write_text(CELLS)
    rng = np.random.default_rng(0)
    points = rng.normal(size=(30, 2)) * 0.3 + np.repeat([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]], 10, axis=0)
    frame = pd.DataFrame(points, columns=["a", "b"], index=[f"S{i + 1}" for i in range(30)])
    frame["batch"] = [f"lot {i // 2}" if i < 4 else "" for i in range(30)]
    problem = certmix.Problem(frame[["a", "b"]][::4], 2, variance=0.1)
    return {
        "certmix": certmix,
        "CertifiedGaussianMixture": certmix.CertifiedGaussianMixture,
        "MustLink": certmix.MustLink,
        "data": frame[["a", "b"]],
        "frame": frame,
        "X": points,
        "X_new": points[:3],
        "problem": problem,
        "result": certmix.solve(problem),
    }


@pytest.mark.parametrize("page", [p for p in PAGES if "```python" in p.read_text()], ids=lambda p: p.name)
def test_python_of_a_page_runs(page, workplace, capsys):
    """The blocks of Python on a page run as they are written, one after the other."""
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.S):
        exec(compile(block, page.name, "exec"), workplace)


SHOWN_IN_CODE = [path for path in sorted((ROOT / "src").rglob("*.py")) if ">>> " in path.read_text()]


@pytest.mark.parametrize("path", SHOWN_IN_CODE, ids=lambda path: path.stem)
def test_examples_in_docstrings_are_true(path):
    """What the reference shows below an example is what it prints."""
    parts = path.relative_to(ROOT / "src").with_suffix("").parts
    module = importlib.import_module(".".join(parts).removesuffix(".__init__"))
    found = doctest.testmod(module)
    assert found.attempted
    assert not found.failed


def commands() -> list:
    """Every command of certmix in a block of a page, without its comment and what it is piped into."""
    found = []
    for page in PAGES:
        for block in re.findall(r"```(?:console)?\n(.*?)```", page.read_text(), flags=re.S):
            for line in re.findall(
                r"^(?:\$ )?certmix ([a-z]+(?: .*)?)$",
                block,
                flags=re.M,
            ):
                said = re.split(r"\s+[|#>&]", line)[0].rstrip()
                if "  " not in said:  # an overview has explanations there
                    found.append(pytest.param(said.split(), id=f"{page.name}: {line}"))
    return found


@pytest.mark.parametrize("words", commands())
def test_commands_of_a_page_are_understood(words):
    """Every command has options that exist, with values they can take; nothing is run."""
    import typer.main

    command = typer.main.get_command(app)
    while hasattr(command, "commands"):
        command = command.commands[words[0]]
        words = words[1:]
    command.make_context("certmix", list(words))


def test_something_is_shown():
    """README and docs show at least three runs, so that the test above is not empty."""
    assert len(shown()) >= 3


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "ARCHITECTURE.md", ROOT / "CHANGELOG.md"], ids=lambda p: p.name
)
def test_links_between_pages_lead_somewhere(page):
    """Every relative link names a file that exists."""
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_every_page_is_linked_from_the_readme():
    """No page of the documentation is hidden."""
    readme = (ROOT / "README.md").read_text()
    for page in PAGES[1:]:
        assert f"docs/{page.name}" in readme


def test_every_option_is_documented(capsys):
    """Each option of `certmix solve` is in the page on the command line."""
    run(["solve", "--help"])
    options = set(re.findall(r"--[a-z][a-z-]+", capsys.readouterr().out)) - {"--help", "--components"}
    text = (ROOT / "docs" / "command-line.md").read_text()
    assert options
    assert [option for option in sorted(options) if option not in text] == []
