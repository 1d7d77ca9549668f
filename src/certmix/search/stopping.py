"""When to stop: one small function, one answer."""

from __future__ import annotations

from certmix import memory
from certmix.ledger import Ledger
from certmix.options import Options
from certmix.status import Termination


def stop_reason(ledger: Ledger, options: Options) -> Termination | None:
    """Why the run should stop now, or None."""
    if ledger.closed:
        return Termination.GAP
    if options.node_limit is not None and ledger.nodes >= options.node_limit:
        return Termination.NODES
    if options.time_limit is not None and ledger.seconds >= options.time_limit:
        return Termination.TIME
    if memory.reached():
        return Termination.MEMORY
    return ledger.stop.reason
