"""Plots of results, each on the axes that are given or on new ones. matplotlib is imported when the first is drawn."""

from certmix.plotting.alternatives import plot_alternatives
from certmix.plotting.clusters import plot_clusters
from certmix.plotting.envelope import plot_envelope
from certmix.plotting.means import plot_means
from certmix.plotting.overview import plot_overview
from certmix.plotting.path import plot_path
from certmix.plotting.profiles import plot_margins, plot_silhouettes
from certmix.plotting.sizes import plot_sizes
from certmix.plotting.trace import plot_trace
from certmix.plotting.uncertain import plot_uncertain

__all__ = [
    "plot_alternatives",
    "plot_clusters",
    "plot_envelope",
    "plot_margins",
    "plot_means",
    "plot_overview",
    "plot_path",
    "plot_silhouettes",
    "plot_sizes",
    "plot_trace",
    "plot_uncertain",
]
