"""Allocation of named tuples of NumPy arrays, by the shapes that are stated beside their fields.

A field states its shape and type, `Annotated[np.ndarray, Floats("n_body", 3)]`, and `allocate(Pose,
n_body=4)` makes the named tuple with all of its arrays. No array is given by its position in a list, where a
field that is added or moved would shift the others without an error.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import CodeType
from typing import Any, TypeVar, get_args, get_type_hints

import numpy as np

Record = TypeVar("Record", bound=tuple[Any, ...])


class Floats:
    """Annotation of a field of a named tuple: the field is an array of float64 with these sizes.

    sizes : size of each axis: a number, the name of a size that `allocate` is given, or a sum or product of
      these
    fill : initial value of all entries
    """

    dtype: type = np.float64

    def __init__(self, *sizes: int | str, fill: float = 0.0) -> None:
        self.sizes, self.fill = sizes, fill


class Integers(Floats):
    """Annotation of a field of a named tuple: the field is an array of int64; sizes and fill are those of
    Floats.
    """

    dtype = np.int64

    def __init__(self, *sizes: int | str, fill: int = 0) -> None:
        super().__init__(*sizes, fill=fill)


def allocate(record: type[Record], **given: Any) -> Record:
    """Return a new named tuple, whose arrays have the shapes and initial values that its annotations state.

    record : class of the named tuple; named tuples among its fields are made in the same way
    given : sizes, and the values of fields that have no annotation or that shall have other values, by their
      names
    Raise TypeError for a size that is missing, for a field without a shape that is not given, and for a name
    that nothing uses.
    """
    made, used = _make(record, given)
    if unused := [name for name in given if name not in used]:
        raise TypeError(
            f"{record.__name__} has neither a field nor an array size named {', '.join(unused)}; its fields "
            f"are {', '.join(_fields(record))}"
        )
    return made


def _make(record: type[Record], given: Mapping[str, Any]) -> tuple[Record, set[str]]:
    """Return a new named tuple with all arrays allocated, and the names of those given sizes and values that
    were used for it.
    """
    values, used = {}, set()
    for name, kind in _fields(record).items():
        array = next((x for x in get_args(kind) if isinstance(x, Floats)), None)
        if name in given:
            values[name] = given[name]
            used.add(name)
        elif array is not None:
            used.update(n for size in array.sizes if isinstance(size, str) for n in _code(size).co_names)
            shape = [_size(size, given, f"{record.__name__}.{name}") for size in array.sizes]
            values[name] = np.full(shape, array.fill, array.dtype)
        elif isinstance(kind, type) and hasattr(kind, "_fields"):
            values[name], inside = _make(kind, given)
            used |= inside
        else:
            raise TypeError(
                f"the field {record.__name__}.{name} declares no array shape: pass its value as "
                f"the argument {name}"
            )
    return record(**values), used


def _size(size: int | str, given: Mapping[str, Any], where: str) -> int:
    """Return the number of entries along an axis whose size is a number or an expression of given sizes;
    where : name of the named tuple and field, for error messages.
    """
    if isinstance(size, int):
        return size
    try:
        return int(eval(_code(size), {"__builtins__": {}}, dict(given)))
    except NameError as error:
        raise TypeError(
            f"the array {where} has the size {size}, and {error}: pass this number as an "
            "argument of that name"
        ) from None


@functools.cache
def _fields(record: type) -> dict[str, Any]:
    """Return the annotations of a record, in the order of its fields."""
    return get_type_hints(record, include_extras=True)


@functools.cache
def _code(size: str) -> CodeType:
    return compile(size, f"size {size}", "eval")
