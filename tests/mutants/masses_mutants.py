"""Bugs to plant in what the checker does with missing values and weights of samples."""

from __future__ import annotations

from checker_mutants import BOXES, EXACT, PRICES, planted

MASSES = ("tests/verify/test_check_masses.py",)

CHECKED_MASSES = (
    planted("masses: means follow as if counted", "Hartigan's factors of sizes are used where masses differ.",
            "narrowing.py", "if self.plain and c.counted:", "if self.plain:", BOXES),
    planted("masses: sizes limit masses", "A mean is that of so many samples, whatever they count.", "narrowing.py",
            "if not c.counted:", "if False:", BOXES),
    planted("masses: the mean of nothing", "A component whose members lack a value has the mean of the others.",
            "narrowing.py", "least = np.where(full + few == 0, np.fmin(least, 0.0), least)", "pass", BOXES),
    planted("masses: near in features that are missing", "Distances count in all features.", "narrowing.py",
            "near += nearest if len(half) == 1 else half[j] * nearest", "near += half.max(axis=0) * nearest", BOXES),
    planted("masses: one mass in a bound", "All quadratics have the mass of the first feature.", "narrowing.py",
            "if j < len(self.mass):", "if j < 1:", PRICES),
    planted("masses: one sample once", "Sets of one sample are priced as if it counted once.", "lagrangian.py",
            "x, w, prior, m = c.points[0, one], c.mass[one],", "x, w, prior, m = c.points[0, one], 1.0,", PRICES),
    planted("masses: one sample without its constant", "What a sample costs beside its distance is forgotten.",
            "lagrangian.py", "value.sum(axis=1) + own - t + h - lost", "value.sum(axis=1) - t + h - lost", MASSES),
    planted("masses: constants forgotten", "What a group costs beside distance and size is forgotten.", "root.py",
            "self.scatter = inside + self.beside", "self.scatter = inside + 0.0 * self.beside", MASSES),
    planted("masses: constants counted twice", "Where samples have weights, sizes cost as well.", "root.py",
            "np.arange(s.n + 1.0) * (not s.weighted)", "np.arange(s.n + 1.0)", MASSES),
    planted("masses: logarithms are exact", "The rounding of what groups cost beside distances is forgotten.",
            "root.py", "return cost, gamma(s.d + int(self.weight.max()) + 16)", "return cost, 0.0", EXACT),
    planted("masses: the clustering counts once", "The value of a clustering forgets weights of samples.",
            "incumbent.py", "(0.5 * (mass * times(away, p) * away).sum(axis=1))",
            "(0.5 * (times(away, p) * away).sum(axis=1))", MASSES, True),
    planted("masses: sizes as powers", "The weights of components count samples, not their weights.", "incumbent.py",
            "exact_sum(s.weight[own], a, -1.0)", "exact_sum(1.0 + 0.0 * s.weight[own], a, -1.0)", MASSES),
    planted("masses: exact counts once", "One clustering is looked at as if every value counted once.", "exact.py",
            "products = (y @ matrix) * fractions(self.each)", "products = y @ matrix", MASSES),
    planted("masses: exact without constants", "One clustering costs nothing beside distances and sizes.", "exact.py",
            "*self.quadratic(labels), *beside]", "*self.quadratic(labels)]", MASSES),
    planted("masses: free weights", "Samples have weights where components have free ones.", "statement.py",
            "if s.fixed_weights is None or s.estimators or s.unknown:", "if s.estimators or s.unknown:", MASSES),
    planted("masses: any weight", "Weights of samples may be so small that they underflow, or negative.",
            "statement.py", "if not ((s.weight >= LIGHTEST) & (s.weight <= HEAVIEST)).all():", "if False:", MASSES),
    planted("masses: correlated gaps", "Values may be missing where features are correlated.", "statement.py",
            "if not diagonal or s.unknown or", "if s.unknown or", MASSES),
    planted("masses: semidefinite", "The semidefinite bound is used with masses.", "semidefinite.py",
            "if not root.counted:", "if False:", MASSES),
    planted("masses: shortest path", "The shortest path is used with masses.", "dynamic.py",
            "if not root.counted:", "if False:", MASSES),
    planted("masses: weights of other samples", "A part has the weights of the first samples.", "claims/parts.py",
            "s.weight[self.samples(t)].tolist()", "s.weight[: len(self.samples(t))].tolist()", MASSES),
    planted("masses: carried to another number", "With weights of samples bounds are carried on.", "claims/criteria.py",
            "or s.weighted", "or False", MASSES),
)  # fmt: skip
