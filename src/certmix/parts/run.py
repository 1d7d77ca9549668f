"""One run by parts: it partitions, works on the parts round by round, and keeps the ledger's bound up to date."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from certmix.cluster import Cluster
from certmix.ledger import Ledger, Observer
from certmix.local.moves import LocalSearch
from certmix.options import Options
from certmix.parts.account import Account, Part, summed
from certmix.parts.contraction import MOST_GROUPS, WORTH, TogetherTask, cutoffs, linked
from certmix.parts.partition import Imitation
from certmix.parts.processes import Processes
from certmix.parts.refining import refined
from certmix.parts.resumed import parts_of, state_of
from certmix.parts.schedule import Job, Turns, first_gap, next_jobs
from certmix.parts.sizes import Trial, chosen, first_nodes, most_lost, sizes_for, tried
from certmix.parts.task import PartTask, Unfinished
from certmix.parts.workers import side_by_side
from certmix.presolve.first_bound import first_bound
from certmix.presolve.instance import Instance, reduce
from certmix.problem import Point, Problem
from certmix.problem.restriction import Restriction
from certmix.search.stopping import stop_reason
from certmix.spool import Spool
from certmix.state import State
from certmix.status import Termination
from certmix.stopping import Stop
from certmix.threads import Threads

A = TypeVar("A")


@dataclass(frozen=True)
class Tuning:
    """Shares of time, and how much is tried."""

    partition_time: float = 0.05  # share of the time left for exchanges, and again for dealing parts anew
    trial_time: float = 0.02  # likewise, for parts of one size that are only looked at
    first_round: float = 0.97  # share of the time left that parts may take when they are first worked on
    more_time: float = 1.5  # times as long as before a part may take when it is tried again
    larger: float = 3.0  # times as long as the longer of two parts they are thought to take together
    perturbed: int = 8  # fruitless perturbations in a row, times components, that will do ...
    most_perturbed: int = 200  # ... and no more in all
    prepared: int = 100  # groups that processes begin with, only to load what they need
    at_once: int = 16  # parts for each thread that are made between two looks at the clock
    most_kept: int = 2**29  # bytes for what parts can go on from when they are tried again
    most_searched: int = 20_000  # groups: with more, local search on everything is too slow


TUNING = Tuning()


class PartsRun:
    """The state of one run.

    Parameters
    ----------
    cluster : who works on parts; threads of this process where there is none
    processes : in which the threads have their work done; where there are none they do it themselves
    """

    def __init__(
        self,
        instance: Instance,
        ledger: Ledger,
        options: Options,
        cluster: Cluster | None = None,
        processes: Processes | None = None,
    ) -> None:
        self.instance, self.ledger, self.options, self.cluster = instance, ledger, options, cluster
        self.processes = processes
        self.restriction = Restriction(instance.problem)
        order = np.argsort(instance.groups.of, kind="stable")
        self._samples = np.split(order, np.cumsum(instance.weight)[:-1]) if self._merged_groups else None
        self._spool = Spool() if ledger.keeps_proof else None
        self.threads = Threads(1)
        self.account = Account([])
        self._closed = False  # the gap is reached, and only proofs are missing
        self.contracted: Problem | None = None  # with links that every better clustering has

    def state(self) -> State:
        return state_of(list(self.account.parts), self.instance.n_groups)

    def _taken_up(self) -> list[Part]:
        """The parts of an earlier run, if there was one."""
        parts = parts_of(self.ledger.resumed, self._made)
        for part in parts:
            part.proofs = [
                proof if self._spool is None else proof.on_disk(self._spool) for proof in part.proofs
            ]
        return parts

    def _keep_record(self) -> None:
        proofs = [proof for part in self.account.parts for proof in part.proofs]
        self.ledger.record = proofs or None

    def run(self) -> Termination | None:
        """Work until the gap is reached or a limit strikes; None when only the whole problem is left to work on.

        If there is a contracted one by then, that will do.
        """
        with Threads(self.options.n_threads) as self.threads:
            return self._worked()

    def _worked(self) -> Termination | None:
        ledger, options = self.ledger, self.options
        self.account = Account(self._taken_up() or self._partitioned())
        self._keep_record()
        ledger.resumable = self if self.account.parts else None
        first = first_nodes(self.instance)
        while not self._over():
            nodes = math.inf if options.node_limit is None else options.node_limit - ledger.nodes
            pairs, many = self._pairs()
            known = self.account, ledger.upper, ledger.tolerances
            jobs = self._affordable(next_jobs(*known, first, nodes, larger=many > 0))
            if jobs:
                fresh = any(job.part.tries == 0 for job in jobs)
                self._improve(self._solve(jobs, TUNING.first_round if fresh else 1.0))
            elif self._contract() or len(self.account.parts) <= 2:
                return None
            else:
                self._merge(pairs[: max(1, many)])
        reason = stop_reason(ledger, options)
        if (
            reason is Termination.GAP
            and options.certificate
            and any(p.tries == 0 for p in self.account.parts)
        ):
            self._closed = True  # before every part was looked at, and now all shall have proofs
            self._solve(next_jobs(self.account, ledger.upper, ledger.tolerances, first, math.inf))
        return reason

    # -- work on parts ---------------------------------------------------------------------------------------
    def _solve(self, jobs: list[Job], share: float = 1.0) -> np.ndarray | None:
        """Work on some parts for a share of the time; the means of the one that does best, compared with the whole."""
        means, most, turns = None, 0.0, Turns(len(jobs), self._slots)
        end, start = self.ledger.seconds + self._time(share), dict[Part, float]()

        def begun(job: Job) -> PartTask:
            start[job.part] = self.ledger.seconds
            return self._task(job, turns.next(end - self.ledger.seconds))

        # Parts hear of better bounds while they are worked on, unless proofs are what counts.
        heard = [() if self.options.certificate else (job.part,) for job in jobs]
        for number, answer in self._side_by_side(map(begun, jobs), self._over, heard):
            part = jobs[number].part
            turns.took(self.ledger.seconds - start[part])
            part.tries += 1
            part.seconds = answer.seconds
            part.unfinished = self._kept(answer.unfinished)
            self.ledger.nodes += answer.nodes
            part.value = min(part.value, answer.value)
            if answer.proof is not None:
                part.proved(answer.proof if self._spool is None else answer.proof.on_disk(self._spool))
                self._keep_record()
            elif not part.is_proved:  # what is proved is worth more than a little more that is not
                part.bound = max(part.bound, answer.bound)
            if part.below > most * len(part.samples):
                means, most = answer.means, part.below / len(part.samples)
            self._tell()
        return means

    def _affordable(self, jobs: list[Job]) -> list[Job]:
        """The first jobs, as many as have more time than they had before; one for everybody in any case."""
        left = self._time(1.0) * self._slots
        needed = np.cumsum([TUNING.more_time * job.part.seconds for job in jobs])
        return jobs[: max(self._slots, int(np.count_nonzero(needed <= left)))]

    def _side_by_side(
        self, tasks: Iterable[Callable[..., A]], over: Callable[[], bool], heard: Iterable[Sequence[Observer]]
    ) -> Iterator[tuple[int, A]]:
        """Numbers and answers of tasks as they come; ``heard`` by these, for each of them, are better bounds."""
        if self.cluster is not None:
            return self.cluster.side_by_side(tasks, over)
        work = (partial(self._done, task, observers=those) for task, those in zip(tasks, heard, strict=True))
        return side_by_side(work, self.options.n_threads, over)

    def _done(self, task: Callable[..., A], stop: Stop, observers: Sequence[Observer] = ()) -> A:
        """What a task comes to, done in a process or in this thread."""
        if self.processes is not None:
            return self.processes.do(task, stop, observers)
        return task(stop, observers) if observers else task(stop)

    def _task(self, job: Job, seconds: float) -> PartTask:
        samples = job.part.samples
        return PartTask(
            self.restriction.part(samples),
            self._labels(samples),
            job.gap,
            seconds,
            job.nodes,
            self.options.seed,
            samples if self.options.certificate else None,
            self.ledger.keeps_proof,
            job.part.unfinished,
        )

    def _kept(self, unfinished: Unfinished | None) -> Unfinished | None:
        """The same, if there is room for it."""
        if unfinished is None:
            return None
        others = sum(part.unfinished.n_bytes for part in self.account.parts if part.unfinished is not None)
        return unfinished if others + unfinished.n_bytes <= TUNING.most_kept else None

    @property
    def _slots(self) -> int:
        """How many parts are worked on at the same time."""
        return self.options.n_threads if self.cluster is None else self.cluster.count

    def _over(self) -> bool:
        """Whether to stop; asked all the time, so the ledger hears here of what parts have proved meanwhile."""
        self._tell()
        return self._stopped()

    def _stopped(self) -> bool:
        if self._closed:
            return self._time(1.0) <= 0.0 or self.ledger.stop.raised
        return stop_reason(self.ledger, self.options) is not None

    def _tell(self) -> None:
        if not self.account.parts:
            return
        # Every part's bound is the word of its own ledger, which takes none once its own flag is up.
        self.ledger.raise_bound(self.account.bound, whole=True)
        self.ledger.open_nodes = sum(part.tries == 0 for part in self.account.parts)
        self.ledger.phase = self.account.words(self.ledger.upper)

    # -- contraction -----------------------------------------------------------------------------------------
    def _contract(self) -> bool:
        """Whether links that every better clustering has make the problem much smaller.

        No certificate holds them, so whoever asks for one does without.
        """
        parts, N = self.account.parts, self.instance.n_groups
        wanted = not (self.ledger.keeps_proof or self.options.verify is True)
        few = max(len(part.groups) for part in parts) <= MOST_GROUPS and TUNING.most_searched >= N
        if (
            not wanted
            or not few
            or not math.isfinite(self.ledger.upper)
            or not math.isfinite(self.account.bound)
        ):
            return False
        self.ledger.phase = "what better clusterings have in common"
        below = cutoffs(np.array([part.bound for part in parts]), self.ledger.upper)
        found: list[tuple[np.ndarray, np.ndarray]] = []
        before = after = 0
        for some in (slice(0, 1), slice(1, None)):  # the first part tells whether the others are worth it
            mine = parts[some]
            tasks = [self._together(part, cutoff) for part, cutoff in zip(mine, below[some], strict=True)]
            for number, together in self._side_by_side(tasks, self._stopped, [()] * len(tasks)):
                found.append((mine[number].samples, together))
                before, after = before + len(mine[number].groups), after + len(np.unique(together))
            if after > WORTH * before:
                return False
        if self._stopped():
            return False
        self.contracted = linked(self.instance.problem, found)
        return True

    def _together(self, part: Part, cutoff: float) -> TogetherTask:
        labels = self._labels(part.samples)
        assert labels is not None
        left = max(0.0, self.options.time_left(self.ledger.seconds))
        return TogetherTask(self.restriction.part(part.samples), labels, cutoff, left)

    # -- partitions ------------------------------------------------------------------------------------------
    def _partitioned(self) -> list[Part]:
        """Parts in the image of the incumbent, of the size that promises most; none if there was no time."""
        options = self.options
        sizes = [options.part_size] if options.part_size else sizes_for(self.instance)
        if self.processes is not None:  # one node of a few samples
            few = min(sizes[0], TUNING.prepared)
            some = np.random.default_rng(options.seed).choice(self.instance.n_groups, few, replace=False)
            self.processes.prepare(self._task(Job(self._made(np.sort(some)), 0.0, 1), math.inf))
        return self._dealt(Imitation(self.instance, self._point(), self.threads), sizes)

    def _dealt(self, imitation: Imitation, sizes: list[int]) -> list[Part]:
        ledger, options = self.ledger, self.options
        ledger.phase = "size of parts"
        sizes = [size for size in sizes if self._slots * size <= self.instance.n_groups] or sizes[:1]
        size, parts, pieces = sizes[-1], list[Part](), list[np.ndarray]()
        if ledger.incumbent is not None:
            trial = self._trial(imitation, sizes)
            size = trial.size
            if trial.complete:
                parts, pieces = trial.parts, trial.rest
        ledger.phase = "partition"
        N = self.instance.n_groups
        if not parts:
            pieces = imitation.parts(
                np.arange(N), -(-N // size), options.seed, self._time(TUNING.partition_time)
            )
        elif not pieces:
            return parts
        count = len(parts) + len(pieces)
        while pieces:
            if self._stopped():
                return []  # some parts are no partition
            some = TUNING.at_once * self.threads.count
            parts, pieces = parts + self._all_made(pieces[:some]), pieces[some:]
            ledger.phase = f"partition: {len(parts)} of {count} parts"
        fresh = [part for part in parts if part.tries == 0]
        return [part for part in parts if part.tries] + self._refined(fresh, imitation)

    def _trial(self, imitation: Imitation, sizes: list[int]) -> Trial:
        """Some parts of the best size, of which a few were worked on if there is little time."""
        ledger, options = self.ledger, self.options
        allowed = ledger.tolerances.allowed(ledger.upper) / max(1.0, abs(ledger.upper))

        def share(groups: np.ndarray) -> float:
            samples = self._of(groups)
            return float(self.restriction.part(samples).objective.best(self._labels(samples)).value)

        def trial(size: int) -> Trial:
            return tried(imitation, size, self._all_made, share, options.seed, self._time(TUNING.trial_time))

        def work(trial: Trial) -> float:
            parts = trial.parts[: self._slots]
            costs = [max(1.0, abs(part.share)) for part in parts]
            gap = first_gap(allowed, trial.loss)
            jobs = [
                Job(part, gap * cost, first_nodes(self.instance))
                for part, cost in zip(parts, costs, strict=True)
            ]
            of_all = sum(len(part.groups) for part in parts) / self.instance.n_groups
            self._solve(jobs, TUNING.first_round * of_all)
            return math.fsum(part.inner for part in parts) / math.fsum(costs)

        pressed = math.isfinite(self._time(1.0)) and len(sizes) > 1

        def refine(trial: Trial) -> list[Part]:
            whole = trial.complete and not trial.rest
            return self._refined(
                trial.parts, imitation, TUNING.partition_time if whole else TUNING.trial_time
            )

        lost = most_lost(self.instance.n_features)
        return chosen(sizes, trial, refine, work if pressed else None, allowed, lost, self._stopped)

    def _refined(
        self, parts: list[Part], imitation: Imitation, time: float = TUNING.partition_time
    ) -> list[Part]:
        """Parts that do much better alone are dealt anew."""
        seconds = self._time(time)
        return refined(
            parts,
            imitation,
            self._all_made,
            at_once=self.threads.count,
            seed=self.options.seed,
            seconds=seconds,
            over=self._stopped,
        )

    def _time(self, share: float) -> float:
        """That share of the time that is left, in seconds."""
        return share * self.options.time_left(self.ledger.seconds)

    def _all_made(self, pieces: Sequence[np.ndarray]) -> list[Part]:
        """Parts, made by threads; the first one alone, so that they do not load kernels at the same time."""
        parts = [self._made(groups) for groups in pieces[:1]] * len(pieces)

        def work(first: int, last: int) -> None:
            for i in range(first + 1, last + 1):
                parts[i] = self._made(pieces[i])

        self.threads.over(len(pieces) - 1, work)
        return parts

    def _made(self, groups: np.ndarray) -> Part:
        """A part of groups, with what the incumbent costs there and a bound that takes no search."""
        samples = self._of(groups)
        problem = self.restriction.part(samples)
        instance, labels = reduce(problem), self._labels(samples)
        part = Part(groups, samples, math.inf, first_bound(instance), math.inf)
        if labels is not None:
            part.share = float(problem.objective.best(labels).value)
            start, most = instance.contract(labels), TUNING.most_perturbed
            found, _ = LocalSearch(instance).perturbed(start, TUNING.perturbed * instance.n_components, most)
            part.value = min(part.share, float(problem.objective.best(instance.expand(found)).value))
        return part

    def _of(self, groups: np.ndarray) -> np.ndarray:
        """The samples of groups, ascending."""
        if self._samples is None:
            return groups
        return np.sort(np.concatenate([self._samples[g] for g in groups]))

    def _pairs(self) -> tuple[list[tuple[Part, Part]], int]:
        """The parts with the largest gaps, two by two, and for how many there is time once they are put together."""
        parts = sorted(self.account.parts, key=lambda part: part.bound - part.share)
        many = max(2, len(parts) // 4 * 2)
        pairs = list(zip(parts[:many:2], parts[1:many:2], strict=False))
        needed = np.cumsum([TUNING.more_time * _seconds_of(pair) for pair in pairs])
        return pairs, int(np.count_nonzero(needed <= self._time(1.0) * self._slots))

    def _merge(self, pairs: list[tuple[Part, Part]]) -> None:
        """Put parts together, two by two: larger parts leave less between them."""
        merged = self._all_made([np.sort(np.concatenate([a.groups, b.groups])) for a, b in pairs])
        for part, (a, b) in zip(merged, pairs, strict=True):
            part.bound = max(part.bound, summed([a.bound, b.bound]))
            part.proofs = a.proofs + b.proofs
            part.seconds = _seconds_of((a, b))
        gone = {part for pair in pairs for part in pair}
        self.account = Account(merged + [part for part in self.account.parts if part not in gone])

    # -- the incumbent ---------------------------------------------------------------------------------------
    def _improve(self, means: np.ndarray | None) -> None:
        """Local search on everything from the means of a part; what the parts do alone is then compared with that."""
        if means is None or self.instance.n_groups > TUNING.most_searched or self._stopped():
            return
        own = np.stack([self.instance.whitened(k, mean) for k, mean in enumerate(means)])
        found = LocalSearch(self.instance).from_means(own)
        if found is not None and self.ledger.offer(self.instance.expand(found[0]), "parts"):
            for part in self.account.parts:
                labels = self._labels(part.samples)
                part.share = float(self.restriction.part(part.samples).objective.best(labels).value)
                part.value = min(part.value, part.share)

    def _point(self) -> Point:
        """The incumbent, or any clustering, to make parts alike."""
        found = self.ledger.incumbent
        if found is not None:
            return found
        labels = np.arange(self.instance.n_groups) % self.instance.n_components
        objective = self.instance.problem.objective
        means = objective.best_means(self.instance.expand(labels))
        K = self.instance.n_components
        return Point(self.instance.expand(labels), means, np.full(K, 1.0 / K), math.inf)

    def _labels(self, samples: np.ndarray) -> np.ndarray | None:
        found = self.ledger.incumbent
        return None if found is None else found.labels[samples]

    @property
    def _merged_groups(self) -> bool:
        return self.instance.n_groups < self.instance.n_samples


def _seconds_of(pair: tuple[Part, Part]) -> float:
    """What two parts may take together."""
    return TUNING.larger * max(part.seconds for part in pair)
