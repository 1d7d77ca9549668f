"""A small file in the form of the PAM50 matrix, with centroids and assignments beside it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from certmix.datasets.pam50 import FILE

SUBTYPES = ("Basal", "LumA", "Normal")
GENES = 8


def write_expression(directory: Path, seed: int = 0) -> Path:
    """Thirty-six samples around three profiles, the last of every four of unknown subtype, a few values missing."""
    directory.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    profiles = 2.0 * rng.normal(size=(3, GENES))
    subtypes = np.arange(36) % 3
    values = profiles[subtypes] + rng.normal(size=(36, GENES))
    unknown = np.arange(36) % 4 == 3
    names = [f"S{i:02d}" for i in range(36)]
    lines = ["\t".join(["", *names])]
    lines.append(
        "\t".join(["subtype", *("" if u else SUBTYPES[k] for k, u in zip(subtypes, unknown, strict=True))])
    )
    for g in range(GENES):
        cells = ["" if rng.random() < 0.03 else f"{v:.4f}" for v in values[:, g]]
        lines.append("\t".join([f"GENE{g}", *cells]))
    (directory / FILE).write_text("\n".join(lines) + "\n")
    centred = profiles - profiles.mean(axis=0)
    table = [["", *SUBTYPES], *([f"GENE{g}", *(f"{c[g]:.4f}" for c in centred)] for g in range(GENES))]
    (directory / "pam50_centroids.txt").write_text("\n".join("\t".join(row) for row in table) + "\n")
    rows = [f"{name},{SUBTYPES[k]}" for name, k in zip(names, subtypes, strict=True)]
    (directory / "pam_assignments.csv").write_text("\n".join(["sample,pam", *rows]) + "\n")
    return directory
