"""What the command line can be asked: the options that say what the problem is."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from certmix.cli.commands import data_or
from certmix.cli.flags import flag
from certmix.options import Options, option, options_of

BUILT_IN = ("iris1d", "iris", "wine", "brca", "mixture")
RULES = ("mean-precision", "mean-covariance", "pooled")

# What says something about a mixture, and nothing about k-means or side constraints.
OF_MIXTURES = ("variance", "variance_range", "precision", "precision_from", "class_column", "prior")

DATA = "Data"
_MODEL = "Model"
_SIDE = "Side constraints"


@dataclass(frozen=True, kw_only=True)
class Request:
    """Everything that decides what the problem is: the problem options as they were given, None where they were not."""

    data: str = option(
        "A CSV, TSV, NPY, Parquet or Excel file (also .gz), - for standard input, or a built-in data set: "
        f"{', '.join(BUILT_IN)}.",
        MISSING,
        argument=True,
        metavar="DATA",
        complete=data_or(BUILT_IN),
    )
    n_components: int | None = option(
        "Number of components (built-in data sets have their own).",
        flags=("-k", "--components"),
        metavar="K",
        panel="",
    )
    columns: str | None = option(
        "Columns to cluster by. Default: every numeric one.", metavar="A,B,C", panel=DATA
    )
    name_column: str | None = option(
        "Column that names the samples. Default: the first, if it is headed like a name, counts from 0 or 1, "
        "or holds texts that all differ.",
        metavar="COL",
        panel=DATA,
    )
    no_name_column: bool = option("No column names the samples.", False, panel=DATA)
    header: bool | None = option(
        "Whether the first row names the columns. Default: unless it holds numbers.",
        flags=("--header/--no-header",),
        panel=DATA,
    )
    transpose: bool = option(
        "Features are in rows, samples in columns; the first row and column name them.", False, panel=DATA
    )
    weight_column: str | None = option(
        "Column of positive numbers: how many samples each row stands for, or, if they are not whole, how much it "
        "counts.",
        metavar="COL",
        panel=DATA,
    )
    missing: str | None = option(
        "Missing values: error (the default), keep, drop-samples, drop-features, mean or median.",
        metavar="POLICY",
        panel=DATA,
    )
    sep: str | None = option(
        "What separates the cells of a text file: one sign, or tab. Default: guessed.",
        metavar="SIGN",
        panel=DATA,
    )
    decimal: str | None = option("Decimal sign of a text file: . or , (5,1).", metavar="SIGN", panel=DATA)
    encoding: str | None = option("Encoding of a text file. Default: utf-8.", metavar="NAME", panel=DATA)
    standardize: bool = option("Scale every column to mean 0, variance 1.", False, panel=DATA)
    pca: int | None = option("Cluster by the first D principal components.", metavar="D", panel=DATA)
    variance: str | None = option(
        "Known variance: one number, or one for each component; unknown, to find it (times --precision, if given); "
        "diagonal, to find one for each of two or three features. Default: unknown, but with uniform weights 1.",
        metavar="V",
        choices=("unknown", "diagonal"),
        panel=_MODEL,
    )
    variance_range: str | None = option(
        "Smallest and largest value of an unknown variance; one of them may be left out (0.01, or ,5).",
        metavar="LO,HI",
        panel=_MODEL,
    )
    precision: Path | None = option("Known precision matrix, CSV or NPY.", metavar="FILE", panel=_MODEL)
    precision_from: str | None = option(
        f"Precision estimated from classes: {', '.join(RULES)}.", metavar="RULE", choices=RULES, panel=_MODEL
    )
    class_column: str | None = option(
        "Column of the classes for --precision-from; blanks are left out.", metavar="COL", panel=_MODEL
    )
    weights: str | None = option(
        "free (the default), uniform, none (k-means), or fixed numbers such as 0.2,0.3,0.5.",
        metavar="W",
        choices=("free", "uniform", "none"),
        panel=_MODEL,
    )
    prior: list[str] | None = option(
        "flat, jeffreys, dirichlet=A, gaussian=V; may be given twice.",
        metavar="P",
        choices=("flat", "jeffreys", "dirichlet=", "gaussian="),
        panel=_MODEL,
    )
    noise: str | None = option(
        "One more component without a mean, for samples that are in no cluster (label -1), of this density; auto: "
        "uniform over the box around the samples.",
        metavar="DENSITY",
        choices=("auto",),
        panel=_MODEL,
    )
    noise_max: int | None = option(
        "At most M samples are noise. Noise costs nothing in k-means, and there this is all that it needs (trimmed "
        "k-means).",
        metavar="M",
        panel=_SIDE,
    )
    noise_min: int | None = option("At least M samples are noise.", metavar="M", panel=_SIDE)
    constraints: Path | None = option("Side constraints, CSV or TOML.", metavar="FILE", panel=_SIDE)
    label_column: str | None = option(
        "Column of known components; blank where unknown.", metavar="COL", panel=_SIDE
    )
    min_size: int | None = option("Every component has at least M samples.", metavar="M", panel=_SIDE)
    max_size: int | None = option("Every component has at most M samples.", metavar="M", panel=_SIDE)


def built_in(request: Request) -> bool:
    """Whether the data are a built-in set, which brings everything else."""
    return request.data.partition(":")[0] in BUILT_IN


def stated(request: Request) -> set[str]:
    """The parts of a problem (of :data:`certmix.certificate.comparing.PARTS`) that the options given speak of."""
    rules = (
        *(request.constraints, request.label_column, request.min_size, request.max_size),
        *(request.noise_max, request.noise_min),
    )
    covariance = (request.variance, request.variance_range, request.precision, request.precision_from)
    told = {
        "components": request.n_components is not None,
        "covariance": any(option is not None for option in covariance),
        "weights": request.weights is not None,
        "weights of samples": request.weight_column is not None,
        "prior": bool(request.prior),
        "side constraints": any(rule is not None for rule in rules),
        "component names": any(rule is not None for rule in rules),
    }
    return {part for part, given in told.items() if given}


def told(asked: Any, *, without: Collection[str] = ("data",)) -> str:
    """The options that were given, as one would type them (files without their folders)."""
    words: list[str] = []
    kind: type = type(asked)
    known = options_of(kind)
    for f in fields(asked):
        value = getattr(asked, f.name)
        if f.name in without or value is None or value == f.default or known[f.name].python_only:
            continue
        yes, _, no = flag(f.name, known[f.name]).partition("/")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            words += [yes if one else no] if isinstance(one, bool) else [yes, getattr(one, "name", str(one))]
    return shlex.join(words)


def command(request: Request, options: Options, name: str = "solve", output: Any = None) -> str:
    """The command that repeats a run, in a folder that holds its files. Where the output goes is not in it."""
    data = request.data if built_in(request) else Path(request.data).name
    words = ["certmix", name, shlex.quote(data), told(request)]
    if output is not None:
        kind: type = type(output)
        words.append(told(output, without=[f for f, option in options_of(kind).items() if option.panel]))
    words.append(told(options, without=("resume",)))  # what was taken up again is repeated from its beginning
    return " ".join(filter(None, words))


def option_named(name: str) -> str:
    """How one writes an option."""
    return flag(name, options_of(Request)[name])


def given(request: Request, panel: str) -> list[str]:
    """The options of a panel of the help that were given, as one writes them."""
    known = options_of(Request)
    return [
        option_named(f.name)
        for f in fields(request)
        if known[f.name].panel == panel and getattr(request, f.name) != f.default
    ]
