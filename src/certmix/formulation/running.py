"""Running a solver so that Ctrl-C stops it in good order."""

from __future__ import annotations

import threading
from collections.abc import Callable


def run_interruptible(run: Callable[[], object], interrupt: Callable[[], object]) -> None:
    """Run a solver in a thread of its own, so that Ctrl-C reaches us at once and the solver can end its step."""
    failure: list[BaseException] = []

    def work() -> None:
        try:
            run()
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=work, name="solver")
    thread.start()
    interrupted: BaseException | None = None
    while thread.is_alive():
        try:
            thread.join(0.2)
        except KeyboardInterrupt as error:
            interrupted = error
            interrupt()
    if interrupted is not None:
        raise interrupted
    if failure:
        raise failure[0]
