"""``certmix verify``: does a certificate prove what it claims?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from certmix.cli.request import Request
from certmix.cli.standard_output import say

if TYPE_CHECKING:
    from certmix.verify.check import Verdict

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
    """Check a certificate against a problem, without trusting the program that made it.

    The checker is plain NumPy and uses nothing of the search. Give the data with the options that certmix solve had:
    all that is given is compared with the certificate, and the sentence names what was taken from it. A built-in data
    set is compared as a whole.

    Exit codes: 0 verified, 1 rejected, 2 bad usage or input.
    """
    verdict = _verdict(certificate, request)
    if json:
        from certmix.io.strict_json import dumps, finite

        entry = {
            "verified": verdict.verified,
            "level": verdict.level,
            "sentence": verdict.sentence,
            "bound": finite(verdict.bound),
            "objective": finite(verdict.value),
            "nodes": verdict.nodes,
            "leaves": verdict.leaves,
            "seconds": verdict.seconds,
            "taken_from_certificate": list(verdict.taken),
        }
        say(dumps(entry))
    else:
        say(f"{verdict.sentence}\nlevel: {verdict.level}\n")
    return VERIFIED if verdict.verified else REJECTED


def _verdict(path: Path, request: Request) -> Verdict:
    from certmix.certificate.comparing import different, has_noise
    from certmix.certificate.statement import state
    from certmix.cli.building import Prepared, Unfit, build
    from certmix.cli.request import built_in, stated
    from certmix.verify.check import Verdict
    from certmix.verifying import hint, opened, rejected, verify

    certificate = opened(path)
    if isinstance(certificate, Verdict):
        return certificate
    if certificate.document.get("claim") == "comparison":
        if request.n_components is not None:
            return rejected("it compares several numbers of components: leave -k out")
        parts = None if built_in(request) else stated(request)
        return verify(
            certificate, Prepared(request).maker(certificate.document.get("components")), parts=parts
        )
    said = certificate.document.get("statement")
    said = said if isinstance(said, dict) else {}
    count = said.get("n_components")
    clusters = count - has_noise(said) if type(count) is int else 0
    try:
        problem = build(request, max(1, clusters)).problem
    except Unfit as error:
        verdict = rejected(f"what is given does not fit the certificate ({error})")
        return replace(verdict, sentence=verdict.sentence + hint(certificate, ""))
    if built_in(request):
        return verify(certificate, problem)
    # What no option can say: nothing to mention unless the certificate says something there.
    silent = {"bounds", "estimators", "empty components"}.difference(different(state(problem), said))
    return verify(certificate, problem, parts=stated(request) | silent)
