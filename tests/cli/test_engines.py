"""``certmix engines`` lists what is there."""

from __future__ import annotations

from certmix.cli.engines import honoured
from certmix.engines import NAMES, engine
from certmix.problem.features import EVERY_FEATURE, Feature


def test_every_engine_is_listed_with_what_it_proves(certmix):
    """Each engine has a line that says whether it proves a bound, or a solver only attests it."""
    answer = certmix("engines")
    assert answer.code == 0
    rows = {line.split()[0]: line.split()[1] for line in answer.out.splitlines() if line[:1].strip()}
    assert set(NAMES) <= rows.keys()
    for name in NAMES[1:]:
        proves = "attested" if name in ("minlp", "miqp") else "yes" if engine(name).certified else "no"
        assert rows[name] == proves


def test_what_is_honoured_is_said_the_shorter_way():
    """Everything, everything but a few, or just a few."""

    class Some:
        honours = EVERY_FEATURE

    assert honoured(Some()) == "every option and constraint"
    Some.honours = EVERY_FEATURE - {Feature.LABEL}
    assert honoured(Some()) == "everything but known labels"
    Some.honours = frozenset({Feature.SIZE})
    assert honoured(Some()) == "size limits"
