"""Groups of arrays (named tuples with arrays), passed from kernel to kernel as one pointer.

Numba passes a named tuple by value: every array of it, and of the groups in it, is seven arguments of each
call, up to 1 500 of them, which took two thirds of the compile time. Here a named tuple of package `kernels`
that holds an array is stored as a row of 64-bit words in memory, and its value is the address of the row. The
row holds, one after the other for the fields:

  group                 one word, the address of its own row
  array, C order        the address of its numbers, and its shape
  array, other orders   the same, and its strides
  number                one word
  tuple, named tuple    the words of its parts, one after the other
  None                  nothing

Reading an attribute is a load from memory. The words never change while a kernel runs, and the loads are
marked as invariant for the compiler: without this every store into an array might change the address of
another one. Named tuples that hold numbers alone are passed by value, as Numba does, and may be returned; a
group may not (`check_returned`). A group that is made in a loop uses the same memory in each iteration, so
that it must not be used in the next one.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types, typing
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_builtin,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)
from numba.np.numpy_support import as_dtype

WORD_BYTES = 8
WORD = ir.IntType(8 * WORD_BYTES)
PACKAGE = __name__.partition(".")[0]


class GroupType(types.Type):
    """Numba type of a named tuple that holds arrays; its value is the address of a row of 64-bit words.

    The name identifies the whole type, so that comparing two types costs as much as comparing two short
    strings, however deeply a group is nested.

    instance_class : the named tuple
    kinds : Numba's types of its fields, in order
    """

    def __init__(self, instance_class: type, kinds: tuple[types.Type, ...]) -> None:
        self.instance_class, self.kinds = instance_class, kinds
        self.fields: tuple[str, ...] = instance_class._fields  # type: ignore[attr-defined]
        what = (_told(instance_class), *map(_told, kinds))
        digest = hashlib.sha256("\n".join(what).encode()).hexdigest()[:16]
        super().__init__(name=f"{instance_class.__name__}_{digest}")


class GroupClass(types.Callable, types.Opaque):
    """Numba type of the class of a named tuple of this package: compiled kernels call it to make a tuple."""

    def __init__(self, instance_class: type) -> None:
        self.instance_class = instance_class
        super().__init__(name=f"class({_told(instance_class)})")

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        order = inspect.signature(self.instance_class)
        given = [types.unliteral(kind) for kind in order.bind(*args, **kws).args]
        made = typing.signature(kind_of(self.instance_class, given), *given)
        return made.replace(pysig=order)

    def get_call_signatures(self) -> tuple[tuple[()], bool]:
        return (), True

    def get_impl_key(self, sig: Any) -> type:
        return type(self)


def kind_of(instance_class: type, kinds: Iterable[types.Type]) -> types.Type:
    """Return the Numba type of a named tuple class whose fields have the types `kinds`: a GroupType if it
    contains arrays, else Numba's own type.
    """
    kinds = tuple(kinds)
    if any(map(_holds_arrays, kinds)):
        return GroupType(instance_class, kinds)
    return types.BaseTuple.from_types(kinds, instance_class)


def check_returned(name: str, kind: types.Type) -> None:
    """Raise TypeError if a compiled kernel returns a group of arrays; name : the kernel, kind : its return
    type.

    The memory of a group that a kernel makes is on its stack, and is released when it returns.
    """
    if _holds_groups(kind):
        raise TypeError(
            f"kernel {name} returns a group of arrays ({kind}), whose memory is released when it "
            "returns; write into a group that the caller hands over, or return numbers"
        )


def words(kind: Any, value: Any, rows: list[np.ndarray]) -> bytes:
    """Return, as bytes, the 64-bit words that represent a value (such as an array or a group) in memory, in
    the form that the module describes.

    kind : Numba's type of the value
    value : the value
    rows : list to which the rows of words of all groups in the value are appended; the caller must keep them
      alive as long as the words are used
    """
    if isinstance(kind, GroupType):
        return _address(row_of(kind, value, rows))
    if isinstance(kind, types.Array):
        sizes = value.shape if kind.layout == "C" else (*value.shape, *value.strides)
        return np.array([value.ctypes.data, *sizes], np.int64).tobytes()
    if isinstance(kind, types.NoneType):
        return b""
    if _is_tuple(kind):
        return b"".join(words(part, one, rows) for part, one in zip(kind, value, strict=True))
    return np.array(value, as_dtype(kind)).tobytes().ljust(WORD_BYTES, b"\0")


def row_of(kind: GroupType, value: Any, rows: list[np.ndarray]) -> np.ndarray:
    """Return the row of 64-bit words of a group, and append it to `rows`, which the caller must keep alive as
    long as the row is used.
    """
    content = b"".join(words(part, one, rows) for part, one in zip(kind.kinds, value, strict=True))
    row = np.frombuffer(content, np.int64).copy()
    rows.append(row)
    return row


def load(context: Any, builder: Any, kind: Any, at: Any) -> Any:
    """Generate LLVM code that loads a value of Numba type `kind` from memory; return the loaded value.

    at : pointer to the first of its 64-bit words
    """
    if isinstance(kind, GroupType):
        return _load(builder, at, WORD.as_pointer())
    if isinstance(kind, types.Array):
        return _load_array(context, builder, kind, at)
    if isinstance(kind, types.NoneType):
        return context.get_dummy_value()
    if _is_tuple(kind):
        return context.make_tuple(builder, kind, load_all(context, builder, tuple(kind), at))
    model = context.data_model_manager[kind]
    return model.from_data(builder, _load(builder, at, model.get_data_type()))


def load_all(context: Any, builder: Any, kinds: tuple[types.Type, ...], at: Any) -> list[Any]:
    """Generate LLVM code that loads values of several Numba types, stored one after the other from the
    pointer `at` on; return the loaded values.
    """
    return [
        load(context, builder, kind, _after(builder, at, first))
        for kind, first in zip(kinds, _starts(kinds), strict=True)
    ]


def _load_array(context: Any, builder: Any, kind: types.Array, at: Any) -> Any:
    """Generate LLVM code that makes Numba's array structure from the stored words; reference counting is left
    out.
    """
    numbers = context.get_data_type(kind.dtype)
    array = context.make_array(kind)(context, builder)
    intp = context.get_value_type(types.intp)
    shape = [_load(builder, _after(builder, at, 1 + k), intp) for k in range(kind.ndim)]
    itemsize = ir.Constant(intp, context.get_abi_sizeof(numbers))
    if kind.layout == "C":
        strides = [itemsize]
        for size in reversed(shape[1:]):
            strides.insert(0, builder.mul(strides[0], size))
    else:
        strides = [_load(builder, _after(builder, at, 1 + kind.ndim + k), intp) for k in range(kind.ndim)]
    n_item = ir.Constant(intp, 1)
    for size in shape:
        n_item = builder.mul(n_item, size)
    array.meminfo, array.parent = (
        cgutils.get_null_value(array.meminfo.type),
        cgutils.get_null_value(array.parent.type),
    )
    array.data = _load(builder, at, numbers.as_pointer())
    array.shape, array.strides = (cgutils.pack_array(builder, x, intp) for x in (shape, strides[: kind.ndim]))
    array.itemsize, array.nitems = itemsize, n_item
    return array._getvalue()


def _store(context: Any, builder: Any, kind: Any, value: Any, at: Any) -> None:
    """Generate LLVM code that stores a value of type `kind` as 64-bit words, from the pointer `at` on."""
    if isinstance(kind, GroupType):
        builder.store(value, builder.bitcast(at, value.type.as_pointer()))
    elif isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value=value)
        numbers = array.data
        builder.store(numbers, builder.bitcast(at, numbers.type.as_pointer()))
        sizes = cgutils.unpack_tuple(builder, array.shape, kind.ndim)
        if kind.layout != "C":
            sizes += cgutils.unpack_tuple(builder, array.strides, kind.ndim)
        for k, size in enumerate(sizes):
            builder.store(size, _after(builder, at, 1 + k))
    elif _is_tuple(kind):
        parts = cgutils.unpack_tuple(builder, value, len(kind))
        for part, one, first in zip(kind, parts, _starts(tuple(kind)), strict=True):
            _store(context, builder, part, one, _after(builder, at, first))
    elif not isinstance(kind, types.NoneType):
        data = context.data_model_manager[kind].as_data(builder, value)
        builder.store(data, builder.bitcast(at, data.type.as_pointer()))


def n_words(kind: Any) -> int:
    """Return the number of 64-bit words of a value of this Numba type; raise TypeError for types that a group
    cannot contain.
    """
    if isinstance(kind, types.Array):
        return 1 + kind.ndim * (1 if kind.layout == "C" else 2)
    if isinstance(kind, types.NoneType):
        return 0
    if _is_tuple(kind):
        return sum(map(n_words, kind))
    if isinstance(kind, GroupType | types.Number | types.Boolean):
        return 1
    raise TypeError(
        f"a group holds {kind}; groups hold arrays, numbers, None, tuples and named tuples of these"
    )


def _starts(kinds: tuple[types.Type, ...]) -> list[int]:
    """Return the index of the first 64-bit word of each value, where values of these types are stored one
    after the other.
    """
    return [sum(map(n_words, kinds[:k])) for k in range(len(kinds))]


def _load(builder: Any, at: Any, kind: Any) -> Any:
    loaded = builder.load(builder.bitcast(at, kind.as_pointer()))
    loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded


def _after(builder: Any, at: Any, n: int) -> Any:
    return cgutils.gep_inbounds(builder, at, n) if n else at


def _address(row: np.ndarray) -> bytes:
    return np.array([row.ctypes.data], np.int64).tobytes()


def _is_tuple(kind: Any) -> bool:
    """Return whether a Numba type is a tuple, or a named tuple without arrays, which is passed by value."""
    return isinstance(kind, types.BaseTuple)


def _holds_groups(kind: Any) -> bool:
    if _is_tuple(kind):
        return any(map(_holds_groups, kind))
    return isinstance(kind, GroupType)


def _holds_arrays(kind: Any) -> bool:
    if _is_tuple(kind):
        return any(map(_holds_arrays, kind))
    return isinstance(kind, GroupType | types.Array)


def _told(what: Any) -> str:
    """Return a text that identifies a class or a type uniquely."""
    if isinstance(what, type):
        return f"{what.__module__}.{what.__qualname__}{what._fields}"  # type: ignore[attr-defined]
    if _is_tuple(what) and hasattr(what, "instance_class"):
        return f"{_told(what.instance_class)}({', '.join(map(_told, what))})"
    if _is_tuple(what):
        return f"({', '.join(map(_told, what))})"
    return str(what)


def _is_ours(kind: type) -> bool:
    return hasattr(kind, "_fields") and kind.__module__.partition(".")[0] == PACKAGE


_typeof_any_tuple, _typeof_any_class = typeof_impl.dispatch(tuple), typeof_impl.dispatch(type)


@typeof_impl.register(tuple)
def _typeof_tuple(value: Any, context: Any) -> Any:
    if not _is_ours(type(value)):
        return _typeof_any_tuple(value, context)
    kinds = [typeof_impl(part, context) for part in value]
    return None if any(kind is None for kind in kinds) else kind_of(type(value), kinds)


@typeof_impl.register(type)
def _typeof_class(value: Any, context: Any) -> Any:
    return GroupClass(value) if _is_ours(value) else _typeof_any_class(value, context)


@register_model(GroupType)
class _Pointer(models.PrimitiveModel):
    def __init__(self, manager: Any, group: GroupType) -> None:
        super().__init__(manager, group, WORD.as_pointer())


register_model(GroupClass)(models.OpaqueModel)


@infer_getattr
class _Attributes(AttributeTemplate):
    key = GroupType

    def generic_resolve(self, group: Any, name: str) -> Any:  # type: ignore[override]
        return group.kinds[group.fields.index(name)] if name in group.fields else None


@lower_getattr_generic(GroupType)
def _attribute(context: Any, builder: Any, group: GroupType, at: Any, name: str) -> Any:
    k = group.fields.index(name)
    return load(context, builder, group.kinds[k], _after(builder, at, _starts(group.kinds)[k]))


@unbox(GroupType)
def _from_python(group: GroupType, value: Any, at: Any) -> NativeValue:
    """Generate the code that converts a Python named tuple into a row of words, on the stack of the function
    that Python calls.

    The functions that it calls are not inlined into it.
    """
    builder, api = at.builder, at.pyapi
    row = cgutils.alloca_once(builder, WORD, size=sum(map(n_words, group.kinds)))
    failed = cgutils.alloca_once_value(builder, cgutils.false_bit)
    n = len(group.kinds)
    length = api.tuple_size(value)
    fits = builder.icmp_unsigned("==", length, ir.Constant(length.type, n))
    with builder.if_else(fits, likely=True) as (same, other):
        with same:
            for k, (kind, first) in enumerate(zip(group.kinds, _starts(group.kinds), strict=True)):
                part = at.unbox(kind, api.tuple_getitem(value, k))
                with builder.if_then(part.is_error, likely=False):
                    builder.store(cgutils.true_bit, failed)
                _store(at.context, builder, kind, part.value, _after(builder, row, first))
        with other:
            api.err_format(
                "PyExc_ValueError", f"a {group.instance_class.__name__} has {n} fields, not %zd", length
            )
            builder.store(cgutils.true_bit, failed)
    return NativeValue(row, is_error=builder.load(failed))


@lower_builtin(GroupClass, types.VarArg(types.Any))
def _make(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    made = signature.return_type
    kinds = made.kinds if isinstance(made, GroupType) else tuple(made)
    values = [
        context.cast(builder, value, given, kind)
        for value, given, kind in zip(values, signature.args, kinds, strict=True)
    ]
    if not isinstance(made, GroupType):
        return context.make_tuple(builder, made, values)
    # The loads say that the words never change. That they lie on this function's stack, where it has just
    # written them, stays hidden from the optimiser: by an instruction of no code, and as the function is not
    # merged into its callers, where the words would be given up at its end.
    attributes = builder.function.attributes
    if "alwaysinline" in attributes:
        raise TypeError(f"a kernel that makes a {made.instance_class.__name__} cannot be an `inlined` one")
    attributes.add("noinline")
    row = cgutils.alloca_once(builder, WORD, size=max(1, sum(map(n_words, kinds))))
    for kind, value, first in zip(kinds, values, _starts(kinds), strict=True):
        _store(context, builder, kind, value, _after(builder, row, first))
    hidden = ir.FunctionType(row.type, [row.type])
    return builder.call(ir.InlineAsm(hidden, "", "=r,0,~{memory}", side_effect=True), [row])
