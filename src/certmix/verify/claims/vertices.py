"""An unknown variance: bounds at some variances, and what follows for all of them (docs/certificates.md, Chords).

To a clustering belongs a point (Q, E): half its sum of squares in the metric of the shape, and all else. Where features
have variances of their own, Q has a number for each of them. At variances 1 / t_j a clustering costs ``t Q + E``, so a
bound there is a half-space that holds all clusterings. With the best variances it costs ``sum_j f(Q_j) + E``, f(q) the
least of ``t q - N log t``, N half the values that share a variance: concave, and not falling in any direction in which
a polyhedron of Q >= q, E >= e goes on for ever. So it is least at a vertex of the polyhedron. Vertices are exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from certmix.verify.claims import chords
from certmix.verify.evidence import Document, Rejected, listed, number, whole
from certmix.verify.proof import Proof
from certmix.verify.rounding import below, gamma
from certmix.verify.statement import Statement

Exact = list[int]  # (h, h Q, h E) of a vertex; with h = 0 a direction
HalfSpace = tuple[list[float], float, float]  # (a, b, c): all (Q, E) with a Q + c E >= b


def proved(proof: Proof, bound: float) -> str:
    """Bounds at known variances, proved one after the other; what follows for all has to reach the bound."""
    share = 1.0 + chords.slack(proof.stated.precision)
    found = [_half_space(proof, t, part, share) for t, part in enumerate(proof.parts)]
    lowest = Bounds(proof.stated, found).lowest()[0]
    if not lowest >= bound:
        raise Rejected(f"for some variance its parts prove {lowest!r} only, not its bound {bound!r}")
    known = sum(sign == 1.0 for _, _, sign in found)
    return f" at any variance (by bounds at {known} of them)"


def _half_space(proof: Proof, t: int, part: Document, share: float) -> HalfSpace:
    """What part t proves of all clusterings: of what they cost at known variances, or of their squares alone."""
    s, given = proof.stated, part.get("scale")
    squares = "feature" in part if s.per_feature else part.get("squares")
    scale = [number(x, "scale") for x in (listed(given, "scale") if s.per_feature else [given])]
    count = s.d if s.per_feature and not squares else 1
    if not isinstance(squares, bool) or len(scale) != count or min(scale) <= 0.0:
        raise Rejected(f"part {t} does not say which problem it is about")
    entry, data, j = chords.sum_of_squares(proof.entry, s) if squares else proof.entry, proof.data, 0
    entry = chords.at_scale(entry, s, np.array(scale) if len(scale) > 1 else scale[0])
    if squares and s.per_feature:
        j = whole(part["feature"], 0, s.d - 1, "feature")
        entry, data = chords.of_feature(entry, s, scale[0]), data[:, [j]]
    found, own, at = proof.part(t, entry, data), np.array(entry["half_log_det"]), [x * share for x in scale]
    if squares:
        least = chords.least_squares(found, s.n, s.K, own, at[0])
        return [float(i == j) for i in range(s.d if s.per_feature else 1)], least, 0.0
    return at, chords.lifted(found, s.n, own, s.half_log_det), 1.0


class Polyhedron:
    """All (Q, E) with ``Q >= squares`` and ``E >= least``, less what is cut off (the double description method).

    ``rows`` are its vertices and directions; each has a bit for every half-space on whose boundary it lies.
    """

    def __init__(self, squares: Sequence[float], least: float) -> None:
        size = len(squares) + 2
        self.cuts, everywhere = size, 2**size - 1
        self.rows = [(_exact([1.0, *squares, least]), everywhere - 1)]
        for i in range(1, size):
            self.rows.append(([int(i == j) for j in range(size)], everywhere - 2**i))

    def cut(self, at: Sequence[float], bound: float, sign: float = 1.0) -> None:
        """Keep what has ``at Q + sign E >= bound``."""
        normal, bit = _exact([-bound, *at, sign]), 2**self.cuts
        sides = [sum(a * b for a, b in zip(normal, row, strict=True)) for row, _ in self.rows]
        found = list(zip(sides, self.rows, strict=True))
        kept = [(row, tight | bit if side == 0 else tight) for side, (row, tight) in found if side >= 0]
        outside = [one for one in found if one[0] < 0]
        for inner, (row, tight) in found:
            for outer, (other, also) in outside if inner > 0 else ():
                if self._adjacent(tight & also):
                    edge = [inner * b - outer * a for a, b in zip(row, other, strict=True)]
                    common = math.gcd(*edge)
                    kept.append(([x // common for x in edge], tight & also | bit))
        self.rows, self.cuts = kept, self.cuts + 1

    def _adjacent(self, both: int) -> bool:
        """Whether two rows that share these boundaries are the ends of an edge: no third one is on all of them."""
        few = both.bit_count() < len(self.rows[0][0]) - 2
        return not few and sum(both & tight == both for _, tight in self.rows) == 2

    def vertices(self) -> Iterator[list[Fraction]]:
        """Every vertex (Q, E)."""
        for (h, *rest), _ in self.rows:
            if h > 0:
                yield [Fraction(x, h) for x in rest]


class Bounds:
    """What follows from half-spaces that hold all clusterings, among them those of sizes that add up to n."""

    def __init__(self, s: Statement, half_spaces: Sequence[HalfSpace] = ()) -> None:
        count = s.d if s.per_feature else 1
        self.half, (self.low, self.high) = 0.5 * s.n * s.d / count, chords.scales(s.variances)
        self.polyhedron = Polyhedron([0.0] * count, chords.least_weight_cost(s))
        most = chords.most_weight_cost(s)
        limit = [([0.0] * count, -most, -1.0)] if math.isfinite(most) else []
        for half_space in (*limit, *half_spaces):
            self.polyhedron.cut(*half_space)

    def lowest(self) -> tuple[float, list[float]]:
        """What the objective is at least, and at about which t it may be so little."""
        return min(map(self._worth, self.polyhedron.vertices()), default=(math.inf, []))

    def _worth(self, vertex: list[Fraction]) -> tuple[float, list[float]]:
        """``sum_j f(Q_j) + E``: t Q + E is rounded once, and that t is a rounded minimiser enters squared."""
        at = [self._best(float(q)) for q in vertex[:-1]]
        if not all(0.0 < t < math.inf for t in at):
            return -math.inf, at
        logs = [math.log(t) for t in at]
        cost = float(sum((Fraction(t) * q for t, q in zip(at, vertex, strict=False)), vertex[-1]))
        size = abs(cost) + self.half * math.fsum(1.0 + abs(log) for log in logs)
        return below(math.fsum([cost, *(-self.half * log for log in logs)]), gamma(8) * size), at

    def _best(self, q: float) -> float:
        """The t in the range at which ``t q - N log t`` is least."""
        return min(max(self.half / q, self.low), self.high) if q > 0.0 else self.high


def _exact(numbers: Sequence[float]) -> Exact:
    """The numbers times the least power of two that makes all of them whole."""
    fractions = [Fraction(x) for x in numbers]
    common = max(x.denominator for x in fractions)
    return [int(x * common) for x in fractions]
