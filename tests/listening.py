"""Programs that the tests start and interrupt."""

from __future__ import annotations

import signal


def to_interrupts() -> None:
    """For ``preexec_fn``: a child of a background job would inherit that it ignores Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
