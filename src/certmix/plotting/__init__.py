"""Plots of results. matplotlib is imported when the first one is drawn."""

from certmix.plotting.clusters import plot_clusters
from certmix.plotting.envelope import plot_envelope
from certmix.plotting.path import plot_path
from certmix.plotting.silhouette import plot_silhouettes
from certmix.plotting.sizes import plot_sizes
from certmix.plotting.trace import plot_trace

__all__ = ["plot_clusters", "plot_envelope", "plot_path", "plot_silhouettes", "plot_sizes", "plot_trace"]
