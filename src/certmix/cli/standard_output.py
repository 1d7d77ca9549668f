"""Standard output, and what to do when it takes nothing."""

from __future__ import annotations

import os
import sys

from certmix.errors import OutputError


def say(text: str) -> None:
    """Write to standard output, and make sure that it has arrived."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        failed(error)


def failed(error: OSError) -> None:
    """Standard output has failed: say so, unless whoever was reading has gone, to whom there is nothing to tell."""
    # What is left in the buffer shall not fail once more.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if not isinstance(error, BrokenPipeError):
        raise OutputError(f"standard output cannot be written to: {error.strerror or error}") from None
