"""Side constraints on the assignment: small immutable objects, one for each kind in the paper's Section 3.

Samples are named or given by position (see :meth:`certmix.problem.samples.Samples.position`); components by
position ``0 .. K-1`` or by component name. ``source`` remembers where a constraint came from ("line 3"), so
that a contradiction can be explained in the user's own words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from certmix.errors import InputError

SampleRef = str | int
ComponentRef = str | int
NOISE = "noise"  # the name of the component that has no mean


class Row(int):
    """A position in a column that has one entry for each sample; it is never taken for a name.

    Attributes
    ----------
    total : how many entries the column has
    """

    total: int

    def __new__(cls, position: int, total: int) -> Row:
        row = super().__new__(cls, position)
        row.total = total
        return row

    def __getnewargs__(self) -> tuple[int, int]:  # type: ignore[override]
        return int(self), self.total


def _count(value: Any, what: str) -> int:
    """Return ``value`` as a non-negative whole number or say what is wrong with it."""
    if isinstance(value, bool):
        raise InputError(f"{what} must be a whole number, not {value!r}")
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what} must be a whole number, not {value!r}") from None
    if number != value or number < 0:
        raise InputError(f"{what} must be a whole number >= 0, not {value!r}")
    return number


def _penalty(value: Any, kind: str) -> float | None:
    """What breaking a link costs, or None for one that has to hold."""
    if value is None:
        return None
    try:
        number = math.nan if isinstance(value, (bool, str)) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0.0 <= number < math.inf:
        raise InputError(
            f"{kind}: the penalty must be a finite number >= 0, not {value!r}; leave it out for a link that has to hold"
        )
    return number


def _several(samples: Iterable[SampleRef], kind: str, at_least: int) -> tuple[SampleRef, ...]:
    if isinstance(samples, str):
        raise InputError(f"{kind}: give the samples as a list, not as the single string {samples!r}")
    found = tuple(samples)
    if len(found) < at_least:
        raise InputError(
            f"{kind}: needs at least {at_least} sample{'s' if at_least > 1 else ''}, got {len(found)}"
        )
    return found


@dataclass(frozen=True, kw_only=True)
class Constraint:
    """Base of all side constraints."""

    kind: ClassVar[str] = ""
    source: str = field(default="", compare=False)

    def at(self) -> str:
        """Where the constraint was written, in brackets, or nothing."""
        return f" ({self.source})" if self.source else ""


@dataclass(frozen=True, init=False)
class Linking(Constraint):
    """Base of the two kinds of links.

    A link with a ``penalty`` is soft: it may be broken, and the objective has the penalty more where it is, once,
    however many of its samples are not as they should be. It is in the units of the objective: nats, for k-means
    those of the sum of squares.
    """

    samples: tuple[SampleRef, ...]
    penalty: float | None

    def __init__(self, *samples: SampleRef, penalty: float | None = None, source: str = "") -> None:
        object.__setattr__(self, "samples", _several(samples, self.kind, 2))
        object.__setattr__(self, "penalty", _penalty(penalty, self.kind))
        object.__setattr__(self, "source", source)


@dataclass(frozen=True, init=False)
class MustLink(Linking):
    """All the given samples share one component: ``z_ik = z_jk`` for all k.

    Two or more ``samples`` are given, by name or position. ``penalty`` is what the objective has more where they are
    not together; by default they have to be.
    """

    kind: ClassVar[str] = "must-link"


@dataclass(frozen=True, init=False)
class CannotLink(Linking):
    """No two of the given samples share a component: ``z_ik + z_jk <= 1`` for all k.

    Two or more ``samples`` are given, by name or position. ``penalty`` is what the objective has more where two of them
    do; by default none may.
    """

    kind: ClassVar[str] = "cannot-link"


@dataclass(frozen=True)
class Copies(Constraint):
    """A sample that stands for ``count`` samples: its copies are together. Problems make these of sample weights."""

    kind: ClassVar[str] = "sample weight"
    sample: SampleRef
    count: int


@dataclass(frozen=True)
class Implication(Constraint):
    """If ``sample`` is in ``component`` then so is ``then``: ``z_jk <= z_ik``.

    Without a component it holds for all k, which ties the two together like a must-link.
    """

    kind: ClassVar[str] = "implication"
    sample: SampleRef
    then: SampleRef
    component: ComponentRef | None = None


@dataclass(frozen=True)
class Label(Constraint):
    """The component of a sample is known: ``z_ik = 1``."""

    kind: ClassVar[str] = "label"
    sample: SampleRef
    component: ComponentRef


@dataclass(frozen=True)
class SizeLimit(Constraint):
    """Base of the two limits on the samples of a component, or of every component when none is given."""

    limit: int
    component: ComponentRef | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "limit", _count(self.limit, f"{self.kind}: the limit"))


@dataclass(frozen=True)
class MinimumSize(SizeLimit):
    """A component, or every component when none is given, holds at least ``limit`` samples."""

    kind: ClassVar[str] = "min-size"


@dataclass(frozen=True)
class MaximumSize(SizeLimit):
    """A component, or every component when none is given, holds at most ``limit`` samples."""

    kind: ClassVar[str] = "max-size"


LIMITS: dict[str, tuple[type[SizeLimit], ComponentRef | None]] = {
    "min_size": (MinimumSize, None),
    "max_size": (MaximumSize, None),
    "noise_min": (MinimumSize, NOISE),
    "noise_max": (MaximumSize, NOISE),
}


def size_limits(given: Any, named: Callable[[str], str] = str) -> list[Constraint]:
    """The limits on sizes among the attributes of ``given``; ``named`` says what people call an attribute."""
    found: list[Constraint] = []
    for attribute, (kind, component) in LIMITS.items():
        if (limit := getattr(given, attribute)) is not None:
            source = named(attribute)
            try:
                found.append(kind(limit, component, source=source))
            except InputError as error:
                raise InputError(f"{source}: {error}") from None
    return found


@dataclass(frozen=True)
class Counting(Constraint):
    """Base of the three constraints on how many of a set of samples a component holds."""

    samples: Sequence[SampleRef]
    component: ComponentRef
    limit: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "samples", _several(self.samples, self.kind, 1))
        object.__setattr__(self, "limit", _count(self.limit, f"{self.kind}: the limit"))


@dataclass(frozen=True)
class Packing(Counting):
    """At most ``limit`` of the samples are in the component."""

    kind: ClassVar[str] = "packing"


@dataclass(frozen=True)
class Partitioning(Counting):
    """Exactly ``limit`` of the samples are in the component."""

    kind: ClassVar[str] = "partitioning"


@dataclass(frozen=True)
class Covering(Counting):
    """At least ``limit`` of the samples are in the component."""

    kind: ClassVar[str] = "covering"


def is_blank(value: Any) -> bool:
    """Whether a cell or value says nothing."""
    if value is None:
        return True
    if isinstance(value, str):
        return not value.strip()
    try:
        return bool(value != value)  # NaN and NaT
    except (TypeError, ValueError):  # pandas.NA has no truth value
        return type(value).__name__ == "NAType"


def _plain(value: Any) -> Any:
    """A column's value as users write it: 2.0 read from a column with blanks is the label 2, as is "2"."""
    item = getattr(value, "item", None)
    value = item() if callable(item) else value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    text = str(value).strip()
    return int(text) if text.isdecimal() and text == str(int(text)) else text


