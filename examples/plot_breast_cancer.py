"""
569 tumours, and a proof
========================

The breast cancer data of the paper behind certmix: three features, two components. After twelve hours of
general-purpose solvers the paper reports a lower bound of 332.30; the optimum is 1566.40.
"""

import matplotlib.pyplot as plt

import certmix
from certmix import datasets
from certmix.plotting import plot_clusters, plot_trace

data = datasets.named("brca")
problem = certmix.Problem(data.frame(), data.n_components, precision=data.precision)
result = certmix.solve(problem)
print(result.summary())

# %%
# Left the clusters, right how incumbent and bound met.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained", width_ratios=(1.4, 1))
plot_clusters(result, axes[0]).set_title("breast cancer: 569 samples, two components")
plot_trace(result, axes[1]).set_title(f"proved optimal to within {result.gap_absolute:.1g} nats")
plt.show()
