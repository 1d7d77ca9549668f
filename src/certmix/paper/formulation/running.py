"""Running a solver so that the run's flag stops it in good order."""

from __future__ import annotations

import threading
from collections.abc import Callable

from certmix.stopping import current


def run_interruptible(run: Callable[[], object], interrupt: Callable[[], object]) -> None:
    """Run a solver in a thread of its own, so that it can be told to end its step when the run's flag is raised."""
    failure: list[BaseException] = []
    stop = current()

    def work() -> None:
        try:
            run()
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=work, name="solver")
    thread.start()
    while thread.is_alive():
        thread.join(0.2)
        if stop.raised:
            interrupt()
    if failure:
        raise failure[0]