def same_value(values: Iterable[Any], *, name: str = "column") -> list[MustLink]:
    """Must-links from a column: the same value means the same component; blank cells link nothing.

    Parameters
    ----------
    values : iterable
        One entry per sample, in sample order (a pandas column will do).
    name : str
        What to call the column in explanations.
    """
    members: dict[Any, list[int]] = {}
    for row, value in _rows(values):
        if not is_blank(value):
            members.setdefault(_plain(value), []).append(row)
    return [MustLink(*rows, source=f"{name} = {value}") for value, rows in members.items() if len(rows) > 1]


def labels_from(values: Iterable[Any], *, name: str = "column") -> list[Label]:
    """Known labels from a column: where it is not blank, it names the sample's component.

    The values are component names or positions; see :func:`component_names_from` for how names are derived. There is
    one for each sample, in the order of the samples; a problem with another number of samples refuses them.
    """
    return [
        Label(row, _plain(value), source=f"{name}, sample {int(row)}")
        for row, value in _rows(values)
        if not is_blank(value)
    ]


def _rows(values: Iterable[Any]) -> Iterable[tuple[Row, Any]]:
    listed = list(values)
    return ((Row(i, len(listed)), value) for i, value in enumerate(listed))


def component_names_from(values: Iterable[Any], n_components: int) -> tuple[str, ...] | None:
    """Names for the components from the values of a label column.

    Whole numbers that all lie in ``0 .. K-1`` are positions and need no names (None is returned). Anything
    else is a name: the distinct values in sorted order name the first components, the others are numbered.
    """
    distinct = {_plain(v) for v in values if not is_blank(v)}
    if all(isinstance(v, int) and 0 <= v < n_components for v in distinct):
        return None
    numbers = sorted(v for v in distinct if isinstance(v, int))
    names = [str(v) for v in numbers] + sorted(v for v in distinct if isinstance(v, str))
    if len(names) > n_components:
        raise InputError(
            f"the labels have {len(names)} different values ({', '.join(names[:8])}"
            f"{', …' if len(names) > 8 else ''}) but there are only {n_components} components"
        )
    return tuple(names + [f"component {k}" for k in range(len(names), n_components)])


def component_names(
    constraints: Iterable[Any], column: Iterable[Any], n_components: int
) -> tuple[str, ...] | None:
    """The names that the label column and constraints give to components; None when they only count them.

    A number that somebody wrote into a constraints file is the position of a component. Only where labels have as many
    numbers as there are components, and not from 0 on, are they names: 1 to K, say.
    """
    constraints = list(constraints)
    said = {getattr(item, "component", None) for item in constraints}
    names = [*column, *(ref for ref in said if isinstance(ref, str))]
    numbers = {item.component for item in constraints if isinstance(item, Label)}
    return component_names_from([*names, *numbers] if len(numbers) == n_components else names, n_components)
