"""Flags of the command line from dataclasses of options (:class:`certmix.options.Option`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer

from certmix.cli.commands import among
from certmix.cli.parsing import number, whole
from certmix.errors import InputError
from certmix.options import Option, options_of

CALLED = {"sample_weight": "weight_column"}  # parameters whose options have other names
_PARSERS = {int: whole, float: number}


def with_flags(command: Callable[..., Any], *, without: Collection[str] = ()) -> Callable[..., Any]:
    """The command with a flag for every option of the dataclasses that it takes, in their place."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, list[Parameter]] = {}
    for name, parameter in signature(command).parameters.items():
        if is_dataclass(hints[name]):
            groups[name] = [p for p in _parameters(hints[name]) if p.name not in without]
        else:
            groups[name] = [parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[name])]

    @wraps(command)
    def wrapped(**given: Any) -> Any:
        arguments = {}
        for name, own in groups.items():
            if is_dataclass(hints[name]):
                found = {p.name: given[p.name] for p in own if given[p.name] is not None}
                try:
                    arguments[name] = hints[name](**found)
                except InputError as error:
                    raise InputError(in_words(error, hints[name])) from None
            else:
                arguments[name] = given[name]
        return command(**arguments)

    parameters = [parameter for own in groups.values() for parameter in own]
    wrapped.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in parameters}
    return wrapped


def flag(name: str, about: Option) -> str:
    """How an option is written in full, ``--yes/--no`` where it has two forms."""
    return next((f for f in about.flags if f.startswith("--")), "--" + name.replace("_", "-"))


def in_words(error: InputError, cls: type) -> str:
    """The message of an error about a parameter, with the name of its option instead."""
    name = CALLED.get(error.about, error.about)
    about = options_of(cls).get(name)
    if about is None:
        return str(error)
    option = (*about.flags, flag(name, about))[0].partition("/")[0]
    said = str(error).removeprefix(error.about)
    return f"{option}{said}" if said != str(error) else f"{option}: {said}"


def _parameters(cls: type) -> list[Parameter]:
    known = options_of(cls)
    return [
        Parameter(
            f.name,
            Parameter.KEYWORD_ONLY,
            annotation=_annotation(f.name, known[f.name]),
            default=_default(f.default, known[f.name]),
        )
        for f in fields(cls)
        if f.name in known and not known[f.name].python_only
    ]


def _default(default: Any, about: Option) -> Any:
    """The default that the help shows; None where the command line cannot write it."""
    if default is MISSING:
        return Parameter.empty
    return default if isinstance(default, about.kind if isinstance(about.kind, type) else ()) else None


def _annotation(name: str, about: Option) -> Any:
    complete = about.complete or (_completing(about.choices) if about.choices else None)
    metavar = about.metavar or about.unit.upper() or ("N" if about.kind is int else None)
    if about.argument:
        return Annotated[
            about.kind, typer.Argument(metavar=metavar, help=about.help, autocompletion=complete)
        ]
    flags = about.flags or ((flag(name, about),) if about.kind is bool else ())
    return Annotated[
        about.kind | None,
        typer.Option(
            *flags,
            metavar=metavar,
            help=about.help,
            rich_help_panel=about.panel or None,
            parser=_PARSERS.get(about.kind),
            autocompletion=complete,
        ),
    ]


def _completing(choices: Sequence[str] | Callable[[], Sequence[str]]) -> Callable[[str], list[str]]:
    # A function is asked only when somebody presses the key: it may have to import what the help does not need.
    return lambda incomplete: among(choices() if callable(choices) else choices)(incomplete)
