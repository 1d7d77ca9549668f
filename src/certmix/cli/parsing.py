"""Options that hold more than one number or name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from certmix.errors import InputError

UNKNOWN = ("unknown", "diagonal")


def whole(text: str) -> int:
    """A whole number, for typer: its own message would not show what was written."""
    return _parsed(text, int, "a whole number")


def number(text: str) -> float:
    """A number, for typer."""
    return _parsed(text, float, "a number")


def _parsed(text: str, kind: Any, what: str) -> Any:
    import typer

    try:
        return kind(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not {what}") from None


def names(text: str | None, option: str) -> list[str] | None:
    """``a,b,c`` as a list; None when the option was not given."""
    if text is None:
        return None
    found = [part.strip() for part in text.split(",")]
    if not all(found):
        raise InputError(f"{option} {text!r}: there is an empty name between the commas")
    return found


def numbers(text: str, option: str) -> list[float]:
    """``0.2,0.3,0.5`` as numbers."""
    found = []
    for part in text.split(","):
        try:
            found.append(float(part))
        except ValueError:
            raise InputError(f"{option} {text!r}: {part.strip()!r} is not a number") from None
    return found


def weights(text: str) -> Any:
    """``free``, ``uniform``, ``none`` or numbers separated by commas."""
    word = text.strip().lower()
    if word in ("free", "uniform", "none"):
        return word
    if not any(sign.isdigit() for sign in text):
        raise InputError(f"--weights {text!r}: give free, uniform, none, or numbers separated by commas")
    return numbers(text, "--weights")


def variance(text: str) -> Any:
    """One number, or one for each component; or ``unknown``, or ``diagonal``."""
    if text.strip().lower() in UNKNOWN:
        return text.strip().lower()
    found = numbers(text, "--variance")
    return found[0] if len(found) == 1 else found


def variance_range(text: str) -> tuple[float | None, float | None]:
    """``LO,HI``, ``LO`` or ``,HI``."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > 2 or not any(parts):
        raise InputError(f"--variance-range {text!r}: give LO,HI, or LO, or ,HI")
    low, high = (numbers(part, "--variance-range")[0] if part else None for part in (*parts, "")[:2])
    return low, high


def _mean(data: Any) -> Any:
    """Of what is there."""
    import numpy as np

    return np.nanmean(data, axis=0)


def priors(texts: Sequence[str], data: Any) -> list[Any]:
    """``flat``, ``jeffreys``, ``dirichlet=A`` and ``gaussian=V`` (centred at the mean of the data)."""
    from certmix.problem import DirichletPrior, GaussianPrior

    found: list[Any] = []
    for text in texts:
        kind, sign, rest = text.strip().partition("=")
        kind = kind.strip().lower()
        option = f"--prior {text!r}"
        if kind in ("flat", "jeffreys"):
            if sign:
                raise InputError(f"{option}: {kind} takes no number")
            found.append(kind)
        elif kind in ("dirichlet", "gaussian"):
            if not rest.strip():
                raise InputError(f"{option}: a number is missing, as in {kind}=2")
            values = numbers(rest, "--prior")
            if kind == "dirichlet":
                found.append(DirichletPrior(values[0] if len(values) == 1 else values))
            elif len(values) == 1:
                found.append(GaussianPrior(mean=_mean(data), covariance=values[0]))
            else:
                raise InputError(
                    f"{option}: gaussian takes one number, the variance of every coordinate of a mean"
                )
        else:
            raise InputError(f"{option}: unknown prior; choose from flat, jeffreys, dirichlet=A, gaussian=V")
    return found
