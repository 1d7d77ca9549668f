"""
A variance that is not known
============================

The clustering and the variance are found together, and the optimum is proved over both.
"""

import matplotlib.pyplot as plt
import numpy as np

import certmix
from certmix.plotting import plot_clusters, plot_envelope

rng = np.random.default_rng(3)
samples = np.repeat([[0.0, 0.0], [3.0, 0.0]], 20, axis=0) + 0.7 * rng.normal(size=(40, 2))

result = certmix.solve(certmix.Problem(samples, 2, variance="unknown"))
low, high = result.variance_interval
print(f"variance {result.variance:.3f}; the same clustering is optimal from {low:.3f} to {high:.3f}")

# %%
# Right: no clustering lies below the solid line, whatever the variance.

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
plot_clusters(result, axes[0])
plot_envelope(result, axes[1])
plt.show()
