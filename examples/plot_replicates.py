"""
Replicates that belong together
===============================

Every specimen was measured twice. Noise may put the two into different clusters; a must-link for each pair says that
they belong together.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import certmix
from certmix.plotting import plot_clusters

rng = np.random.default_rng(4)
specimens = np.concatenate([rng.normal(0.0, 0.5, size=(12, 2)), rng.normal(2.2, 0.5, size=(12, 2))])
twice = np.repeat(specimens, 2, axis=0) + 0.7 * rng.normal(size=(48, 2))
names = [f"{specimen}{repeat}" for specimen in range(24) for repeat in "ab"]
frame = pd.DataFrame(twice, columns=["first", "second"], index=names)
pairs = [certmix.MustLink(f"{specimen}a", f"{specimen}b") for specimen in range(24)]

free = certmix.solve(certmix.Problem(frame, 2, variance=0.7))
linked = certmix.solve(certmix.Problem(frame, 2, variance=0.7, constraints=pairs))
apart = sum(free.labels[2 * i] != free.labels[2 * i + 1] for i in range(24))
print(f"without links, {apart} of 24 specimens are in two clusters")
print(f"keeping them together costs {linked.objective - free.objective:.2f} nats")

# %%
# Lines join the two measurements of a specimen. Each constraint of a result says whether it is tight.

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
for result, one, title in ((free, axes[0], "free"), (linked, axes[1], "replicates together")):
    plot_clusters(result, one).set_title(title)
    one.plot(*twice.reshape(24, 2, 2).transpose(2, 1, 0), color="0.7", linewidth=0.8, zorder=1)
print([constraint.room for constraint in linked.constraints if constraint.tight])
plt.show()
