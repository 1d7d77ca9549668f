"""Machine code only for functions that are called from outside.

Numba makes machine code of every function that it compiles, also of those that are only ever linked into their callers
in LLVM's language and compiled again as part of them. For kernels that is a seventh of the time: here a function gets
machine code when somebody asks for its address. What is compiled in the end is the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

# Environments of functions without machine code, by the name of the variable that is to point to them.
_waiting: dict[str, Any] = {}


class Linked(JITCodeLibrary):
    """Compiled code that becomes machine code when it is asked for an address."""

    _emitted = False

    def _finalize_final_module(self) -> None:
        self._finalized = True
        if getattr(self, "_compiled_object", None) is not None:  # it comes from the cache on disk
            self._emit()

    def _emit(self) -> None:
        self._emitted = True
        super()._finalize_final_module()

    def get_pointer_to_function(self, name: str) -> Any:
        """The address of a function, 0 if there is no such function here."""
        self._ensure_finalized()
        if not self._emitted:
            if all(function.name != name for function in self.get_defined_functions()):
                return 0
            self._emit()
        return super().get_pointer_to_function(name)


@contextmanager
def machine_code_on_demand() -> Iterator[None]:
    """What is compiled within the block is :class:`Linked`."""
    with global_compiler_lock:
        codegen = cpu_target.target_context.codegen()
        set_env = codegen.set_env

        def set_env_or_wait(name: str, env: Any) -> None:
            _waiting[name] = env
            _set_waiting(codegen._engine, set_env)

        codegen._library_class, codegen.set_env = Linked, set_env_or_wait
        try:
            yield
        finally:
            del codegen._library_class, codegen.set_env


def _set_waiting(engine: Any, set_env: Any) -> None:
    for name in [name for name in _waiting if engine.is_symbol_defined(name)]:
        set_env(name, _waiting.pop(name))
