"""The checker: NumPy and the standard library only, nothing of the search, the bounds or the kernels."""
