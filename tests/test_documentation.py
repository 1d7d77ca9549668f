"""What README and docs show is what the program does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from certmix.cli.main import run

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# Figures that differ from machine to machine or run to run.
VARYING = re.compile(r"Seconds:|Nodes:|Gap|Lower bound:|relative\)|nats")


def shown() -> list:
    """Every `$ certmix solve BUILT-IN …` in a console block, with the output shown below it."""
    found = []
    for page in PAGES:
        for block in re.findall(r"```console\n(.*?)```", page.read_text(), flags=re.S):
            for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
                command, _, output = part.partition("\n")
                if output.strip() and command.startswith("certmix solve") and "|" not in command:
                    found.append(pytest.param(command, output, id=f"{page.name}: {command}"))
    return found


@pytest.mark.parametrize(("command", "output"), shown())
def test_shown_output_is_true(capsys, command, output):
    """Every line shown below a command is printed by it, up to figures that vary."""
    run(command.split()[1:])
    captured = capsys.readouterr()
    printed = (captured.out + captured.err).splitlines()
    for line in output.splitlines():
        if VARYING.search(line):
            words = [word for word in line.split() if not re.search(r"\d", word)]
            assert any(words == [w for w in p.split() if not re.search(r"\d", w)] for p in printed), line
        else:
            assert line in printed


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
