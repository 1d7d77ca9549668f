"""The shells' completion, through the protocol that their scripts speak, and the help."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from certmix.cli.main import run


def completed(line: str, shell: str = "bash", folder: str = ".") -> list[str]:
    """What a shell is offered at the end of a line."""
    words = line.split(" ")
    asked = {"_CERTMIX_COMPLETE": f"complete_{shell}"}
    if shell == "bash":
        asked |= {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    else:
        asked |= {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    found = subprocess.run(
        [sys.executable, "-m", "certmix"],
        env={**os.environ, **asked},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return found.stdout.split("\n")


def test_commands_complete_in_every_shell():
    """`certmix so<TAB>` becomes `certmix solve` in bash, zsh and fish."""
    assert completed("certmix so") == ["solve", ""]
    assert '"solve"' in completed("certmix so", "zsh")[0]
    assert completed("certmix so", "fish")[0].split("\t")[0] == "solve"


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("certmix solve ir", ["iris1d", "iris"]),
        ("certmix solve iris --engine du", ["dual"]),
        ("certmix solve iris --prec", ["--precision", "--precision-from"]),
        ("certmix export iris --formulation mi", ["miqp", "minlp"]),
        ("certmix reproduce fig", ["figure1a", "figure1b"]),
        ("certmix completion z", ["zsh"]),
    ],
)
def test_names_and_values_complete(line, offered):
    """Data sets, options and the values of options that have a list of them complete."""
    assert completed(line)[:-1] == offered


def test_data_files_complete_beside_built_in_sets(tmp_path):
    """A data file is offered with the built-in sets; a file of another kind is not."""
    for name in ("input.csv", "image.png"):
        (tmp_path / name).touch()
    assert completed("certmix solve i", folder=str(tmp_path))[:-1] == ["iris1d", "iris", "input.csv"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_asks_the_program(capsys, shell):
    """The script that is printed calls certmix with the variable it answers to."""
    assert run(["completion", shell]) == 0
    assert f"_CERTMIX_COMPLETE=complete_{shell}" in capsys.readouterr().out


def test_the_script_works_in_bash(tmp_path):
    """Bash takes the script, and its function completes a command."""
    program = tmp_path / "certmix"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m certmix "$@"\n')
    program.chmod(0o755)
    ask = (
        f'eval "$({program} completion bash)"; COMP_WORDS=(certmix so); COMP_CWORD=1; '
        f'_certmix_completion {program}; echo "${{COMPREPLY[@]}}"'
    )
    found = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout.strip() == "solve"


def test_an_unknown_shell(capsys):
    """It is refused, and those there are are named."""
    assert run(["completion", "tcsh"]) == 2
    assert "unknown shell 'tcsh'; choose from bash, zsh, fish" in capsys.readouterr().err


@pytest.mark.parametrize("command", [[], ["solve"], ["verify"], ["export"], ["constraints", "check"]])
def test_help_shows_no_types_of_flags(capsys, command):
    """A flag takes nothing, so the help shows nothing for it."""
    run([*command, "--help"])
    text = capsys.readouterr().out
    assert "<bool>" not in text
    assert "<str>" not in text
