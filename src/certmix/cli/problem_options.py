"""The options that say what the problem is.

:class:`certmix.cli.request.Request` has a field for each of them; every command that asks for a ``Request`` has them
all (:func:`certmix.cli.request.with_problem`). So a new option is an entry here and a field there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from certmix.cli.commands import among, data_or
from certmix.cli.parsing import whole

BUILT_IN = ("iris1d", "iris", "wine", "brca", "mixture")
RULES = ("mean-precision", "mean-covariance", "pooled")

_DATA = "Data"
_MODEL = "Model"
_SIDE = "Side constraints"

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A CSV, TSV, NPY or Parquet file (also .gz), - for standard input, or a built-in data set: "
        f"{', '.join(BUILT_IN)}.",
        autocompletion=data_or(BUILT_IN),
    ),
]
NComponents = Annotated[
    int | None,
    typer.Option(
        "-k",
        "--components",
        metavar="K",
        help="Number of components (built-in data sets have their own).",
        parser=whole,
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,C", help="Columns to cluster by. Default: every numeric one.", rich_help_panel=_DATA
    ),
]
NameColumn = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Column that names the samples. Default: the first, if it is headed like a name, counts from 0 or 1, "
        "or holds texts that all differ.",
        rich_help_panel=_DATA,
    ),
]
NoNameColumn = Annotated[
    bool,
    typer.Option("--no-name-column", help="No column names the samples.", rich_help_panel=_DATA),
]
Missing = Annotated[
    str | None,
    typer.Option(
        metavar="POLICY",
        help="Missing values: error (the default), drop-samples, drop-features, mean or median.",
        rich_help_panel=_DATA,
    ),
]
Sep = Annotated[
    str | None,
    typer.Option(
        metavar="SIGN",
        help="What separates the cells of a text file: one sign, or tab. Default: guessed.",
        rich_help_panel=_DATA,
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(metavar="SIGN", help="Decimal sign of a text file: . or , (5,1).", rich_help_panel=_DATA),
]
Encoding = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Encoding of a text file. Default: utf-8.", rich_help_panel=_DATA),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first row names the columns. Default: unless it holds numbers.",
        rich_help_panel=_DATA,
    ),
]
Transpose = Annotated[
    bool,
    typer.Option(
        "--transpose",
        help="Features are in rows, samples in columns; the first row and column name them.",
        rich_help_panel=_DATA,
    ),
]
Standardize = Annotated[
    bool,
    typer.Option("--standardize", help="Scale every column to mean 0, variance 1.", rich_help_panel=_DATA),
]
Pca = Annotated[
    int | None,
    typer.Option(
        metavar="D",
        help="Cluster by the first D principal components.",
        rich_help_panel=_DATA,
        parser=whole,
    ),
]
Variance = Annotated[
    str | None,
    typer.Option(
        metavar="V", help="Known variance: one number, or one for each component.", rich_help_panel=_MODEL
    ),
]
Precision = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Known precision matrix, CSV or NPY.", rich_help_panel=_MODEL),
]
PrecisionFrom = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        help=f"Precision estimated from classes: {', '.join(RULES)}.",
        autocompletion=among(RULES),
        rich_help_panel=_MODEL,
    ),
]
ClassColumn = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Column of the classes for --precision-from; blanks are left out.",
        rich_help_panel=_MODEL,
    ),
]
Weights = Annotated[
    str | None,
    typer.Option(
        metavar="W",
        help="free (the default), uniform, or fixed numbers such as 0.2,0.3,0.5.",
        rich_help_panel=_MODEL,
        autocompletion=among(("free", "uniform")),
    ),
]
Prior = Annotated[
    list[str] | None,
    typer.Option(
        metavar="P",
        help="flat, jeffreys, dirichlet=A, gaussian=V; may be given twice.",
        autocompletion=among(("flat", "jeffreys", "dirichlet=", "gaussian=")),
        rich_help_panel=_MODEL,
    ),
]
Constraints = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Side constraints, CSV or TOML.", rich_help_panel=_SIDE),
]
LabelColumn = Annotated[
    str | None,
    typer.Option(
        metavar="COL", help="Column of known components; blank where unknown.", rich_help_panel=_SIDE
    ),
]
MinSize = Annotated[
    int | None,
    typer.Option(
        metavar="M", help="Every component has at least M samples.", rich_help_panel=_SIDE, parser=whole
    ),
]
MaxSize = Annotated[
    int | None,
    typer.Option(
        metavar="M", help="Every component has at most M samples.", rich_help_panel=_SIDE, parser=whole
    ),
]
