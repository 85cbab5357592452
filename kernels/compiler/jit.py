"""Decorators that compile kernels with Numba, and functions that forbid compilation once all are compiled."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numba
from numba.core import types

from kernels.compiler.cache import InnerCache, KernelCache
from kernels.compiler.held_arguments import HeldCall, PlainHeldCall, WordsType, contents
from kernels.compiler.inner import EntryCompiler, InnerCompiler

Function = TypeVar("Function", bound=Callable[..., Any])


class _Flags(set[str]):
    """A set of compiler flags with the same text in every process, as Numba writes it into symbol names."""

    def __str__(self) -> str:
        return " ".join(sorted(self))


# fastmath=True would delete the isfinite guards; these two flags keep them.
FAST = _Flags(("reassoc", "contract"))
# Untyped on purpose: options of Numba that its type stubs do not list.
_numba_njit: Any = numba.njit
_COMPILED: list[Any] = []


def njit(function: Function) -> Function:
    """Decorate a function as a kernel that other kernels call. Its code is cached on disk, runs without
    Python's interpreter lock, and keeps tests for NaN and infinity.

    Without Numba's runtime (_nrt=False) an allocation in a kernel is a compile error, and no array is
    reference counted on its way through the calls. The kernel has no wrapper for Python and no machine code
    of its own (`kernels.compiler.inner`). If Python calls it all the same, as tests do, an entry (a kernel
    that Python can call) is made at that call.
    """
    return _kernel(function)


def inlined(function: Function) -> Function:
    """Decorate a function as `njit` does, but merge its code into its callers: for short functions that are
    called often.
    """
    return _kernel(function, inline=True)


def entry(function: Function) -> Function:
    """Decorate a function as a kernel that Python calls, once per frame, and that no other kernel calls."""
    return _kernel(function, is_entry=True)


class Kernel:
    """A decorated function. The object by which Numba compiles and calls it (its dispatcher) is made at first
    use, because a run uses only a small part of all kernels.
    """

    def __init__(self, function: Callable[..., Any], inline: bool, is_entry: bool) -> None:
        functools.update_wrapper(self, function)
        self.py_func, self.is_entry, self._inline = function, is_entry, inline

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of Numba's dispatcher, for names that the kernel itself lacks; the dispatcher
        is made if there is none yet.
        """
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "_numba_type_" and self.is_entry:
            raise TypeError(
                f"a kernel calls {self.py_func.__module__}.{self.py_func.__qualname__}, which is decorated "
                "with entry and can be called from Python only; decorate it with njit, so that kernels and "
                "Python can call it"
            )
        if name == "_dispatcher":
            self._dispatcher = _new_dispatcher(self.py_func, self._inline, self.is_entry)
            if not self.is_entry:
                _let_python_call(self)
            return self._dispatcher
        return getattr(self._dispatcher, name)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._dispatcher(*arguments, **named)

    @property
    def is_used(self) -> bool:
        """Return whether Numba's dispatcher for this kernel has been made."""
        return "_dispatcher" in self.__dict__


def _kernel(function: Function, is_entry: bool = False, inline: bool = False) -> Function:
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return function
    made: Any = Kernel(function, inline, is_entry)
    _COMPILED.append(made)
    return made


def _let_python_call(kernel: Any) -> None:
    """Change the dispatcher of an inner kernel so that Python can call it, through an entry that only calls
    it.
    """
    compiled = kernel._dispatcher
    compile_kernel = compiled._compile_for_args

    def keep(result: Any) -> None:
        """Add a compiled version to the dispatcher's table, as Dispatcher.add_overload does, but without a
        wrapper for calls from Python, which an inner kernel does not have.
        """
        compiled.overloads[tuple(result.signature.args)] = result

    def compile_for(*arguments: Any) -> Any:
        compile_kernel(*arguments)
        code = _entry_of(kernel)._compile_for_args(*arguments)
        compiled._insert([compiled.typeof_pyval(argument)._code for argument in arguments], code, False)
        return code

    compiled.add_overload, compiled._compile_for_args = keep, compile_for


@functools.cache
def _entry_of(kernel: Any) -> Any:
    """Return an entry with the same arguments as a kernel, that does nothing but call it; its code is cached
    with the kernel's source file.
    """
    names = ", ".join(inspect.signature(kernel.py_func).parameters)
    return _entry_from(kernel, f"def from_python({names}):\n    return kernel({names})\n")


def _entry_from(kernel: Any, text: str) -> Any:
    """Return an entry made from the source text of a function that calls `kernel`; its code is cached with
    the kernel's source file.
    """
    function = getattr(kernel, "py_func", kernel)
    unpack = tuple if function is kernel else contents  # the compiler is off, or not
    scope: dict[str, Any] = {"kernel": kernel, "contents": unpack, "__name__": function.__module__}
    exec(compile(text, function.__code__.co_filename, "exec"), scope)
    (call,) = (made for name, made in scope.items() if name.startswith("from_"))
    call.__qualname__ = f"{function.__qualname__}.{call.__name__}"
    return _kernel(call, is_entry=True)


