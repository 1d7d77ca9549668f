"""``certmix verify``: does a certificate prove what it claims?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from certmix.cli.request import Request
from certmix.cli.standard_output import say

VERIFIED, REJECTED = 0, 1


def verify_command(
    certificate: Annotated[
        Path,
        typer.Argument(
            metavar="CERTIFICATE", help="certificate.json, or the directory that certmix solve --out wrote."
        ),
    ],
    request: Request,
    json: Annotated[bool, typer.Option("--json", help="Print the verdict as one JSON object.")] = False,
) -> int:
    """Check a certificate against data and side constraints, without trusting the program that made it.

    The checker is plain NumPy and uses nothing of the search. Data are read as for certmix solve, so give the same
    options for columns, names and preparation. Side constraints are compared with the certificate's when any are given.

    Exit codes: 0 verified, 1 rejected, 2 bad usage or input.
    """
    from certmix.cli.request import read_data, read_rules
    from certmix.verify.api import verify

    found = read_data(request)
    rules = (request.constraints, request.label_column, request.min_size, request.max_size)
    asked = any(rule is not None for rule in rules)
    verdict = verify(certificate, found.frame, read_rules(request, found) if asked else None)
    if json:
        from certmix.io.results import dumps, finite

        entry = {
            "verified": verdict.verified,
            "level": verdict.level,
            "sentence": verdict.sentence,
            "bound": finite(verdict.bound),
            "objective": finite(verdict.value),
            "nodes": verdict.nodes,
            "leaves": verdict.leaves,
            "seconds": verdict.seconds,
        }
        say(dumps(entry))
    else:
        say(f"{verdict.sentence}\nlevel: {verdict.level}\n")
    return VERIFIED if verdict.verified else REJECTED
