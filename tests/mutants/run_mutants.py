"""Bugs to plant in all that stands around the search: runs, proofs, files, margins, soft links, unknown variances."""

from __future__ import annotations

from mutant import Mutant

INTERVAL = ("interval loop",)
BNB = ("bnb loop",)
STOPPING = ("tests/test_stopping.py",)
ACCOUNT = ("tests/search/test_loop_account.py",)
INCUMBENT = ("tests/verify/test_incumbent.py",)
REFUSED = ("tests/test_resuming_refused.py",)
CONTRACTION = ("tests/parts/test_contraction.py",)
SCHEDULE = ("tests/parts/test_schedule.py",)
MARGINS = ("tests/sensitivity/test_run.py",)
ALTERNATIVES = ("tests/sensitivity/test_alternatives.py",)
COSTS = ("tests/sensitivity/test_dropping.py",)
OF_ALL = ("margins",)
KNOWN = ("tests/sensitivity/test_known.py",)
LISTED = ("alternatives",)
PRICED = ("constraint costs",)
SEARCHED = ("tests/sensitivity/test_boxes.py",)
ROTATION = ("tests/presolve/test_rotation.py",)
QUANTITY = ("tests/problem/test_quantity.py",)
SOFT = ("soft links",)
SOFT_SMALL = ("tests/softlinks/test_run_small.py",)
CRITERION = ("tests/selection/test_criterion.py",)
NOISE = ("tests/problem/test_noise.py",)
NOISE_ESTIMATOR = ("tests/test_estimator_noise.py",)
KMEANS = ("tests/test_kmeans.py",)
OWN_VARIANCE = ("tests/test_estimator_variance.py",)

