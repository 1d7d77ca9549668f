"""From options to a problem."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from certmix.cli import parsing
from certmix.cli.commands import data_or
from certmix.cli.flags import flag
from certmix.errors import InputError
from certmix.hints import did_you_mean
from certmix.options import Option, options_of

if TYPE_CHECKING:
    from certmix.io.transform import Transform
    from certmix.problem import Problem

BUILT_IN = ("iris1d", "iris", "wine", "brca", "mixture")
RULES = ("mean-precision", "mean-covariance", "pooled")

_DATA = "Data"
_MODEL = "Model"
_SIDE = "Side constraints"

OPTION_OF = {
    "n_components": "-k",
    "variance": "--variance",
    "precision": "--precision",
    "weights": "--weights",
    "prior": "--prior",
}


@dataclass(frozen=True, kw_only=True)
class Request:
    """Everything that decides what the problem is: the problem options as they were given, None where they were not."""

    data: Annotated[
        str,
        Option(
            "A CSV, TSV, NPY or Parquet file (also .gz), - for standard input, or a built-in data set: "
            f"{', '.join(BUILT_IN)}.",
            argument=True,
            metavar="DATA",
            complete=data_or(BUILT_IN),
        ),
    ]
    n_components: Annotated[
        int | None,
        Option(
            "Number of components (built-in data sets have their own).",
            flags=("-k", "--components"),
            metavar="K",
            panel="",
        ),
    ] = None
    columns: Annotated[
        str | None, Option("Columns to cluster by. Default: every numeric one.", metavar="A,B,C", panel=_DATA)
    ] = None
    name_column: Annotated[
        str | None,
        Option(
            "Column that names the samples. Default: the first, if it is headed like a name, counts from 0 or 1, "
            "or holds texts that all differ.",
            metavar="COL",
            panel=_DATA,
        ),
    ] = None
    no_name_column: Annotated[bool, Option("No column names the samples.", panel=_DATA)] = False
    header: Annotated[
        bool | None,
        Option(
            "Whether the first row names the columns. Default: unless it holds numbers.",
            flags=("--header/--no-header",),
            panel=_DATA,
        ),
    ] = None
    transpose: Annotated[
        bool,
        Option("Features are in rows, samples in columns; the first row and column name them.", panel=_DATA),
    ] = False
    missing: Annotated[
        str | None,
        Option(
            "Missing values: error (the default), drop-samples, drop-features, mean or median.",
            metavar="POLICY",
            panel=_DATA,
        ),
    ] = None
    sep: Annotated[
        str | None,
        Option(
            "What separates the cells of a text file: one sign, or tab. Default: guessed.",
            metavar="SIGN",
            panel=_DATA,
        ),
    ] = None
    decimal: Annotated[
        str | None, Option("Decimal sign of a text file: . or , (5,1).", metavar="SIGN", panel=_DATA)
    ] = None
    encoding: Annotated[
        str | None, Option("Encoding of a text file. Default: utf-8.", metavar="NAME", panel=_DATA)
    ] = None
    standardize: Annotated[bool, Option("Scale every column to mean 0, variance 1.", panel=_DATA)] = False
    pca: Annotated[
        int | None, Option("Cluster by the first D principal components.", metavar="D", panel=_DATA)
    ] = None
    variance: Annotated[
        str | None,
        Option("Known variance: one number, or one for each component.", metavar="V", panel=_MODEL),
    ] = None
    precision: Annotated[
        Path | None, Option("Known precision matrix, CSV or NPY.", metavar="FILE", panel=_MODEL)
    ] = None
    precision_from: Annotated[
        str | None,
        Option(
            f"Precision estimated from classes: {', '.join(RULES)}.",
            metavar="RULE",
            choices=RULES,
            panel=_MODEL,
        ),
    ] = None
    class_column: Annotated[
        str | None,
        Option(
            "Column of the classes for --precision-from; blanks are left out.", metavar="COL", panel=_MODEL
        ),
    ] = None
    weights: Annotated[
        str | None,
        Option(
            "free (the default), uniform, or fixed numbers such as 0.2,0.3,0.5.",
            metavar="W",
            choices=("free", "uniform"),
            panel=_MODEL,
        ),
    ] = None
    prior: Annotated[
        list[str] | None,
        Option(
            "flat, jeffreys, dirichlet=A, gaussian=V; may be given twice.",
            metavar="P",
            choices=("flat", "jeffreys", "dirichlet=", "gaussian="),
            panel=_MODEL,
        ),
    ] = None
    constraints: Annotated[
        Path | None, Option("Side constraints, CSV or TOML.", metavar="FILE", panel=_SIDE)
    ] = None
    label_column: Annotated[
        str | None, Option("Column of known components; blank where unknown.", metavar="COL", panel=_SIDE)
    ] = None
    min_size: Annotated[
        int | None, Option("Every component has at least M samples.", metavar="M", panel=_SIDE)
    ] = None
    max_size: Annotated[
        int | None, Option("Every component has at most M samples.", metavar="M", panel=_SIDE)
    ] = None


@dataclass(frozen=True)
class Asked:
    """A problem, how its data were prepared, and what the user should be told."""

    problem: Problem
    transform: Transform | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    record: dict[str, Any] = field(default_factory=dict)
    """How the file was read and what was done about missing values."""


@dataclass
class _Data:
    """Data from a file or a built-in set, in one shape."""

    frame: Any
    everything: dict[str, Any]
    known: dict[str, Any] = field(default_factory=dict)
    """The covariance that a built-in set brings."""
    n_components: int | None = None
    transform: Transform | None = None
    notes: tuple[str, ...] = ()
    where: str = ""
    warnings: tuple[str, ...] = ()
    record: dict[str, Any] = field(default_factory=dict)
    dropped: tuple[Any, ...] = ()
    """Samples that were left out because a value is missing."""

    def column(self, name: str, option: str) -> Any:
        if name not in self.everything:
            raise InputError(
                f"{option}: {self.where} has no column {name!r} (it has {', '.join(self.everything)})"
            )
        return self.everything[name]


class Unfit(InputError):
    """What is given does not fit the number of components that was found elsewhere."""


def build(request: Request, otherwise: int | None = None) -> Asked:
    """The problem that the options ask for; everything is checked before any work.

    Parameters
    ----------
    otherwise : the number of components where neither the request nor the data say it
    """
    _check_covariance_options(request)
    weights = parsing.weights(request.weights or "free")
    data = read_data(request)
    n_components = request.n_components if request.n_components is not None else data.n_components
    if n_components is None and otherwise is None:
        raise InputError("say how many components there are, with -k")

    from certmix.problem import Problem, component_names

    covariance, warnings = _covariance(request, data)
    constraints = _constraints(request, data)
    prior = parsing.priors(request.prior or (), data.frame.to_numpy())
    column = () if request.label_column is None else data.column(request.label_column, "--label-column")
    count = n_components if n_components is not None else otherwise
    assert count is not None
    try:
        problem = Problem(
            data.frame,
            count,
            **covariance,
            weights=weights,
            prior=prior,
            constraints=constraints,
            component_names=component_names(constraints, column, count) if count > 0 else None,
        )
    except InputError as error:
        kind = Unfit if n_components is None else InputError
        raise kind(_with_option(error)) from None
    return Asked(
        problem, data.transform, (*data.notes, *problem.notes), (*data.warnings, *warnings), data.record
    )


def _with_option(error: InputError) -> str:
    """The message of an error about a parameter of :class:`Problem`, with the name of the option instead."""
    option = OPTION_OF.get(error.about)
    if option is None:
        return str(error)
    said = str(error).removeprefix(error.about)
    return f"{option}{said}" if said != str(error) else f"{option}: {said}"


def read_data(request: Request) -> _Data:
    """The data of a request: a file, or a built-in set."""
    return _built_in(request, request.data.partition(":")[0]) if built_in(request) else _file(request)


def built_in(request: Request) -> bool:
    """Whether the data are a built-in set, which brings everything else."""
    return request.data.partition(":")[0] in BUILT_IN


def stated(request: Request) -> set[str]:
    """The parts of a problem (of :data:`certmix.certificate.comparing.PARTS`) that the options given speak of."""
    rules = (request.constraints, request.label_column, request.min_size, request.max_size)
    covariance = (request.variance, request.precision, request.precision_from)
    told = {
        "components": request.n_components is not None,
        "covariance": any(option is not None for option in covariance),
        "weights": request.weights is not None,
        "prior": bool(request.prior),
        "side constraints": any(rule is not None for rule in rules),
        "component names": any(rule is not None for rule in rules),
    }
    return {part for part, given in told.items() if given}


def told(request: Request) -> str:
    """The options that were given, as one would type them (files without their folders)."""
    words: list[str] = []
    for f in fields(request):
        value = getattr(request, f.name)
        if f.name == "data" or value == f.default:
            continue
        yes, _, no = flag(f.name, options_of(Request)[f.name]).partition("/")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            words += [yes if one else no] if isinstance(one, bool) else [yes, getattr(one, "name", str(one))]
    return shlex.join(words)


def _check_covariance_options(request: Request) -> None:
    given = [
        option
        for option, value in (
            ("--variance", request.variance),
            ("--precision", request.precision),
            ("--precision-from", request.precision_from),
        )
        if value is not None
    ]
    if len(given) > 1:
        raise InputError(
            f"give only one of --variance, --precision, --precision-from; got {' and '.join(given)}"
        )
    if request.precision_from is not None:
        if request.precision_from not in RULES:
            hint = did_you_mean(request.precision_from, RULES)
            raise InputError(f"--precision-from: unknown rule {request.precision_from!r}{hint}")
        if request.class_column is None:
            raise InputError("--precision-from needs --class-column, the column that holds the classes")
    elif request.class_column is not None:
        raise InputError(
            "--class-column says where the classes are; add --precision-from to say how to use them"
        )


def _built_in(request: Request, name: str) -> _Data:
    for f in fields(Request):
        about = options_of(Request)[f.name]
        if about.panel == _DATA and getattr(request, f.name) != f.default:
            raise InputError(
                f"{flag(f.name, about)} is for files; the built-in data set {name!r} brings its own preparation"
            )
    from certmix import datasets

    found = datasets.named(request.data)
    frame = found.frame()
    known = {
        what: getattr(found, what)
        for what in ("precision", "variance")
        if getattr(found, what, None) is not None
    }
    from certmix.io.cells import some

    return _Data(
        frame,
        found.everything(),
        known,
        found.n_components,
        notes=(f"features: {some(list(map(str, frame.columns)))}",),
        where=f"the built-in data set {name!r}",
    )


def _file(request: Request) -> _Data:
    from certmix.io.tables import read_table
    from certmix.io.text import Style

    if request.data != "-" and "." not in Path(request.data).name and not Path(request.data).exists():
        raise InputError(
            f"there is no file {request.data!r} and no built-in data set of that name"
            f"{did_you_mean(request.data, BUILT_IN)}"
        )
    leave_out = list(dict.fromkeys(c for c in (request.label_column, request.class_column) if c is not None))
    table = read_table(
        request.data,
        columns=parsing.names(request.columns, "--columns"),
        name_column=request.name_column,
        leave_out=leave_out,
        transpose=request.transpose,
        standardize=request.standardize,
        pca=request.pca,
        header=request.header,
        no_name_column=request.no_name_column,
        missing=request.missing or "error",
        style=Style(sep=request.sep, decimal=request.decimal or ".", encoding=request.encoding),
    )
    return _Data(
        table.frame(),
        table.everything,
        transform=table.transform,
        notes=table.notes,
        where=table.path,
        warnings=table.warnings,
        record=table.record,
        dropped=table.dropped,
    )


def _covariance(request: Request, data: _Data) -> tuple[dict[str, Any], list[str]]:
    columns = [str(c) for c in data.frame.columns]
    if request.variance is not None:
        return {"variance": parsing.variance(request.variance)}, []
    if request.precision is not None:
        from certmix.io.matrices import read_matrix

        return {"precision": read_matrix(request.precision, columns)}, []
    if request.precision_from is not None:
        from certmix.problem import estimate_precision

        column = str(request.class_column)
        classes = list(data.column(column, "--class-column"))
        try:
            estimate = estimate_precision(data.frame, classes, request.precision_from)  # type: ignore[arg-type]
        except InputError as error:
            raise InputError(f"--class-column {column!r}: {error}") from None
        return {"precision": estimate}, []
    if data.known:
        return data.known, []
    return {"variance": 1.0}, [
        "no covariance was given, so variance 1 is taken for every feature; "
        "the result depends on it: see --variance, --precision, --precision-from",
        *(() if request.standardize or request.pca else _dominating(data)),
    ]


def _dominating(data: _Data) -> list[str]:
    """A warning about a feature that decides the clustering alone."""
    from certmix.problem.samples import Samples

    samples = Samples(data.frame)
    if samples.dominating is None:
        return []
    j, share = samples.dominating
    return [
        f"{samples.feature(j)} has {100 * share:.1f} % of the variance of all features and decides the clustering; "
        "--standardize scales them alike, --columns leaves it out"
    ]


def _constraints(request: Request, data: _Data) -> list[Any]:
    from certmix.problem import MaximumSize, MinimumSize, labels_from

    found: list[Any] = []
    if request.constraints is not None:
        from certmix.io.constraints import read_constraints

        found += read_constraints(request.constraints, table=data.everything)
        _refuse_dropped(found, data.dropped)
    if request.label_column is not None:
        values = data.column(request.label_column, "--label-column")
        found += labels_from(values, name=f"column {request.label_column!r}")
    if request.min_size is not None:
        found.append(MinimumSize(request.min_size, source="--min-size"))
    if request.max_size is not None:
        found.append(MaximumSize(request.max_size, source="--max-size"))
    return found


def _refuse_dropped(constraints: list[Any], dropped: tuple[Any, ...]) -> None:
    """A constraint about a sample that was left out is an error that says why the sample is not there."""
    gone = {str(name) for name in dropped}
    for item in constraints if gone else ():
        refs = [*getattr(item, "samples", ()), getattr(item, "sample", ""), getattr(item, "then", "")]
        for ref in refs:
            if type(ref).__name__ != "Row" and str(ref).strip() in gone:
                raise InputError(
                    f"{item.kind}{item.at()}: sample {str(ref).strip()!r} was left out because a value of it is "
                    "missing (--missing drop-samples)"
                )
