"""``certmix compile``: everything that is compiled, ahead of need."""

from __future__ import annotations

import sys
import time
from typing import Annotated

import typer

from certmix.cli.parsing import whole


def compile_command(
    threads: Annotated[
        int | None,
        typer.Option(metavar="N", help="How many processes compile. Default: all cores.", parser=whole),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")] = False,
) -> int:
    """Compile all kernels now, so that no later run has to.

    A run compiles what it uses for the first time, which takes part of a minute; this command compiles everything, for
    containers and for machines that people share. Where it goes: NUMBA_CACHE_DIR/certmix, else XDG_CACHE_HOME/certmix,
    else ~/.cache/certmix. Done again, it finds that nothing is left to do.
    """
    from certmix import ahead
    from certmix.errors import OutputError
    from certmix.options import Options

    def tell(text: str) -> None:
        if not quiet:
            print(text, file=sys.stderr, flush=True)

    folder = ahead.cache_folder()
    try:
        ahead.check_writable(folder)
    except OSError as error:
        raise OutputError(
            f"compiled kernels cannot be kept in {folder} ({error.strerror or error}); "
            "NUMBA_CACHE_DIR names another folder"
        ) from None
    parts = ahead.missing()
    if not parts:
        tell(f"all kernels are compiled already; they are in {folder}")
        return 0
    processes = min(len(parts), Options(threads=threads).n_threads)
    tell(f"compiling kernels into {folder}, by {processes} process{'es' if processes > 1 else ''}")
    start, failed = time.monotonic(), False
    for count, (part, failure) in enumerate(ahead.compile_all(parts, processes), start=1):
        failed = failed or bool(failure)
        line = f"  {count} of {len(parts)}: {part}, {time.monotonic() - start:.0f} s"
        if failure:
            print(f"{line}: failed: {failure}", file=sys.stderr)
        else:
            tell(line)
    if not failed:
        tell("done; no later run has to compile anything")
    return 1 if failed else 0