RUN = (
    # -- numbers of components ---------------------------------------------------------------------------------
    Mutant(
        "masses: ICL of what is missing",
        "Values that are missing have a density in the ICL, and weights of samples have none.",
        "selection/criterion.py",
        "    if problem.masses is None:\n        return np.full(",
        "    if True:\n        return np.full(",
        CRITERION,
    ),
    # -- estimators --------------------------------------------------------------------------------------------
    Mutant(
        "estimator: names of other samples",
        "Where samples of weight zero are left out, the others have the names of the first ones.",
        "fitting.py",
        "[known[i] for i in np.flatnonzero(kept)]",
        "known[: int(kept.sum())]",
        KMEANS,
    ),
    Mutant(
        "estimator: largest sizes forgotten",
        "The parameter max_size has no effect.",
        "problem/constraints.py",
        '    "max_size": (MaximumSize, None),\n',
        "",
        KMEANS,
    ),
    Mutant(
        "estimator: noise without a limit",
        "The parameter noise_max limits every cluster.",
        "problem/constraints.py",
        '"noise_max": (MaximumSize, NOISE)',
        '"noise_max": (MaximumSize, None)',
        NOISE_ESTIMATOR,
    ),
    Mutant(
        "estimator: scores count once",
        "A score forgets the weights of samples.",
        "kmeans.py",
        "squares * weights_of(1.0 if sample_weight is None else sample_weight, len(squares))",
        "squares",
        KMEANS,
    ),
    Mutant(
        "estimator: any weights",
        "Weights that are no numbers of at least zero are taken as they are.",
        "fitting.py",
        "wrong = np.flatnonzero(~(np.isfinite(found) & (found >= 0.0)))",
        "wrong = np.zeros(0, dtype=np.int64)",
        KMEANS,
    ),
    Mutant(
        "estimator: centres as they are",
        "Centres to start from must obey the side constraints.",
        "fitting.py",
        "    if is_feasible(problem, labels):\n        return labels\n",
        "    return labels\n",
        KMEANS,
    ),
    Mutant(
        "estimator: the bound in other units",
        "The lower bound of the inertia is that of the objective inside.",
        "kmeans.py",
        "self.inertia_lower_bound_ = result.sse_lower_bound",
        "self.inertia_lower_bound_ = result.lower_bound",
        KMEANS,
    ),
    Mutant(
        "estimator: a parameter too few",
        "BIC and AIC count one parameter less than are fitted.",
        "estimator.py",
        "self._n_parameters = n_parameters(problem)",
        "self._n_parameters = n_parameters(problem) - 1",
        OWN_VARIANCE,
    ),
    # -- the loop, the ledger, the status ----------------------------------------------------------------------
    Mutant(
        "infeasible incumbent",
        "A clustering is accepted without a look at the constraints.",
        "ledger.py",
        "if not is_feasible(self.problem, labels):",
        "if False:",
        BNB,
        fast=True,
    ),
    Mutant(
        "bounds after the flag",
        "A bound of a kernel that was cut short counts.",
        "ledger.py",
        "if self.sealed or (self.stop.raised and not whole):",
        "if self.sealed:",
        STOPPING,
    ),
    Mutant(
        "the last word of a stopped engine",
        "An engine whose kernels were cut short is believed when it says that nothing is feasible.",
        "solving.py",
        "if stop.reason is None:",
        "if True:",
        STOPPING,
    ),
    # -- the first bound ---------------------------------------------------------------------------------------
    Mutant(
        "falling bound",
        "A weaker bound replaces a stronger one.",
        "ledger.py",
        "if bound > self.bound:",
        "if bound != self.bound:",
        ACCOUNT,
    ),
    Mutant(
        "always optimal",
        "Whoever has an incumbent is called optimal.",
        "status.py",
        "return Status.OPTIMAL if gap.closed(upper, lower) else Status.FEASIBLE",
        "return Status.OPTIMAL",
        INTERVAL,
    ),
    Mutant(
        "nothing found is nothing there",
        "A run that found no clustering says that there is none.",
        "status.py",
        "return Status.INFEASIBLE if infeasible else Status.UNKNOWN",
        "return Status.INFEASIBLE",
        INTERVAL,
    ),
    Mutant(
        "closed too early",
        "Nodes are closed at twice the gap that was asked for.",
        "status.py",
        "return upper - 0.999 * self.allowed(upper)",
        "return upper - 2.0 * self.allowed(upper)",
        INTERVAL,
    ),
    # -- coordinates from inner products -------------------------------------------------------------------------
    Mutant(
        "checker: rotation without its error",
        "The checker leaves out what points from inner products can change a cost by.",
        "verify/coordinates.py",
        "return x, 1.01 * 0.5 * math.sqrt(n) * away + TINY",
        "return x, TINY",
        ROTATION,
    ),
    Mutant(
        "checker: precision of constant features not looked at",
        "A negative precision passes where the feature has no coordinate.",
        "verify/coordinates.py",
        "free = free and bool(positive or not precision.any())",
        "free = bool(free)",
        ROTATION,
    ),
    Mutant(
        "checker: large residuals without their error",
        "The residual of a large matrix is taken for exact.",
        "verify/coordinates.py",
        "unsure = gamma(2 * d + 16) * (",
        "unsure = 0.0 * (",
        ("tests/verify/test_rounding.py",),
        fast=True,
    ),
    # -- bounds on means and weights ---------------------------------------------------------------------------
    Mutant(
        "a mean outside its bounds",
        "The checker takes the objective at means that lie outside their bounds by a hair.",
        "verify/incumbent.py",
        "if (means[k] < low).any() or (means[k] > high).any():",
        "if (means[k] < low - 1e-9).any() or (means[k] > high + 1e-9).any():",
        INCUMBENT,
        fast=True,
    ),
    Mutant(
        "an average outside its bounds",
        "The checker does not ask whether averages keep the bounds of tied means.",
        "verify/incumbent.py",
        "if away[0] < 0 or away[1] > 0:",
        "if away[0] < 0 and away[1] > 0:",
        INCUMBENT,
    ),
    Mutant(
        "the prior does not charge",
        "A tied mean is taken where it was rounded to, which a steep prior may like better.",
        "verify/incumbent.py",
        "error += 1.01 * float(times(off[k], prior) @ (np.abs(gap) + off[k]))",
        "error += 0.0",
        INCUMBENT,
    ),
    Mutant(
        "weights above one",
        "Free weights that add up to more than one are worth what they seem.",
        "verify/incumbent.py",
        "if over <= 0:",
        "if True:",
        INCUMBENT,
    ),
    Mutant(
        "a weight outside its bounds",
        "The checker forgives weights 1e-9.",
        "verify/incumbent.py",
        "if (weights < low).any() or (weights > high).any():",
        "if (weights < low - 1e-9).any() or (weights > high + 1e-9).any():",
        INCUMBENT,
    ),
    # -- turns of parts ----------------------------------------------------------------------------------------
    Mutant(
        "turns: the first takes all",
        "A part may take all the time that nobody seems to need.",
        "parts/schedule.py",
        "max(0.0, left) / turns + TUNING.spare * spare",
        "max(0.0, left) / turns + spare",
        SCHEDULE,
    ),
    Mutant(
        "turns: equal shares only",
        "What others leave is nobody's.",
        "parts/schedule.py",
        "if len(self._taken) >= TUNING.enough and math.isfinite(left):",
        "if False:",
        SCHEDULE,
    ),
    Mutant(
        "turns: one after the other",
        "Parts that are worked on at the same time share the clock as if they were not.",
        "parts/schedule.py",
        "turns = -(-self.waiting // self._slots)",
        "turns = self.waiting",
        SCHEDULE,
    ),
    Mutant(
        "turns: time below nothing",
        "Once the time is over parts have less than none.",
        "parts/schedule.py",
        "return max(0.0, left) / turns",
        "return left / turns",
        SCHEDULE,
    ),
    # -- contraction -------------------------------------------------------------------------------------------
    Mutant(
        "contraction: the gap of the others forgotten",
        "What costs more than a part's own bound by a little is cut off, though others may make up for it.",
        "parts/contraction.py",
        "return bounds + lacking + 4.0 * EPS * np.abs(bounds)",
        "return bounds + lacking / len(bounds)",
        CONTRACTION,
    ),
    Mutant(
        "contraction: one root for all",
        "Samples that are together with one choice of sizes are linked, though other choices separate them.",
        "parts/contraction.py",
        "rows = np.stack([*columns,",
        "rows = np.stack([*columns[:1],",
        CONTRACTION,
    ),
    Mutant(
        "contraction: names instead of components",
        "Groups that are not decided count as together.",
        "parts/contraction.py",
        "-1 - np.arange(n_groups)",
        "-1",
        CONTRACTION,
    ),
    Mutant(
        "contraction: what was cut off is forgotten",
        "The bound of the problem with links is taken for one on everything.",
        "parts/contraction.py",
        "self.ledger.raise_bound(min(self.upper, progress.bound), whole=True)",
        "self.ledger.bound = max(self.ledger.bound, progress.bound)",
        CONTRACTION,
    ),
    # -- margins and alternatives --------------------------------------------------------------------------------
    Mutant(
        "margins: a witness of the same",
        "A clustering that has what is in question counts as one that has the opposite.",
        "sensitivity/questions.py",
        "return np.asarray(same != self._together)",
        "return np.asarray(same == self._together)",
        MARGINS,
    ),
    Mutant(
        "alternatives: pieces overlap",
        "A group that begins a cluster is not apart from those before it in the pieces that follow.",
        "sensitivity/partitions.py",
        "prefix += [CannotLink(sample, other) for other in first.values()]",
        "prefix += []",
        ALTERNATIVES,
    ),
    Mutant(
        "costs: a clustering as its own bound",
        "What a constraint costs is counted from the clustering that was found, as if it were the best.",
        "sensitivity/dropping.py",
        "result.lower_bound - min(without.objective, result.objective)",
        "result.objective - min(without.objective, result.objective)",
        PRICED,
    ),
    Mutant(
        "attempts: what was cut short counts",
        "What work says counts though the flag went up meanwhile.",
        "stopping.py",
        "return None if stop.raised else found",
        "return found",
        STOPPING,
    ),
    Mutant(
        "attempts: another thread is ended",
        "A thread that has ended in time is told to end, and so may be another one with its number.",
        "stopping.py",
        "                    if not ended.is_set():\n                        left_alone.add",
        "                    if True:\n                        left_alone.add",
        STOPPING,
    ),
    Mutant(
        "attempts: an exception in what a kernel returns",
        "A thread in a kernel is ended like any other, while Numba makes Python objects of the answer.",
        "stopping.py",
        " and not _in_kernel(frame)",
        "",
        STOPPING,
    ),
    Mutant(
        "margins: open nodes forgotten",
        "A search by boxes that ends early claims what was settled so far, whatever is left.",
        "sensitivity/boxes.py",
        "self.together &= self._same(nodes).all(axis=0)",
        "pass",
        SEARCHED,
    ),
    Mutant(
        "margins: fixed below delta",
        "A sample counts as fixed when its margin is above nothing.",
        "sensitivity/known.py",
        "State.FIXED if self.bound[i] > self.cutoff",
        "State.FIXED if self.bound[i] > self.upper",
        KNOWN,
    ),
    Mutant(
        "margins: one opposite of several",
        "What one component says about a sample that is alone counts for all components.",
        "sensitivity/run.py",
        "self._settle(i, found, min(bounds))",
        "self._settle(i, found, max(bounds))",
        MARGINS,
    ),
    Mutant(
        "margins: links cost nothing",
        "What was found under links is claimed of clusterings without them, too.",
        "sensitivity/run.py",
        "bounds.append(min(bound, beyond) if links else bound)",
        "bounds.append(bound)",
        OF_ALL,
    ),
    Mutant(
        "alternatives: complete with pieces left",
        "The list is called complete though pieces were not looked at.",
        "sensitivity/alternatives.py",
        "not (self.waiting or self.unsettled) and bool(self.found)",
        "not self.waiting and bool(self.found)",
        LISTED,
    ),
    Mutant(
        "costs: the clustering without a constraint is the best",
        "What a constraint costs at most is counted from the clustering without it, as if that were the best.",
        "sensitivity/dropping.py",
        "result.objective - without.lower_bound",
        "result.objective - without.objective",
        COSTS,
    ),
    # -- going on with a run -----------------------------------------------------------------------------------
    Mutant(
        "resumed: another problem",
        "A run goes on with the tree and bound of any problem.",
        "resuming.py",
        'if own["digest"] == self.run.get("digest"):',
        "if True:",
        REFUSED,
        fast=True,
    ),
    Mutant(
        "resumed: overwritten unasked",
        "A run that was cut short is lost to the next one.",
        "observers/snapshot.py",
        "if not overwrite:",
        "if False:",
        REFUSED,
    ),
    Mutant(
        "resumed: half a pair",
        "The state of a run is taken from files that do not belong to its snapshot.",
        "io/npz.py",
        "if not same:",
        "if False:",
        ("tests/io/test_states.py",),
    ),
    Mutant(
        "variance: steep without its scale",
        "The least sum of squares is taken in units of the problem that was solved for it.",
        "certificate/envelope.py",
        "return least_squares(bound, n, K, half_log_det, scale * (1.0 + self.slack))",
        "return least_squares(bound, n, K, half_log_det, 1.0)",
        ("tests/certificate/test_envelope.py",),
    ),
    # -- k-means -----------------------------------------------------------------------------------------------
    Mutant(
        "k-means: an absolute gap of nats",
        "An absolute gap of sums of squares is compared with the objective as it is counted.",
        "options.py",
        "absolute=quantity.objective(shown.absolute),",
        "absolute=shown.absolute,",
        QUANTITY,
    ),
    # -- weights of samples ------------------------------------------------------------------------------------
    Mutant(
        "diagonal: squares of another feature",
        "The least squares of one feature count for the next.",
        "certificate/envelope.py",
        "cut([float(j == one.feature) for j in range(s.d)], least, 0.0)",
        "cut([float(j != one.feature) for j in range(s.d)], least, 0.0)",
        ("tests/variance/test_diagonal.py", "tests/verify/claims/test_vertices_certificates.py"),
    ),
    Mutant(
        "a solve goes on elsewhere",
        "What was proved at one variance counts at the next.",
        "variance/stored.py",
        "return squares == self.squares and np.array_equal(scale, self.scale)",
        "return squares == self.squares",
        ("tests/variance/test_inner.py",),
    ),
    Mutant(
        "squares go on as the problem itself",
        "What was proved of the sum of squares counts for the problem at that variance.",
        "variance/stored.py",
        "return squares == self.squares and np.array_equal(scale, self.scale)",
        "return np.array_equal(scale, self.scale)",
        ("tests/variance/test_inner.py",),
    ),
    Mutant(
        "stored: one name for all solves",
        "What is kept of one solve is taken for that of another when a run goes on from disk.",
        "variance/stored.py",
        "text = repr((np.asarray(self.scale).tolist(), self.squares))",
        "text = repr(self.squares)",
        ("tests/variance/test_stored.py",),
    ),
    Mutant(
        "stored: squares as the problem itself",
        "A bound of the sum of squares comes back as one of the problem.",
        "variance/stored.py",
        'which = {name: entry[name] for name in ("squares", "feature") if name in entry}',
        'which = {name: entry[name] for name in ("feature",) if name in entry}',
        ("tests/variance/test_stored.py",),
    ),
    Mutant(
        "soft links: kept ones are paid",
        "A node pays for links that it keeps.",
        "softlinks/run.py",
        "*(self.soft[i].penalty for i in node.broken)",
        "*(self.soft[i].penalty for i in node.broken | node.kept)",
        SOFT,
        fast=True,
    ),
    Mutant(
        "soft links: one side only",
        "Where a link is kept is not looked at.",
        "softlinks/run.py",
        "        self._push(kept, bound)\n",
        "",
        SOFT,
        fast=True,
    ),
    Mutant(
        "soft links: undecided links forgotten",
        "A node whose best clustering breaks undecided links is settled.",
        "softlinks/run.py",
        "not (undecided or self._rough(solved))",
        "True",
        SOFT,
    ),
    Mutant(
        "soft links: settled ones forgotten",
        "The bound is that of open nodes, whatever was settled below it.",
        "softlinks/run.py",
        "            self._settled = min(self._settled, bound)\n",
        "            pass\n",
        SOFT_SMALL,
    ),
    Mutant(
        "soft links: a rough bound is enough",
        "What was solved roughly for a poor incumbent is not solved again.",
        "softlinks/run.py",
        "return found.gap_absolute > asked and used > 1.1 * asked",
        "return False",
        SOFT_SMALL,
    ),
    # -- noise -------------------------------------------------------------------------------------------------
    Mutant(
        "noise: never empty",
        "In a statement the noise has a sample at least.",
        "certificate/statement.py",
        '"allow_empty": p.allow_empty or p.noise is not None',
        '"allow_empty": p.allow_empty',
        NOISE,
    ),
    Mutant(
        "soft links: another node's bound",
        "A node is bounded by a problem in which links have to hold that it does not keep.",
        "softlinks/run.py",
        "[one for one in self._solved if one.kept <= node.kept]",
        "list(self._solved)",
        SOFT,
    ),
)
