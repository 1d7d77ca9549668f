"""Every error that certmix raises on purpose.

All of them derive from :class:`CertmixError`; the command line turns them into one sentence and an exit code.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class CertmixError(Exception):
    """Base of all errors that certmix raises on purpose."""


class InputError(CertmixError, ValueError):
    """The input is wrong: data, an option, a file. The message names the culprit.

    Attributes
    ----------
    about : str
        The parameter that is wrong, where it is one of :class:`certmix.Problem`; the command line names its option.
    """

    about: str = ""


@contextmanager
def about(parameter: str) -> Iterator[None]:
    """An :class:`InputError` raised in the block is about this parameter, unless it is about another already."""
    try:
        yield
    except InputError as error:
        error.about = error.about or parameter
        raise


class OutputError(InputError):
    """A file or standard output cannot be written to."""


class UnsupportedError(InputError):
    """The chosen engine cannot honour an option of the problem; the message names engines that can."""


class InfeasibleError(CertmixError, ValueError):
    """The side constraints contradict each other.

    Attributes
    ----------
    conflict : tuple
        A smallest set of constraints that cannot hold together (may be empty when it was not searched for).
    """

    def __init__(self, message: str, conflict: tuple[object, ...] = ()) -> None:
        super().__init__(message)
        self.conflict = conflict


class CovarianceWarning(UserWarning):
    """No covariance was given, and one feature has nearly all of the variance."""
