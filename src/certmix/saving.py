"""Results as plain values, and as a pair of files: JSON for what a person reads, NPZ for the arrays.

A number that is missing or infinite is null in JSON. Objectives, bounds and absolute gaps are as people see them
(:class:`certmix.problem.quantity.Quantity`), for k-means sums of squares. A JSON file that holds the arrays itself
(a snapshot) has no NPZ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from certmix.errors import InputError
from certmix.io.pairs import json_of, read_arrays, read_document, stem_of, write_pair
from certmix.io.strict_json import finite
from certmix.io.transform import Transform
from certmix.ledger import TracePoint
from certmix.problem.copies import MOST as MOST_COPIES
from certmix.problem.noise import LABEL, Noise
from certmix.problem.quantity import NATS, PENALISED, SSE, Quantity, sum_of_squares
from certmix.problem.satisfaction import Satisfaction
from certmix.status import Status, Termination, Tolerances, decide

if TYPE_CHECKING:
    from certmix.io.certificates import Certificate
    from certmix.result import Result

FORMAT = "certmix-result"
VERSION = 1
# Arrays of the NPZ file; those of one number per sample that JSON readers rarely want are only there.
_ARRAYS = (
    "labels",
    "means",
    "weights",
    "posterior",
    "runner_up",
    "fixed",
    "data",
    "precision",
    "envelope",
    "sample_weight",
)
_ONLY_NPZ = ("posterior", "runner_up", "fixed")
MOST_DATA = 50 * 2**20  # bytes of samples that are kept with a result
MOST_BYTES = 2**30  # what the arrays of a result may take in memory
RESULT, SNAPSHOT, CERTIFICATE = "result.json", "snapshot.json", "certificate.json"


def as_dict(result: Result) -> dict[str, Any]:
    """Everything as plain values, ready for JSON (missing and infinite numbers are None)."""
    quantity = result.quantity

    def shown(objective: float) -> float | None:
        return finite(quantity.shown(objective))

    return {
        "format": FORMAT,
        "version": VERSION,
        "status": str(result.status),
        "termination": str(result.termination),
        "objective": shown(result.objective),
        "lower_bound": shown(result.lower_bound),
        "gap_absolute": shown(result.gap_absolute),
        "gap_relative": finite(result.gap_relative),
        **_squares(result),
        "penalty": result.penalty,
        "quantity": asdict(quantity),
        "certificate": result.certificate_level,
        "verification": result.verification,
        "engine": result.engine,
        "source": result.source,
        "message": result.message,
        "nodes": int(result.nodes),
        "seconds": float(result.seconds),
        "resumes": int(result.resumes),
        "n_samples": len(result.names),
        "n_features": len(result.feature_names),
        "n_components": result.n_components,
        "tolerances": {
            "relative": result.tolerances.relative,
            "absolute": quantity.shown(result.tolerances.absolute),
        },
        "sizes": _plain(result.sizes),
        "variance": result.variance.tolist()
        if isinstance(result.variance, np.ndarray)
        else None
        if result.variance is None
        else finite(result.variance),
        "variance_interval": None
        if result.variance_interval is None
        else [finite(v) for v in result.variance_interval],
        "envelope": _plain(result.envelope),
        "weights": _plain(result.weights),
        "means": _plain(result.means),
        "labels": _plain(result.labels),
        "posterior": _plain(result.posterior),
        "runner_up": _plain(result.runner_up),
        "fixed": _plain(result.fixed),
        "sample_weight": _plain(result.sample_weight),
        "noise": None if result.noise is None else asdict(result.noise),
        "names": list(result.names),
        "component_names": list(result.component_names),
        "feature_names": list(result.feature_names),
        "constraints": [
            {
                "kind": c.kind,
                "text": c.text,
                "source": c.source,
                "satisfied": c.satisfied,
                "penalty": c.penalty,
                "tight": c.tight,
                "room": c.room,
                "cost": None if c.cost is None else [shown(end) for end in c.cost],
            }
            for c in result.constraints
        ],
        "trace": [[p.seconds, shown(p.incumbent), shown(p.bound)] for p in result.trace],
        "preprocessing": None if result.transform is None else result.transform.as_dict(),
        "model": dict(result.model),
        "versions": dict(result.versions),
        "command": result.command,
    }


def _squares(result: Result) -> dict[str, float | None]:
    """The sum of squares and its bound, of k-means."""
    if result.sse is None or result.sse_lower_bound is None:
        return {}
    return {"sse": finite(result.sse), "sse_lower_bound": finite(result.sse_lower_bound)}


def _plain(array: np.ndarray | None) -> Any:
    if array is None:
        return None
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        return [_plain(row) for row in array] if array.ndim > 1 else [finite(x) for x in array]
    return array.tolist()


# -- writing -------------------------------------------------------------------------------------------
def save(result: Result, path: str | Path, *, extra: Mapping[str, Any] | None = None) -> Path:
    """Write ``PATH.json`` and ``PATH.npz`` and return the path of the former.

    Parameters
    ----------
    extra : mapping, optional
        More entries for the JSON file (how the data were prepared, say); reading leaves them alone.
    """
    arrays = {name: getattr(result, name) for name in _ARRAYS if getattr(result, name) is not None}
    for name in ("data", "precision"):
        if name in arrays and arrays[name].nbytes > MOST_DATA:
            del arrays[name]
    document = {key: value for key, value in as_dict(result).items() if key not in _ONLY_NPZ}
    return write_pair(path, {**document, **(extra or {})}, arrays)


# -- reading -------------------------------------------------------------------------------------------
def read(path: str | Path) -> dict[str, Any]:
    """The fields of a result that :func:`save` wrote; a damaged file is an :class:`InputError` that says why."""
    stem = stem_of(_in_directory(Path(path)))
    source = json_of(stem)
    document = read_document(stem, FORMAT, VERSION)
    try:
        if "arrays" in document:
            arrays = read_arrays(stem, document["arrays"], MOST_BYTES)
            document.update({name: arrays.get(name) for name in _ARRAYS})
        fields = _fields(document)
    except InputError as error:
        raise InputError(f"{source} is damaged: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        what = f"the entry {error} is missing" if isinstance(error, KeyError) else str(error)
        raise InputError(f"{source} is damaged: {what}") from None
    if source.name == RESULT:
        positions = fields["labels"]
        positions = None if positions is None else positions % len(fields["component_names"])
        fields["certificate"] = _certificate(source, copied(positions, fields["sample_weight"]))
    return fields


def _in_directory(path: Path) -> Path:
    """The result in a directory that ``certmix solve --out`` wrote; of a run that was cut short, its snapshot."""
    try:
        if not path.is_dir():
            return path
        for name in (RESULT, SNAPSHOT):
            if (path / name).is_file():
                return path / name
    except OSError as error:  # a name that is too long, say
        raise InputError(f"{str(path)!r:.200} cannot be read: {error.strerror or error}") from None
    several = sorted(p.parent.name for p in path.glob(f"*/{RESULT}"))
    hint = f"; there is one in each of {', '.join(several[:8])}" if several else ""
    raise InputError(f"{path} is a directory without a {RESULT}{hint}")


def _certificate(source: Path, labels: np.ndarray | None) -> Certificate | None:
    """The certificate beside a result, if there is one and it is about the same clustering."""
    from certmix.io.certificates import Certificate  # brings the checker, which few need

    beside = source.with_name(CERTIFICATE)
    if not beside.is_file():
        return None
    try:
        found = Certificate.load(beside)
        same = labels is None
        if labels is not None and not found.infeasible:
            same = np.array_equal(found.arrays["incumbent/labels"], labels)
    except (InputError, KeyError, TypeError, ValueError):
        return None  # the result is whole; ``certmix verify`` says what is wrong with the certificate
    return found if same else None


def copied(labels: np.ndarray | None, sample_weight: np.ndarray | None) -> np.ndarray | None:
    """The labels of all copies of weighted samples, which a certificate is about."""
    counts = copies(sample_weight)
    return labels if labels is None or counts is None else np.repeat(labels, counts)


def copies(sample_weight: np.ndarray | None) -> np.ndarray | None:
    """How many copies of each sample there are; None where each counts once in sizes, whatever its weight is."""
    return None if sample_weight is None or sample_weight.dtype.kind == "f" else sample_weight


def _fields(document: Mapping[str, Any]) -> dict[str, Any]:
    names = _strings(document["names"], "names")
    component_names = _strings(document["component_names"], "component_names")
    feature_names = _strings(document["feature_names"], "feature_names")
    n, K, d = len(names), len(component_names), len(feature_names)
    labels = _array(document["labels"], "labels", (n,), np.int64)
    noise = _noise(document.get("noise"))
    clusters, least = (K, 0) if noise is None else (K - 1, LABEL)
    if labels is not None and n and not (labels.min() >= least and labels.max() < clusters):
        raise InputError(f"a label does not lie in {least} .. {clusters - 1}")
    runner_up = _array(document["runner_up"], "runner_up", (n,), np.int64)
    if runner_up is not None and n and not (runner_up.min() >= -1 and runner_up.max() < K):
        raise InputError(f"a runner-up does not lie in -1 .. {K - 1}")
    quantity = _quantity(document.get("quantity"))

    def hidden(shown: Any, missing: float) -> float:
        return quantity.objective(_number(shown, missing))

    objective = hidden(document["objective"], math.inf)
    lower_bound = hidden(document["lower_bound"], -math.inf)
    tolerances = Tolerances(
        float(document["tolerances"]["relative"]), hidden(document["tolerances"]["absolute"], 0.0)
    )
    if lower_bound > objective:
        raise InputError(f"its lower bound {lower_bound:g} lies above its objective {objective:g}")
    status = Status(document["status"])
    if status is not decide(objective, lower_bound, tolerances, infeasible=status is Status.INFEASIBLE):
        raise InputError(f"its status {status} contradicts its objective and bound")
    if (labels is None) != math.isinf(objective):
        raise InputError("it has labels without an objective, or an objective without labels")
    return {
        "status": status,
        "termination": Termination(document["termination"]),
        "engine": str(document["engine"]),
        "objective": objective,
        "lower_bound": lower_bound,
        "labels": labels,
        "means": _array(document["means"], "means", (clusters, d), np.float64),
        "weights": _array(document["weights"], "weights", (K,), np.float64),
        "posterior": _array(document["posterior"], "posterior", (n,), np.float64),
        "runner_up": runner_up,
        "names": names,
        "component_names": component_names,
        "feature_names": feature_names,
        "constraints": tuple(
            Satisfaction(
                str(c["kind"]),
                str(c["text"]),
                str(c["source"]),
                bool(c["satisfied"]),
                None if c.get("tight") is None else bool(c["tight"]),
                str(c.get("room", "")),
                None
                if c.get("cost") is None
                else (hidden(c["cost"][0], 0.0), hidden(c["cost"][1], math.inf)),
                None if c.get("penalty") is None else float(c["penalty"]),
            )
            for c in document["constraints"]
        ),
        "trace": tuple(
            TracePoint(float(seconds), hidden(incumbent, math.inf), hidden(bound, -math.inf))
            for seconds, incumbent, bound in document["trace"]
        ),
        "variance": _variance(document.get("variance")),
        "variance_interval": _interval(document.get("variance_interval")),
        "envelope": _array(document.get("envelope"), "envelope", (None, 2), np.float64),
        "nodes": int(document["nodes"]),
        "seconds": float(document["seconds"]),
        "resumes": int(document.get("resumes", 0)),
        "tolerances": tolerances,
        "quantity": quantity,
        "certificate_level": str(document["certificate"]),
        "verification": str(document.get("verification", "")),
        "message": str(document["message"]),
        "source": str(document["source"]),
        "fixed": _truths(document.get("fixed"), n),
        "sample_weight": _weight(document.get("sample_weight"), n),
        "data": _array(document.get("data"), "data", (n, d), np.float64),
        "noise": noise,
        "precision": _precision(document.get("precision"), clusters, d),
        "transform": _transform(document.get("preprocessing")),
        "model": _texts(document.get("model", {}), "model"),
        "versions": _texts(document.get("versions", {}), "versions"),
        "command": str(document.get("command", "")),
    }


def _noise(value: Any) -> Noise | None:
    if value is None:
        return None
    density = value["log_density"]
    return Noise(None if density is None else _number(density, math.inf))


def _quantity(value: Any) -> Quantity:
    if value is None:
        return NATS
    factor = _positive(value["factor"])
    assert factor is not None
    name = value["name"]
    found = sum_of_squares(factor, penalised=name == PENALISED) if name in (SSE, PENALISED) else NATS
    if found != Quantity(**value):
        raise InputError(f"its objective is said to be {value!r}")
    return found


def _variance(value: Any) -> float | np.ndarray | None:
    """One for all features, or one for each."""
    return (
        np.array([_positive(v) for v in value], dtype=np.float64)
        if isinstance(value, list)
        else _positive(value)
    )


def _positive(value: Any) -> float | None:
    if value is None:
        return None
    found = _number(value, math.nan)
    if not 0.0 < found < math.inf:
        raise InputError(f"{value!r} stands where a positive number is expected")
    return found


def _interval(value: Any) -> tuple[float, float] | None:
    if value is None:
        return None
    low, high = value
    return _number(low, 0.0), _number(high, math.inf)


def _weight(value: Any, n: int) -> np.ndarray | None:
    found = _array(value, "sample_weight", (n,), np.float64)
    if found is None:
        return None
    if not np.all((found > 0.0) & np.isfinite(found)):
        raise InputError("a sample weight is not a positive number")
    if np.any(found != np.rint(found)):
        return found
    if found.sum() > MOST_COPIES:
        raise InputError(f"the sample weights add up to {found.sum():.3g}")
    return found.astype(np.int64)


def _truths(value: Any, n: int) -> np.ndarray | None:
    found = _array(value, "fixed", (n,), np.int64)
    return None if found is None else found.astype(bool)


def _precision(value: Any, K: int, d: int) -> np.ndarray | None:
    if value is None:
        return None
    count = 1 if np.shape(value)[:1] == (1,) else K
    shape = (count, d) if np.ndim(value) == 2 else (count, d, d)  # diagonals, or full matrices
    return _array(value, "precision", shape, np.float64)


def _transform(value: Any) -> Transform | None:
    if value is None or (isinstance(value, dict) and value and value.keys() <= {"reading", "missing"}):
        return None  # how the file was read, but nothing that moves the data
    return Transform.from_dict(value)


def _number(value: Any, missing: float) -> float:
    if value is None:
        return missing
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"{value!r} stands where a number is expected")
    return float(value)


def _strings(value: Any, what: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(x, str) for x in value):
        raise InputError(f"{what} is not a list of texts")
    return tuple(value)


def _texts(value: Any, what: str) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(x, str) for x in value.values()):
        raise InputError(f"{what} is not a list of names and texts")
    return value


def _array(value: Any, what: str, shape: tuple[int | None, ...], kind: type) -> np.ndarray | None:
    """An array of that shape; None in it stands for any length."""
    if value is None:
        return None
    array = np.array(value, dtype=np.float64)  # None becomes NaN
    if len(shape) != array.ndim or any(w not in (None, m) for w, m in zip(shape, array.shape, strict=True)):
        raise InputError(f"{what} has shape {array.shape} where {shape} is expected")
    whole = kind is np.int64
    if whole and not np.array_equal(array, np.rint(array)):
        raise InputError(f"{what} holds a number that is not whole")
    return array.astype(kind)
