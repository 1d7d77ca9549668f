"""The engine for problems that either bound may win: boxes and multipliers, or matrices, by turns."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from threadpoolctl import threadpool_limits

from certmix.ledger import Ledger
from certmix.options import Options
from certmix.presolve.instance import Instance
from certmix.search.bounds.semidefinite.bound import SemidefiniteBound
from certmix.search.bounds.semidefinite.record import NO_RECORD, Recorder
from certmix.search.engines import Pair, first_incumbent
from certmix.search.loop import Search
from certmix.search.sdp_engine import SemidefiniteEngine
from certmix.search.stopping import stop_reason
from certmix.state import State
from certmix.status import Termination
from certmix.threads import Threads


@dataclass(frozen=True)
class Tuning:
    """Whose turn it is."""

    first_share: float = 0.5  # of the first turn of the pair, that the matrices have before it
    entry_work: float = 100.0  # of an entry of a matrix in a round, in units of pricing
    far_gap: float = 3.0  # times that of the other: who is so far behind once both have branched ...
    far_price: float = 4.0  # ... has a turn for so many of the other


TUNING = Tuning()


class RaceEngine(SemidefiniteEngine):
    """``dual`` and ``sdp`` by turns, with one incumbent and one bound; where nobody knows which is the better."""

    name = "race"

    def searched(self, instance: Instance, ledger: Ledger, options: Options) -> Termination:
        first_incumbent(instance, ledger, options)
        with Threads(options.n_threads) as threads, threadpool_limits(1):
            return Race(instance, threads, ledger, options).run()


class Race:
    """Two searches that share incumbent and bound; whoever has done less work has the next turn.

    Work is counted, not timed, so that runs can be repeated. The matrices begin, for they are often done before the
    others have warmed up, and have half as much as the first turn of these will be. A root of theirs is long: between
    its rounds it is asked whether the others are behind, and these have their turn there and then. The proof is that of
    who raised the bound last.
    """

    def __init__(self, instance: Instance, threads: Threads, ledger: Ledger, options: Options) -> None:
        self.instance, self.threads, self.ledger, self.options = instance, threads, ledger, options
        self.earlier = ledger.resumed
        self.pair = Pair(instance, threads, ledger, options, self.earlier.of("pair"))
        self.recorder = Recorder() if options.certificate else None
        self.bound: SemidefiniteBound | None = None
        self.matrices: Search | None = None
        self.first = TUNING.first_share * self.pair.next_work
        self.ended: Termination | None = None
        self.leading = self.ledger.bound
        self._thread = threading.get_ident()
        ledger.record, ledger.resumable = self.pair.record, self

    def state(self) -> State:
        """Both searches."""
        matrices = self.earlier.of("matrices") if self.matrices is None else self.matrices.state()
        return State.joined(pair=self.pair.state(), matrices=matrices)

    def run(self) -> Termination:
        while self.ended is None:
            self._pair_turn() if self._pair_is_behind else self._matrices_turn()
        return self.ended

    # -- whose turn it is ------------------------------------------------------------------------------------
    def _pair_turn(self) -> None:
        self._credit("the semidefinite relaxation", self.recorder)
        try:
            self.ended = self.pair.go_on()
        finally:
            self._credit("boxes and multipliers", self.pair.record)

    def _matrices_turn(self) -> None:
        self.ledger.phase = "semidefinite relaxation"
        try:
            search = self.matrices or self._begun()
            reason = search.run(pause=lambda: self.ended is not None or self._pair_is_behind)
            self.ended = self.ended or reason
        finally:
            self._credit("the semidefinite relaxation", self.recorder)

    def _begun(self) -> Search:
        ledger, found = self.ledger, self.ledger.incumbent
        self.bound = SemidefiniteBound(
            self.instance,
            None if found is None else found.labels,
            threads=self.threads,
            should_stop=self._over,
            on_root_bound=ledger.raise_bound,
            recorder=self.recorder or NO_RECORD,
        )
        self.matrices = Search(
            self.bound,
            ledger,
            self.options,
            largest_batch=self.options.n_threads,
            state=self.earlier.of("matrices"),
        )
        if self.bound.recorder is NO_RECORD:  # for the earlier run kept none
            self.recorder = None
        return self.matrices

    def _over(self) -> bool:
        """Asked between rounds; by another thread when several nodes are visited at once, which are short."""
        if threading.get_ident() == self._thread:
            while self.ended is None and self._pair_is_behind:
                self._pair_turn()
            self.ledger.phase = "semidefinite relaxation"
        return self.ended is not None or stop_reason(self.ledger, self.options) is not None

    @property
    def _pair_is_behind(self) -> bool:
        """Whether the pair has done less, at its price."""
        done = 0.0 if self.bound is None else TUNING.entry_work * self.bound.work
        return self._price * max(self.pair.work, self.first) < done

    @property
    def _price(self) -> float:
        """What a turn of the pair costs beside one of the matrices: who does not gain pays more."""
        if self.matrices is None or self.matrices.nodes == 0 or self.pair.dual is None:
            return 1.0
        ours, theirs = (self.ledger.cutoff - search.proved for search in (self.pair, self.matrices))
        if ours > TUNING.far_gap * theirs:
            return TUNING.far_price
        return 1.0 / TUNING.far_price if theirs > TUNING.far_gap * ours else 1.0

    # -- who gains -------------------------------------------------------------------------------------------
    def _credit(self, who: str, record: Any) -> None:
        """Who has raised the bound has its proof."""
        if self.ledger.bound <= self.leading:
            return
        self.leading = self.ledger.bound
        if self.ledger.record is not record:
            self.ledger.record = record
            self.ledger.message(f"race: better bound by {who}")
