"""
Sizes that hold
===============

Groups for a workshop: at least eight in each. The limit is part of the problem, so what comes out is the best
clustering among those that obey it.
"""

import matplotlib.pyplot as plt
import numpy as np

import certmix
from certmix.plotting import plot_clusters

rng = np.random.default_rng(2)
people = np.concatenate(
    [rng.normal(0, 0.6, (20, 2)), rng.normal(2.5, 0.6, (7, 2)), rng.normal((0, 3), 0.6, (5, 2))]
)

free = certmix.solve(certmix.Problem(people, 3, variance=0.36))
held = certmix.solve(certmix.Problem(people, 3, variance=0.36, constraints=[certmix.MinimumSize(8)]))
print(f"free sizes {free.sizes}, with a limit {held.sizes}: {held.objective - free.objective:.2f} nats more")
print(held.constraints[0].room)

# %%
# Ringed samples would rather be elsewhere.

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
plot_clusters(free, axes[0]).set_title("free")
plot_clusters(held, axes[1]).set_title("at least eight in each")
plt.show()
