"""
How many components?
====================

For every number of components the ICL lies in an interval. A number is proved the best when its interval lies below all
others.
"""

import matplotlib.pyplot as plt
import numpy as np

import certmix
from certmix.plotting import plot_path

rng = np.random.default_rng(5)
centres = np.array([[0.0, 0.0], [2.5, 0.0], [0.0, 2.5]])
samples = np.repeat(centres, 16, axis=0) + 0.5 * rng.normal(size=(48, 2))

found = certmix.path(samples, range(1, 6), variance=0.25)
print(found.summary())

# %%
# The dots are the clusterings that were found, the bars go down to what is proved.

plot_path(found)
plt.show()
