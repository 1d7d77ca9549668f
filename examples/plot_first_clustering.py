"""
A first certified clustering
============================

Sixty samples in two dimensions, three groups. certmix returns a clustering, and a lower bound that no clustering
whatever is below.
"""

import matplotlib.pyplot as plt
import numpy as np

import certmix
from certmix.plotting import plot_clusters, plot_trace

rng = np.random.default_rng(7)
centres = np.array([[0.0, 0.0], [3.0, 0.5], [1.2, 2.6]])
samples = np.repeat(centres, 20, axis=0) + 0.6 * rng.normal(size=(60, 2))

result = certmix.solve(certmix.Problem(samples, n_components=3, variance=0.36))
print(result.sentence())

# %%
# Rings are samples whose posterior probability is below 0.95.

plot_clusters(result)

# %%
# The best clustering and its bound, over the seconds of the search.

plot_trace(result)
plt.show()
