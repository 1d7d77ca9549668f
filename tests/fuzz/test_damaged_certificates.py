"""Damaged certificates: rejected in a sentence, or verified and true; never a traceback or a hang."""

from __future__ import annotations

import pytest
from certificate_reading import certificate_readers
from damage import damaged
from hypothesis import given, settings
from reading import Reader, reads_or_complains
from test_readers import FEW, MANY

EVERY = certificate_readers()
by_name = pytest.mark.parametrize("reader", EVERY, ids=[r.name for r in EVERY])


@by_name
def test_an_undamaged_certificate_is_verified(reader: Reader) -> None:
    """What the damage starts from is a proof."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as place:
        assert reader.read(reader.write(Path(place), reader.examples()[0])).verified


def damage(reader: Reader, how_many: settings) -> None:
    @how_many
    @given(damaged(reader.examples()))
    def run(content: bytes) -> None:
        reads_or_complains(reader, content)

    run()


@by_name
def test_damaged_certificates(reader: Reader) -> None:
    """A certificate with a few bytes changed, its digest put right."""
    damage(reader, settings(FEW, max_examples=30))


@pytest.mark.slow
@by_name
def test_many_damaged_certificates(reader: Reader) -> None:
    """The same, thousands of times."""
    damage(reader, MANY)
