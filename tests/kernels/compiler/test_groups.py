"""Groups of arrays by reference: a kernel sees of a group what Python sees of it."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

import kernels
from kernels.compiler import jit
from kernels.solver.kkt import SolverOptions
from tests.kernels.compiler.test_cache import package, run  # noqa: F401 (a fixture)

settings: Any = numba.config
compiler = pytest.mark.skipif(settings.DISABLE_JIT, reason="the compiler is off")
process = pytest.mark.process

GROUPS = """
from typing import NamedTuple
import numpy as np
from kernels.compiler.jit import entry, njit


class Numbers(NamedTuple):
    n: int
    share: float


class Inner(NamedTuple):
    table: object
    row: object


class Outer(NamedTuple):
    numbers: Numbers
    on: bool
    left: Inner
    both: object
    sizes: object
    matrix: object
    counts: object
    scale: float


@njit
def weigh(inner, k):
    return less(inner.table, inner.row, k)


@njit
def less(table, row, k):
    if table is None:
        return row[k]
    return table[k, 0] - row[k]


@njit
def look(outer, k, out):
    out[0] = outer.numbers.n + outer.numbers.share
    out[1] = 1.0 if outer.on else -1.0
    out[2] = weigh(outer.left, k)
    out[3] = 0.0
    for one in outer.both:
        out[3] += weigh(one, k)
    out[4] = outer.sizes[0] * outer.sizes[1]
    out[5] = outer.matrix[k, 1] + outer.matrix.shape[0] + 10 * outer.matrix.shape[1]
    out[6] = outer.counts[-1] + len(outer.counts)
    outer.left.row[0] += outer.scale


@entry
def look_from_python(outer, k, out):
    look(outer, k, out)


@njit
def total(inner):
    return inner.row.sum()


@entry
def total_of_windows(x, n):
    last = 0.0
    for k in range(x.shape[0] - n + 1):
        window = Inner(None, x[k : k + n])
        last = 2.0 * last + total(window) + total(Inner(row=x[:1], table=None))
    return last


@njit
def numbers_of(n):
    return Numbers(n, 0.5)


@entry
def sum_of_numbers(n):
    found = numbers_of(n)
    return found.n + found.share


@njit
def given_back(x):
    return Inner(None, x)


@entry
def row_of_given_back(x):
    return given_back(x).row[0]


def example(table):
    inner = Inner(np.arange(6.0).reshape(3, 2) if table else None, np.arange(3.0))
    other = Inner(inner.table, np.arange(10.0, 13.0))
    grid = np.arange(24.0).reshape(3, 8)[:, ::2]
    return Outer(
        Numbers(7, 0.25), table, inner, (inner, other), (3, 2.5), grid, np.array([4, 9], np.int32), 0.125
    )
"""


@pytest.fixture
def own_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels made by a test are forgotten after it."""
    monkeypatch.setattr(jit, "_COMPILED", [])


def said(package: Path, code: str) -> str:  # noqa: F811
    """What a program prints that has these groups."""
    (package / "kernels" / "groups.py").write_text(GROUPS)
    return run(f"from kernels.groups import *; {code}", package)


@compiler
@process
@pytest.mark.parametrize("call", ["look_from_python", "look", "bind", "hold"])
def test_a_kernel_sees_what_python_sees(package: Path, call: str) -> None:  # noqa: F811
    """Protects every kind of field: numbers, arrays of all orders, None, tuples, groups in groups; handed
    over by Python, called without dispatch, or held in place.
    """
    how = {
        "bind": "bind(look_from_python, (a, 1, x))(a, 1, x)",
        "hold": "hold(look, (a, 1, x), given=(1,))(1)",
    }.get(call, f"{call}(a, 1, x)")
    code = (
        "from kernels.compiler.jit import bind, hold\n"
        "for table in (False, True):\n"
        "    a, b = example(table), example(table)\n    x, y = np.zeros(7), np.zeros(7)\n"
        f"    {how}\n    look.py_func(b, 1, y)\n"
        "    print(np.array_equal(x, y) and x.all(), a.left.row[0] == b.left.row[0] == 0.125)"
    )
    assert said(package, code) == "True True\nTrue True"


@compiler
@process
def test_a_group_made_in_a_kernel(package: Path) -> None:  # noqa: F811
    """Protects groups made in a loop: each is seen with its own content, in order of names or not."""
    x = np.arange(1.0, 7.0)
    last = 0.0
    for k in range(4):
        last = 2.0 * last + x[k : k + 3].sum() + x[0]
    assert float(said(package, "print(total_of_windows(np.arange(1.0, 7.0), 3))")) == last


@compiler
@process
def test_no_kernel_returns_a_group(package: Path) -> None:  # noqa: F811
    """Protects memory: words that lie in a kernel are not read after it; numbers may be returned."""
    code = (
        "print(sum_of_numbers(3))\n"
        "try:\n    row_of_given_back(np.ones(2))\nexcept Exception as fault:\n    print(fault)"
    )
    first, *rest = said(package, code).splitlines()
    assert first == "3.5"
    assert "kernel kernels.groups.given_back returns a group of arrays" in " ".join(rest)


@compiler
@process
def test_a_group_is_one_argument(package: Path) -> None:  # noqa: F811
    """Protects the compile time: however many arrays a group holds, a call hands over one word."""
    code = (
        "import numba; look_from_python(example(True), 1, np.zeros(7)); "
        "(made,) = look.overloads.values(); "
        "print(len(list(made.library.get_function(made.fndesc.llvm_func_name).arguments)))"
    )
    of_numba, group, number, array = 2, 1, 1, 7
    assert int(said(package, code)) == of_numba + group + number + array


@compiler
def test_numbers_alone_are_handed_over_by_value() -> None:
    """Protects what kernels return: a named tuple of numbers stays Numba's."""
    assert isinstance(numba.typeof(SolverOptions(1e-9, 3, 0.5)), numba.types.NamedTuple)


def test_no_kernel_calls_an_entry() -> None:
    """Protects the compile time: a kernel that calls an entry would hold a copy of all its code."""
    for found in pkgutil.walk_packages(kernels.__path__, "kernels."):
        import_module(found.name)
    entries = {id(k) for k in jit._COMPILED if k.is_entry}
    calls = [
        f"{kernel.py_func.__module__}.{kernel.py_func.__name__} calls {name}"
        for kernel in jit._COMPILED
        if kernel.py_func.__module__.startswith("kernels.")
        for name in kernel.py_func.__code__.co_names
        if id(kernel.py_func.__globals__.get(name)) in entries
        and not kernel.py_func.__name__.startswith("from_")
    ]
    assert not calls


@compiler
@pytest.mark.usefixtures("own_list")
def test_a_kernel_that_calls_an_entry_is_refused() -> None:
    """Protects results: what is kept of an entry is for Python, and is no code that a kernel could call."""
    entry = jit.entry(lambda x: x)
    kernel = jit.njit(lambda x: entry(x))
    with pytest.raises(TypeError, match="can be called from Python only; decorate it with njit"):
        kernel(1.0)
    with pytest.raises(TypeError, match="decorate it with njit"):
        jit.hold(entry, (1.0,), given=(0,))


class Others(NamedTuple):
    """Of no package of ours."""

    x: Any


def test_groups_of_others_are_left_to_numba() -> None:
    """Protects other users of Numba in the process: only named tuples of package `kernels` are ours."""
    assert isinstance(numba.typeof(Others(np.ones(1))), numba.types.BaseNamedTuple)
