"""Syntax trees of the project's modules, for tests that read the sources."""

from __future__ import annotations

import ast
import gc
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def module_paths(*packages: str) -> list[Path]:
    """Paths of all modules of these packages, from the project's root, in their order."""
    return [path.relative_to(ROOT) for package in packages for path in sorted((ROOT / package).rglob("*.py"))]


def syntax_trees(*packages: str) -> dict[str, ast.Module]:
    """The tree of every module of these packages, by its path from the project's root.

    All of them are two million objects, 300 MB, which every collection of garbage looks through: ask for them
    in a fixture of a module, which lets them go, never as a module is imported.
    """
    collects = gc.isenabled()
    gc.disable()  # nothing of what is made here is garbage, and looking for it takes three times as long
    try:
        return {
            path.as_posix(): ast.parse((ROOT / path).read_text(encoding="utf-8"))
            for path in module_paths(*packages)
        }
    finally:
        if collects:
            gc.enable()
