"""
What a local method misses
==========================

k-means from one random start ends in a local optimum, and its sum of squares does not tell how far from the best it is.
With uniform weights and variance 1/2 the objective of certmix is the sum of squares plus a constant, so its bound does.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

import certmix
from certmix.plotting import plot_clusters

rng = np.random.default_rng(1)
centres = np.array([[0.0, 0.0], [1.8, 0.0], [6.0, 0.0], [7.8, 0.0], [3.9, 4.0]])
samples = np.repeat(centres, 15, axis=0) + 0.4 * rng.normal(size=(75, 2))

best = certmix.solve(certmix.Problem(samples, 5, variance=0.5, weights="uniform"))
constant = len(samples) * np.log(5)
bound = best.lower_bound - constant
starts = [KMeans(5, init="random", n_init=1, random_state=seed).fit(samples) for seed in range(20)]
missed = [start for start in starts if start.inertia_ > best.objective - constant + 1e-6]
worst = max(starts, key=lambda start: start.inertia_)
print(f"no clustering has a sum of squares below {bound:.4f}; certmix found {best.objective - constant:.4f}")
print(f"{len(missed)} of {len(starts)} single starts of k-means miss it, the worst with {worst.inertia_:.1f}")

# %%
# Left the worst of twenty starts, right the clustering that is proved optimal.

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
axes[0].scatter(*samples.T, c=worst.labels_, cmap="viridis", s=18)
axes[0].scatter(*worst.cluster_centers_.T, marker="X", s=120, color="white", edgecolors="black")
axes[0].set_title(f"one start of k-means: {worst.inertia_:.1f}")
plot_clusters(best, axes[1]).set_title(f"proved optimal: {best.objective - constant:.1f}")
plt.show()
