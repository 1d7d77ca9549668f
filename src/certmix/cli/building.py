"""From the options of a problem to the problem."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from certmix.cli import parsing
from certmix.cli.flags import in_words
from certmix.cli.request import (
    BUILT_IN,
    DATA,
    OF_MIXTURES,
    RULES,
    Request,
    built_in,
    given,
    option_named,
    stated,
)
from certmix.errors import CovarianceWarning, InputError
from certmix.hints import did_you_mean

if TYPE_CHECKING:
    from certmix.io.tables import Table
    from certmix.io.transform import Transform
    from certmix.problem import Problem


NOISE = ("noise", "-1", -1)  # what the component of noise is called


@dataclass(frozen=True)
class Asked:
    """A problem, the table of its data, and what the user should be told."""

    problem: Problem
    table: Table
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def transform(self) -> Transform | None:
        """How the data were prepared."""
        return self.table.transform


class Unfit(InputError):
    """What is given does not fit the number of components that was found elsewhere."""


def build(request: Request, otherwise: int | None = None) -> Asked:
    """The problem that the options ask for; everything is checked before any work.

    Parameters
    ----------
    otherwise : the number of components where neither the request nor the data say it
    """
    prepared = Prepared(request)
    n_components = request.n_components if request.n_components is not None else prepared.n_components
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
        self.n_components: int | None
        self.table, known, self.n_components = (
            _built_in(request) if built_in(request) else (_file(request), {}, None)
        )
        self.covariance_given = bool(known) or "covariance" in stated(request)
        covariance = {} if self.kmeans else _covariance(request, self.table, known)
        self.noise = _noise(request, kmeans=self.kmeans)
        self.constraints = _constraints(request, self.table)
        label = request.label_column
        self.column = () if label is None else self.table.column(label, "--label-column")
        prior = parsing.priors(request.prior or (), self.table.values)
        self.arguments = {**covariance, "weights": weights, "prior": prior, "constraints": self.constraints}
        if self.noise is not None:
            self.arguments["noise"] = self.noise
        if request.missing == "keep":
            self.arguments["missing"] = "keep"
        if request.weight_column is not None:
            self.arguments["sample_weight"] = self.table.column(request.weight_column, "--weight-column")
        free = self.covariance_given or request.standardize or request.pca
        self.warnings = (*self.table.warnings, *(() if free else _dominating(self.table)))

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
                return Problem(self.table.frame(), count, **self.arguments, component_names=names)
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
        return Asked(problem, self.table, (*self.table.notes, *problem.notes), self.warnings)


def _check_covariance_options(request: Request) -> None:
    unknown = request.variance is not None and parsing.variance(request.variance) in parsing.UNKNOWN
    known = request.variance or request.precision or request.precision_from or built_in(request)
    if request.variance_range is not None and known and not unknown:
        raise InputError("--variance-range is for an unknown variance: add --variance unknown")
    forms = ("precision", "precision_from") if unknown else ("variance", "precision", "precision_from")
    given = [option_named(form) for form in forms if getattr(request, form) is not None]
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
            raise InputError(
                f"{option_named(name)} has no place in k-means (--weights none), the sum of squares alone"
            )


def _noise(request: Request, *, kmeans: bool) -> Any:
    """What to give as ``noise``; limits on its size are side constraints."""
    limits = [name for name in ("noise_max", "noise_min") if getattr(request, name) is not None]
    if request.noise is None and limits and not kmeans:
        raise InputError(
            f"{option_named(limits[0])} is about noise, and there is none: add --noise auto, or its density"
        )
    if kmeans:
        return "trimmed" if limits else None
    if request.noise is None or request.noise.strip().lower() == "auto":
        return None if request.noise is None else "auto"
    return parsing.numbers(request.noise, "--noise")[0] if "," not in request.noise else request.noise


def _built_in(request: Request) -> tuple[Table, dict[str, Any], int]:
    name = request.data.partition(":")[0]
    for option in given(request, DATA):
        raise InputError(f"{option} is for files; the built-in data set {name!r} brings its own preparation")
    from certmix import datasets
    from certmix.io.cells import some
    from certmix.io.tables import Table

    found = datasets.named(request.data)
    columns = tuple(map(str, found.feature_names))
    notes = (f"features: {some(columns)}",)
    called = f"the built-in data set {name!r}"
    table = Table(called, found.names, columns, found.data, found.everything(), notes=notes)
    return table, found.covariance(), found.n_components


def _file(request: Request) -> Table:
    from certmix.io.tables import read_table
    from certmix.io.text import Style

    if request.data != "-" and "." not in Path(request.data).name and not Path(request.data).exists():
        raise InputError(
            f"there is no file {request.data!r} and no built-in data set of that name"
            f"{did_you_mean(request.data, BUILT_IN)}"
        )
    apart = ("label_column", "class_column", "weight_column")
    return read_table(
        request.data,
        columns=parsing.names(request.columns, "--columns"),
        name_column=request.name_column,
        leave_out={
            getattr(request, of): option_named(of) for of in apart if getattr(request, of) is not None
        },
        transpose=request.transpose,
        standardize=request.standardize,
        pca=request.pca,
        header=request.header,
        no_name_column=request.no_name_column,
        missing=request.missing or "error",
        style=Style(sep=request.sep, decimal=request.decimal or ".", encoding=request.encoding),
    )


def _covariance(request: Request, table: Table, known: dict[str, Any]) -> dict[str, Any]:
    """The arguments of :class:`Problem` about the covariance; ``known`` is the one that a built-in set brings."""
    variance = None if request.variance is None else parsing.variance(request.variance)
    limits = None if request.variance_range is None else parsing.variance_range(request.variance_range)
    if variance in parsing.UNKNOWN:
        shape = replace(request, variance=None, variance_range=None)
        given = shape.precision is not None or shape.precision_from is not None
        return {
            "variance": variance,
            "variance_range": limits,
            **(_covariance(shape, table, known) if given else {}),
        }
    if variance is not None:
        return {"variance": variance}
    if request.precision is not None:
        from certmix.io.matrices import read_matrix

        return {"precision": read_matrix(request.precision, table.columns)}
    if request.precision_from is not None:
        from certmix.problem import estimate_precision

        column = str(request.class_column)
        classes = list(table.column(column, "--class-column"))
        try:
            estimate = estimate_precision(table.frame(), classes, request.precision_from)  # type: ignore[arg-type]
        except InputError as error:
            raise InputError(f"--class-column {column!r}: {error}") from None
        return {"precision": estimate}
    return known or {"variance_range": limits}


def _dominating(table: Table) -> list[str]:
    """A warning about a feature that decides the clustering alone."""
    import numpy as np

    from certmix.problem.samples import Samples

    samples = Samples(table.frame(), gaps=bool(np.isnan(table.values).any()))
    if samples.dominating is None:
        return []
    j, share = samples.dominating
    return [
        f"{samples.feature(j)} has {100 * share:.1f} % of the variance of all features and decides the clustering; "
        "--standardize scales them alike, --columns leaves it out"
    ]


def _constraints(request: Request, table: Table) -> list[Any]:
    from certmix.problem import labels_from
    from certmix.problem.constraints import size_limits

    found: list[Any] = []
    if request.constraints is not None:
        from certmix.io.constraints import read_constraints

        found += read_constraints(request.constraints, table=table.everything)
        _refuse_dropped(found, table.dropped)
    if request.label_column is not None:
        values = table.column(request.label_column, "--label-column")
        found += labels_from(values, name=f"column {request.label_column!r}")
    return found + size_limits(request, option_named)


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
