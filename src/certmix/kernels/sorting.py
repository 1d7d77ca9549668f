"""Sorting, for kernels: Numba's own takes a second to compile."""

from __future__ import annotations

from certmix.kernels.compiled import njit


@njit()
def sort_along(key, group, count):
    """Sort the first ``count`` keys and move the groups along: heap sort, which compiles in no time."""
    for end in range(count, 1, -1):
        first = count // 2 - 1 if end == count else 0  # build the heap once, then mend its top
        for root in range(first, -1, -1):
            i = root
            while 2 * i + 1 < end:
                child = 2 * i + 1
                if child + 1 < end and key[child + 1] > key[child]:
                    child += 1
                if key[child] <= key[i]:
                    break
                key[i], key[child] = key[child], key[i]
                group[i], group[child] = group[child], group[i]
                i = child
        last = end - 1
        key[0], key[last] = key[last], key[0]
        group[0], group[last] = group[last], group[0]
