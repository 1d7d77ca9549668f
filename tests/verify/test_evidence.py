"""Small certificates that would blow up in the checker: refused before anything large is allocated."""

from __future__ import annotations

import io
import json
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certmix
from certmix.io import certificates as files
from certmix.io.certificates import Certificate
from certmix.problem import Problem
from certmix.verify import dynamic, evidence
from certmix.verify.check import check
from certmix.verify.evidence import Evidence, Rejected, room
from certmix.verify.root import Root, entropy
from certmix.verify.statement import read

DATA = np.arange(6.0)[:, None]
MEGABYTE = 2**20


@pytest.fixture(scope="module")
def good() -> Certificate:
    certificate = certmix.solve(Problem(DATA, 2, variance=1.0), certificate=True).certificate
    assert certificate is not None
    return certificate


@contextmanager
def at_most(megabytes: float) -> Iterator[None]:
    """Nothing in the block may need more memory than this."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < megabytes * MEGABYTE
    finally:
        tracemalloc.stop()


def test_small_types_are_not_widened_without_a_look(good: Certificate) -> None:
    """Two hundred million numbers of one byte, two hundred kilobytes in the file, are not made eight bytes each."""
    zeros = np.broadcast_to(np.int8(0), (200_000_000,))
    for name in ("tree/parent", "tree/kind", "incumbent/labels"):
        with at_most(50), pytest.raises(Rejected, match="at a time"):
            Evidence({}, {name: zeros}).integers(name, None)
    arrays = {**good.arrays, "tree/parent": zeros}
    with at_most(50):
        assert not check(good.document, arrays, DATA).verified


def packed(path: Path, name: str, header: bytes, body: bytes) -> None:
    """The files of a certificate with one array, made by hand."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{name}.npy", header + body)
    path.with_suffix(".npz").write_bytes(stream.getvalue())


def header(shape: tuple[int, ...], kind: str = "|i1") -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": kind, "fortran_order": False, "shape": shape})
    return stream.getvalue()


@pytest.mark.parametrize(
    ("shape", "length", "why"),
    [((2**28 + 1,), 2**28 + 1, "more than"), ((2**40,), 8, "length"), ((2**20, 2**30), 0, "length")],
)
def test_archives_are_measured_before_they_are_unpacked(
    good: Certificate, tmp_path: Path, shape: tuple[int, ...], length: int, why: str
) -> None:
    """What is compressed a thousand times, or only claimed in a header, is refused in a sentence."""
    path = good.save(tmp_path / "c")
    packed(tmp_path / "c", "tree/parent", header(shape), b"\0" * length)
    document = json.loads(path.read_text())
    document["arrays"]["sha256"] = sha256((tmp_path / "c.npz").read_bytes()).hexdigest()
    path.write_text(json.dumps(document))
    assert (tmp_path / "c.npz").stat().st_size < 300_000
    with at_most(50):
        found = certmix.verify(path, DATA)
    assert not found.verified
    assert why in found.sentence


def many_components(statement: dict[str, Any], K: int) -> dict[str, Any]:
    """A statement about so many components, most of them empty."""
    rows = {name: [[None]] * K for name in ("mean_lower", "mean_upper")}
    rows |= {"half_log_det": [0.0] * K, "alpha": [1.0] * K, "prior_mean": [[0.0]] * K}
    rows |= {
        "weight_lower": [0.0] * K,
        "weight_upper": [1.0] * K,
        "component_names": list(map(str, range(K))),
    }
    return {**statement, **rows, "n_components": K, "allow_empty": True}


def test_components_times_samples(good: Certificate) -> None:
    """Tables of every size for very many components are not made."""
    data = np.zeros((20_000, 1))
    statement = many_components(good.document["statement"], 5_000)
    statement["n_samples"] = len(data)
    with at_most(60):
        for make in (entropy, lambda stated: Root(stated, data)):
            with pytest.raises(Rejected, match="at a time"):
                make(read(statement))


def test_dynamic_programming_over_very_many_kinds_of_components() -> None:
    """The states of a shortest path are counted before they are listed."""
    problem = Problem(DATA, 20, variance=1.0, weights=np.arange(1, 21) / 210, allow_empty=True)
    root = certmix.verify.root.Root(
        certmix.verify.statement.read(certmix.certificate.statement.state(problem)), DATA
    )
    domain = certmix.verify.domain.Domain.of(root)
    assert "too many" in str(dynamic.refusal(root, domain))


def test_room_is_what_it_says() -> None:
    """The limit counts bytes of everything that is made at a time."""
    room(evidence.MOST_BYTES // 8)
    room(evidence.MOST_BYTES, each=1)
    for shape, each in (((evidence.MOST_BYTES // 8, 2), 8), ((2**31, 2**31), 1)):
        with pytest.raises(Rejected):
            room(*shape, each=each)


def test_a_deep_tree_keeps_few_domains(good: Certificate, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes that wait for their turn are counted with the matrices that they hold."""
    arrays = dict(good.arrays)
    arrays["tree/parent"], arrays["tree/kind"] = np.array([-1, 0, 0]), np.array([0, 3, 4])
    arrays["tree/args"] = np.array([[0, 0, 0], [0, 3, 0], [0, 3, 0]])
    steps = [{"node": 1, "kind": "enumerate"}, {"node": 2, "kind": "enumerate"}]
    document = {**good.document, "steps": steps, "bound": good.bound - 1.0}
    assert check(document, arrays, DATA).verified
    refusing: Callable[..., None] = lambda *shape, each=8: _refuse() if each == 1 else None  # noqa: E731
    monkeypatch.setattr(certmix.verify.tree, "room", refusing)
    assert "refused" in check(document, arrays, DATA).sentence


def _refuse() -> None:
    raise Rejected("refused")


def test_the_file_limit_holds_what_a_recorder_may_write() -> None:
    """The maker cannot record more than a reader takes."""
    from certmix.search.bounds.semidefinite import record

    assert record.MOST_BYTES < files.MOST_BYTES
