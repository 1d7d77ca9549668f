"""The check of a whole certificate against a data matrix."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from certmix.verify import incumbent, statement
from certmix.verify.boxes import boxes
from certmix.verify.claims import chords, criteria, softlinks, vertices
from certmix.verify.claims.margins import Chain, boxed, settled
from certmix.verify.claims.parts import Partition
from certmix.verify.domain import Domain
from certmix.verify.dynamic import dynamic
from certmix.verify.enumeration import enumerate_all
from certmix.verify.evidence import Evidence, Rejected
from certmix.verify.lagrangian import lagrangian
from certmix.verify.root import Root
from certmix.verify.semidefinite import semidefinite
from certmix.verify.squares import squares
from certmix.verify.statement import Statement
from certmix.verify.tree import Kinds, Walked, walk

FORMAT, VERSION = "certmix-certificate", 5
CLAIMS = ("bound", "infeasible", "comparison", "sum", "chord", "margins", "soft")
STEPS: Kinds = {
    "lagrangian": lagrangian,
    "enumerate": enumerate_all,
    "dynamic": dynamic,
    "semidefinite": semidefinite,
    "boxes": boxes,
    "squares": squares,
}
# What these exclude costs the target or more; no argument about the best clustering takes anything from a domain.
FOR_ALL: Kinds = {"enumerate": enumerate_all, "semidefinite": semidefinite}
# Bounds in the coordinates of the root, lowered by its error.
IN_COORDINATES: Kinds = {name: step for name, step in STEPS.items() if name != "squares"}
COMBINATORIAL: Kinds = {"enumerate": enumerate_all}  # no rounded number decides about infeasibility
Document = Mapping[str, Any]
Arrays = Mapping[str, np.ndarray]
Known = Collection[tuple[str, str, float]]  # digests of a statement and of its data, a bound that is proved


@dataclass(frozen=True)
class Verdict:
    """What the checker says.

    Attributes
    ----------
    verified : bool
    level : ``verified`` or ``rejected``
    sentence : what is proved, or which part of the certificate fails and why
    bound : no clustering that satisfies the constraints has a smaller objective (-inf when rejected, inf when there is
        no such clustering)
    value : the clustering of the certificate has at most this objective (inf when rejected or when there is none)
    seconds, nodes, leaves : of the check, of its tree
    taken : what was taken from the certificate and not compared with anything, in words (see :mod:`certmix.verifying`)
    parts : the verdicts on the certificates inside; bound and value are theirs
    """

    verified: bool
    level: str
    sentence: str
    bound: float = -math.inf
    value: float = math.inf
    seconds: float = 0.0
    nodes: int = 0
    leaves: int = 0
    taken: tuple[str, ...] = ()
    parts: tuple[Verdict, ...] = ()

    @property
    def gap(self) -> float:
        """``value - bound`` in nats."""
        return self.value - self.bound


def check(document: Document, arrays: Arrays, data: np.ndarray, known: Known = ()) -> Verdict:
    """Check that a certificate holds for these data; never raises on a bad certificate.

    ``known`` are bounds that this checker has verified before: parts that are among them are taken as such.
    """
    start = time.perf_counter()
    try:
        with np.errstate(all="ignore"):  # what is not a number is dealt with where it can occur
            verdict = _check(document, arrays, np.ascontiguousarray(data, dtype=np.float64), known)
    except Rejected as error:
        verdict = Verdict(False, "rejected", f"Rejected: {error}.")
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
        # Whatever the certificate made go wrong, it is not verified.
        why = f"it cannot be followed ({type(error).__name__}: {error})"
        verdict = Verdict(False, "rejected", f"Rejected: {why}.")
    return replace(verdict, seconds=time.perf_counter() - start)


def _check(document: Document, arrays: Arrays, data: np.ndarray, known: Known = ()) -> Verdict:
    version, claim = document.get("version"), document.get("claim")
    if document.get("format") != FORMAT or type(version) is not int or version != VERSION:
        raise Rejected(f"it has not the format version {VERSION} that this checker reads, but {version!r}")
    if claim not in CLAIMS:
        raise Rejected(f"its claim is {claim!r}, not one of {', '.join(CLAIMS)}")
    if claim == "comparison":
        return _comparison(document, arrays, data, known)
    digests, evidence = document.get("digests"), Evidence({}, arrays)
    if not isinstance(digests, Mapping):
        raise Rejected("it lacks digests")
    stated = statement.read(document.get("statement"))
    if digests.get("statement") != statement.digest(document["statement"]):
        raise Rejected("the statement is not the one that was certified (its digest differs)")
    if data.ndim != 2 or data.shape != (stated.n, stated.d):
        raise Rejected(f"the data have shape {data.shape}, the certificate is about {stated.n} x {stated.d}")
    if digests.get("data") != statement.data_digest(data):
        raise Rejected("the data are not those that were certified (their digest differs)")
    if stated.soft and claim not in ("soft", "infeasible"):
        raise Rejected(f"its claim is {claim!r}, but its statement has soft links")
    if claim == "margins":
        return _margins(stated, data, document, evidence, known)
    if stated.unknown != (claim == "chord") and claim not in ("infeasible", "soft"):
        raise Rejected(f"its claim is {claim!r}, but its variance is {'un' * stated.unknown}known")
    root = None if claim in ("sum", "chord", "soft") else Root(stated, data)

    def proved(bound: float) -> bool:
        return (digests["statement"], digests["data"], bound) in known

    if claim == "infeasible" and root is not None:
        if document.get("objective", 0) is not None or document.get("bound", 0) is not None:
            raise Rejected("a claim of infeasibility has no objective and no bound: they must be null")
        if any(array.startswith("incumbent/") for array in arrays):
            raise Rejected("a claim of infeasibility comes with a clustering")
        walked = (
            Walked(0, 0) if proved(math.inf) else _walked(root, document, evidence, math.inf, COMBINATORIAL)
        )
        sentence = "Verified: no clustering meets the constraints."
        return Verdict(True, "verified", sentence, math.inf, nodes=walked.nodes, leaves=walked.leaves)
    objective, bound = (_number(document, name) for name in ("objective", "bound"))
    most = _value(stated, data, document, evidence)
    if bound > max(most, objective):
        raise Rejected(f"its bound {bound!r} lies above the objective {most!r} of its own clustering")
    if proved(bound):
        how, walked = "", Walked(0, 0)
    elif claim == "soft":
        how, walked = _soft(stated, data, document, evidence, bound, known)
    elif claim == "chord":
        how, walked = _chord(stated, data, document, evidence, bound, known)
    elif root is None:
        how, walked = _sum(stated, data, document, evidence, bound, known)
    else:
        how, walked = "", _walked(root, document, evidence, bound, STEPS)
    # A power of two times a number is exact; other factors are rounded outwards.
    factor, name, unit = (
        (1.0, "objective", " nats") if stated.squares is None else (stated.squares, "SSE", "")
    )
    above, below = (_outwards(factor, x, sign) for x, sign in ((most, 1.0), (bound, -1.0)))
    sentence = (
        f"Verified: the clustering has {name} {above:.10g} and no clustering is better than {below:.10g}{how}, "
        f"so it is within {max(0.0, above - below):.3g}{unit} of the optimum."
    )
    return Verdict(True, "verified", sentence, bound, most, nodes=walked.nodes, leaves=walked.leaves)


def _outwards(factor: float, value: float, sign: float) -> float:
    """``factor * value``, rounded up or down by the sign, unless it is exact."""
    if math.frexp(factor)[0] == 0.5:
        return factor * value
    return math.nextafter(factor * value, sign * math.inf)


def _value(stated: Statement, data: np.ndarray, document: Document, evidence: Evidence) -> float:
    """What the objective of the clustering is at most, which has to be the one that is claimed."""
    objective = _number(document, "objective")
    if stated.unknown:
        value, error = chords.value(document["statement"], stated, data, evidence)
    else:
        value, error = incumbent.value(stated, data, evidence)
    if not abs(value - objective) <= error + 1e-10 * max(1.0, abs(value)):
        raise Rejected(f"the clustering has objective {value!r}, not {objective!r}")
    return math.nextafter(value + error, math.inf)


def _walked(
    root: Root,
    proof: Document,
    evidence: Evidence,
    target: float,
    kinds: Kinds,
    settled: Callable[[Domain], bool] = lambda domain: False,
) -> Walked:
    """Check the tree and the steps that prove the target."""
    entries = _entries(proof)
    alone = len(entries) == 1 and np.size(evidence.arrays.get(evidence.full("tree/parent"), ())) == 1
    if not alone and any(entry.get("kind") == "boxes" for entry in entries):
        raise Rejected("a tree of boxes must be the only step of the only node")
    return walk(root, evidence, entries, target, kinds, settled)


def _entries(proof: Document) -> list[Mapping[str, Any]]:
    entries = proof.get("steps")
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise Rejected("it lacks steps, or a step is not an object")
    return entries


def _part(
    t: int,
    proof: Document,
    own: dict[str, Any],
    rows: np.ndarray,
    evidence: Evidence,
    known: Known,
) -> Walked:
    """Check the bound of part t, whose statement and samples these are: by a tree, or as a sum of parts of its own."""
    bound, inside = (
        _number(proof, "bound"),
        Evidence({"arrays": evidence.full(f"parts/{t}/")}, evidence.arrays),
    )
    if known and (statement.digest(own), statement.data_digest(rows), bound) in known:
        return Walked(0, 0)
    try:
        stated = statement.read(own)
        if stated.unknown:
            return _chord(stated, rows, {**proof, "statement": own}, inside, bound, known)[1]
        if "parts" in proof:
            return _sum(stated, rows, {**proof, "statement": own}, inside, bound, known)[1]
        return _walked(Root(stated, rows), proof, inside, bound, STEPS)
    except Rejected as error:
        raise Rejected(f"part {t} fails: {error}") from None


def _chord(
    stated: Statement, data: np.ndarray, document: Document, evidence: Evidence, bound: float, known: Known
) -> tuple[str, Walked]:
    """Bounds at known variances, proved one after the other; what follows for all has to reach the bound."""
    if stated.per_feature:
        return _vertices(stated, data, document, evidence, bound, known)
    whole, proofs, slack = document["statement"], _parts(document), chords.slack(stated.precision)
    points, slope, nodes, leaves = {0.0: chords.least_weight_cost(stated)}, 0.0, 0, 0
    for t, proof in enumerate(proofs):
        scale, at_most, squares = _number(proof, "scale"), _number(proof, "bound"), proof.get("squares")
        if not scale > 0.0 or not isinstance(squares, bool):
            raise Rejected(f"part {t} does not say which problem it is about")
        own = chords.at_scale(chords.sum_of_squares(whole, stated) if squares else whole, stated, scale)
        walked = _part(t, proof, own, data, evidence, known)
        nodes, leaves = nodes + walked.nodes, leaves + walked.leaves
        scale, inner = scale * (1.0 + slack), statement.read(own)
        if squares:
            slope = max(slope, chords.least_squares(at_most, stated.n, stated.K, inner.half_log_det, scale))
        else:
            found = chords.lifted(at_most, stated.n, inner.half_log_det, stated.half_log_det)
            points[scale] = max(found, points.get(scale, -math.inf))
    slope = max(slope, chords.rise(points, chords.most_weight_cost(stated)))
    low, high = chords.scales(stated.variances)
    envelope = chords.Envelope(sorted(points.items()), slope, 0.5 * stated.n * stated.d, low, high)
    if not envelope.bound >= bound:
        raise Rejected(f"for some variance its parts prove {envelope.bound!r} only, not its bound {bound!r}")
    return f" at any variance (by bounds at {len(points) - 1} of them)", Walked(nodes, leaves)


def _vertices(
    stated: Statement, data: np.ndarray, document: Document, evidence: Evidence, bound: float, known: Known
) -> tuple[str, Walked]:
    """The same with a variance for every feature: some bounds are of the squares of one feature, others half-spaces."""
    whole, proofs, half_spaces, nodes, leaves = document["statement"], _parts(document), [], 0, 0
    squares, shape = [0.0] * stated.d, stated.half_log_det
    for t, proof in enumerate(proofs):
        at_most, given = _number(proof, "bound"), proof.get("scale")
        scale = [_number({"scale": x}, "scale") for x in given] if isinstance(given, list) else []
        if len(scale) != (1 if "feature" in proof else stated.d) or min(scale) <= 0.0:
            raise Rejected(f"part {t} does not say which problem it is about")
        if "feature" in proof:
            j = Evidence(proof, {}).whole("feature", 0, stated.d - 1)
            own, rows = vertices.of_feature(whole, stated, scale[0]), data[:, [j]]
            least = chords.least_squares(at_most, stated.n, stated.K, np.zeros(1), scale[0])
            squares[j] = max(squares[j], least)
        else:
            own, rows = chords.at_scale(whole, stated, np.array(scale)), data
            half_spaces.append((scale, chords.lifted(at_most, stated.n, np.zeros(1), shape)))
        walked = _part(t, proof, own, rows, evidence, known)
        nodes, leaves = nodes + walked.nodes, leaves + walked.leaves
    found = vertices.Bounds(stated, squares, half_spaces).lowest()[0]
    if not found >= bound:
        raise Rejected(f"for some variances its parts prove {found!r} only, not its bound {bound!r}")
    return f" at any variances (by bounds at {len(half_spaces)} of them)", Walked(nodes, leaves)


def _sum(
    stated: Statement, data: np.ndarray, document: Document, evidence: Evidence, bound: float, known: Known
) -> tuple[str, Walked]:
    """The bounds of the parts of a partition, proved one after the other; their exact sum has to reach the bound."""
    proofs = _parts(document)
    of = evidence.integers("partition", stated.n, low=0, high=len(proofs) - 1)
    partition = Partition(document["statement"], stated, of, len(proofs))
    bounds, nodes, leaves = [_number(proof, "bound") for proof in proofs], 0, 0
    for t, proof in enumerate(proofs):
        walked = _part(t, proof, partition.statement(t), data[partition.samples(t)], evidence, known)
        nodes, leaves = nodes + walked.nodes, leaves + walked.leaves
    if math.fsum((*bounds, -bound)) < 0.0:  # rounded once: the sign is right
        raise Rejected(f"the bounds of its parts add up to {math.fsum(bounds)!r}, not to its bound {bound!r}")
    return f" (the sum of what {len(proofs)} parts of the samples cost at least)", Walked(nodes, leaves)


def _soft(
    stated: Statement, data: np.ndarray, document: Document, evidence: Evidence, bound: float, known: Known
) -> tuple[str, Walked]:
    """Problems without soft links, proved one after the other; with penalties all leaves have to reach the bound."""
    proofs = _parts(document)
    kept, bounds, nodes, leaves = [], [], 0, 0
    for t, proof in enumerate(proofs):
        kept.append(softlinks.chosen(stated, proof.get("kept")))
        own = softlinks.hardened(document["statement"], stated, kept[-1])
        if proof.get("bound", 0) is None:
            bounds.append(math.inf)
            inside = Evidence({"arrays": evidence.full(f"parts/{t}/")}, evidence.arrays)
            walked = _walked(Root(statement.read(own), data), proof, inside, math.inf, COMBINATORIAL)
        else:
            bounds.append(_number(proof, "bound"))
            walked = _part(t, proof, own, data, evidence, known)
        nodes, leaves = nodes + walked.nodes, leaves + walked.leaves
    softlinks.reach(stated, document.get("nodes"), kept, bounds, bound)
    return f" (whichever soft links are broken, by {len(proofs)} problems without any)", Walked(nodes, leaves)


def _margins(
    stated: Statement, data: np.ndarray, document: Document, evidence: Evidence, known: Known
) -> Verdict:
    """Pairs that are together, or apart, in every clustering within so many nats of the one that is given."""
    within, parts = _number(document, "within"), _parts(document)
    if within < 0.0:
        raise Rejected("it is about less than nothing")
    most = _value(stated, data, document, evidence)
    cutoff = math.nextafter(most + within, math.inf)
    chain, nodes, leaves, least = Chain(document["statement"], stated), 0, 0, -math.inf
    for t, part in enumerate(parts):
        pairs = chain.pairs(part.get("pairs"))
        inside = Evidence({"arrays": evidence.full(f"parts/{t}/")}, evidence.arrays)
        if stated.unknown and (part.get("settled") is True or len(pairs) == 0):
            raise Rejected(f"part {t} is about a known variance, but the variance is unknown")
        if len(pairs) == 0:  # nothing costs less: what the next part may use
            least, itself = _number(part, "bound"), chain.statement()
            if (statement.digest(itself), document["digests"]["data"], least) not in known:
                _walked(Root(statement.read(itself), data), part, inside, least, IN_COORDINATES)
            continue
        if part.get("settled") is True:
            bound = _number(part, "bound")
            walked = _settled(chain, data, part, inside, pairs, least, known)
        elif len(pairs) != 1:
            raise Rejected(f"part {t} is not about one pair")
        elif part.get("bound", 0) is None:
            bound, own = math.inf, statement.read(chain.statement(pairs[0]))
            walked = _walked(Root(own, data), part, inside, bound, COMBINATORIAL)
        else:
            bound = _number(part, "bound")
            walked = _part(t, part, chain.statement(pairs[0]), data, evidence, known)
        if not bound > cutoff:
            raise Rejected(f"the bound {bound!r} of part {t} is not above {cutoff!r}, {within!r} nats more")
        nodes, leaves, least = nodes + walked.nodes, leaves + walked.leaves, -math.inf
        chain.add(pairs)
    claimed = chain.pairs(document.get("pairs"))
    if not chain.follows(claimed):
        raise Rejected("a pair that it claims does not follow from its parts")
    together = int(claimed[:, 2].sum())
    sentence = (
        f"Verified: the clustering has objective {most:.10g}, and in every clustering within {within:g} nats of it "
        f"{together} pairs of samples are together and {len(claimed) - together} are apart."
    )
    return Verdict(True, "verified", sentence, value=most, nodes=nodes, leaves=leaves)


def _settled(
    chain: Chain,
    data: np.ndarray,
    part: Document,
    inside: Evidence,
    pairs: np.ndarray,
    least: float,
    known: Known,
) -> Walked:
    """A tree in whose leaves all pairs are together, or everything reaches the bound of the part."""
    bound = _number(part, "bound")
    if known and (chain.digest(pairs), statement.data_digest(data), bound) in known:
        return Walked(0, 0)
    root = Root(statement.read(chain.statement()), data)

    def by_boxes(root: Root, domain: Domain, evidence: Evidence, target: float) -> float:
        if not boxed(root, pairs, least, domain, evidence, target).all():
            raise Rejected("in a leaf of the tree of boxes a pair is not together")
        return target

    kinds = {**FOR_ALL, "boxes": by_boxes}
    return _walked(root, part, inside, bound, kinds, partial(settled, root, pairs))


def _comparison(document: Document, arrays: Arrays, data: np.ndarray, known: Known) -> Verdict:
    """Several certificates about the same data, one after the other; and if one is called the best, whether it is.

    The best one's clustering, plus its offset, is worth no more than any other one's bound plus the offset of that.
    With a criterion the problems are of one kind, and the offsets follow from their statements.
    """
    parts, best, criterion = _parts(document), document.get("best"), document.get("criterion")
    if not parts:
        raise Rejected("a comparison lacks its parts")
    found, said = [], []
    for i, part in enumerate(parts):
        if part.get("claim") == "comparison":
            raise Rejected(f"part {i} is not a certificate of one problem")
        prefix = f"parts/{i}/"
        own = {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
        try:
            found.append(_check(part, own, data, known))
        except Rejected as error:
            raise Rejected(f"part {i} fails: {error}") from None
        words = found[-1].sentence.removeprefix("Verified: ").rstrip(".")
        said.append(f"{i} (components: {part['statement']['n_components']}): {words}")
    sentence = f"Verified: {len(parts)} problems about the same samples. {'; '.join(said)}."
    offset = _offsets(document, len(parts))
    if best is not None:
        if type(best) is not int or not 0 <= best < len(parts):
            raise Rejected(f"its best part is {best!r}, which is not there")
        worth = found[best].value, offset[best][1]
        others = [(v.bound, offset[i][0]) for i, v in enumerate(found) if i != best]
        ahead = min((math.fsum((*other, -worth[0], -worth[1])) for other in others), default=math.inf)
        if not (math.isfinite(worth[0]) and ahead >= 0.0):
            raise Rejected(f"part {best} is not proved to be the best one")
        least = math.nextafter(ahead, 0.0)  # it was rounded once
        if criterion is None:
            added = ", ".join(repr(low) for low, _ in offset)
            sentence += f" With offsets {added} the best is {best}, by {least!r} nats or more."
        else:
            count = parts[best]["statement"]["n_components"]
            sentence += f" The ICL is least with {count} components, by {2.0 * least!r} or more."
    nodes, leaves = (sum(getattr(v, what) for v in found) for what in ("nodes", "leaves"))
    return Verdict(True, "verified", sentence, nodes=nodes, leaves=leaves, parts=tuple(found))


def _offsets(document: Document, count: int) -> list[tuple[float, float]]:
    """What is added to every objective of a comparison, rounded down and up."""
    offsets, criterion = document.get("offsets"), document.get("criterion")
    if criterion == "icl" and offsets is None:
        return criteria.penalties(
            [part["statement"] for part in document["parts"]], document.get("components")
        )
    if criterion is not None or not isinstance(offsets, list) or len(offsets) != count:
        raise Rejected("a comparison needs an offset for every part, or the criterion 'icl' and no offsets")
    return [(number, number) for number in (_number({"offset": x}, "offset") for x in offsets)]


def _parts(document: Document) -> list[Document]:
    """The certificates that a certificate contains."""
    parts = document.get("parts")
    if not isinstance(parts, list) or not all(isinstance(part, Mapping) for part in parts):
        raise Rejected("it lacks its parts")
    return parts


def _number(document: Document, name: str) -> float:
    found = document.get(name)
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not math.isfinite(found):
        raise Rejected(f"its {name} is {found!r}, not a finite number")
    return float(found)
