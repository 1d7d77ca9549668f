"""Coverage-guided fuzzing of the readers with atheris: ``python tests/fuzz/fuzz_readers.py READER [options]``.

The options are libFuzzer's. READER is one of the names in ``reading.readers()``, or ``all``, when the first byte
chooses. Needs the extra ``fuzz`` (``pip install 'certmix[fuzz]'``). A useful call:

    python tests/fuzz/fuzz_readers.py "data csv" -max_total_time=120 -max_len=4096

What is found is written to a file ``crash-...`` in the current directory; give it as the last argument to repeat it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path


def main() -> int:
    try:
        import atheris
    except ImportError:
        print("fuzz_readers.py needs atheris: pip install 'certmix[fuzz]'", file=sys.stderr)
        return 2
    sys.path.append(str(Path(__file__).parents[1]))  # what all tests share
    with atheris.instrument_imports(include=["certmix.io", "certmix.problem", "certmix.certificate"]):
        from reading import readers, reads_or_complains

    known = readers()
    if len(sys.argv) < 2 or sys.argv[1] not in (*known, "all"):
        print(f"usage: fuzz_readers.py READER, one of: all; {'; '.join(known)}", file=sys.stderr)
        return 2
    name = sys.argv.pop(1)
    chosen = list(known.values()) if name == "all" else [known[name]]

    def one(content: bytes) -> None:
        if name == "all" and content:
            reads_or_complains(chosen[content[0] % len(chosen)], content[1:])
        elif content:
            reads_or_complains(chosen[0], content)

    with tempfile.TemporaryDirectory() as corpus:  # valid files to begin with
        for i, reader in enumerate(chosen):
            for j, content in enumerate(reader.examples()):
                first = bytes([i]) if name == "all" else b""
                (Path(corpus) / f"{i}-{j}").write_bytes(first + content)
        repeat = any(Path(argument).is_file() for argument in sys.argv[1:])
        atheris.Setup(sys.argv if repeat else [*sys.argv, corpus], one)
        atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
