"""A variance for every feature: bounds at some variances, and what follows for all (docs/certificates.md, Vertices).

To a clustering belongs a point (Q, E): half its sum of squares in every feature, and all else. At variances 1 / t_j it
costs ``t Q + E``, so a bound there is a half-space that holds all clusterings. With the best variances it costs
``sum_j f(Q_j) + E``, f(q) the least of ``t q - N log t``, N = n / 2: concave, and not falling in any direction in which
a polyhedron of Q >= q, E >= e goes on for ever. So it is least at a vertex of the polyhedron. Vertices are exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from certmix.verify.claims.chords import (
    Envelope,
    at_scale,
    least_squares,
    least_weight_cost,
    lifted,
    most_weight_cost,
    scales,
    sum_of_squares,
)
from certmix.verify.evidence import Document, Rejected, number
from certmix.verify.evidence import whole as whole_number
from certmix.verify.proof import Proof
from certmix.verify.rounding import UNIT, below
from certmix.verify.statement import Statement

Exact = list[int]  # (h, h Q, h E) of a vertex; with h = 0 a direction


def proved(whole: Proof, bound: float) -> str:
    """Bounds of the squares of single features, others that are half-spaces; what follows has to reach the bound."""
    s, none, squares, half_spaces = whole.stated, np.zeros(1), [0.0] * whole.stated.d, []
    for t, proof in enumerate(whole.parts):
        given = proof.get("scale")
        scale = [number(x, "scale") for x in given] if isinstance(given, list) else []
        if len(scale) != (1 if "feature" in proof else s.d) or min(scale) <= 0.0:
            raise Rejected(f"part {t} does not say which problem it is about")
        if "feature" in proof:
            j = whole_number(proof["feature"], 0, s.d - 1, "feature")
            found = whole.part(t, of_feature(whole.entry, s, scale[0]), whole.data[:, [j]])
            squares[j] = max(squares[j], least_squares(found, s.n, s.K, none, scale[0]))
        else:
            found = whole.part(t, at_scale(whole.entry, s, np.array(scale)))
            half_spaces.append((scale, lifted(found, s.n, none, s.half_log_det)))
    lowest = Bounds(s, squares, half_spaces).lowest()[0]
    if not lowest >= bound:
        raise Rejected(f"for some variances its parts prove {lowest!r} only, not its bound {bound!r}")
    return f" at any variances (by bounds at {len(half_spaces)} of them)"


def of_feature(whole: Document, s: Statement, scale: float) -> dict[str, Any]:
    """The statement of the sum of squares in one feature alone, with the precision ``scale``."""
    free = [[None]] * s.K
    return {
        **at_scale(sum_of_squares(whole, s), s, 1.0),
        "n_features": 1,
        "precision": [[scale]],
        "mean_lower": free,
        "mean_upper": free,
        "prior_mean": [[0.0]] * s.K,
    }


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

    def vertices(self) -> Iterator[list[float]]:
        """Every vertex (Q, E), rounded once."""
        for (h, *rest), _ in self.rows:
            if h > 0:
                yield [x / h for x in rest]


class Bounds:
    """What follows from least squares of single features, and from bounds ``(t, L)`` with ``t Q + E >= L``."""

    def __init__(
        self, s: Statement, squares: Sequence[float], bounds: Sequence[tuple[Sequence[float], float]] = ()
    ) -> None:
        self.half, (self.low, self.high) = 0.5 * s.n, scales(s.variances)
        self.polyhedron = Polyhedron(squares, least_weight_cost(s))
        most = most_weight_cost(s)
        if math.isfinite(most):
            self.polyhedron.cut([0.0] * s.d, -most, -1.0)
        for at, bound in bounds:
            self.polyhedron.cut(at, bound)

    def lowest(self) -> tuple[float, list[float]]:
        """What the objective is at least, and at about which t it may be so little."""
        return min(map(self._worth, self.polyhedron.vertices()), default=(math.inf, []))

    def _worth(self, vertex: list[float]) -> tuple[float, list[float]]:
        pieces = []
        for q in vertex[:-1]:
            line = Envelope(
                [(0.0, 0.0)], max(0.0, math.nextafter(q, -math.inf)), self.half, self.low, self.high
            )
            pieces.append(min(line.pieces()))
        terms = [vertex[-1], *(piece.bound for piece in pieces)]
        size = math.fsum(map(abs, terms)) if all(map(math.isfinite, terms)) else math.inf
        return below(math.fsum(terms), 4 * UNIT * size) if size < math.inf else -math.inf, [
            p.at for p in pieces
        ]


def _exact(numbers: Sequence[float]) -> Exact:
    """The numbers times the least power of two that makes all of them whole."""
    fractions = [Fraction(x) for x in numbers]
    common = max(x.denominator for x in fractions)
    return [int(x * common) for x in fractions]
