"""A box of scales cut into simplices: what the objective is at least on each, from bounds at their corners.

With t_j = 1 / sigma_j^2, g(t) = min over clusterings of ``sum_j t_j Q_j + E`` is concave: on a simplex it lies above
the interpolation of its corners. The objective is ``g(t) - N sum_j log t_j``, N = n / 2. For every s > 0 the logarithm
lies below its tangent, ``log t_j <= log s_j + t_j/s_j - 1``, so the objective is at least a linear function on the
simplex, which is least at a corner (docs/bounds.md, A variance for every feature).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from certmix.verify.rounding import below

ROUNDING = 1e-13  # relatively, more than a few dozen operations err by
ITERATIONS = 40
CLOSE = 1e-10  # of N: how near to the best point of tangency is near enough

Cheap = Callable[[np.ndarray], float]


@dataclass
class Corner:
    """A point of the box: a lower bound of g there, and how far that may be from g."""

    at: np.ndarray
    bound: float
    gap: float = math.inf


@dataclass
class Simplex:
    """d + 1 corners, what the objective is at least between them, and about where (shares of the corners)."""

    corners: tuple[int, ...]
    bound: float = -math.inf
    shares: np.ndarray = field(default_factory=lambda: np.empty(0))


class Simplices:
    """The box between two scales, cut into simplices; ``cheap`` bounds g at any point."""

    def __init__(self, low: np.ndarray, high: np.ndarray, half: float, cheap: Cheap) -> None:
        self.half, self.cheap = half, cheap
        self.corners: list[Corner] = []
        numbers = {}
        for choice in itertools.product((0, 1), repeat=len(low)):
            numbers[choice] = self._corner(np.where(choice, high, low))
        self.pieces = [self._judged(tuple(numbers[corner] for corner in walk)) for walk in _walks(len(low))]

    @property
    def bound(self) -> float:
        """What the objective is at least in the whole box."""
        return min(piece.bound for piece in self.pieces)

    def lowest(self) -> Simplex:
        return min(self.pieces, key=lambda piece: piece.bound)

    def touching(self, piece: Simplex) -> np.ndarray:
        """The point of a simplex where the objective may be least."""
        return np.asarray(piece.shares @ self._matrix(piece.corners))

    def learn(self, corner: int, bound: float, gap: float) -> None:
        """A better bound at a corner; others that nobody has looked at may gain by it."""
        self.corners[corner].bound = max(self.corners[corner].bound, bound)
        self.corners[corner].gap = min(self.corners[corner].gap, gap)
        changed = {corner}
        for number, one in enumerate(self.corners):
            if math.isinf(one.gap) and (value := self.cheap(one.at)) > one.bound:
                one.bound = value
                changed.add(number)
        for piece in self.pieces:
            if changed & set(piece.corners):
                again = self._judged(piece.corners)
                piece.bound, piece.shares = max(piece.bound, again.bound), again.shares

    def split(self, piece: Simplex, shares: np.ndarray) -> int:
        """Cut a simplex at a point, given by its shares of the corners; the number of the new corner."""
        bounds = np.array([self.corners[c].bound for c in piece.corners])
        at = shares @ self._matrix(piece.corners)
        new = self._corner(at)
        value = float(shares @ bounds)
        between = below(value, ROUNDING * float(np.abs(bounds).sum() + 1.0))
        self.corners[new].bound = max(self.corners[new].bound, between)
        self.pieces.remove(piece)
        for i in np.flatnonzero(shares > 0.0):
            corners = tuple(new if k == i else c for k, c in enumerate(piece.corners))
            made = self._judged(corners)
            made.bound = max(made.bound, piece.bound)
            self.pieces.append(made)
        return new

    def longest_edge(self, piece: Simplex) -> tuple[float, np.ndarray]:
        """The length of the longest edge, in logarithms, and the shares of its geometric middle."""
        logs = np.log(self._matrix(piece.corners))
        pairs = list(itertools.combinations(range(len(piece.corners)), 2))
        lengths = [float(np.abs(logs[i] - logs[j]).max()) for i, j in pairs]
        longest = int(np.argmax(lengths))
        shares = np.zeros(len(piece.corners))
        i, j = pairs[longest]
        ratio = math.exp(0.5 * float(np.abs(logs[i] - logs[j]).max()))
        smaller = i if logs[i].sum() < logs[j].sum() else j
        shares[i] = shares[j] = 1.0 / (1.0 + ratio)
        shares[smaller] = ratio / (1.0 + ratio)
        return lengths[longest], shares

    def value(self, piece: Simplex, bounds: np.ndarray) -> float:
        """What the objective would be at least with other bounds at the corners."""
        return least(self._matrix(piece.corners), bounds, self.half)[0]

    def _matrix(self, corners: tuple[int, ...]) -> np.ndarray:
        return np.stack([self.corners[c].at for c in corners])

    def _corner(self, at: np.ndarray) -> int:
        self.corners.append(Corner(np.asarray(at, dtype=float), self.cheap(at)))
        return len(self.corners) - 1

    def _judged(self, corners: tuple[int, ...]) -> Simplex:
        bounds = np.array([self.corners[c].bound for c in corners])
        return Simplex(corners, *least(self._matrix(corners), bounds, self.half))


def least(corners: np.ndarray, bounds: np.ndarray, half: float) -> tuple[float, np.ndarray]:
    """What ``g - half sum_j log t_j`` is at least on a simplex, and where it may be so little, as shares of corners."""
    shares = np.full(len(corners), 1.0 / len(corners))
    best, where = -math.inf, shares
    for _ in range(ITERATIONS):
        touch = shares @ corners
        found = _tangent(corners, bounds, half, touch)
        if found > best:
            best, where = found, shares
        slopes = bounds - half * (corners / touch).sum(axis=1)
        if float(shares @ slopes - slopes.min()) <= CLOSE * half:
            break
        shares = _step(corners, bounds, half, shares, slopes)
    return best, where


def _tangent(corners: np.ndarray, bounds: np.ndarray, half: float, touch: np.ndarray) -> float:
    """The least value at a corner of the bounds less the tangents of the logarithms at ``touch``, rounded down."""
    logs, ratios = np.log(touch), corners / touch
    values = bounds - half * (logs + ratios - 1.0).sum(axis=1)
    sizes = np.abs(bounds) + half * (np.abs(logs) + ratios + 1.0).sum(axis=1)
    return float((values - ROUNDING * sizes).min())


def _step(
    corners: np.ndarray, bounds: np.ndarray, half: float, shares: np.ndarray, slopes: np.ndarray
) -> np.ndarray:
    """One step of Newton's method on the simplex, shortened until it is one downwards."""
    scaled = corners / (shares @ corners)
    curvature = half * scaled @ scaled.T
    aim, promised = shares, 0.0
    for size in range(1, len(shares) + 1):
        for face in map(list, itertools.combinations(range(len(shares)), size)):
            point = _stationary(curvature, slopes - curvature @ shares, face, len(shares))
            if point is not None:
                move = point - shares
                gain = float(slopes @ move + 0.5 * move @ curvature @ move)
                if gain < promised:
                    aim, promised = point, gain

    def value(at: np.ndarray) -> float:
        return float(at @ bounds - half * np.log(at @ corners).sum())

    length, now = 1.0, value(shares)
    while length > 1e-6 and not value(shares + length * (aim - shares)) < now:
        length *= 0.5
    return np.asarray(shares + length * (aim - shares))


def _stationary(matrix: np.ndarray, linear: np.ndarray, face: list[int], count: int) -> np.ndarray | None:
    """Where ``linear x + x matrix x / 2`` is stationary on a face of the unit simplex; None where that is outside."""
    m = len(face)
    system = np.ones((m + 1, m + 1))
    system[:m, :m], system[m, m] = matrix[np.ix_(face, face)], 0.0
    try:
        found = np.linalg.solve(system, np.append(-linear[face], 1.0))[:m]
    except np.linalg.LinAlgError:
        return None
    if not np.all(found >= 0.0):
        return None
    point = np.zeros(count)
    point[face] = found / found.sum()
    return point


def _walks(d: int) -> list[list[tuple[int, ...]]]:
    """The simplices of a cube: from one corner to the opposite one along edges, in every order of the axes."""
    walks = []
    for order in itertools.permutations(range(d)):
        corner = [0] * d
        walk = [tuple(corner)]
        for axis in order:
            corner[axis] = 1
            walk.append(tuple(corner))
        walks.append(walk)
    return walks
