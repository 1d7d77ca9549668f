"""``certmix engines``."""

from __future__ import annotations


def engines_command() -> None:
    """List the engines: whether each proves a bound, and which parts of a problem it honours."""
    from rich.console import Console
    from rich.table import Table

    from certmix.engines import NAMES, engine
    from certmix.problem.features import EVERY_FEATURE

    table = Table(box=None, pad_edge=False, show_edge=False)
    table.add_column("engine", no_wrap=True)
    table.add_column("proves a bound", no_wrap=True)
    table.add_column("honours")
    table.add_row("auto", "", "chooses one of the others and says why")
    for name in NAMES[1:]:
        found = engine(name)
        missing = EVERY_FEATURE - found.honours
        if not missing:
            honours = "everything"
        elif len(missing) <= len(EVERY_FEATURE) // 2:
            honours = "everything but " + ", ".join(sorted(missing))
        else:
            honours = ", ".join(sorted(found.honours)) or "no option beyond the plain problem"
        table.add_row(name, "yes" if found.certified else "no", honours)
    Console(width=110, highlight=False).print(table)
