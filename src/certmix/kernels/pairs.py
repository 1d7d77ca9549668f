"""Numbers as unevaluated sums of two doubles: about twice the usual precision."""

from __future__ import annotations

from certmix.kernels.compiled import njit


@njit(inline="always")
def two_sum(a, b):
    """``a + b`` rounded, and the rest, exactly (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@njit(inline="always")
def two_product(a, b):
    """``a b`` rounded, and the rest, exactly (Dekker 1971)."""
    p = a * b
    u = 134217729.0 * a
    a1 = u - (u - a)
    a2 = a - a1
    v = 134217729.0 * b
    b1 = v - (v - b)
    b2 = b - b1
    return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


@njit(inline="always")
def pair_sum(a, a_low, b, b_low):
    """The sum of two pairs, to a relative error of 3 * 2^-106."""
    s, e = two_sum(a, b)
    t, f = two_sum(a_low, b_low)
    e += t
    s, e = s + e, e - ((s + e) - s)
    e += f
    return s + e, e - ((s + e) - s)


@njit(inline="always")
def pair_square(a, a_low):
    """The square of a pair, to a relative error of 2^-103."""
    p, e = two_product(a, a)
    e += 2.0 * a * a_low
    return p + e, e - ((p + e) - p)
