"""Several certificates about the same samples, and whether one of them is the best (docs/certificates.md).

The best one's clustering, plus its offset, is worth no more than any other one's bound plus the offset of that. With a
criterion the problems are of one kind, and the offsets follow from their statements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from certmix.verify.claims import criteria
from certmix.verify.evidence import Document, Rejected, listed, number, objects, whole


def inside(document: Document) -> list[Document]:
    """The certificates that are compared."""
    parts = objects(document, "parts")
    if not parts:
        raise Rejected("a comparison lacks its parts")
    for i, part in enumerate(parts):
        if part.get("claim") == "comparison":
            raise Rejected(f"part {i} is not a certificate of one problem")
    return parts


def proved(document: Document, found: Sequence[tuple[float, float, str]]) -> tuple[list[float], str]:
    """The bounds of all parts, with what that of the next one says, and in words what is proved of them.

    Of every part its bound, its value and its sentence are ``found``.
    """
    entries, each = [part["statement"] for part in document["parts"]], []
    bounds, values, sentences = map(list, zip(*found, strict=True))
    for i, carried in enumerate(criteria.carried(criteria.losses(entries), bounds)):
        said = sentences[i].removeprefix("Verified: ").rstrip(".")
        if bounds[i] < carried <= values[i]:
            said += f", and by the next problem no clustering is better than {carried:.10g}"
            bounds[i] = carried
        each.append(f"{i} (components: {entries[i]['n_components']}): {said}")
    best = _best(document, entries, list(zip(bounds, values, strict=True)))
    return bounds, f"{len(each)} problems about the same samples. {'; '.join(each)}.{best}"


def _best(document: Document, entries: list[Document], proved: Sequence[tuple[float, float]]) -> str:
    """That one part is the best, if that is claimed; ``proved`` are bounds and values."""
    offset, claimed = _offsets(document, entries), document.get("best")
    if claimed is None:
        return ""
    one = whole(claimed, 0, len(proved) - 1, "best part")
    value, added = proved[one][1], offset[one][1]
    others = [(bound, offset[i][0]) for i, (bound, _) in enumerate(proved) if i != one]
    ahead = min((math.fsum((*other, -value, -added)) for other in others), default=math.inf)
    if not (math.isfinite(value) and ahead >= 0.0):
        raise Rejected(f"part {one} is not proved to be the best one")
    least = math.nextafter(ahead, 0.0)  # it was rounded once
    if document.get("criterion") is None:
        numbers = ", ".join(repr(low) for low, _ in offset)
        return f" With offsets {numbers} the best is {one}, by {least!r} nats or more."
    counts = [entry["n_components"] for entry in entries]
    compared = ", ".join(map(str, counts))
    return f" Of {compared} components, {counts[one]} has the least ICL, by {2.0 * least!r} or more."


def _offsets(document: Document, entries: list[Document]) -> list[tuple[float, float]]:
    """What is added to every objective, rounded down and up."""
    offsets, criterion = document.get("offsets"), document.get("criterion")
    if criterion == "icl" and offsets is None:
        return criteria.penalties(entries, document.get("components"))
    if criterion is not None or not isinstance(offsets, list) or len(offsets) != len(entries):
        raise Rejected("a comparison needs an offset for every part, or the criterion 'icl' and no offsets")
    return [(number(x, "offset"), number(x, "offset")) for x in listed(offsets)]
