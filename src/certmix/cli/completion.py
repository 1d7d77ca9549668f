"""``certmix completion``: the script that lets a shell complete commands, options and their values."""

from __future__ import annotations

from typing import Annotated

import typer

from certmix.cli.commands import COMPLETE, among
from certmix.errors import InputError
from certmix.hints import did_you_mean

SHELLS = ("bash", "zsh", "fish")


def completion_command(
    shell: Annotated[
        str, typer.Argument(metavar="SHELL", help=f"{', '.join(SHELLS)}.", autocompletion=among(SHELLS))
    ],
) -> None:
    """Print the script that makes a shell complete certmix on the Tab key.

    bash: add eval "$(certmix completion bash)" to ~/.bashrc.

    zsh: add eval "$(certmix completion zsh)" to ~/.zshrc, after compinit.

    fish: certmix completion fish > ~/.config/fish/completions/certmix.fish
    """
    from typer.completion import get_completion_script

    if shell not in SHELLS:
        raise InputError(f"unknown shell {shell!r}{did_you_mean(shell, SHELLS)}")
    print(get_completion_script(prog_name="certmix", complete_var=COMPLETE, shell=shell))


def answer_completions() -> None:
    """Let typer answer what the script asks; its classes for the shells are not there by themselves."""
    from typer.completion import completion_init

    completion_init()
