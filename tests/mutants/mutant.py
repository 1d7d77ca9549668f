"""A bug to plant: a name, a sentence, the line it changes, and who has to notice.

The list is kept so that the checks are checked: a planted bug that nothing notices is a missing test. The text of a
mutant must occur exactly once in its file; when the code has moved on, the mutant moves with it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """A planted bug.

    Attributes
    ----------
    name, says : what it is called and what it does wrong
    file, old, new : where, relative to the package, and what becomes of which text
    noticed_by : ways of the soundness program, or test files
    fast : whether it is tried in `make test`
    compiled : of a bug in a kernel, whether the copy's are compiled: some checks would take too long in plain Python
    """

    name: str
    says: str
    file: str
    old: str
    new: str
    noticed_by: tuple[str, ...]
    fast: bool = False
    compiled: bool = False

    @property
    def in_kernels(self) -> bool:
        return self.file.startswith("kernels/")