def _new_dispatcher(function: Callable[..., Any], inline: bool, is_entry: bool) -> Any:
    compiled = _numba_njit(
        nogil=True,
        fastmath=FAST,
        error_model="numpy",
        _nrt=False,
        no_cfunc_wrapper=True,
        no_cpython_wrapper=not is_entry,
        forceinline=inline,
        pipeline_class=EntryCompiler if is_entry else InnerCompiler,
    )(function)
    compiled._cache = KernelCache(function) if is_entry else InnerCache(function)
    compiled.get_call_template = functools.partial(_call_of_any_value, compiled.get_call_template)
    return compiled


def _call_of_any_value(template: Callable[..., Any], args: Any, kws: Any) -> Any:
    """Return the result of Numba's type inference for a call, with constants among the argument types
    replaced by their general types.

    One compiled version then serves all integers; Numba would compile another one for each constant argument.
    """
    return template([types.unliteral(a) for a in args], {k: types.unliteral(a) for k, a in kws.items()})


def bind(kernel: Any, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """Compile a kernel for arguments with the types of the given ones; return its machine code as a function,
    which does not examine the types of its arguments.

    Numba's dispatcher examines the type of every array of every call, which takes 15 us for a hundred arrays;
    this is left out. The caller guarantees that later arguments have the same types and layouts.
    """
    if not isinstance(kernel, Kernel):  # the compiler is off
        return kernel
    if not kernel.is_entry:
        kernel = _entry_of(kernel)
    signature = tuple(numba.typeof(argument) for argument in arguments)
    found = kernel.overloads.get(signature)
    return found.entry_point if found is not None else kernel.compile(signature)


def hold(kernel: Any, arguments: tuple[Any, ...], given: tuple[int, ...] = ()) -> HeldCall:
    """Compile a kernel for these arguments and store them; return a HeldCall, which calls it with them.

    given : indices of the arguments that are not stored but passed with every call, in this order and with
        the same types
    """
    held = tuple(argument for k, argument in enumerate(arguments) if k not in given)
    call = _held_entry_of(kernel, len(arguments), given)
    kinds = tuple(numba.typeof(argument) for argument in held)
    if not isinstance(kernel, Kernel):  # the compiler is off
        return PlainHeldCall(call, held, kinds)
    signature = (WordsType(kinds), *(numba.typeof(arguments[k]) for k in given))
    found = call.overloads.get(signature)
    return HeldCall(found.entry_point if found is not None else call.compile(signature), held, kinds)


@functools.cache
def _held_entry_of(kernel: Any, n: int, given: tuple[int, ...]) -> Any:
    """Return an entry that calls a kernel of n arguments: those with the indices `given` are passed with each
    call, the others are read from stored words.
    """
    places = {k: f"held[{place}]" for place, k in enumerate(k for k in range(n) if k not in given)}
    head = ", ".join(["at", *(f"x{k}" for k in given)])
    names = ", ".join(places.get(k, f"x{k}") for k in range(n))
    text = f"def from_held({head}):\n    held = contents(at)\n    return kernel({names})\n"
    return _entry_from(kernel, text)


def reachable(kernels: Iterable[Any], without: Iterable[Any] = ()) -> list[Any]:
    """Return the given kernels and all that they call, directly or not, except `without`; an empty list if
    Numba's compiler is off.
    """
    left_out = {id(kernel) for kernel in without}
    found: dict[int, Any] = {}
    ahead = [kernel for kernel in kernels if isinstance(kernel, Kernel)]
    while ahead:
        kernel = ahead.pop()
        if id(kernel) not in found and id(kernel) not in left_out:
            found[id(kernel)] = kernel
            function = kernel.py_func
            called = (function.__globals__.get(name) for name in function.__code__.co_names)
            ahead.extend(other for other in called if isinstance(other, Kernel))
    return list(found.values())


def freeze_compilation() -> None:
    """Forbid further compilation: a call with arguments of new types raises TypeError instead of delaying a
    frame.
    """
    for kernel in _used():
        if kernel.signatures:
            kernel.disable_compile()


def allow_compilation() -> None:
    """Permit compilation again (for tests and benches that change argument types)."""
    for kernel in _used():
        kernel.disable_compile(False)


def n_compiled() -> int:
    """Return the number of kernel versions that this process has compiled or loaded; after warm-up it is
    constant.
    """
    return sum(len(kernel.signatures) for kernel in _used())


def _used() -> list[Any]:
    return [kernel for kernel in _COMPILED if kernel.is_used]
