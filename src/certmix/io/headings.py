"""What the heading of a column says about it."""

from __future__ import annotations

import re

_GENES = frozenset({
    "gene", "genes", "geneid", "genename", "genesymbol", "symbol", "probe", "probes", "probeset", "probeid",
    "transcript", "ensembl", "ensemblid", "entrez", "entrezid", "hugo", "hgnc", "feature", "features",
})  # fmt: skip
_NAMES = _GENES | {
    "id", "ids", "name", "names", "sample", "samples", "barcode", "barcodes", "patient", "patients", "subject",
    "subjects", "case", "cases", "donor", "donors", "specimen", "specimens", "cell", "cells", "accession", "index",
    "idx", "key", "row", "rows", "rowname", "rownames", "observation", "obs", "record", "participant", "participants",
    "individual", "individuals", "animal", "strain", "isolate", "identifier", "uid", "uuid", "guid", "no", "nr", "#",
}  # fmt: skip
_LAST = frozenset({"id", "ids", "name", "names", "barcode", "symbol", "accession", "uuid"})
_CODES = frozenset({
    "batch", "plate", "lane", "run", "site", "centre", "center", "cohort", "group", "class", "cluster", "label",
    "target", "type", "sex", "gender", "year",
})  # fmt: skip


def headed_like_a_name(heading: str) -> bool:
    """Whether a heading announces names: id, Sample_ID, gene symbol, "Unnamed: 0", nothing at all."""
    words = _words(heading)
    if not words or heading.strip().lower().startswith("unnamed:"):
        return True
    joined = "".join(words)
    endings = [joined[: -len(e)] for e in ("ids", "id", "names", "name") if joined.endswith(e)]
    return joined in _NAMES or words[-1] in _LAST or any(stem in _NAMES for stem in endings)


def headed_like_a_gene(heading: str) -> bool:
    return "".join(_words(heading)) in _GENES


def headed_like_a_code(heading: str) -> bool:
    """Whether whole numbers under a heading are likely to be codes: batch, plate, patient_id."""
    words = _words(heading)
    return bool(words) and (words[-1] in _LAST or words[-1] in _CODES or "".join(words) in _NAMES)


def _words(heading: str) -> list[str]:
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", heading)
    return [word for word in re.split(r"[^\w#]+|_", apart.lower()) if word]
