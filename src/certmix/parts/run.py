"""One run by parts: it partitions, works on the parts round by round, and keeps the ledger's bound up to date."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from certmix.cluster import Cluster
from certmix.io.npz import Spool
from certmix.ledger import Ledger
from certmix.local.moves import LocalSearch
from certmix.options import Options
from certmix.parts.account import Account, Part, summed
from certmix.parts.partition import Imitation
from certmix.parts.refining import refined
from certmix.parts.resumed import parts_of, state_of
from certmix.parts.schedule import COARSE, FIRST_NODES, Job, next_jobs
from certmix.parts.sizes import chosen_size, sizes_for
from certmix.parts.task import PartAnswer, PartTask
from certmix.parts.workers import side_by_side
from certmix.presolve.first_bound import first_bound
from certmix.presolve.instance import Instance, reduce
from certmix.problem import Point
from certmix.problem.restriction import Restriction
from certmix.search.stopping import stop_reason
from certmix.state import State
from certmix.status import Termination
from certmix.stopping import Stop

PARTITION_TIME = 0.05  # share of the time left for exchanges, and again for dealing parts anew

MOST_SEARCHED = (
    20_000  # groups: with more, a local search on everything from the means of a part takes too long
)


class PartsRun:
    """The state of one run.

    Parameters
    ----------
    cluster : who works on parts; threads of this process where there is none
    """

    def __init__(
        self, instance: Instance, ledger: Ledger, options: Options, cluster: Cluster | None = None
    ) -> None:
        self.instance, self.ledger, self.options, self.cluster = instance, ledger, options, cluster
        self.restriction = Restriction(instance.problem)
        order = np.argsort(instance.groups.of, kind="stable")
        self._samples = np.split(order, np.cumsum(instance.weight)[:-1]) if self._merged_groups else None
        self._spool = Spool() if ledger.keeps_proof else None
        self.account = Account([])

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
        """Work until the gap is reached or a limit strikes; None when only the whole problem is left to work on."""
        ledger, options = self.ledger, self.options
        self.account = Account(self._taken_up() or self._partitioned())
        self._keep_record()
        ledger.resumable = self if self.account.parts else None
        while not self._over():
            jobs = next_jobs(
                self.account,
                ledger.upper,
                ledger.tolerances,
                options,
                ledger.seconds,
                ledger.nodes,
                self._slots,
            )
            if jobs:
                self._improve(self._solve(jobs))
            elif len(self.account.parts) > 2:
                self._merge()
            else:
                return None
        return stop_reason(ledger, options)

    # -- work on parts ---------------------------------------------------------------------------------------
    def _solve(self, jobs: list[Job]) -> np.ndarray | None:
        """Work on some parts; the means of the one that does best alone, compared with the whole."""
        means, most = None, 0.0
        for number, answer in self._answers(jobs):
            part = jobs[number].part
            part.tries += 1
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

    def _answers(self, jobs: list[Job]) -> Iterator[tuple[int, PartAnswer]]:
        if self.cluster is not None:
            return self.cluster.side_by_side(map(self._task, jobs), self._over)
        return side_by_side(map(self._watched, jobs), self.options.n_threads, self._over)

    def _task(self, job: Job) -> PartTask:
        samples = job.part.samples
        return PartTask(
            self.restriction.part(samples),
            self._labels(samples),
            job.gap,
            job.seconds,
            job.nodes,
            self.options.seed,
            samples if self.options.certificate else None,
            self.ledger.keeps_proof,
        )

    def _watched(self, job: Job) -> Callable[[Stop], PartAnswer]:
        """In a thread the run's flag is heard, and the part hears of better bounds, unless proofs are what counts."""
        observers = () if self.options.certificate else (job.part,)
        return lambda stop: self._task(job)(stop, observers)

    @property
    def _slots(self) -> int:
        """How many parts are worked on at the same time."""
        return self.options.n_threads if self.cluster is None else self.cluster.count

    def _over(self) -> bool:
        """Whether to stop; asked all the time, so the ledger hears here of what parts have proved meanwhile."""
        self._tell()
        return self._stopped()

    def _stopped(self) -> bool:
        return stop_reason(self.ledger, self.options) is not None

    def _tell(self) -> None:
        # Every part's bound is the word of its own ledger, which takes none once its own flag is up.
        self.ledger.raise_bound(self.account.bound, whole=True)
        self.ledger.open_nodes = sum(part.tries == 0 for part in self.account.parts)
        self.ledger.phase = self.account.words(self.ledger.upper)

    # -- partitions ------------------------------------------------------------------------------------------
    def _partitioned(self) -> list[Part]:
        """Parts in the image of the incumbent, dealt anew where they do much better alone."""
        N, options = self.instance.n_groups, self.options
        imitation = Imitation(self.instance, self._point())
        self.ledger.phase = "size of parts"
        size = options.part_size or self._size(imitation)
        self.ledger.phase = "partition"
        left = options.time_left(self.ledger.seconds)
        pieces = imitation.parts(np.arange(N), -(-N // size), options.seed, PARTITION_TIME * left)
        parts = []
        for groups in pieces:
            if self._stopped():
                return []  # some parts are no partition
            parts.append(self._made(groups))
            self.ledger.phase = f"partition: {len(parts)} of {len(pieces)} parts"
        return refined(
            parts,
            imitation,
            self._made,
            seed=options.seed,
            seconds=PARTITION_TIME * options.time_left(self.ledger.seconds),
            over=self._stopped,
        )

    def _size(self, imitation: Imitation) -> int:
        if self.ledger.incumbent is None:
            return sizes_for(self.instance)[-1]

        def timed(part: Part, most: float) -> float:
            job = Job(part, COARSE * max(1.0, abs(part.share)), most, FIRST_NODES)
            answers = side_by_side([self._task(job)], 1, self._stopped)
            return next((answer.seconds for _, answer in answers), most)

        def share(groups: np.ndarray) -> float:
            samples = self._of(groups)
            labels = self._labels(samples)
            return float(self.restriction.part(samples).objective.best(labels).value)

        upper = self.ledger.upper
        allowed = self.ledger.tolerances.allowed(upper) / max(1.0, abs(upper))
        left = self.options.time_left(self.ledger.seconds)
        return chosen_size(
            imitation, self._made, share, timed, self._stopped, allowed=allowed, left=left, slots=self._slots
        )

    def _made(self, groups: np.ndarray) -> Part:
        """A part of groups, with what the incumbent costs there and a bound that takes no search."""
        samples = self._of(groups)
        problem = self.restriction.part(samples)
        instance, labels = reduce(problem), self._labels(samples)
        part = Part(groups, samples, math.inf, first_bound(instance), math.inf)
        if labels is not None:
            part.share = float(problem.objective.best(labels).value)
            found, _ = LocalSearch(instance).improve(instance.contract(labels), exact=False)
            part.value = min(part.share, float(problem.objective.best(instance.expand(found)).value))
        return part

    def _of(self, groups: np.ndarray) -> np.ndarray:
        """The samples of groups, ascending."""
        if self._samples is None:
            return groups
        return np.sort(np.concatenate([self._samples[g] for g in groups]))

    def _merge(self) -> None:
        """Put the parts with the largest gaps together, two by two: larger parts leave less between them."""
        parts = sorted(self.account.parts, key=lambda part: part.bound - part.share)
        many = max(2, len(parts) // 4 * 2)
        chosen, rest = parts[:many], parts[many:]
        pairs = list(zip(chosen[::2], chosen[1::2], strict=True))
        merged = [self._made(np.sort(np.concatenate([a.groups, b.groups]))) for a, b in pairs]
        for part, (a, b) in zip(merged, pairs, strict=True):
            part.bound = max(part.bound, summed([a.bound, b.bound]))
            part.proofs = a.proofs + b.proofs
        self.account = Account(merged + rest)

    # -- the incumbent ---------------------------------------------------------------------------------------
    def _improve(self, means: np.ndarray | None) -> None:
        """Local search on everything from the means of a part; what the parts do alone is then compared with that."""
        if means is None or self.instance.n_groups > MOST_SEARCHED or self._stopped():
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
