"""From the options of a problem to the problem."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from certmix.cli import parsing
from certmix.cli.flags import flag, in_words
from certmix.cli.request import BUILT_IN, DATA, OF_MIXTURES, RULES, Request, built_in, given, stated
from certmix.errors import CovarianceWarning, InputError
from certmix.hints import did_you_mean
from certmix.options import options_of

if TYPE_CHECKING:
    from certmix.io.transform import Transform
    from certmix.problem import Problem


NOISE = ("noise", "-1", -1)  # what the component of noise is called


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
    prepared = Prepared(request)
    n_components = request.n_components if request.n_components is not None else prepared.data.n_components
    count = n_components if n_components is not None else otherwise
    if count is None:
        raise InputError("say how many components there are, with -k")
    try:
        return prepared.asked(count)
    except InputError as error:
        kind = Unfit if n_components is None else type(error)
        raise kind(str(error)) from None


class Prepared:
    """Everything that a request asks for but the number of components."""

    def __init__(self, request: Request) -> None:
        _check_covariance_options(request)
        weights = parsing.weights(request.weights or "free")
        self.kmeans = isinstance(weights, str) and weights == "none"
        if self.kmeans:
            _refuse_beside_kmeans(request)
        self.data = data = read_data(request)
        self.covariance_given = bool(data.known) or "covariance" in stated(request)
        covariance = {} if self.kmeans else _covariance(request, data)
        self.noise = _noise(request, kmeans=self.kmeans)
        self.constraints = _constraints(request, data)
        self.column = (
            () if request.label_column is None else data.column(request.label_column, "--label-column")
        )
        prior = parsing.priors(request.prior or (), data.frame.to_numpy())
        self.arguments = {**covariance, "weights": weights, "prior": prior, "constraints": self.constraints}
        if self.noise is not None:
            self.arguments["noise"] = self.noise
        if request.missing == "keep":
            self.arguments["missing"] = "keep"
        if request.weight_column is not None:
            self.arguments["sample_weight"] = data.column(request.weight_column, "--weight-column")
        free = self.covariance_given or request.standardize or request.pca
        self.warnings = (*data.warnings, *(() if free else _dominating(data)))

    @property
    def squares(self) -> bool:
        """Whether there is nothing but the sum of squares to compare: k-means."""
        uniform = isinstance(self.arguments["weights"], str) and self.arguments["weights"] == "uniform"
        return self.kmeans or (uniform and not self.covariance_given)

    def names(self, count: int) -> tuple[str, ...] | None:
        """The names that labels and constraints give to so many components."""
        from certmix.problem import component_names

        if count < 1:
            return None
        known = () if self.noise is None else NOISE  # no names of clusters
        rules = [item for item in self.constraints if getattr(item, "component", None) not in known]
        return component_names(rules, [value for value in self.column if value not in known], count)

    def problem(self, count: int, names: Sequence[str] | None) -> Problem:
        from certmix.problem import Problem

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CovarianceWarning)  # told in words of the command line
                return Problem(self.data.frame, count, **self.arguments, component_names=names)
        except InputError as error:
            raise InputError(in_words(error, Request)) from None

    def maker(self, counts: Any) -> Callable[[int], Problem]:
        """A function of the number of components, of which there are these: labels name the same in all problems."""
        names = self.names(counts[0]) if isinstance(counts, Sequence) and type(counts[0]) is int else None

        def make(count: int) -> Problem:
            more = None if names is None else [*names, *(f"component {i}" for i in range(len(names), count))]
            return self.problem(count, more)

        return make

    def asked(self, count: int) -> Asked:
        return self.told(self.problem(count, self.names(count)))

    def told(self, problem: Problem) -> Asked:
        """A problem, with all there is to say of it."""
        return Asked(
            problem, self.data.transform, (*self.data.notes, *problem.notes), self.warnings, self.data.record
        )


def read_data(request: Request) -> _Data:
    """The data of a request: a file, or a built-in set."""
    return _built_in(request, request.data.partition(":")[0]) if built_in(request) else _file(request)


def _check_covariance_options(request: Request) -> None:
    unknown = request.variance is not None and parsing.variance(request.variance) in parsing.UNKNOWN
    known = request.variance or request.precision or request.precision_from or built_in(request)
    if request.variance_range is not None and known and not unknown:
        raise InputError("--variance-range is for an unknown variance: add --variance unknown")
    given = [
        option
        for option, value in (
            ("--variance", None if unknown else request.variance),
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


def _refuse_beside_kmeans(request: Request) -> None:
    """K-means has no weights, no covariance and no prior."""
    for name in (*OF_MIXTURES, "noise"):
        if getattr(request, name):
            option = flag(name, options_of(Request)[name])
            raise InputError(f"{option} has no place in k-means (--weights none), the sum of squares alone")


def _noise(request: Request, *, kmeans: bool) -> Any:
    """What to give as ``noise``; limits on its size are side constraints."""
    limits = [name for name in ("noise_max", "noise_min") if getattr(request, name) is not None]
    if request.noise is None and limits and not kmeans:
        option = flag(limits[0], options_of(Request)[limits[0]])
        raise InputError(f"{option} is about noise, and there is none: add --noise auto, or its density")
    if kmeans:
        return "trimmed" if limits else None
    if request.noise is None or request.noise.strip().lower() == "auto":
        return None if request.noise is None else "auto"
    return parsing.numbers(request.noise, "--noise")[0] if "," not in request.noise else request.noise


def _built_in(request: Request, name: str) -> _Data:
    for option in given(request, DATA):
        raise InputError(f"{option} is for files; the built-in data set {name!r} brings its own preparation")
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
    apart = {
        request.label_column: "--label-column",
        request.class_column: "--class-column",
        request.weight_column: "--weight-column",
    }
    table = read_table(
        request.data,
        columns=parsing.names(request.columns, "--columns"),
        name_column=request.name_column,
        leave_out={column: option for column, option in apart.items() if column is not None},
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


def _covariance(request: Request, data: _Data) -> dict[str, Any]:
    """The arguments of :class:`Problem` about the covariance; none where nothing is known."""
    variance = None if request.variance is None else parsing.variance(request.variance)
    limits = None if request.variance_range is None else parsing.variance_range(request.variance_range)
    if variance in parsing.UNKNOWN:
        shape = replace(request, variance=None, variance_range=None)
        given = shape.precision is not None or shape.precision_from is not None
        return {
            "variance": variance,
            "variance_range": limits,
            **(_covariance(shape, data) if given else {}),
        }
    columns = [str(c) for c in data.frame.columns]
    if variance is not None:
        return {"variance": variance}
    if request.precision is not None:
        from certmix.io.matrices import read_matrix

        return {"precision": read_matrix(request.precision, columns)}
    if request.precision_from is not None:
        from certmix.problem import estimate_precision

        column = str(request.class_column)
        classes = list(data.column(column, "--class-column"))
        try:
            estimate = estimate_precision(data.frame, classes, request.precision_from)  # type: ignore[arg-type]
        except InputError as error:
            raise InputError(f"--class-column {column!r}: {error}") from None
        return {"precision": estimate}
    return data.known or {"variance_range": limits}


def _dominating(data: _Data) -> list[str]:
    """A warning about a feature that decides the clustering alone."""
    from certmix.problem.samples import Samples

    samples = Samples(data.frame, gaps=bool(data.frame.isna().to_numpy().any()))
    if samples.dominating is None:
        return []
    j, share = samples.dominating
    return [
        f"{samples.feature(j)} has {100 * share:.1f} % of the variance of all features and decides the clustering; "
        "--standardize scales them alike, --columns leaves it out"
    ]


def _constraints(request: Request, data: _Data) -> list[Any]:
    from certmix.problem import labels_from
    from certmix.problem.constraints import size_limits

    found: list[Any] = []
    if request.constraints is not None:
        from certmix.io.constraints import read_constraints

        found += read_constraints(request.constraints, table=data.everything)
        _refuse_dropped(found, data.dropped)
    if request.label_column is not None:
        values = data.column(request.label_column, "--label-column")
        found += labels_from(values, name=f"column {request.label_column!r}")
    return found + size_limits(request, lambda name: f"--{name.replace('_', '-')}")


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
