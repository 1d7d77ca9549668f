"""``certmix constraints check``: can these constraints hold together on these data?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from certmix.cli.parsing import whole
from certmix.cli.request import Request

constraints_app = typer.Typer(
    help="Look at a constraints file without solving.", no_args_is_help=True, rich_markup_mode="rich"
)


@constraints_app.callback()
def _constraints() -> None:
    pass


@constraints_app.command("check", short_help="Say whether the constraints can hold together.")
def check_command(
    data: Annotated[str, typer.Argument(metavar="DATA", help="As for certmix solve.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Side constraints, CSV or TOML.")],
    n_components: Annotated[
        int | None,
        typer.Option("-k", "--components", metavar="K", help="Number of components.", parser=whole),
    ] = None,
    columns: Annotated[str | None, typer.Option(metavar="A,B,C", help="As for certmix solve.")] = None,
    name_column: Annotated[str | None, typer.Option(metavar="COL", help="As for certmix solve.")] = None,
    label_column: Annotated[str | None, typer.Option(metavar="COL", help="As for certmix solve.")] = None,
    transpose: Annotated[bool, typer.Option("--transpose", help="As for certmix solve.")] = False,
    min_size: Annotated[
        int | None, typer.Option(metavar="M", help="As for certmix solve.", parser=whole)
    ] = None,
    max_size: Annotated[
        int | None, typer.Option(metavar="M", help="As for certmix solve.", parser=whole)
    ] = None,
) -> None:
    """List the constraints in words and say whether they can hold together (exit code 4 if not)."""
    from certmix.cli.request import build
    from certmix.presolve.feasibility import check_feasible
    from certmix.problem.wording import describe

    asked = build(
        Request(
            data=data,
            n_components=n_components,
            columns=columns,
            name_column=name_column,
            label_column=label_column,
            transpose=transpose,
            constraints=file,
            min_size=min_size,
            max_size=max_size,
            variance="1",
        )
    )
    for item in asked.problem.constraints:
        print(f"{describe(asked.problem, item)}{item.at()}")
    check_feasible(asked.problem)
    print(f"These {len(asked.problem.constraints)} constraints can hold together.")
