"""Bugs to plant in what a problem is and how it is reduced."""

from __future__ import annotations

from mutant import Mutant

INTERVAL = ("interval loop",)
FIRST = ("first bound",)
BOUNDS = ("tests/problem/test_objective_bounds.py",)
WHITENING = ("tests/nasty/test_exact_whitening.py",)
RESTRICTION = ("tests/problem/test_restriction.py",)
ROTATION = ("tests/presolve/test_rotation.py",)
TABLES = ("tests/presolve/test_tables.py",)
QUANTITY = ("tests/problem/test_quantity.py",)
KMEANS = ("k-means",)
WEIGHTED = ("weighted",)
SOFT = ("soft links",)
SOFT_RUN = ("tests/softlinks/test_run.py",)
SOFT_SMALL = ("tests/softlinks/test_run_small.py",)
NOISE = ("tests/problem/test_noise.py",)
NOISY = ("noise",)
MASSES = ("tests/problem/test_masses.py",)

PROBLEM = (
    # -- the first bound ---------------------------------------------------------------------------------------
    Mutant(
        "spread with one cluster too few",
        "Of the nearest neighbours in a set one less is left out than there are components.",
        "presolve/first_bound.py",
        "nearest[:, : s - K]",
        "nearest[:, : s - K + 1]",
        FIRST,
        fast=True,
    ),
    Mutant(
        "spread of the heaviest",
        "A set of groups counts with the weight of its heaviest one.",
        "presolve/first_bound.py",
        "reshape(-1, s).min(axis=1)",
        "reshape(-1, s).max(axis=1)",
        FIRST,
    ),
    Mutant(
        "spread in the first coordinates",
        "With one covariance per component only the first one's distances are looked at.",
        "presolve/first_bound.py",
        "for points in instance.points:",
        "for points in instance.points[:1]:",
        ("tests/presolve/test_first_bound.py",),
    ),
    Mutant(
        "sizes beyond the limits",
        "The least entropy is looked for among the sizes that the limits allow but for the smallest.",
        "presolve/first_bound.py",
        "sizes = np.arange(instance.size_lower[k], min",
        "sizes = np.arange(instance.size_lower[k] + 1, min",
        FIRST,
    ),
    Mutant(
        "boxes of forbidden components",
        "A group is charged the distance to the farthest box instead of the nearest.",
        "presolve/first_bound.py",
        "np.minimum(least, cost), least)",
        "cost, least)",
        FIRST,
    ),
    # -- coordinates from inner products -------------------------------------------------------------------------
    Mutant(
        "rotation without its error",
        "What points from inner products can change a cost by is left out.",
        "presolve/whitening.py",
        "return Coordinates(columns, offset, precision, np.zeros(points.shape[1]), None, points, loss)",
        "return Coordinates(columns, offset, precision, np.zeros(points.shape[1]), None, points, 0.0)",
        ROTATION,
        fast=True,
    ),
    Mutant(
        "rotation drops a direction",
        "The narrowest direction in which the samples vary is left out, and so is what that costs.",
        "presolve/rotation.py",
        "return points, distortion(points, products, slip, size)",
        "return points[:, : max(1, points.shape[1] - 1)], distortion(points, products, slip, size)",
        ROTATION,
    ),
    # -- what the engines work on ------------------------------------------------------------------------------
    Mutant(
        "weights in a box, duality forgotten",
        "The tables of bounded weights leave out the multiplier's term.",
        "presolve/tables.py",
        "cost = _minus_xlog(power, weight) + level * (weight - power / total)",
        "cost = _minus_xlog(power, weight)",
        TABLES,
    ),
    Mutant(
        "box of the means turned around",
        "The box around a rotated box is too small.",
        "presolve/instance.py",
        "lower[k] = ends.min(axis=0).sum(axis=1) - slack",
        "lower[k] = ends.mean(axis=0).sum(axis=1) - slack",
        INTERVAL,
    ),
    Mutant(
        "rounding of the whitening",
        "Coordinates are taken for exact.",
        "presolve/instance.py",
        "error = whitening_error(problem, groups, systems, centre, scatter, prior_mean, lower, upper)",
        "error = 0.0",
        WHITENING,
    ),
    # -- bounds on means and weights ---------------------------------------------------------------------------
    Mutant(
        "the side of an average in doubles",
        "Whether an average lies in its box is decided by a rounded sum.",
        "problem/averages.py",
        "np.isfinite(bound) & ~(np.abs(total) > error)",
        "np.isfinite(bound) & ~(np.abs(total) >= 0)",
        BOUNDS,
        fast=True,
    ),
    Mutant(
        "weights in bounds exceed one",
        "What rounding adds to the sum of weights is not taken off again.",
        "problem/objective.py",
        "if excess <= 0:",
        "if True:",
        BOUNDS,
    ),
    Mutant(
        "shares within a tolerance",
        "Weights tied to shares may miss their bounds by a little.",
        "problem/sizes.py",
        'low = np.searchsorted(shares, lower, side="left")',
        'low = np.searchsorted(shares, lower - 1e-9, side="left")',
        BOUNDS,
    ),
    # -- parts of the samples ----------------------------------------------------------------------------------
    Mutant(
        "parts: no empty components",
        "A component may not be empty in a part.",
        "problem/restriction.py",
        "allow_empty=True,",
        "allow_empty=p.allow_empty,",
        RESTRICTION,
        fast=True,
    ),
    Mutant(
        "parts: smallest sizes not relaxed",
        "Every part has as many samples in a component as the whole must have.",
        "problem/restriction.py",
        "if low > outside:\n                yield MinimumSize(low - outside, k)",
        "if low > 0:\n                yield MinimumSize(min(low, m), k)",
        RESTRICTION,
    ),
    Mutant(
        "parts: cannot-links across",
        "A cannot-link with one sample in the part forbids the other one a neighbour.",
        "problem/restriction.py",
        "return np.concatenate([place, rows[:, 2:]], axis=1)[inside], rows[~inside, :2]",
        "return np.concatenate([np.minimum(place, len(samples) - 1), rows[:, 2:]], axis=1), rows[~inside, :2]",
        RESTRICTION,
    ),
    Mutant(
        "parts: at-least counts not relaxed",
        "A part holds as many of a set of samples as the whole must.",
        "problem/restriction.py",
        "least = count.low - (len(count.samples) - len(some))",
        "least = min(count.low, len(some))",
        RESTRICTION,
    ),
    Mutant(
        "parts: the whole prior on the weights",
        "Every part has the whole Dirichlet prior: n stands for the size of the part.",
        "problem/restriction.py",
        "(prior.alpha - 1.0) * share",
        "(prior.alpha - 1.0)",
        RESTRICTION,
    ),
    Mutant(
        "parts: the whole prior on the means",
        "Every part has the whole Gaussian prior.",
        "problem/restriction.py",
        "_share(prior.precision.entries, share)",
        "_share(prior.precision.entries, 1.0)",
        RESTRICTION,
    ),
    Mutant(
        "parts: shares rounded to nearest",
        "The shares of a prior may add up to a little more than it.",
        "problem/restriction.py",
        "LESS = 2.0**-50",
        "LESS = 0.0",
        RESTRICTION,
    ),
    Mutant(
        "parts: groups are cut",
        "Samples that belong together may be in different parts.",
        "problem/restriction.py",
        "if len(cut):",
        "if False:",
        RESTRICTION,
    ),
    Mutant(
        "parts: alpha below one",
        "Jeffreys prior is shared out.",
        "problem/restriction.py",
        "if np.any(problem.prior.alpha < 1):",
        "if False:",
        RESTRICTION,
    ),
    # -- going on with a run -----------------------------------------------------------------------------------
    Mutant(
        "covariance: constants of one component",
        "The only component has a covariance of its own, and its normalising constants are left out.",
        "problem/covariance.py",
        'frozen(-half if what == "precision" else half), not shared)',
        'frozen(-half if what == "precision" else half), bool(np.any(half)))',
        ("tests/problem/test_masses.py",),
    ),
    Mutant(
        "variance: determinants of a known one",
        "With one covariance per component the variance does not count in the determinants.",
        "problem/covariance.py",
        "half = self.half_log_det - 0.5 * self.precision.entries.shape[1] * math.log(float(scale))",
        "half = self.half_log_det",
        ("tests/verify/claims/test_chords.py",),
    ),
    Mutant(
        "variance: out of its range",
        "The best variance of a clustering may lie outside of the range.",
        "problem/scale.py",
        "return min(max(2.0 * float(half_squares) / (problem.n_samples * problem.n_features), low), high)",
        "return 2.0 * float(half_squares) / (problem.n_samples * problem.n_features)",
        ("tests/problem/test_scale.py",),
    ),
    # -- k-means -----------------------------------------------------------------------------------------------
    Mutant(
        "k-means: half the sum of squares",
        "What is shown as the sum of squares is half of it.",
        "problem/problem.py",
        "factor = 2.0 / float(",
        "factor = 1.0 / float(",
        KMEANS,
        fast=True,
    ),
    Mutant(
        "k-means: weights of a mixture",
        "Samples pay log K for their weights, which are said to cost nothing.",
        "problem/boxes.py",
        "return frozen(np.ones(n_components))",
        "return frozen(np.full(n_components, 1.0 / n_components))",
        KMEANS,
        fast=True,
    ),
    Mutant(
        "k-means: parts of other units",
        "A part of k-means chooses its own variance, so bounds of parts cannot be added.",
        "problem/problem.py",
        "variance = None if own else kmeans_variance(self.samples.filled)",
        "variance, covariance = kmeans_variance(self.samples.filled), None",
        QUANTITY,
    ),
    # -- weights of samples ------------------------------------------------------------------------------------
    Mutant(
        "weights: one copy in a count",
        "A constraint on how many of a set are in a component counts a sample once, whatever its weight.",
        "problem/rules.py",
        'rows = samples.copies(_distinct(item.samples, samples, "stands twice in the set"))',
        'rows = _distinct(item.samples, samples, "stands twice in the set")',
        WEIGHTED,
        fast=True,
    ),
    Mutant(
        "weights: copies may part",
        "The copies of a sample need not be together.",
        "problem/rules.py",
        "together += [Link(i, i + copy, origin) for copy in range(1, item.count)]",
        "together += [Link(i, i + copy, origin) for copy in range(1, item.count - 1)]",
        WEIGHTED,
    ),
    Mutant(
        "weights: another sample's position",
        "A constraint on a sample is about the copy with the number of the sample.",
        "problem/copies.py",
        "return int(self.first[self._original.position(ref)])",
        "return int(self._original.position(ref))",
        ("tests/problem/test_copies.py",),
    ),
    Mutant(
        "weights: forgotten",
        "A problem that is made of another one has no weights.",
        "problem/problem.py",
        '"sample_weight": self.given_sample_weight,',
        '"sample_weight": None,',
        ("tests/problem/test_copies.py",),
    ),
    # -- values that do not count once -------------------------------------------------------------------------
    Mutant(
        "masses: a value for every sample",
        "What is missing in a group counts as if it were there.",
        "presolve/instance.py",
        "np.add.at(mass, groups.of, each)",
        "np.add.at(mass, groups.of, np.ones_like(each))",
        MASSES,
        fast=True,
    ),
    Mutant(
        "masses: weights cost nothing",
        "A weight in the mixture costs every sample the same, whatever the sample's own weight.",
        "problem/masses.py",
        "costs = costs - each[:, None] * np.log(p.fixed_weights)",
        "costs = costs - np.log(p.fixed_weights)",
        MASSES,
        fast=True,
    ),
    Mutant(
        "masses: the constant of a whole sample",
        "A sample with missing values pays the normalising constant of all features.",
        "problem/masses.py",
        "if masses.missing and p.covariance.constants_count and not p.squares:",
        "if False:",
        MASSES,
    ),
    Mutant(
        "masses: forgotten in a part",
        "The samples of a part count once.",
        "problem/restriction.py",
        "sample_weight=given.part(samples) if isinstance(given, RealWeights) else None,",
        "sample_weight=None,",
        MASSES,
    ),
    Mutant(
        "soft links: nothing to pay",
        "The objective does not count what is broken.",
        "problem/objective.py",
        "return math.fsum(link.penalty for link in self.problem.rules.soft if link.broken(labels))",
        "return 0.0",
        SOFT,
        fast=True,
    ),
    Mutant(
        "soft links: three apart",
        "Samples that should be apart are so unless all of them are together.",
        "problem/rules.py",
        "different > 1 if self.together else different < len(self.samples)",
        "different > 1 if self.together else different == 1",
        SOFT,
    ),
    Mutant(
        "soft links: kept links need not hold",
        "The problem of a node has none of the links that it keeps.",
        "problem/hardening.py",
        "if kept is None or i in kept}",
        "if kept is None}",
        SOFT_RUN,
    ),
    Mutant(
        "soft links: nats for k-means",
        "A penalty in units of the sum of squares is taken for nats.",
        "problem/problem.py",
        "constraints, self.samples, self.component, self._quantity().objective",
        "constraints, self.samples, self.component",
        SOFT_SMALL,
    ),
    # -- noise -------------------------------------------------------------------------------------------------
    Mutant(
        "noise: constants of clusters only",
        "A sample in the noise costs the constant, too, that is left out everywhere else.",
        "problem/noise.py",
        "return -self.log_density - 0.5 * n_features * math.log(2.0 * math.pi)",
        "return -self.log_density",
        NOISE,
    ),
    Mutant(
        "noise: no determinant",
        "The determinant of the clusters is left out, as if every sample had it.",
        "problem/noise.py",
        "if covariance.shared and noise.log_density is not None:",
        "if False:",
        NOISE,
        fast=True,
    ),
    Mutant(
        "noise: limits of all",
        "A limit on the sizes of all components is one on the noise, too.",
        "problem/rules.py",
        "every = [k] if n_clusters is None or k != ALL else range(n_clusters)",
        "every = [k]",
        NOISE,
    ),
    Mutant(
        "noise: with distances",
        "Samples in the noise have distances to its mean.",
        "presolve/whitening.py",
        "return np.zeros(precision.entries.shape[1]), np.zeros(precision.entries.shape[1])",
        "return np.ones(precision.entries.shape[1]), np.zeros(precision.entries.shape[1])",
        NOISY,
    ),
)
