"""``certmix engines``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from certmix.engines import Engine


def engines_command() -> None:
    """List the engines: what each is, whether it proves a bound, and which parts of a problem it honours."""
    from rich.console import Console
    from rich.table import Table

    from certmix.engines import NAMES, engine

    table = Table(box=None, pad_edge=False, show_edge=False)
    table.add_column("engine", no_wrap=True)
    table.add_column("proves a bound", no_wrap=True)
    table.add_column("what it is, and what of a problem it honours")
    table.add_row("auto", "", "Chooses one of the others and says why.")
    for name in NAMES[1:]:
        found = engine(name)
        about = (type(found).__doc__ or "").strip().split("\n\n")[0]
        proves = "no" if not found.certified else "attested" if getattr(found, "attested", False) else "yes"
        table.add_row(name, proves, f"{about} Honours {honoured(found)}.")
    Console(width=110, highlight=False, markup=False).print(table)


def honoured(found: Engine) -> str:
    """What an engine honours, by listing whichever is shorter: what it does or what it does not."""
    from certmix.problem.features import EVERY_FEATURE

    missing = EVERY_FEATURE - found.honours
    if not missing:
        return "every option and constraint"
    if len(missing) <= len(EVERY_FEATURE) // 2:
        return "everything but " + ", ".join(sorted(missing))
    return ", ".join(sorted(found.honours)) or "no option beyond the plain problem"
