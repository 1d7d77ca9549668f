"""Bugs to plant in the checker, spread over all of its modules; the tests of ``tests/verify`` have to notice."""

from __future__ import annotations

from mutant_table import Mutant

EXHAUSTIVE = ("tests/verify/test_exhaustive_steps.py",)
LAGRANGIAN = ("tests/verify/test_lagrangian_step.py",)
SEMIDEFINITE = ("tests/verify/test_semidefinite_step.py",)
ROOT = ("tests/verify/test_root.py",)
TREE = ("tests/verify/test_tree.py",)
ROUNDING = ("tests/verify/test_checker_rounding.py",)
INCUMBENT = ("tests/verify/test_incumbent.py",)
INFEASIBLE = ("tests/verify/test_infeasible.py",)
HOSTILE = ("tests/verify/test_hostile_statements.py",)
BOMBS = ("tests/verify/test_bombs.py",)
EXACT = ("tests/nasty/test_exact_root.py",)
NASTY = ("tests/nasty/test_exact_checker.py",)
CONCLUSIONS = ("tests/verify/test_conclusions.py",)
BOXES = ("tests/verify/test_boxes.py",)
COMPARING = ("tests/certificate/test_comparing.py",)


def planted(
    name: str, says: str, file: str, old: str, new: str, by: tuple[str, ...], fast: bool = False
) -> Mutant:
    return Mutant(f"checker: {name}", says, f"verify/{file}", old, new, by, fast)


