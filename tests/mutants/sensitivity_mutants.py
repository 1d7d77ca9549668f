"""Bugs to plant in what is asked of samples with labels, of copies, of noise, in units of any kind; and on going on."""

from __future__ import annotations

from mutant import Mutant

KINDS = ("tests/sensitivity/test_questions.py",)


RUN = ("tests/sensitivity/test_run.py",)
WITNESSES = ("tests/sensitivity/test_witnesses.py",)
KEPT = ("tests/selection/test_kept.py",)
SOFT = ("tests/softlinks/test_run_small.py",)
COSTS = ("tests/sensitivity/test_dropping.py",)


def planted(
    name: str,
    says: str,
    file: str,
    old: str,
    new: str,
    by: tuple[str, ...] = KINDS,
    folder: str = "sensitivity/",
) -> Mutant:
    return Mutant(name, says, f"{folder}{file}", old, new, by)


SENSITIVITY = (
    planted("margins: cheap witnesses", "A clustering where a local search ends costs less than it does.",
            "witnesses.py", "yield found, value_of(problem, found)", "yield found, value_of(problem, found) - 1.0",
            WITNESSES),
    planted("margins: dear witnesses", "Clusterings where a local search ends are near whatever they cost.",
            "witnesses.py", "if cost <= cutoff and", "if", WITNESSES),
    planted("margins: settled and forgotten", "What was settled in a turn that was too short for its proof is lost.",
            "run.py", "for i, (found, bound) in self.unproved.items():", "for i, (found, bound) in ():", WITNESSES),
    planted("margins: one label is enough", "A sample with a known label is with everybody it is with for sure.",
            "questions.py", "labelled = self._known[i] != NOBODY and self._known[j] != NOBODY",
            "labelled = self._known[i] != NOBODY or self._known[j] != NOBODY"),
    planted("margins: nats for sums of squares", "Delta of k-means is taken for nats.", "known.py",
            "problem.objective.best(self.labels), problem.quantity.objective(within)",
            "problem.objective.best(self.labels), within"),
    planted("margins: shown in nats", "Margins of k-means are not in sums of squares.", "known.py",
            "self.questions.place(question), self.problem.quantity.shown", "self.questions.place(question), float"),
    planted("alternatives: shown in nats", "What other clusterings of k-means cost more is not in sums of squares.",
            "alternatives.py", "p.quantity.shown(extra)", "extra"),
    planted("margins: copies are company", "A sample is not alone if it has copies.", "questions.py",
            "== self._copies", "== 1"),
    planted("margins: somebody is a copy", "To be in company copies are enough.", "questions.py",
            "more = len(problem.samples.copies([self.first])) + 1", "more = 2"),
    planted("margins: company in the first component", "A sample that is alone is in company in one component only.",
            "questions.py", "for k in components]", "for k in components[:1]]"),
    planted("margins: noise goes to the first cluster", "The only noise is forced into one cluster, not into any.",
            "questions.py", "return [[Packing([i], problem.n_clusters, 0)]]", "return [[Label(i, 0)]]"),
    planted("margins: noise that stays", "The only noise is elsewhere where it is noise.", "questions.py",
            "same[self._noise] = labels[self._first[self._noise]] == self._last",
            "same[self._noise] = labels[self._first[self._noise]] != self._last"),
    planted("margins: noise is a cluster", "Labels of noise are shown as those of a cluster.", "witnesses.py",
            "np.where(found == problem.n_clusters, LABEL, found)", "np.where(found == LABEL, LABEL, found)"),
    planted("alternatives: all components are alike", "The same clusters in other components are the same clustering.",
            "partitions.py", "classes = interchangeable(problem)\n    free",
            "classes = 0 * interchangeable(problem)\n    free"),
    planted("margins: soft links are not there", "What is found with a link more pays no penalties.", "forced.py",
            "constraints=[*problem.given_constraints, *constraints]",
            "constraints=[*(c for c in problem.given_constraints if not getattr(c, 'penalty', 0)), *constraints]"),
    planted("alternatives: every copy moves", "A sample that stands for several is told as often.", "alternatives.py",
            "for i in rows[own[rows] != reported[rows]].tolist()",
            "for i in np.flatnonzero(own != reported).tolist()"),
    planted("alternatives: costs in nats", "What other clusterings of k-means cost is not in sums of squares.",
            "alternatives.py", "Alternative(given, p.quantity.shown(value)", "Alternative(given, value"),
    planted("alternatives: noise is a cluster", "Labels of noise are those of a cluster in the list.",
            "alternatives.py", "given, extra = as_shown(p, own),", "given, extra = own[p.samples.first],"),
    planted("costs: without those before, too", "A constraint costs what it costs with all before it.", "dropping.py",
            "enumerate(problem.constraints) if j != i]", "enumerate(problem.constraints) if j > i]", COSTS),
    planted("costs: a bound for the other end", "No constraint costs more than the bound of the problem says.",
            "dropping.py", "math.nextafter(result.objective - without.lower_bound, math.inf)",
            "math.nextafter(result.lower_bound - without.lower_bound, math.inf)", COSTS),
    planted("margins: any earlier certificate", "What an earlier run had proved of margins is not checked.", "proof.py",
            "if not verdict.verified:", "if False:", RUN),
    planted("margins: of any delta", "What an earlier run had proved counts for a larger delta, too.", "proof.py",
            'if document["within"] != self.within:', "if False:", RUN),
    planted("resumed: any certificate", "A run that is over is taken from its folder, whatever the checker says.",
            "resuming.py", "if not verdict.verified:", "if False:", KEPT, ""),
    planted("soft links: a bound of both for one", "The bound of sum and penalties is called one of the sum.",
            "result.py", "found = self._without_penalty(self.lower_bound)",
            "found = self.quantity.shown(self.lower_bound)", SOFT, ""),
)  # fmt: skip
