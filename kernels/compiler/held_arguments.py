"""Calls of kernels with arguments that are stored once, in the form that the machine code reads, and reused
for every frame.

Numba's wrapper examines every array of every call: for the 183 arrays of a marker solver this takes 2 us, and
30 us where they are not in the processor's cache, a fifth of the call. Here the arguments are examined only
once, and stored as words one after the other (`kernels.compiler.groups`), each group in a row of its own,
from which the code loads what it needs.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.extending import NativeValue, intrinsic, models, register_model, unbox

from kernels.compiler.groups import WORD, load_all, words


class WordsType(types.Type):
    """Numba type of a memory address at which values, such as the arguments of a kernel, are stored as 64-bit
    words; in Python the address is an integer.

    kinds : Numba's types of the values, in order
    """

    def __init__(self, kinds: tuple[types.Type, ...]) -> None:
        self.kinds = kinds
        super().__init__(name=f"Held({', '.join(map(str, kinds))})")


@register_model(WordsType)
class _Address(models.PrimitiveModel):
    def __init__(self, manager: Any, held: WordsType) -> None:
        super().__init__(manager, held, WORD)


@unbox(WordsType)
def _from_python(_: WordsType, address: Any, at: Any) -> NativeValue:
    return NativeValue(at.pyapi.long_as_longlong(address))


@intrinsic
def contents(typing_context: Any, held: Any) -> Any:
    """Load the stored arguments of a kernel from memory and return them as a tuple, in compiled code.

    held : memory address of their 64-bit words; its Numba type, WordsType, states the types of the arguments
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at = builder.inttoptr(arguments[0], WORD.as_pointer())
        values = load_all(context, builder, held.kinds, at)
        return context.make_tuple(builder, signature.return_type, values)

    return types.Tuple(held.kinds)(held), generate


class HeldCall:
    """A kernel with all arguments stored except some, which are given with every call.

    A copy of it (copy.deepcopy) holds copies of its arguments.

    Parameters
    ----------
    code : machine code, called with the address of the stored arguments and the remaining arguments
    arguments : the stored arguments; they stay in memory as long as this object
    kinds : Numba's types of the stored arguments, for which the code was made
    """

    __slots__ = ("_address", "_arguments", "_code", "_kinds", "_rows")

    def __init__(
        self, code: Callable[..., Any], arguments: tuple[Any, ...], kinds: tuple[types.Type, ...]
    ) -> None:
        self._code, self._kinds = code, kinds
        self._take(arguments)

    def hold(self, arguments: tuple[Any, ...]) -> None:
        """Replace the stored arguments by others of the same types; raise TypeError where the types
        differ."""
        if tuple(numba.typeof(argument) for argument in arguments) != self._kinds:
            raise TypeError("the arguments have other types than those before")
        self._take(arguments)

    def _take(self, arguments: tuple[Any, ...]) -> None:
        self._arguments = arguments
        rows: list[np.ndarray] = []
        parts = zip(self._kinds, arguments, strict=True)
        row = np.frombuffer(b"".join(words(kind, one, rows) for kind, one in parts), np.int64).copy()
        self._rows, self._address = (*rows, row), row.ctypes.data

    def __call__(self, *given: Any) -> Any:
        return self._code(self._address, *given)

    def __deepcopy__(self, memo: dict[int, Any]) -> HeldCall:
        return type(self)(self._code, copy.deepcopy(self._arguments, memo), self._kinds)


class PlainHeldCall(HeldCall):
    """The replacement of HeldCall when Numba's compiler is switched off: it calls the Python function itself.

    code : Python function, called with the tuple of stored arguments and the remaining arguments
    """

    __slots__ = ()

    def __call__(self, *given: Any) -> Any:
        return self._code(self._arguments, *given)
