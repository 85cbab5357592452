"""What every kernel says of its arguments, how many it may have, how long it may be: from the sources."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

KERNELS = Path(__file__).resolve().parents[2] / "kernels"
MOST_ARGUMENTS = 10
MOST_LINES = 40
"""Of a body, its docstring aside."""
FEW = 4
"""Arguments that need no list of their own."""
COMPILED = {"njit", "entry", "inlined"}
SHAPE_OR_TYPE = r"(?:\(|int\b|float\b|bool\b|[A-Z]\w+)"

Function = ast.FunctionDef


def kernels_of(path: Path) -> list[Function]:
    """All compiled functions of a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, Function)
        and any(ast.unparse(mark).split("(")[0] in COMPILED for mark in node.decorator_list)
    ]


def names(kernel: Function) -> list[str]:
    return [argument.arg for argument in kernel.args.args]


def crowded(path: Path) -> list[str]:
    """Kernels with more arguments than allowed."""
    return [kernel.name for kernel in kernels_of(path) if len(names(kernel)) > MOST_ARGUMENTS]


def overlong(path: Path) -> dict[str, int]:
    """Kernels with a longer body than allowed, and how long it is."""
    lengths = {kernel.name: n_line(kernel) for kernel in kernels_of(path)}
    return {name: n for name, n in lengths.items() if n > MOST_LINES}


def n_line(kernel: Function) -> int:
    """Lines of a body without its docstring."""
    body = kernel.body[1:] if ast.get_docstring(kernel) else kernel.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def untold(path: Path) -> list[str]:
    """Arguments of kernels with many of them whose shape or type the docstring does not tell."""
    found = []
    for kernel in kernels_of(path):
        told = ast.get_docstring(kernel) or ""
        if len(names(kernel)) > FEW:
            found += [f"{kernel.name}: {name}" for name in names(kernel) if not tells(told, name)]
    return found


def tells(docstring: str, name: str) -> bool:
    """Whether it holds `name : shape or type`, alone or in a list of names."""
    return re.search(rf"(?<![\w.]){name}(?:, \w+)* : {SHAPE_OR_TYPE}", docstring) is not None


def unused(path: Path) -> dict[str, list[str]]:
    """Arguments of kernels that their bodies do not read."""
    found = {}
    for kernel in kernels_of(path):
        read = {node.id for line in kernel.body for node in ast.walk(line) if isinstance(node, ast.Name)}
        found[kernel.name] = [name for name in names(kernel) if name not in read]
    return {name: left for name, left in found.items() if left}


PATHS = sorted(KERNELS.rglob("*.py"))


def module(path: Path) -> str:
    """folder/name below kernels."""
    return path.relative_to(KERNELS).with_suffix("").as_posix()


by_file = pytest.mark.parametrize("path", PATHS, ids=module)


@by_file
def test_no_kernel_has_more_than_ten_arguments(path: Path) -> None:
    """Protects callers: what goes together is handed over together."""
    assert not crowded(path)


@by_file
def test_no_kernel_is_longer_than_a_screen(path: Path) -> None:
    """Protects readers: a body of one idea, which the compiler and a person take in at once."""
    assert not overlong(path)


@by_file
def test_every_argument_is_read(path: Path) -> None:
    """Protects callers: what a kernel does not need it does not ask for."""
    assert not unused(path)


@by_file
def test_arguments_are_told_with_shape_or_type(path: Path) -> None:
    """Protects readers of a kernel of five arguments or more: what each is, without a look at the callers."""
    assert not untold(path)


def test_the_reader_of_docstrings_sees_what_is_missing() -> None:
    """Protects this check: a name without shape, and a name inside another one, are not told."""
    told = "x : (3,) - place [m]\na, b : int - bodies\nx_out, c : Pose"
    assert [name for name in ("x", "a", "b", "c", "y", "out") if not tells(told, name)] == ["y", "out"]
    assert not tells("x : place [m]", "x")


def made_in_loops(path: Path) -> list[str]:
    """Groups with arrays that a kernel makes in a loop."""
    found = []
    for kernel in kernels_of(path):
        loops = [node for node in ast.walk(kernel) if isinstance(node, ast.For | ast.While)]
        calls = [node for loop in loops for node in ast.walk(loop) if isinstance(node, ast.Call)]
        called = {call.func.id for call in calls if isinstance(call.func, ast.Name)}
        found += [f"{kernel.name}: {name}" for name in sorted(called & GROUPS)]
    return found


GROUPS = {
    node.name
    for path in PATHS
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    if isinstance(node, ast.ClassDef) and "NamedTuple" in map(ast.unparse, node.bases)
    and "ndarray" in ast.unparse(node)
}  # fmt: skip


@by_file
def test_no_group_of_arrays_is_made_in_a_loop(path: Path) -> None:
    """Protects results: such a group has the same words each time round (`kernels/compiler/groups`), and one
    that is kept for the next would become it.
    """
    assert "FrameProblem" in GROUPS
    assert not made_in_loops(path)
