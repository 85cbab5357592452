"""Arguments in place: that a kernel called with them sees what it would see of the arguments themselves."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
import pytest

from kernels.compiler import jit
from kernels.compiler.held_arguments import HeldCall


class Numbers(NamedTuple):
    """Of every kind that kernels take."""

    n: int
    scale: float
    table: np.ndarray | None
    row: np.ndarray


class Group(NamedTuple):
    """A group in a group."""

    numbers: Numbers
    matrix: np.ndarray


@pytest.fixture
def own_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels made by a test are forgotten after it."""
    monkeypatch.setattr(jit, "_COMPILED", [])


def add_up(group: Any, x: float, out: np.ndarray, index: np.ndarray) -> tuple[float, int]:
    """out : += x times the column of index; returns a sum and how long out is."""
    for i in range(out.shape[0]):
        out[i] += x * group.matrix[i, index[0]]
    total = group.numbers.n + group.numbers.scale * group.numbers.row[index[0]]
    return total, out.shape[0]


def arguments(scale: float, table: bool) -> tuple[Any, ...]:
    """Arguments of `add_up`; the matrix is a view with strides of its own."""
    numbers = Numbers(3, scale, np.full((1, 2, 3), 0.5) if table else None, np.arange(4.0))
    return Group(numbers, np.arange(24.0).reshape(3, 8)[:, ::2]), 2.0, np.zeros(3), np.array([1])


@pytest.mark.usefixtures("own_list")
def test_held_arguments_are_the_arguments() -> None:
    """Protects the words of all kinds of arguments: what a held call returns and writes is what the plain
    function does, also with other arguments in place.
    """
    kernel = jit.njit(add_up)
    for table in (False, True):
        call = jit.hold(kernel, arguments(1.5, table), given=(1, 3))
        for scale, x in ((1.5, 2.0), (0.25, -1.0)):
            plain = arguments(scale, table)
            group, _, out, index = arguments(scale, table)
            call.hold((group, out))
            assert call(x, index) == add_up(plain[0], x, plain[2], plain[3])
            assert np.array_equal(out, plain[2])


@pytest.mark.usefixtures("own_list")
def test_copy_of_a_held_call_holds_copies() -> None:
    """Protects rehearsals: a copied stage writes to its own arrays, those that are copied with it."""
    group, x, out, index = arguments(1.5, False)
    call = jit.hold(jit.njit(add_up), (group, x, out, index), given=(1, 3))
    other, other_out = copy.deepcopy((call, out))
    other(2.0, index)
    assert not out.any()
    assert np.array_equal(other_out, 2.0 * group.matrix[:, 1])


@pytest.mark.usefixtures("own_list")
def test_arguments_of_other_types_are_refused() -> None:
    """Protects memory: machine code for one layout would read beside the arrays of another."""
    group, x, out, index = arguments(1.5, False)
    call: HeldCall = jit.hold(jit.njit(add_up), (group, x, out, index), given=(1, 3))
    with pytest.raises(TypeError, match="other types"):
        call.hold((group._replace(matrix=np.zeros((3, 4))), out))
    with pytest.raises(TypeError, match="other types"):
        call.hold((group, np.zeros(3, np.float32)))
