"""What the log and the live line both say: banner, size of the problem, one row of figures."""

from __future__ import annotations

import math

from certmix._version import __version__
from certmix.ledger import Progress
from certmix.problem import Problem
from certmix.problem.features import Feature, features
from certmix.problem.quantity import Quantity
from certmix.status import Tolerances

# Letters for where an incumbent came from; any other source is shown by its own first letter.
LETTERS = {
    "start": "S",
    "kmeans": "K",
    "k-means": "K",
    "em": "E",
    "variational": "V",
    "slsqp": "Q",
    "annealing": "A",
    "hard-em": "H",
    "local search": "L",
    "dynamic": "D",
    "enumerate": "X",
    "parts": "J",
}


def letter(source: str) -> str:
    """One letter for the source of an incumbent."""
    return LETTERS.get(source.lower(), source[:1].upper()) if source else ""


def banner(problem: Problem, engine: str) -> list[str]:
    """Name and version, size of the problem, what it asks for."""
    lines = [
        f"certmix {__version__}, engine {engine}",
        f"{_count(problem.samples.original.n_samples, 'sample')}{_copies(problem)} x "
        f"{_count(problem.n_features, 'feature')}, "
        f"{_count(problem.n_clusters, 'cluster' if problem.squares else 'component')}, "
        f"{_count(len(problem.given_constraints), 'side constraint')}",
    ]
    unsaid = {Feature.ALLOW_EMPTY} | ({Feature.FIXED_WEIGHTS} if problem.squares else set())
    asked = sorted(map(str, features(problem) - unsaid))
    if asked:
        lines.append("with " + ", ".join(asked))
    return lines


def header(quantity: Quantity) -> str:
    """The names of the columns."""
    incumbent = quantity.name if quantity.squares else "incumbent"
    return f"{'':2}{'nodes':>10} {'open':>9} {incumbent:>16} {'bound':>16} {'gap':>10} {'time':>9}"


def row(progress: Progress, quantity: Quantity) -> str:
    """One line under :func:`header`."""
    incumbent, bound = (value(quantity.shown(x)) for x in (progress.incumbent, progress.bound))
    gap = Tolerances.gap_relative(progress.incumbent, progress.bound)
    return (
        f"{letter(progress.source):2}{progress.nodes:>10} {progress.open_nodes:>9} "
        f"{incumbent:>16} {bound:>16} {share(gap):>10} "
        f"{duration(progress.seconds):>9}"
    )


def share(gap: float) -> str:
    """A relative gap in a column."""
    if not math.isfinite(gap):
        return "-"
    return f"{100 * gap:.4f} %" if gap >= 1e-6 or gap == 0 else f"{gap:.1e}"


def duration(seconds: float) -> str:
    """12.3 s, 4m05s, 2h05m."""
    if seconds < 100:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{int(seconds) // 60}m{int(seconds) % 60:02d}s"
    return f"{int(seconds) // 3600}h{int(seconds) % 3600 // 60:02d}m"


def value(number: float, digits: int = 10) -> str:
    """An objective or a bound; a dash where there is none yet."""
    return f"{number:.{digits}g}" if math.isfinite(number) else "-"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _copies(problem: Problem) -> str:
    return "" if problem.sample_weight is None else f" (which stand for {problem.n_samples})"
