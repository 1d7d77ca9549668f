"""``certmix constraints check``: can these constraints hold together on these data?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from certmix.cli.commands import Command, Group
from certmix.cli.flags import with_flags
from certmix.cli.request import OF_MIXTURES, Request

constraints_app = typer.Typer(
    cls=Group,
    help="Look at a constraints file without solving.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


@constraints_app.callback()
def _constraints() -> None:
    pass


def check_command(
    request: Request,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Side constraints, CSV or TOML.")],
) -> None:
    """List the constraints in words and say whether they can hold together (exit code 4 if not)."""
    from certmix.cli.building import build
    from certmix.presolve.feasibility import check_feasible
    from certmix.problem.wording import describe

    asked = build(replace(request, constraints=file, variance="1"))
    for item in asked.problem.given_constraints:
        print(f"{describe(asked.problem, item)}{item.at()}")
    check_feasible(asked.problem)
    soft = len(asked.problem.rules.soft)
    count = len(asked.problem.constraints) - soft
    if count or not soft:
        print("This constraint can hold." if count == 1 else f"These {count} constraints can hold together.")
    if soft:
        print(f"{soft} soft link{' has' if soft == 1 else 's have'} a penalty and may be broken.")


constraints_app.command("check", cls=Command)(
    with_flags(check_command, without=(*OF_MIXTURES, "weights", "constraints"))
)
