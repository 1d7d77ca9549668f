"""
Known labels
============

A few samples have been classified by an expert. Their labels name the components, and every other sample is assigned
under them.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import certmix
from certmix.plotting import plot_clusters, plot_uncertain

rng = np.random.default_rng(11)
frame = pd.DataFrame(
    np.concatenate([rng.normal(0.0, 0.8, (25, 2)), rng.normal(2.0, 0.8, (25, 2))]),
    columns=["size", "glow"],
    index=[f"c{i}" for i in range(50)],
)
known = [
    certmix.Label("c0", "benign"),
    certmix.Label("c1", "benign"),
    certmix.Label("c25", "malignant"),
    certmix.Label("c26", "malignant"),
]
problem = certmix.Problem(frame, 2, variance=0.64, constraints=known, component_names=["benign", "malignant"])
result = certmix.solve(problem)
print(result.to_pandas().query("fixed"))

# %%
# The samples that could be either are those to show to the expert next.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
plot_clusters(result, axes[0])
plot_uncertain(result, axes[1], most=10)
plt.show()
