"""One layer of the dynamic programme in one dimension."""

from __future__ import annotations

import numpy as np

from certmix.kernels.compiled import njit
from certmix.kernels.pairs import two_sum


@njit()
def extend_layer(y, previous, previous_least, best, origin, chosen, mark, start, stop, component):
    """Append one cluster to every prefix of the sorted sample: ``best[j] = min_i previous[i] + cost(i, j)``.

    The cost of the samples ``i .. j-1`` in a component is the least over its mean of ``precision/2 sum (y - mu)^2 +
    prior/2 (mu - prior_mean)^2``, plus the entropy of their number. For every j in ``start .. stop - 1`` the index i
    runs downwards from j. Sums are taken relative to the last sample ``y[j-1]`` and compensated, which bounds their
    rounding by the cluster's own scatter, whatever the offset of the data.

    ``previous`` are the best values of the prefixes before this cluster, ``previous_least`` their running minimum.
    ``best``, ``origin`` and ``chosen`` are improved in place; ``chosen[j] = mark`` where this cluster is the better
    last one.
    """
    precision, prior, prior_mean, mean_lower, mean_upper, entropy, smallest, largest = component
    least_entropy = np.inf
    for m in range(smallest, largest + 1):
        least_entropy = min(least_entropy, entropy[m])
    plain = prior == 0.0 and mean_lower == -np.inf and mean_upper == np.inf
    for j in range(start, stop):
        value = best[j]
        found = -1
        if smallest == 0:
            away = 0.0
            if prior > 0.0:
                away = prior_mean - min(max(prior_mean, mean_lower), mean_upper)
            cost = previous[j] + (0.5 * prior * away * away + entropy[0])
            if cost < value:
                value = cost
                found = j
        last = y[j - 1]
        low, high, centre = mean_lower - last, mean_upper - last, prior_mean - last
        s1, e1, s2, e2 = 0.0, 0.0, 0.0, 0.0
        for m in range(1, min(largest, j) + 1):
            i = j - m
            u = y[i] - last
            s1, rest = two_sum(s1, u)
            e1 += rest
            s2, rest = two_sum(s2, u * u)
            e2 += rest
            first = s1 + e1
            mean = first / m
            scatter = 0.5 * precision * max(0.0, (s2 + e2) - first * mean)
            if m >= smallest:
                quadratic = scatter
                if not plain:
                    target = mean
                    if prior > 0.0:
                        target = (precision * first + prior * centre) / (precision * m + prior)
                    target = min(max(target, low), high)
                    quadratic += 0.5 * precision * m * (mean - target) ** 2
                    quadratic += 0.5 * prior * (target - centre) ** 2
                cost = previous[i] + (quadratic + entropy[m])
                if cost < value:
                    value = cost
                    found = i
            # The scatter only grows from here, so nothing further down can be better.
            if scatter + previous_least[i] + least_entropy >= value:
                break
        if found >= 0:
            best[j] = value
            origin[j] = found
            chosen[j] = mark
