"""Kernels that only kernels call, kept as the compiler's intermediate code.

Numba would optimise each of them together with all that it calls, and make machine code of the whole: of code
that only its callers use, again for every level of calls. Here an inner kernel is simplified by itself; that
of all levels together is optimised and made machine code in the entry above, once.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, compile_result

FIELDS = ("fndesc", "environment", "signature", "objectmode", "lifted", "reload_init")


class InnerLibrary(JITCodeLibrary):
    """Intermediate code of an inner kernel and of all that it calls."""

    def _optimize_final_module(self) -> None:
        """Left to the entry."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class InnerCompiler(Compiler):
    """Numba's compiler up to the intermediate code."""

    def compile_extra(self, func: Any) -> Any:
        """Compile a kernel; its library stands where the function for Python would, which names it."""
        self.state.flags.no_compile = True
        self.state.library = InnerLibrary(self.state.targetctx.codegen(), func.__qualname__)
        result = super().compile_extra(func)._replace(entry_point=self.state.library)
        result.target_context.insert_user_function(result.entry_point, result.fndesc, [result.library])
        return result


def reduced(result: Any) -> tuple[Any, ...]:
    """What a file keeps of a compiled inner kernel."""
    result.fndesc.typemap = result.fndesc.calltypes = None  # of use to the compiler only, not to be written
    bitcode = result.library._get_module_for_linking().as_bitcode()
    return (result.library.name, bitcode, *(getattr(result, field) for field in FIELDS))


def rebuilt(target_context: Any, kept: tuple[Any, ...]) -> Any:
    """The compiled inner kernel of which a file kept this."""
    name, bitcode, *values = kept
    fields = dict(zip(FIELDS, values, strict=True))
    for start_anew in fields["reload_init"]:
        start_anew()
    library = InnerLibrary(target_context.codegen(), name)
    library._final_module = library._shared_module = binding.parse_bitcode(bitcode)
    library._finalize_final_module()
    return compile_result(
        target_context=target_context,
        typing_context=target_context.typing_context,
        library=library,
        entry_point=library,
        typing_error=None,
        **fields,
    )
