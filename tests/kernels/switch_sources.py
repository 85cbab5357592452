"""Switches over kinds, found in the sources of kernels, and these without one of their branches."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
FAMILIES = {
    "joint": ("kernels.joints.kinds", "WELD"),
    "geometry": ("kernels.contact.geometries", "ELLIPSOID_ON_PLANE"),
    "pressure": ("kernels.contact.pressure", "VOLUMETRIC"),
    "friction": ("kernels.forces.friction", "BROWN_MCPHEE"),
    "line": ("kernels.forces.ligament", "TOE_LINEAR"),
    "function": ("kernels.algebra.functions", "CONSTANT"),
    "surface": ("kernels.path.surfaces", "SPHERE"),
    "station": ("kernels.path.stations", "POINT"),
    "element": ("kernels.solver.constraints", "SPHERE_ON_PLANE"),
    "method": ("kernels.path.moment_arms", "FORCE"),
    "foot": ("kernels.conventional.leg", "WALKING"),
}
"""Module and first constant of each family; the line that begins with it names all kinds, in the order of
their numbers."""


class Switch(NamedTuple):
    """A kernel that compares kinds of a family."""

    family: str
    module: str
    name: str
    kinds: tuple[str, ...]  # that it names


@cache
def source(module: str) -> ast.Module:
    """The syntax tree of a module of the kernels."""
    return ast.parse(ROOT.joinpath(*module.split(".")).with_suffix(".py").read_text(encoding="utf-8"))


@cache
def kinds_of(family: str) -> tuple[str, ...]:
    """Names of all kinds of a family, by their numbers."""
    module, first = FAMILIES[family]
    for line in source(module).body:
        if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Tuple):
            names = [name.id for name in line.targets[0].elts if isinstance(name, ast.Name)]
            if names[0] == first:
                assert ast.literal_eval(line.value) == tuple(range(len(names)))
                return tuple(names)
    raise AssertionError(f"{module} has no line of kinds that begins with {first}")


def families_known_in(module: str) -> dict[str, str]:
    """Constants that a module has or imports, and the families they belong to."""
    known = {}
    for family, (owner, _) in FAMILIES.items():
        names = set(kinds_of(family))
        if owner == module:
            known.update(dict.fromkeys(names, family))
        for node in ast.walk(source(module)):
            if isinstance(node, ast.ImportFrom) and node.module == owner:
                known.update({alias.name: family for alias in node.names if alias.name in names})
    return known


def names_compared(comparison: ast.Compare) -> list[str]:
    """Names on either side of a comparison, alone or in a tuple."""
    sides = [comparison.left, *comparison.comparators]
    parts = [part for side in sides for part in (side.elts if isinstance(side, ast.Tuple) else [side])]
    return [part.id for part in parts if isinstance(part, ast.Name)]


def switches() -> Iterator[Switch]:
    """All kernels that compare kinds, of each family."""
    for path in sorted((ROOT / "kernels").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        known = families_known_in(module)
        for function in source(module).body:
            if isinstance(function, ast.FunctionDef) and function.decorator_list:
                found: dict[str, dict[str, None]] = {}
                for node in ast.walk(function):
                    for name in names_compared(node) if isinstance(node, ast.Compare) else ():
                        if name in known:
                            found.setdefault(known[name], {})[name] = None
                for family, kinds in found.items():
                    yield Switch(family, module, function.name, tuple(kinds))


class _Without(ast.NodeTransformer):
    """No comparison with a kind holds any more."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        if self.kind not in names_compared(node):
            return node
        return ast.copy_location(ast.Constant(isinstance(node.ops[0], ast.NotEq)), node)


def without_branch(switch: Switch, kind: str) -> str:
    """The source of a switch in which the branch of one kind is missing, without its decorator."""
    functions = [line for line in source(switch.module).body if isinstance(line, ast.FunctionDef)]
    found = copy.deepcopy(next(line for line in functions if line.name == switch.name))
    found.decorator_list = []
    return ast.unparse(_Without(kind).visit(found))
