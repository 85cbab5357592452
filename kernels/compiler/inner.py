"""Kernels that only kernels call (inner kernels), stored as the compiler's intermediate code.

Numba would optimise each of them together with all that it calls, and compile this to machine code, again at
every level of calls. Here an inner kernel is simplified and stored by itself, with a list of the kernels that
it calls. An entry (a kernel that Python calls) collects all kernels that it calls, directly or not, and is
optimised and compiled to machine code together with them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from llvmlite import binding
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, compile_result

from kernels.compiler.groups import check_returned
from kernels.compiler.sources import module_hash

OPTIMISATION = 2
"""LLVM's optimisation level for entries: code of level 3 took as long to run, code of level 1 a tenth longer
(the compile times did not differ beyond their scatter)."""
FIELDS = ("fndesc", "environment", "signature", "objectmode", "lifted", "reload_init")


class _Library(JITCodeLibrary):
    """Numba's container for the intermediate code of one kernel, with a list of the inner kernels that it
    calls.
    """

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self.calls: dict[InnerLibrary, None] = {}

    def add_linking_library(self, library: Any) -> None:
        """Add the code of a function that this kernel calls: an inner kernel is only recorded in `calls`; the
        code of any other function is merged, as Numba does.
        """
        if isinstance(library, InnerLibrary):
            self.calls[library] = None
            self._reload_init.update(library._reload_init)
        else:
            super().add_linking_library(library)


class InnerLibrary(_Library):
    """Intermediate code of an inner kernel, without that of the kernels it calls.

    place : folder and file in which it is stored, or None
    """

    place: tuple[str, str] | None = None

    def _optimize_functions(self, module: Any) -> None:
        """Run only those LLVM passes that make the code smaller; the entry that calls the kernel is optimised
        later, together with it.
        """
        passes = binding.create_new_function_pass_manager()
        passes.add_sroa_pass()
        passes.add_simplify_cfg_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
        module.data_layout = self._codegen._data_layout
        builder = self._codegen._pass_builder()
        for function in module.functions:
            passes.run(function, builder)

    def _optimize_final_module(self) -> None:
        """Do nothing: an inner kernel is optimised together with the entry that calls it."""

    def _finalize_final_module(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == binding.Linkage.external:
                function.linkage = "linkonce_odr"  # as it is linked into many entries
        self._shared_module = self._final_module
        self._finalize_dynamic_globals()
        self._finalized = True


class EntryLibrary(_Library):
    """Machine code of an entry (a kernel that Python calls), compiled together with all kernels that it
    calls.
    """

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self.enable_object_caching()

    def _optimize_final_module(self) -> None:
        for library in _reached(self):
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        tuning = self._codegen._pass_builder(opt=OPTIMISATION, loop_vectorize=True, slp_vectorize=False)
        tuning.getModulePassManager().run(self._final_module, tuning)


def _reached(library: _Library) -> Iterator[InnerLibrary]:
    """Yield the inner kernels that a library calls, directly or not: each once, and only after a kernel that
    calls it.

    This order is needed because the linker leaves out code to which nothing refers yet.
    """
    ahead, seen = list(library.calls), set(library.calls)
    for called in ahead:
        yield called
        ahead += [other for other in called.calls if other not in seen]
        seen.update(called.calls)


class _Compiler(Compiler):
    """Numba's compiler, changed so that a kernel gets the same symbol name in every process."""

    library_class: type[_Library]

    def define_pipelines(self) -> Any:
        identity = self.state.func_id
        if not identity.func.__code__.co_freevars:  # what a kernel encloses is of this process
            identity.unique_id = _lasting_id(identity.func)
            identity.unique_name = f"{identity.func_qualname}${identity.unique_id}"
        return super().define_pipelines()

    def compile_extra(self, func: Any) -> Any:
        self.state.library = self.library_class(self.state.targetctx.codegen(), func.__qualname__)
        result = super().compile_extra(func)
        check_returned(f"{func.__module__}.{func.__qualname__}", result.signature.return_type)
        return result


class EntryCompiler(_Compiler):
    """Numba's compiler for entries (kernels that Python calls): it compiles to machine code."""

    library_class = EntryLibrary


class InnerCompiler(_Compiler):
    """Numba's compiler for inner kernels (kernels that kernels call): it ends at the intermediate code."""

    library_class = InnerLibrary

    def compile_extra(self, func: Any) -> Any:
        """Compile a kernel to LLVM's intermediate code only, and return Numba's compile result. Its entry
        point is the library with this code, not a function that Python can call.
        """
        self.state.flags.no_compile = True
        result = super().compile_extra(func)._replace(entry_point=self.state.library)
        result.target_context.insert_user_function(result.entry_point, result.fndesc, [result.library])
        return result


def _lasting_id(function: Any) -> int:
    """Return an integer that identifies a kernel: a hash of its source and code, the same in every process.

    Numba numbers functions in the order in which they are compiled. With those numbers in symbol names,
    callers and called kernels that are stored in separate files would not fit together.
    """
    code = function.__code__
    made_from = module_hash(Path(code.co_filename).resolve())
    what = (made_from, code.co_firstlineno, code.co_names, code.co_varnames)
    digest = hashlib.sha256(repr(what).encode())
    digest.update(code.co_code)
    digest.update(repr([x for x in code.co_consts if not hasattr(x, "co_code")]).encode())
    return int(digest.hexdigest()[:12], 16)


def reduced(result: Any) -> tuple[Any, ...]:
    """Return the record that is stored of a compiled inner kernel: its name, its intermediate code, folder
    and file of each kernel that it calls, and further fields of Numba's compile result.
    """
    result.fndesc.typemap = result.fndesc.calltypes = None  # of use to the compiler only, not to be written
    library = result.library
    calls = tuple(called.place for called in library.calls)
    bitcode = library._get_module_for_linking().as_bitcode()
    return (library.name, bitcode, calls, *(getattr(result, field) for field in FIELDS))


def names_alone(result: Any) -> bytes:
    """Return intermediate code with empty functions that have the symbol names of a compiled entry.

    It is stored beside the machine code, because Numba reads from it which names the machine code defines.
    """
    names = (result.fndesc.llvm_func_name, result.fndesc.llvm_cpython_wrapper_name)
    text = "".join(f'define void @"{name}"() {{ ret void }}\n' for name in names)
    return binding.parse_assembly(text).as_bitcode()


def places_of_calls(kept: tuple[Any, ...]) -> tuple[tuple[str, str], ...]:
    """Return folder and file of each inner kernel that a kernel calls; kept : the stored record of the
    kernel, from `reduced`.
    """
    places: tuple[tuple[str, str], ...] = kept[2]
    return places


def rebuilt(target_context: Any, kept: tuple[Any, ...], calls: list[InnerLibrary]) -> Any:
    """Return an inner kernel as Numba's compile result, rebuilt from the record that was stored of it, so
    that other kernels can be compiled against it.

    target_context : Numba's target context of this process, for which the code is rebuilt
    kept : the stored record, as `reduced` returned it when the kernel was compiled
    calls : the intermediate code of the inner kernels that it calls, already rebuilt
    """
    name, bitcode, _, *values = kept
    fields = dict(zip(FIELDS, values, strict=True))
    for start_anew in fields["reload_init"]:
        start_anew()
    library = InnerLibrary(target_context.codegen(), name)
    library.calls = dict.fromkeys(calls)
    library._final_module = binding.parse_bitcode(bitcode)
    library._finalize_final_module()
    return compile_result(
        target_context=target_context,
        typing_context=target_context.typing_context,
        library=library,
        entry_point=library,
        typing_error=None,
        **fields,
    )