CHECKER = (
    planted("any version", "A certificate of any version is read.", "check.py",
            "type(version) is not int or version != VERSION", "False", INFEASIBLE, True),
    planted("statement not covered", "The digest of the statement is not compared.", "check.py",
            'if digests.get("statement") != statement.digest(document["statement"]):', "if False:", COMPARING),
    planted("bound above its clustering", "A bound above the value of its own clustering is accepted.", "check.py",
            "if bound > max(most, objective):", "if False:", HOSTILE, True),
    planted("numbers prove infeasibility", "Numbers may decide in a proof of infeasibility.", "check.py",
            "for kind in COMBINATORIAL}", "for kind in STEPS}", INFEASIBLE, True),
    planted("sizes not checked", "The clustering may break a size limit.", "incumbent.py",
            "((sizes < low) | (sizes > high)).any()", "False", INCUMBENT),
    planted("must-links not checked", "The clustering may break a must-link.", "incumbent.py",
            "(labels[a] != labels[b]).any()", "False", INCUMBENT),
    planted("cannot-links not checked", "The clustering may break a cannot-link.", "incumbent.py",
            "(labels[c] == labels[d]).any()", "False", INCUMBENT),
    planted("implications not checked", "The clustering may break an implication.", "incumbent.py",
            "(((k < 0) | (labels[i] == k)) & (labels[i] != labels[j])).any()", "False", INCUMBENT),
    planted("general implications not checked", "An implication for every component is none.", "incumbent.py",
            "((k < 0) | (labels[i] == k))", "(labels[i] == k)", INCUMBENT),
    planted("known labels not checked", "The clustering may break a known label.", "incumbent.py",
            "(labels[known] != component).any()", "False", INCUMBENT, True),
    planted("counts not checked", "The clustering may break a count.", "incumbent.py",
            "not least <= np.count_nonzero(labels[samples] == k) <= most", "False", INCUMBENT),
    planted("loose lists", "Whatever can be gone through is a list.", "statement.py",
            "if not isinstance(value, list):", "if False:", COMPARING),
    planted("no limit", "Arrays of any size are made.", "evidence.py",
            "if math.prod(map(int, shape)) * each > MOST_BYTES:", "if False:", BOMBS),
    planted("numbers out of range", "Whole numbers of an array may be anything.", "evidence.py",
            "if ((array < low) | (array > high)).any():", "if False:", TREE),
    planted("prior not proved", "A prior need not be positive semidefinite.", "coordinates.py",
            "if not proved_semidefinite(prior):", "if False:", HOSTILE, True),
    planted("factor taken as exact", "The residual of a factorisation is taken as zero.", "coordinates.py",
            "e = residual(matrix, a, g)", "e = 0.0 * residual(matrix, a, g)", EXACT, True),
    planted("no ratio", "A'A is taken to be below the precision.", "coordinates.py",
            "    return a, g, r\n", "    return a, g, 0.0\n", EXACT),
    planted("prior's axes taken as exact", "What is lost on the way to the prior's axes is not taken off.",
            "coordinates.py", "g = (g - _disagreement(a, prior, g)) * (1 - 4 * UNIT)", "g = g * 1.0", EXACT),
    planted("inner products without loss", "Points from inner products are taken as exact.", "coordinates.py",
            "return x, 1.01 * 0.5 * math.sqrt(n) * away + TINY", "return x, 0.0", EXACT),
    planted("no error", "What rounding does to the coordinates and tables is not accounted for.", "root.py",
            "return 1.01 * (error + slip)", "return 0.0", EXACT, True),
    planted("no error of the quadratics", "Only the rounding of the tables is accounted for.", "root.py",
            "return 1.01 * (error + slip)", "return 1.01 * slip", EXACT),
    planted("no error of the tables", "Only the rounding of the quadratics is accounted for.", "root.py",
            "return 1.01 * (error + slip)", "return 1.01 * error", EXACT),
    planted("coordinates not rounded", "The rounding of points is not accounted for.", "root.py",
            "math.sqrt(2 * quadratic) * step + 0.5 * step**2", "0.0 * step", EXACT),
    planted("classes without labels", "Components with known labels are exchangeable.", "root.py",
            "labels = frozenset(i for i, c in s.labels.tolist() if c == k)", "labels = frozenset()", ROOT),
    planted("residual not exact", "A residual forgets its scale.", "rounding.py",
            "low = min(em, 2 * ef + eg)", "low = em", ROUNDING, True),
    planted("conflicts with the undecided", "A conflict takes candidates from an undecided group.", "domain.py",
            "inside = self.inside()\n        if self.apart", "inside = self.allowed\n        if self.apart",
            CONCLUSIONS, True),
    planted("sizes one too large", "What is left for a component is one too small.", "domain.py",
            "self.high = np.minimum(high, root.n - (low.sum() - low))",
            "self.high = np.minimum(high, root.n - 1 - (low.sum() - low))", TREE),
    planted("counts one too early", "A count is full one group too early.", "domain.py",
            "(least + coefficient > high)", "(least + coefficient >= high)", CONCLUSIONS, True),
    planted("a missing side", "One side of a decision may be missing.", "tree.py",
            "if decide(domain, root, other, args[one].tolist()).propagate(root):", "if False:", TREE, True),
    planted("not the first", "Any of several exchangeable components may be named.", "tree.py",
            "if kind in (IN, FIRST_AT_MOST) and k != alike[0]:", "if False:", TREE, True),
    planted("a lost size", "The other side of a size decision begins one later.", "tree.py",
            "np.maximum(child.low[which], second + 1)", "np.maximum(child.low[which], second + 2)", TREE),
    planted("enumeration without counts", "Clusterings that break a count are left in, or good ones out.",
            "enumeration.py", "good &= (found >= low) & (found <= high)", "good &= found <= high - 1", EXHAUSTIVE),
    planted("enumeration of too few", "The last clustering of every batch is left out.", "enumeration.py",
            "number = np.arange(first, min(first + batch, int(total)))",
            "number = np.arange(first, min(first + batch, int(total)) - 1)", EXHAUSTIVE, True),
    planted("shortest path of the wrong size", "Clusters of the smallest size are left out in one dimension.",
            "dynamic.py", "min(most, at - self.low) + 1)", "min(most, at - self.low))", EXHAUSTIVE, True),
    planted("shortest path without its squares", "The squares before a cluster are counted twice.", "dynamic.py",
            "rest[i, j] = best[i, j] - squares[j]", "rest[i, j] = best[i, j]", EXHAUSTIVE),
    planted("shortest path, rounding", "Sums along a path are taken as exact.", "dynamic.py",
            "below(value, 1.01 * error + root.error)", "value", NASTY),
    planted("price without its share", "A group's whole quadratic stands for min(0, q).", "lagrangian.py",
            "(second - s) / (t - s) * (1 - 8 * UNIT)", "1.0", LAGRANGIAN),
    planted("far for near", "The farthest corner stands for the nearest.", "lagrangian.py",
            "s = near + base - outward * (near + size)", "s = far + base - outward * (near + size)", LAGRANGIAN),
    planted("sum over coordinates", "The rounding of the sum over coordinates is not charged.", "lagrangian.py",
            "gamma(len(w) + x.shape[1] + 32)", "gamma(len(w) + 32)", LAGRANGIAN, True),
    planted("a tree that ends early", "A pricing tree may end before its leaves.", "lagrangian.py",
            "if position != len(axis) or used != len(cut):", "if False:", LAGRANGIAN),
    planted("level taken on trust", "The level of a block is the one that the file claims.", "blocks.py",
            "return block.level - 1.01 * (lost", "return block.level + 1e-3 - 0.0 * (lost", SEMIDEFINITE),
    planted("N negative", "N may be negative where points can be together.", "semidefinite.py",
            "if (N < 0.0)[~pool.apart].any():", "if False:", SEMIDEFINITE),
    planted("exclusions without proof", "What a step excludes is not looked at.", "semidefinite.py",
            "_check_exclusions(step, p, price, live, target)\n        domain", "pass\n        domain", SEMIDEFINITE),
    planted("boxes: any group moves", "Groups in rules are moved by exchange arguments.", "boxes.py",
            "(s.candidates() > 1) & self.single & ~s.closed", "(s.candidates() > 1) & ~s.closed", BOXES),
    planted("boxes: groups in counts move", "Groups in counts are moved by exchange arguments.", "boxes.py",
            "            self.single[groups] = False", "            pass", BOXES),
    planted("boxes: smallest size forgotten", "A group leaves whatever size it leaves behind.", "boxes.py",
            "(a - w >= root.size_lower[:, None]) | alone", "(a - w >= 0) | alone", BOXES),
    planted("boxes: largest size forgotten", "A group joins a component without room.", "boxes.py",
            "fits = s.allowed & ((b + w", "fits = s.allowed & (b >= 0) | ((b + w", BOXES),
    planted("boxes: never alone", "A group is taken not to be alone in its component.", "boxes.py",
            "alone = (near > 0) & self.plain", "alone = (near >= 0) & self.plain", BOXES),
    planted("boxes: entropy at the wrong end", "Joining is priced at the largest size.", "boxes.py",
            "self.joining[self.weight_of, np.arange(root.K)[:, None], a]",
            "self.joining[self.weight_of, np.arange(root.K)[:, None], b]", BOXES),
    planted("boxes: plain means always", "Priors on the means are forgotten in exchanges.", "boxes.py",
            "self.plain = not (boxed or root.prior_weight.any())", "self.plain = True", BOXES),
    planted("boxes: whole quadratic", "The whole cost in the favourite stands for the least one.", "boxes.py",
            "(second - least) / (top - least) * (1 - 8 * UNIT)", "1.0", BOXES),
    planted("boxes: too tight", "Boxes are cut to half the width that is proved.", "boxes.py",
            "reach = np.sqrt(2 * gap / A", "reach = 0.5 * np.sqrt(2 * gap / A", BOXES),
    planted("boxes: lifted twice", "A candidate's square is counted twice.", "boxes.py",
            "c + 0.5 * add * x * x", "c + add * x * x", BOXES),
    planted("boxes: means of the smallest size", "Means are those of components of the smallest size.", "boxes.py",
            "for m in (few, many):", "for m in (few,):", BOXES),
    planted("boxes: no empty components", "Components that may be empty are taken not to be.", "boxes.py",
            "itertools.product(*(range(len(m) + 1) for m in may))", "itertools.product(*(range(1) for _ in may))",
            BOXES),
    planted("boxes: order of all components", "Components that differ are ordered by their means.", "boxes.py",
            "alike = np.flatnonzero(classes == c)", "alike = np.arange(len(classes))", BOXES),
    planted("boxes: not alone", "Other steps may stand beside a tree of boxes.", "check.py",
            'if not alone and any(entry.get("kind") == "boxes" for entry in entries):', "if False:", BOXES, True),
    planted("boxes: open leaves", "A leaf of a tree of boxes need not be closed.", "boxes.py",
            "if not (inner | nodes.closed).all():", "if False:", BOXES),
)  # fmt: skip
