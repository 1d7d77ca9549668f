"""The command ``certmix``. Nothing heavy is imported before a command needs it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from inspect import cleandoc
from typing import Annotated, Any

import typer

from certmix._version import __version__
from certmix.cli.check import constraints_app
from certmix.cli.commands import COMPLETE, Command, Group
from certmix.cli.compile import compile_command
from certmix.cli.completion import answer_completions, completion_command
from certmix.cli.engines import engines_command
from certmix.cli.flags import with_flags
from certmix.cli.path import path_command
from certmix.cli.report import report_command
from certmix.cli.request import OF_MIXTURES
from certmix.cli.solve import kmeans_command, solve_command
from certmix.cli.stability import alternatives_command, stability_command
from certmix.cli.standard_output import failed
from certmix.cli.verify import verify_command
from certmix.errors import CertmixError, InfeasibleError, OutputError
from certmix.interruption import INTERRUPTED, NOT_WRITTEN
from certmix.places import at

OK, BAD_INPUT, INFEASIBLE = 0, 2, 4

app = typer.Typer(
    name="certmix",
    cls=Group,
    help="Certified clustering: globally optimal assignments under the Gaussian mixture model, with proof.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# Depending on its version typer brings its own copy of click or not: ask it for the class.
_UsageError: type[Exception] = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


def _show_version(value: bool) -> None:
    if value:
        typer.echo(f"certmix {__version__}")
        raise typer.Exit


@app.callback()
def _certmix(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and stop."),
    ] = False,
) -> None:
    pass


_COMMANDS: dict[str, Callable[..., Any]] = {
    "solve": with_flags(solve_command),
    "kmeans": with_flags(kmeans_command, without=(*OF_MIXTURES, "weights", "noise")),
    # The number of components, and what is about one number alone.
    "path": with_flags(path_command, without=("n_components", "start", "report", "constraint_costs")),
    "stability": with_flags(stability_command, without=("constraint_costs",)),
    "alternatives": with_flags(alternatives_command, without=("constraint_costs",)),
    "verify": with_flags(verify_command),
    "report": report_command,
    "engines": engines_command,
    # The commands of the paper are known by their places only: nothing here imports its wing.
    "export": with_flags(at("certmix.paper.cli.export:export_command")),
    "reproduce": at("certmix.paper.cli.reproduce:reproduce_command"),
    "compile": compile_command,
    "completion": completion_command,
}
for _name, _command in _COMMANDS.items():
    # Lines of a paragraph are those of the terminal, not those of the source.
    _help = re.sub(r"(?<!\n)\n(?!\n)", " ", cleandoc(str(_command.__doc__)))
    app.command(_name, cls=Command, help=_help)(_command)
app.add_typer(constraints_app, name="constraints")


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; every error is one sentence on standard error."""
    if COMPLETE in os.environ:
        answer_completions()
    try:
        return _run(arguments)
    except InfeasibleError as error:
        return _complain(f"infeasible: {error}", INFEASIBLE)
    except OutputError as error:
        return _complain(str(error), NOT_WRITTEN)
    except CertmixError as error:
        return _complain(str(error), BAD_INPUT)
    except _UsageError as error:
        return _complain_usage(error)
    except (typer.Abort, KeyboardInterrupt):  # typer makes the one of the other
        return _complain("interrupted before there was a result", INTERRUPTED)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        code = app(
            args=None if arguments is None else list(arguments), prog_name="certmix", standalone_mode=False
        )
    except OSError as error:
        if error.filename is not None:  # a file of which nobody has thought
            raise
        failed(error)
        return OK
    return int(code or OK)


def _complain_usage(error: Exception) -> int:
    message = " ".join(getattr(error, "format_message", lambda: str(error))().split())
    if not message:  # `certmix` alone: the help has been shown
        return BAD_INPUT
    return _complain(f"{message.rstrip('.')} (certmix --help shows the options)", BAD_INPUT)


def _complain(sentence: str, code: int) -> int:
    print(f"certmix: error: {sentence}", file=sys.stderr)
    return code
